#include "sim/cost/table_cost.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/check.h"

namespace orrery::sim {
namespace {

using schedule::KernelKey;
using schedule::OpKind;

static_assert(schedule::kMaxKernelDims == hardware::kMaxTableDims &&
              kMaxScatteredDims == hardware::kMaxTableDims);

constexpr double kBoundSpread = 0.7;  // of FLOPs at the peak plus bytes at the bandwidth: a factor of 2

bool is_copy_like(OpKind kind) { return schedule::is_copy(kind); }

// Kinds that may stand in for one another.
bool alike(OpKind a, OpKind b) {
  if (a == b || (is_copy_like(a) && is_copy_like(b))) return true;
  const auto adam = [](OpKind k) { return k == OpKind::adam || k == OpKind::cpu_adam; };
  return adam(a) && adam(b);
}

std::vector<std::string_view> parts_of(std::string_view name) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t dot = std::min(name.find('.', at), name.size());
    parts.push_back(name.substr(at, dot - at));
    at = dot + 1;
  }
  return parts;
}

// Parts that only one of the two names has. The first (with a product's layout) and the last (types) change a
// kernel most.
int difference(std::string_view a, std::string_view b) {
  const std::vector<std::string_view> of_a = parts_of(a), of_b = parts_of(b);
  const auto lacks = [](const auto& parts, std::string_view part) {
    return std::find(parts.begin(), parts.end(), part) == parts.end();
  };
  int different = 0;
  for (const std::string_view part : of_a) different += lacks(of_b, part) ? 1 : 0;
  for (const std::string_view part : of_b) different += lacks(of_a, part) ? 1 : 0;
  return different + (of_a.front() != of_b.front() ? 2 : 0) + (of_a.back() != of_b.back() ? 2 : 0);
}

bool is_compute_bound(OpKind kind) {
  const bool attention = kind == OpKind::attention_forward || kind == OpKind::attention_backward ||
                         kind == OpKind::attention_scores;
  return kind == OpKind::gemm || kind == OpKind::grouped_gemm || attention ||
         (kind >= OpKind::attention_context && kind <= OpKind::attention_dkey);
}

// A product's work follows from its size; a table that says otherwise was edited, and would mislead every size between.
void check_flops(const hardware::MeasuredKernel& kernel, Diagnostics& diagnostics) {
  for (const hardware::KernelPoint& point : kernel.points) {
    const double flops = 2.0 * static_cast<double>(point.dims[0]) * static_cast<double>(point.dims[1]) *
                         static_cast<double>(point.dims[2]);
    if (std::abs(point.flops - flops) <= 1e-6 * flops) continue;
    diagnostics.error(kernel.place,
                      fmt::format("{} of {} x {} x {} with {} FLOPs", kernel.name, point.dims[0], point.dims[1], point.dims[2], point.flops),
                      fmt::format("a product has 2 m n k = {}", flops));
    return;
  }
}

void check_dims(const hardware::MeasuredKernel& kernel, Diagnostics& diagnostics) {
  const std::optional<OpKind> kind = schedule::kind_of_kernel(kernel.name);
  if (!kind) return;  // of another version of the program: nobody will ask for it
  const std::span<const std::string_view> dims = schedule::dimension_names(*kind);
  if (!std::equal(dims.begin(), dims.end(), kernel.dims.begin(), kernel.dims.end()))
    diagnostics.error(kernel.place,
                      fmt::format("{} is measured by {}", kernel.name, fmt::join(kernel.dims, ", ")),
                      fmt::format("by {}: calibrate again", fmt::join(dims, ", ")));
  else if (*kind == OpKind::gemm)
    check_flops(kernel, diagnostics);
}

}  // namespace

TableCost::TableCost(const hardware::Cluster& cluster, hardware::Precision precision,
                     std::unique_ptr<KernelCost> otherwise)
    : table_(cluster.gpu.kernel_table),
      otherwise_(std::move(otherwise)),
      peak_(cluster.gpu.peak(precision).value()),
      bandwidth_(cluster.gpu.memory_bandwidth.value()) {
  CHECK(table_ != nullptr && peak_ > 0.0 && bandwidth_ > 0.0, cluster.gpu.name);
  Diagnostics diagnostics;
  for (const hardware::MeasuredKernel& kernel : table_->kernels) {
    check_dims(kernel, diagnostics);
    kernels_.emplace(kernel.name, &kernel);
  }
  diagnostics.throw_if_errors();
}

