// What was measured, as the files that scenarios name (docs/reference: kernel-table.md, transfer-table.md,
// gpu.md, cluster.md):
//
//     NAME.json             the cluster: one node of so many ranks on so many cores
//     NAME.gpu.json         one rank's share of the machine
//     NAME.kernels.json     the kernel table
//     NAME.transfers.json   the transfer table; not with one rank
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hardware/kernel_table.h"
#include "hardware/transfer_table.h"
#include "runtime/calibrate/kernel_catalog.h"
#include "runtime/machine/machine.h"
#include "runtime/calibrate/machine_phase.h"
#include "runtime/calibrate/transfer_phase.h"

namespace orrery::runtime {

struct Calibration {
  std::string name;
  Machine machine{};
  MachineNumbers numbers{};
  std::int64_t ranks = 1;       // of the node
  std::int64_t busy_ranks = 1;  // that ran kernels at once
  hardware::KernelTable kernels{};
  hardware::TransferTable transfers{};
};

// Kernels that were measured, by name and size. Of a point that is slower alone than together (noise), the
// shorter median counts for both. Contention: medians over kernels of 20 us and more.
std::vector<hardware::MeasuredKernel> measured_kernels(const KernelCatalog& catalog, std::int64_t busy_ranks);
hardware::Contention contention_of(const std::vector<hardware::MeasuredKernel>& kernels);
std::vector<hardware::TransferCurve> measured_curves(const std::map<Exchange, TransferPhase::Curve>& curves);

struct HardwareFile {
  std::string name, text;
};
std::vector<HardwareFile> hardware_files(const Calibration& calibration);

// Each is written beside its place and renamed, the cluster last, so that it never names what is not there.
// Throws WorldError.
void write_files(const std::string& directory, const std::vector<HardwareFile>& files);

}  // namespace orrery::runtime
