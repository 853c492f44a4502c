#include "sim/network/nccl_constants.h"

#include <cmath>

#include "base/check.h"

namespace orrery::sim {
namespace {

using Columns = std::array<double, kProtocols>;

constexpr Columns kRingBase = {6.6, 14.0, 8.4}, kTreeBase = {6.8, 14.0, 8.4};
constexpr std::array<Columns, 3> kRingHop = {{{0.6, 1.9, 3.4}, {1.0, 2.5, 5.7}, {2.7, 4.0, 14.0}}};
constexpr std::array<Columns, 3> kTreeHop = {{{0.6, 1.25, 4.0}, {1.0, 1.9, 4.0}, {5.0, 8.5, 14.0}}};

enum Generation : std::size_t { volta, ampere, hopper, blackwell };

Generation generation_of(const hardware::Gpu& gpu) {
  if (gpu.compute_capability >= 100) return blackwell;
  if (gpu.compute_capability >= 90) return hopper;
  return gpu.compute_capability >= 80 ? ampere : volta;
}

constexpr std::array<ArchitectureLimits, 4> kLimits = {{
    {39.0, {20, 20, 20}, {26.5, 18.5, 10.0}, {20, 20, 20}, {26.5, 18.5, 10.0}},
    {87.7, {20, 20, 20}, {24.0, 23.6, 17.8}, {20, 20, 20}, {24.0, 23.6, 17.8}},
    {141.0, {36.7, 36.7, 36.7}, {38.7, 41.4, 36.0}, {36.7, 36.7, 29.0}, {0.0, 57.7, 45.5}},
    {282.0, {40, 40, 40}, {70.0, 42.8, 24.0}, {55.6, 31.67, 20.0}, {0.0, 96.0, 80.0}},
}};

constexpr std::array<std::array<double, 24>, kProtocols> kTreeFactor = {{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
}};

constexpr std::array<NvlsLimits, 2> kNvls = {{{0.85, 16, 16}, {0.74, 24, 32}}};

// Fitted on nccl-tests and AIConfigurator tables of one machine (2 to 8 GPUs) and of DGX-1 and DGX A100 nodes.
constexpr std::array<Correction, 4> kCorrections = {{
    {1.1, 10.0, 1.12, 0.0, 1.00, 12.0, 0.81, 0.84},
    {1.4, 20.0, 1.00, 0.5, 1.00, 15.0, 0.81, 0.84},
    {1.0, 8.0, 1.05, 0.5, 0.83, 11.0, 0.81, 0.86},
    {1.45, 12.0, 1.00, 0.5, 0.83, 13.0, 0.81, 0.74},
}};

}  // namespace

std::size_t column(scenarios::Protocol protocol) {
  switch (protocol) {
    case scenarios::Protocol::ll: return 0;
    case scenarios::Protocol::ll128: return 1;
    case scenarios::Protocol::simple: return 2;
    case scenarios::Protocol::automatic: break;
  }
  CHECK(false, "automatic is no protocol");
  return 0;
}

double ring_base_us(std::size_t protocol) { return kRingBase[protocol]; }
double tree_base_us(std::size_t protocol) { return kTreeBase[protocol]; }
double ring_hop_us(Hop hop, std::size_t protocol) { return kRingHop[static_cast<std::size_t>(hop)][protocol]; }
double tree_hop_us(Hop hop, std::size_t protocol) { return kTreeHop[static_cast<std::size_t>(hop)][protocol]; }

const ArchitectureLimits& limits_of(const hardware::Gpu& gpu) { return kLimits[generation_of(gpu)]; }

double ll_max_between_machines(const std::string& cpu_vendor, std::int64_t nodes) {
  if (cpu_vendor == "amd") return nodes == 2 ? 22.5 : 19.0;
  return nodes == 2 ? 39.0 : 20.4;
}

std::size_t scale_column(std::int64_t nodes) { return nodes <= 1 ? 0 : nodes == 2 ? 1 : 2; }

double tree_factor(std::size_t protocol, double bytes) {
  const double steps = std::floor(std::log2(std::max(bytes, 64.0) / 64.0));
  if (steps >= 24.0) return 1.0;
  return kTreeFactor[protocol][static_cast<std::size_t>(steps)];
}

const NvlsLimits& nvls_of(const hardware::Gpu& gpu) { return kNvls[generation_of(gpu) == blackwell ? 1 : 0]; }

const Correction& correction_of(const hardware::Gpu& gpu) { return kCorrections[generation_of(gpu)]; }

}  // namespace orrery::sim