KernelTime TableCost::time(const schedule::Program& program, const schedule::Op& op,
                           const schedule::KernelShape& shape) const {
  if (op.kind == OpKind::host_wait) return {Duration(), Origin::exact, 0.0, 0.0, 0.0};
  CHECK(schedule::has_kernel_key(op.kind), name(op.kind));  // communication is the network's
  const KernelKey key = schedule::kernel_key(program, op, shape);
  const auto known = known_.find({key.name, key.dims});
  if (known != known_.end()) return known->second;
  KernelTime time;
  if (otherwise_ != nullptr && !kernels_.contains(key.name)) {
    lacking_.try_emplace(key.name, "the fits of the GPU type");
    time = otherwise_->time(program, op, shape);
    time.time += table_->op_overhead;
  } else {
    time = measured_time(key, op.kind);
  }
  return known_.emplace(Sized{key.name, key.dims}, time).first->second;
}

KernelTime TableCost::measured_time(const KernelKey& key, OpKind kind) const {
  const KernelSize size{key.dims, key.flops, key.bytes};
  const Found found = find(key.name, kind);
  const KernelEstimate e = found.kernel == nullptr ? bound_of(size)
                           : found.similar         ? found.kernel->borrowed(size)
                                                   : found.kernel->at(size);
  KernelTime time;
  time.time = Duration::from_seconds_up(e.seconds) + table_->op_overhead;
  time.origin = e.origin;
  time.log_low = e.log_low;
  time.log_high = e.log_high;
  time.contention = contention_of(e, kind);
  return time;
}

TableCost::Found TableCost::find(const std::string& name, OpKind kind) const {
  const auto exact = kernels_.find(name);
  if (exact != kernels_.end()) return {&model_of(*exact->second), false};
  const hardware::MeasuredKernel* similar = most_similar(name, kind);
  lacking_.try_emplace(name, similar == nullptr ? "its FLOPs and bytes at the peak rates" : similar->name);
  if (similar == nullptr) return {};
  return {&model_of(*similar), true};
}

const hardware::MeasuredKernel* TableCost::most_similar(const std::string& name, OpKind kind) const {
  const hardware::MeasuredKernel* best = nullptr;
  int least = 0;
  for (const auto& [other, kernel] : kernels_) {
    const std::optional<OpKind> of = schedule::kind_of_kernel(other);
    if (!of || !alike(*of, kind)) continue;
    const int different = difference(name, other);
    if (best != nullptr && different >= least) continue;
    best = kernel;
    least = different;
  }
  return best;
}

const MeasuredKernel& TableCost::model_of(const hardware::MeasuredKernel& kernel) const {
  return models_.try_emplace(&kernel, kernel).first->second;
}

KernelEstimate TableCost::bound_of(const KernelSize& size) const {
  KernelEstimate e;
  e.seconds = size.flops / peak_ + size.bytes / bandwidth_;
  e.log_low = -kBoundSpread;
  e.log_high = kBoundSpread;
  return e;
}

double TableCost::contention_of(const KernelEstimate& e, OpKind kind) const {
  if (table_->busy_ranks < 2) return 0.0;
  const hardware::Contention& of_class = table_->contention;
  const double busy = e.busy_factor > 0.0      ? e.busy_factor
                      : is_compute_bound(kind) ? of_class.compute_bound
                                               : of_class.memory_bound;
  return (busy - 1.0) / static_cast<double>(table_->busy_ranks - 1);
}

std::vector<const hardware::MeasuredKernel*> TableCost::unknown() const {
  std::vector<const hardware::MeasuredKernel*> all;
  for (const hardware::MeasuredKernel& kernel : table_->kernels)
    if (!schedule::kind_of_kernel(kernel.name)) all.push_back(&kernel);
  return all;
}

std::vector<LackingKernel> TableCost::lacking() const {
  std::vector<LackingKernel> all;
  for (const auto& [name, instead] : lacking_) all.push_back({name, instead});
  return all;
}

}  // namespace orrery::sim
