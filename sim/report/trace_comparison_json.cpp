#include "sim/report/trace_comparison_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/report/csv_result.h"
#include "sim/report/result_words.h"

namespace orrery::sim {
namespace {

using Out = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

std::string error_key(const TraceComparison& c) { return c.predicted ? "error" : "change"; }

Out group_fractions(const double* of) {
  Out out = Out::object();
  for (std::size_t g = 0; g < schedule::kGroupKinds; ++g) out[std::string(kGroupKeys[g])] = of[g];
  return out;
}

Out shares(const TimeShares& s) {
  Out waterfall = Out::object();
  for (std::size_t i = 0; i < kShares; ++i)
    waterfall[std::string(key_of(static_cast<Share>(i)))] = s.waterfall[i];
  const auto exposed = s.waterfall.data() + static_cast<std::size_t>(Share::exposed_tensor);
  return {{"waterfall", waterfall},
          {"comm",
           {{"total_fraction", s.communication_any},
            {"exposed_fraction", s.exposed()},
            {"by_group", group_fractions(s.communication.data())},
            {"exposed_by_group", group_fractions(exposed)}}},
          {"bubble_fraction", s.of(Share::bubble)}};
}

Out side(const TraceSide& s) {
  const schedule::Trace& t = *s.trace;
  Out out = {{"trace", s.source},
             {"machine", t.machine},
             {"complete", t.complete},
             {"first_step", t.first_step},
             {"steps", s.steps},
             {"step_time_s", s.metrics.step_time_s},
             {"step_times_s", s.metrics.step_times_s},
             {"last_step_span_s", s.metrics.last_step_span_s},
             {"tokens_per_s", s.tokens_per_s}};
  out.update(shares(s.metrics.shares));
  out["per_rank"] = Out::array();
  for (const RankShares& rank : s.metrics.ranks) {
    Out of = {{"rank", rank.rank}};
    of.update(shares(rank.shares));
    out["per_rank"].push_back(std::move(of));
  }
  return out;
}

Out kinds(const TraceComparison& c, const std::string& a, const std::string& b) {
  Out out = Out::array();
  for (const JoinedKind& k : c.join.kinds)
    out.push_back({{"kind", schedule::name(k.kind)},
                   {"count", k.count},
                   {a + "_s", k.first_s},
                   {b + "_s", k.second_s},
                   {error_key(c), c.error(k.first_s, k.second_s)}});
  return out;
}

Out groups(const TraceComparison& c, const std::string& a, const std::string& b) {
  Out out = Out::object();
  for (std::size_t g = 0; g < schedule::kGroupKinds; ++g) {
    const JoinedGroup& of = c.join.groups[g];
    out[std::string(kGroupKeys[g])] = {{"count", of.count},
                                       {a + "_s", of.first_s},
                                       {b + "_s", of.second_s},
                                       {a + "_wait_s", of.first_wait_s},
                                       {b + "_wait_s", of.second_wait_s}};
  }
  return out;
}

Out memory(const TraceComparison& c, const std::string& a, const std::string& b) {
  Out ranks = Out::array();
  for (const RankMemory& m : c.memory)
    ranks.push_back({{"rank", m.rank},
                     {a + "_bytes", m.first_live},
                     {b + "_bytes", m.second_live},
                     {a + "_host_bytes", m.first_host},
                     {b + "_host_bytes", m.second_host},
                     {"arena_bytes", m.second_arena},
                     {"packing_loss_fraction", m.packing_loss()}});
  const bool equal =
      std::all_of(c.memory.begin(), c.memory.end(), [](const RankMemory& m) { return m.equal(); });
  return {{"equal", equal}, {"per_rank", ranks}};
}

std::string group_of(const TraceComparison& c, const JoinedOp& op) {
  if (op.group == schedule::kNoGroup) return {};
  return std::string(kGroupKeys[static_cast<std::size_t>(schedule::kind_of_group(*c.schedule, op.group))]);
}

Out ops(const TraceComparison& c, const std::string& a, const std::string& b) {
  Out out = Out::array();
  for (const JoinedOp& op : c.join.ops)
    out.push_back({{"op", op.name},
                   {"kind", schedule::name(op.kind)},
                   {"group", group_of(c, op)},
                   {"shape", op.shape},
                   {"count", op.count},
                   {a + "_s", op.first_s},
                   {b + "_s", op.second_s},
                   {b + "_p10_s", op.second_p10_s},
                   {b + "_p90_s", op.second_p90_s},
                   {"adds_s", op.adds_s}});
  return out;
}

}  // namespace

std::string trace_comparison_json(const TraceComparison& c) {
  const std::string &a = c.first.word, &b = c.second.word;
  const TraceMetrics &first = c.first.metrics, &second = c.second.metrics;
  Out out = {{"schema_version", kSchemaVersion},
             {"scenario", c.scenario},
             {"fingerprint", fmt::format("{:016x}", c.second.trace->fingerprint)},
             {"world", c.schedule->world}};
  out[a] = side(c.first);
  out[b] = side(c.second);
  out[error_key(c)] = {{"step_time", c.error(first.step_time_s, second.step_time_s)},
                       {"tokens_per_s", c.error(c.first.tokens_per_s, c.second.tokens_per_s)}};
  out["kinds"] = kinds(c, a, b);
  out["groups"] = groups(c, a, b);
  out["memory"] = memory(c, a, b);
  out["ops"] = ops(c, a, b);
  return out.dump(2, ' ', false, Out::error_handler_t::replace) + "\n";
}

std::string trace_comparison_csv(const TraceComparison& c) {
  std::string text = fmt::format("op,kind,group,shape,count,{0}_s,{1}_s,{1}_p10_s,{1}_p90_s,adds_s\n",
                                 c.first.word, c.second.word);
  for (const JoinedOp& op : c.join.ops)
    text += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", csv_field(op.name), schedule::name(op.kind),
                        group_of(c, op), csv_field(op.shape), op.count, op.first_s, op.second_s,
                        op.second_p10_s, op.second_p90_s, op.adds_s);
  return text;
}

}  // namespace orrery::sim
