// The KernelCost of a device with a measured table (hardware/kernel_table.h): each op's kernel is looked up
// by its key (schedule/kernel_key.h). A kernel that the table lacks takes, in this order,
//   - what the fits of the GPU type say (analytic_cost.h), where it has fits;
//   - the baseline of the most similar kernel of its kind that the table has;
//   - FLOPs at the peak plus bytes at the memory's bandwidth: a lower bound, with a spread of a factor of 2;
// is marked modelled, and is listed in `lacking`. `op_overhead` of the table is added to every op.
//
// Copies and the CPU optimizer are kernels like others here. Looked-up sizes are kept: the second time costs
// one search of a map. Not for several threads at once.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hardware/cluster.h"
#include "schedule/kernel_key.h"
#include "sim/cost/kernel_cost.h"
#include "sim/cost/measured_kernel.h"

namespace orrery::sim {

struct LackingKernel {
  std::string name;
  std::string instead;  // what was taken
};

class TableCost final : public KernelCost {
 public:
  // `cluster.gpu` must have a kernel table; throws InputError where the table's dims of a kernel are not
  // those of its kind, or a product's FLOPs not those of its size. `otherwise`: the fits, for kernels that the table lacks; null: none.
  TableCost(const hardware::Cluster& cluster, hardware::Precision precision,
            std::unique_ptr<KernelCost> otherwise);

  KernelTime time(const schedule::Program& program, const schedule::Op& op,
                  const schedule::KernelShape& shape) const override;

  std::vector<LackingKernel> lacking() const;  // that were asked for, by name
  std::vector<const hardware::MeasuredKernel*> unknown() const;  // of the table, which no op is called for

 private:
  struct Found {
    const MeasuredKernel* kernel = nullptr;  // null: none like it
    bool similar = false;                    // only that
  };
  struct Sized {
    std::string name;
    std::array<std::int64_t, hardware::kMaxTableDims> dims{};
    auto operator<=>(const Sized&) const = default;
  };

  KernelTime measured_time(const schedule::KernelKey& key, schedule::OpKind kind) const;
  Found find(const std::string& name, schedule::OpKind kind) const;
  const hardware::MeasuredKernel* most_similar(const std::string& name, schedule::OpKind kind) const;
  const MeasuredKernel& model_of(const hardware::MeasuredKernel& kernel) const;
  KernelEstimate bound_of(const KernelSize& size) const;
  double contention_of(const KernelEstimate& estimate, schedule::OpKind kind) const;

  std::shared_ptr<const hardware::KernelTable> table_;
  std::unique_ptr<KernelCost> otherwise_;
  double peak_ = 0.0, bandwidth_ = 0.0;                             // of the last resort
  std::map<std::string, const hardware::MeasuredKernel*> kernels_;  // of the table, by name
  mutable std::map<const hardware::MeasuredKernel*, MeasuredKernel> models_;
  mutable std::map<Sized, KernelTime> known_;
  mutable std::map<std::string, std::string> lacking_;
};

}  // namespace orrery::sim
