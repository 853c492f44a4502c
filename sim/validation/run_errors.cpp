#include "sim/validation/run_errors.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "base/quantile.h"

namespace orrery::sim {

RunError run_error(const PublishedRun& run, const Result& result) {
  RunError e;
  e.run = &run;
  e.time = {run.step_time_s, result.step_time_s.value, result.step_time_s.low, result.step_time_s.high};
  const StageResult& worst = result.stages[result.worst_stage];
  // What a framework prints as its peak is what its allocator gave out: context and communicators are not in it.
  const auto peak = static_cast<double>(worst.memory.peak.count());
  const Interval& all = result.peak_memory_bytes;
  if (run.memory_bytes > 0.0 && all.value > 0.0)
    e.memory = {run.memory_bytes, peak, peak * all.low / all.value, peak * all.high / all.value};
  for (std::size_t i = 0; i < kShares; ++i) {
    const auto share = static_cast<Share>(i);
    if (share == Share::compute || result.waterfall_s[i] <= e.largest_share * result.step_time_s.value) continue;
    e.largest = share;
    e.largest_share = result.waterfall_s[i] / result.step_time_s.value;
  }
  for (const UncertainPart& part : result.parts) e.parts.emplace_back(part.name, part.share * result.step_time_s.value);
  return e;
}

std::string_view word(GroupBy by) {
  switch (by) {
    case GroupBy::source: return "source";
    case GroupBy::gpu: return "GPU";
    case GroupBy::framework: return "framework";
    case GroupBy::parallelism: return "parallelism";
    case GroupBy::size: return "GPUs";
    case GroupBy::all: return "all";
  }
  return "";
}

std::string group_of(const RunError& error, GroupBy by) {
  const scenarios::Scenario& s = error.run->scenario;
  const scenarios::Parallel& p = s.parallel;
  switch (by) {
    case GroupBy::source: return error.run->source;
    case GroupBy::gpu: return s.cluster.gpu.name;
    case GroupBy::framework: return error.run->framework.substr(0, error.run->framework.find(" ("));
    case GroupBy::parallelism: {
      std::string ways;
      for (const auto& [name, size] : {std::pair{"TP", p.tp}, {"PP", p.pp}, {"CP", p.cp}, {"EP", p.ep}})
        if (size > 1) ways += ways.empty() ? name : std::string("+") + name;
      if (p.zero > 0 && p.dp > 1) ways += fmt::format("{}ZeRO-{}", ways.empty() ? "" : "+", p.zero);
      else if (p.dp > 1) ways += ways.empty() ? "DP" : "+DP";
      return ways.empty() ? "one GPU" : ways;
    }
    case GroupBy::size: {
      const std::int64_t gpus = p.world();
      return gpus <= 8 ? "   1 to 8" : gpus <= 64 ? "  9 to 64" : gpus <= 512 ? " 65 to 512" : "over 512";
    }
    case GroupBy::all: return "all";
  }
  return "";
}

std::vector<ErrorSummary> summaries(const std::vector<RunError>& errors, QuantityError RunError::*quantity, GroupBy by) {
  std::map<std::string, std::vector<const QuantityError*>> groups;
  for (const RunError& error : errors)
    if ((error.*quantity).known()) groups[group_of(error, by)].push_back(&(error.*quantity));
  std::vector<ErrorSummary> all;
  for (const auto& [name, members] : groups) {
    std::vector<double> absolute, signed_, widths;
    ErrorSummary s;
    s.group = name;
    s.count = members.size();
    for (const QuantityError* q : members) {
      absolute.push_back(std::abs(q->error()));
      signed_.push_back(q->error());
      widths.push_back(q->high / q->low - 1.0);
      s.mean += std::abs(q->error()) / static_cast<double>(members.size());
      s.inside += (q->inside() ? 1.0 : 0.0) / static_cast<double>(members.size());
    }
    s.median = median(absolute);
    s.p90 = quantile(absolute, 0.9);
    s.worst = quantile(absolute, 1.0);
    s.bias = median(signed_);
    s.width = median(widths);
    all.push_back(s);
  }
  return all;
}

}  // namespace orrery::sim
