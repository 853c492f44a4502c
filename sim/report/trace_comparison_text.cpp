#include "sim/report/trace_comparison_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantile.h"
#include "base/quantities.h"
#include "sim/report/result_words.h"
#include "sim/report/text_layout.h"

namespace orrery::sim {
namespace {

using Row = std::vector<std::string>;
using Rows = std::vector<Row>;

constexpr std::size_t kWorstOps = 12;
constexpr std::size_t kListedRanks = 8;

// One decimal; what rounds to 0 has no minus.
std::string signed_tenths(double value) {
  return fmt::format("{:+.1f}", std::round(10.0 * value) / 10.0 + 0.0);
}
std::string signed_percent(double error) { return signed_tenths(100.0 * error) + " %"; }
std::string signed_seconds(double seconds) {
  return (seconds < 0.0 ? "-" : "+") + seconds_text(std::abs(seconds));
}

std::string count_text(double count) {
  return count == std::floor(count) ? fmt::format("{:.0f}", count) : number_text(count);
}

std::string error_word(const TraceComparison& c) { return c.predicted ? "error" : "change"; }

// Shares are compared by their difference, in points of the step.
std::string points(const TraceComparison& c, double first, double second) {
  return signed_tenths(100.0 * (c.predicted ? first - second : second - first)) + " points";
}

std::string source_line(const TraceSide& side) {
  const schedule::Trace& t = *side.trace;
  const std::string steps =
      fmt::format("{} step{} from step {}", side.steps, side.steps == 1 ? "" : "s", t.first_step);
  const std::string stopped = t.complete ? "" : "; the run was stopped";
  const std::string where = side.source + (side.source.empty() || t.machine.empty() ? "" : ": ") + t.machine;
  return wrapped(fmt::format("{}, {}{}", where, steps, stopped),
                 fmt::format("  {}  ", padded(side.word, 10)));
}

std::string header(const TraceComparison& c) {
  const std::int64_t world = c.schedule->world;
  return fmt::format("{}, {} rank{}\n", c.scenario, world, world == 1 ? "" : "s") + source_line(c.first) +
         source_line(c.second);
}

Row quantity(const TraceComparison& c, const std::string& what, double first, double second,
             std::string (*text)(double)) {
  return {what, text(first), text(second),
          second > 0.0 && first > 0.0 ? signed_percent(c.error(first, second)) : ""};
}

std::string spread_text(const std::vector<double>& values) {
  return seconds_text(quantile(values, 0.1)) + " .. " + seconds_text(quantile(values, 0.9));
}

std::string step(const TraceComparison& c) {
  const TraceMetrics &a = c.first.metrics, &b = c.second.metrics;
  Rows rows{{"The step", c.first.word, c.second.word, error_word(c)}};
  rows.push_back(quantity(c, "step time", a.step_time_s, b.step_time_s, seconds_text));
  if (a.step_times_s.size() > 1 || b.step_times_s.size() > 1)
    rows.push_back({"  10 % .. 90 % of steps", spread_text(a.step_times_s), spread_text(b.step_times_s), ""});
  rows.push_back(quantity(c, "tokens/s", c.first.tokens_per_s, c.second.tokens_per_s, number_text));
  return "\n" + table_text(rows);
}

std::string shares(const TraceComparison& c) {
  const TimeShares &a = c.first.metrics.shares, &b = c.second.metrics.shares;
  Rows rows{{"Where it goes, shares of the step", c.first.word, c.second.word, error_word(c)}};
  const auto add = [&](const std::string& what, double first, double second) {
    if (std::max(first, second) >= 0.0005)
      rows.push_back({what, percent_text(first), percent_text(second), points(c, first, second)});
  };
  for (std::size_t i = 0; i < kShares; ++i)
    add(std::string(words_for(static_cast<Share>(i))), a.waterfall[i], b.waterfall[i]);
  add("communication, all", a.communication_any, b.communication_any);
  add("communication, not hidden", a.exposed(), b.exposed());
  return "\n" + table_text(rows);
}

std::string kinds(const TraceComparison& c) {
  Rows rows{{"Ops by kind, of a rank and step", "count", c.first.word, c.second.word, error_word(c)}};
  double first = 0.0, second = 0.0;
  for (const JoinedKind& kind : c.join.kinds) {
    Row row = quantity(c, std::string(schedule::name(kind.kind)), kind.first_s, kind.second_s, seconds_text);
    row.insert(row.begin() + 1, count_text(kind.count));
    rows.push_back(std::move(row));
    first += kind.first_s;
    second += kind.second_s;
  }
  Row sum = quantity(c, "all", first, second, seconds_text);
  sum.insert(sum.begin() + 1, "");
  rows.push_back(std::move(sum));
  return "\n" + table_text(rows);
}

std::string groups(const TraceComparison& c) {
  Rows rows{{"Transfers by group, of a rank and step", "count", c.first.word, c.second.word, error_word(c)}};
  for (std::size_t g = 0; g < schedule::kGroupKinds; ++g) {
    const JoinedGroup& group = c.join.groups[g];
    if (group.count == 0.0) continue;
    Row active =
        quantity(c, std::string(kGroupWords[g]) + ", active", group.first_s, group.second_s, seconds_text);
    active.insert(active.begin() + 1, count_text(group.count));
    rows.push_back(std::move(active));
    rows.push_back({"  waiting for other sides", "", seconds_text(group.first_wait_s),
                    seconds_text(group.second_wait_s), ""});
  }
  return rows.size() > 1 ? "\n" + table_text(rows) : std::string();
}

std::string memory(const TraceComparison& c) {
  const auto unequal = [](const RankMemory& m) { return !m.equal(); };
  const auto by_live = [](const RankMemory& a, const RankMemory& b) { return a.second_live < b.second_live; };
  const auto by_loss = [](const RankMemory& a, const RankMemory& b) {
    return a.packing_loss() < b.packing_loss();
  };
  const RankMemory& largest = *std::max_element(c.memory.begin(), c.memory.end(), by_live);
  const auto different = std::count_if(c.memory.begin(), c.memory.end(), unequal);
  std::string text = "\nMemory\n";
  if (different == 0) {
    text += fmt::format("  peak live bytes are equal on every rank, at most {} (rank {})\n",
                        human_bytes(Bytes(largest.second_live)), largest.rank);
  } else {
    text += fmt::format("  !! peak live bytes differ on {} of {} ranks\n", different, c.memory.size());
    std::size_t listed = 0;
    for (const RankMemory& m : c.memory)
      if (!m.equal() && listed++ < kListedRanks)
        text += fmt::format("     rank {}: {} {} B, {} {} B; host {} B, {} B\n", m.rank, c.first.word,
                            m.first_live, c.second.word, m.second_live, m.first_host, m.second_host);
  }
  const RankMemory& packed = *std::max_element(c.memory.begin(), c.memory.end(), by_loss);
  if (packed.second_arena > 0)
    text += fmt::format("  packing them into one arena takes at most {} more ({}, rank {})\n",
                        percent_text(packed.packing_loss()), human_bytes(Bytes(packed.second_arena)),
                        packed.rank);
  return text;
}

std::string worst_ops(const TraceComparison& c) {
  Rows rows{{"Ops that make the difference", "count", c.first.word, c.second.word, "p10", "p90", "adds"}};
  for (std::size_t i = 0; i < c.join.ops.size() && i < kWorstOps; ++i) {
    const JoinedOp& op = c.join.ops[i];
    rows.push_back({op.name, fmt::format("{}", op.count), seconds_text(op.first_s), seconds_text(op.second_s),
                    seconds_text(op.second_p10_s), seconds_text(op.second_p90_s), signed_seconds(op.adds_s)});
    rows.push_back({fmt::format("  {} {}", schedule::name(op.kind), op.shape)});
  }
  std::string text = "\n" + table_text(rows);
  text += wrapped(
      fmt::format(
          "count: in a step, on all ranks. Times are of one op, medians over the steps; p10, p90: the "
          "percentiles of the steps, {}. adds: to the sum of a rank's ops in a step",
          c.second.word),
      "  ");
  if (c.join.ops.size() > kWorstOps)
    text += fmt::format("  {} more rows: --csv\n", c.join.ops.size() - kWorstOps);
  return text;
}

}  // namespace

std::string trace_comparison_text(const TraceComparison& c) {
  return header(c) + step(c) + shares(c) + kinds(c) + groups(c) + memory(c) + worst_ops(c);
}

}  // namespace orrery::sim
