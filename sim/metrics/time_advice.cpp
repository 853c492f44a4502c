// Thresholds: 30 % communication and 70 % busy are what practitioners of this field worry about; a bubble
// above 20 % and a host above 10 % are where another setting usually wins more than it costs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/metrics/advice.h"
#include "sim/metrics/device_word.h"

namespace orrery::sim {
namespace {

constexpr double kMuchCommunication = 0.30, kIdle = 0.70, kLargeBubble = 0.20, kHostBound = 0.10,
                 kStragglers = 0.10;

double share(const Result& result, Share s) {
  return result.step_time_s.value > 0.0
             ? result.waterfall_s[static_cast<std::size_t>(s)] / result.step_time_s.value
             : 0.0;
}

struct Trying {
  Place place;
  std::string hint;
};

Trying less_communication(const scenarios::Scenario& s, std::size_t group) {
  const scenarios::Parallel& p = s.parallel;
  if (group == 0) {
    if (s.overlap.tensor_backward && s.overlap.tensor_chunks == 1)
      return {s.origins.tp, "a smaller tp with more pp or ZeRO, or overlap.tensor_chunks; keep tp within a node"};
    if (s.overlap.tensor_backward)
      return {s.origins.tp, "a smaller tp with more pp or ZeRO; keep tp within a node"};
    return {s.origins.tp, "a smaller tp, or overlap.tensor_backward"};
  }
  if (group == 1) {
    if (p.zero == 3)
      return {s.origins.zero,
              "a larger micro_batch (weights are gathered once a microbatch), or zero 1 or 2"};
    if (p.zero == 2)
      return {s.origins.zero,
              "a larger micro_batch (gradients travel once a microbatch), or zero 1 (once a step)"};
    if (!s.overlap.gradient_reduce)
      return {s.origins.dp, "overlap.gradient_reduce, or a larger global_batch"};
    return {s.origins.dp, "a larger global_batch (gradients travel once a step), or less dp"};
  }
  if (group == 2)
    return {s.origins.pp, s.overlap.pipeline ? "fewer stages" : "overlap.pipeline, or fewer stages"};
  if (group == 3)
    return {s.origins.cp, "a smaller cp; longer sequences hide the ring behind attention"};
  if (group == 4) return {s.origins.ep, "a smaller ep, or experts within a node"};
  return {s.origins.parallel, "untied embeddings, or both ends of the model on one stage"};
}

void advise_communication(const scenarios::Scenario& s, const Result& r, std::vector<Diagnostic>& found) {
  if (r.communication_total <= kMuchCommunication) return;
  static constexpr std::array kNames = {"tensor", "data", "pipeline", "context", "expert", "other"};
  const auto& by_group = r.communication_exposed > 0.05 ? r.exposed_by_group : r.communication_by_group;
  const auto largest =
      static_cast<std::size_t>(std::max_element(by_group.begin(), by_group.end()) - by_group.begin());
  const Trying trying = less_communication(s, largest);
  found.push_back(
      {Severity::warning, trying.place,
       fmt::format("transfers run {:.0f} % of the step ({:.0f} % not hidden), most of it {}-parallel",
                   100.0 * r.communication_total, 100.0 * r.communication_exposed, kNames[largest]),
       trying.hint});
}

void advise_bubble(const scenarios::Scenario& s, const Result& r, std::vector<Diagnostic>& found) {
  if (r.bubble_fraction <= kLargeBubble) return;
  const std::int64_t batch = 2 * s.training.global_batch;
  const std::string more = fmt::format("more microbatches (global_batch {} has twice as many), {}", batch,
                                       s.parallel.vpp == 1 ? "the interleaved schedule (vpp), or fewer stages"
                                                           : "more chunks (vpp), or fewer stages");
  found.push_back({Severity::warning, s.origins.pp,
                   fmt::format("the pipeline's bubble is {:.0f} % of the step: {} microbatches on {} stages",
                               100.0 * r.bubble_fraction, s.training.microbatches, s.parallel.pp),
                   more});
}

void advise_idle(const scenarios::Scenario& s, const Result& r, std::vector<Diagnostic>& found) {
  if (r.gpu_busy >= kIdle || r.step_time_s.value <= 0.0) return;
  const std::array<std::pair<const char*, double>, 5> losses = {
      {{"communication", r.communication_exposed},
       {"the pipeline's bubble", r.bubble_fraction},
       {"the host", share(r, Share::host)},
       {"copies to and from the host", share(r, Share::copy)},
       {"waiting for slower ranks", share(r, Share::wait)}}};
  const auto largest = std::max_element(losses.begin(), losses.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  found.push_back({Severity::warning, s.origins.training,
                   fmt::format("the {}s compute only {:.0f} % of the time", device_word(s), 100.0 * r.gpu_busy),
                   fmt::format("the largest loss is {}, {:.0f} %: change that first", largest->first,
                               100.0 * largest->second)});
}

bool optimizer_on_host(const scenarios::Scenario& s) {
  return s.offload.optimizer == scenarios::OffloadTarget::cpu;
}

void advise_host(const scenarios::Scenario& s, const Result& r, std::vector<Diagnostic>& found) {
  const double host = share(r, Share::host), copy = share(r, Share::copy);
  if (host > kHostBound && optimizer_on_host(s))
    found.push_back(
        {Severity::warning, s.origins.training,
         fmt::format("{}s wait {:.0f} % of the step for the host, which runs the optimizer", device_word(s), 100.0 * host),
         "a larger global_batch (one update for more work), more nodes to share it (ZeRO), or no offload"});
  else if (host > kHostBound)
    found.push_back(
        {Severity::warning, s.origins.micro_batch,
         fmt::format("{}s wait {:.0f} % of the step for the host, which issues kernels one by one", device_word(s),
                     100.0 * host),
         "a larger micro_batch, fused kernels, or less tp: fewer and longer kernels"});
  if (copy > kHostBound)
    found.push_back({Severity::warning, s.origins.training,
                     fmt::format("copies between host and {} take {:.0f} % of the step", device_word(s), 100.0 * copy),
                     s.offload.pinned ? "a larger global_batch, or no offload"
                                      : "offload.pinned, a larger global_batch, or no offload"});
}

void advise_stragglers(const scenarios::Scenario& s, const Result& r, std::vector<Diagnostic>& found) {
  if (share(r, Share::wait) <= kStragglers) return;
  found.push_back({Severity::warning, s.origins.cluster,
                   fmt::format("ranks wait {:.0f} % of the step for slower ranks of their group",
                               100.0 * share(r, Share::wait)),
                   fmt::format("balance layers_per_stage, or leave out the slow {}s", device_word(s))});
}

}  // namespace

std::vector<Diagnostic> time_advice(const scenarios::Scenario& s, const Result& r) {
  std::vector<Diagnostic> found;
  advise_communication(s, r, found);
  advise_idle(s, r, found);
  advise_bubble(s, r, found);
  advise_host(s, r, found);
  advise_stragglers(s, r, found);
  return found;
}

}  // namespace orrery::sim
