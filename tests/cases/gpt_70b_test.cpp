// docs/cases/gpt-70b.md: its tables are what the program predicts, and what it says of the four reported rows
// holds.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <optional>

#include "base/diagnostics.h"
#include "sim/report/text_layout.h"
#include "tests/cases/document.h"
#include "tests/cases/runs.h"

namespace orrery::cases {
namespace {

using sim::bytes_text;
using sim::number_text;
using sim::percent_text;

constexpr const char* kDocument = "docs/cases/gpt-70b.md";
constexpr std::array<const char*, 4> kRows = {
    "scenarios/gpt-70b/1-one-node.json", "scenarios/gpt-70b/2-zero2.json", "scenarios/gpt-70b/3-zero3.json",
    "scenarios/gpt-70b/4-compressed.json"};

std::string beside(const std::string& reported, const std::string& predicted) {
  return reported + " / " + predicted;
}

TEST(Gpt70b, PredictedBesideReported) {
  Table table = {{"reported / predicted", "samples/s", "memory, live", "memory, with context",
                  "share, not hidden", "share, all"}};
  for (const char* path : kRows) {
    const Case c = run_case(path);
    const scenarios::Measured& m = *c.scenario.measured;
    const auto live = static_cast<double>(c.result.stages[c.result.worst_stage].memory.peak.count());
    const std::string memory = bytes_text(*m.peak_memory_bytes),
                      share = m.comm_fraction ? percent_text(*m.comm_fraction) : "-";
    table.push_back(
        {c.scenario.name, beside(number_text(*m.samples_per_s), number_text(c.result.samples_per_s)),
         beside(memory, bytes_text(live)), beside(memory, bytes_text(c.result.peak_memory_bytes.value)),
         beside(share, percent_text(c.exposed())),
         beside(share, percent_text(c.result.communication_total))});
    EXPECT_TRUE(c.fits()) << path;
  }
  expect_block(kDocument, "rows", markdown(table));
}

// --- one setting for all rows ---

// Sum of squares of ln(predicted / reported) over throughput, memory with context, and the share that is not
// hidden.
struct Misfit {
  double sum = 0.0;
  int count = 0;
  void add(double predicted, const std::optional<double>& reported) {
    if (!reported) return;
    sum += std::pow(std::log(predicted / *reported), 2);
    ++count;
  }
};

// The root mean square over all rows; nothing where the settings are illegal for a row, or a row does not
// fit.
std::optional<double> misfit(const std::vector<std::string>& sets) {
  Misfit all;
  for (const char* path : kRows) {
    try {
      const Case c = run_case(path, sets);
      if (!c.fits()) return std::nullopt;
      all.add(c.result.samples_per_s, c.scenario.measured->samples_per_s);
      all.add(c.result.peak_memory_bytes.value, c.scenario.measured->peak_memory_bytes);
      all.add(c.exposed(), c.scenario.measured->comm_fraction);
    } catch (const InputError&) {
      return std::nullopt;
    }
  }
  return std::sqrt(all.sum / all.count);
}

TEST(Gpt70b, NoSingleChangeOfTheSettingsHelps) {
  const double best = misfit({}).value();
  EXPECT_GT(best, 0.2) << "the rows would be explained";
  const std::vector<std::string> changes = {"training.sequence_length=128",
                                            "training.sequence_length=256",
                                            "training.sequence_length=384",
                                            "training.sequence_length=512",
                                            "training.sequence_length=1024",
                                            "training.sequence_length=2048",
                                            "parallel.tp=1",
                                            "parallel.tp=2",
                                            "parallel.tp=4",
                                            "training.micro_batch=1",
                                            "training.micro_batch=4",
                                            "training.micro_batch=16",
                                            "training.micro_batch=32",
                                            "training.micro_batch=128",
                                            "offload.optimizer=none",
                                            "training.recompute=none",
                                            "cluster.node.nics.count=1",
                                            "cluster.node.nics.count=2",
                                            "cluster.node.nics.count=8",
                                            "cluster.node.nics.line=100 Gbit/s"};
  Table table = {{"changed", "root mean square of ln(predicted / reported)"}};
  table.push_back({"nothing", fmt::format("{:.2f}", best)});
  for (const std::string& change : changes) {
    const std::optional<double> other = misfit({change});
    table.push_back({"`" + change + "`", other ? fmt::format("{:.2f}", *other) : "a row does not fit"});
    EXPECT_GT(other.value_or(best), 0.95 * best) << change;
  }
  expect_block(kDocument, "changes", markdown(table));
}

TEST(Gpt70b, EightAccumulationStepsDoNotFitInOneNode) {
  const Case c = run_case(kRows[0], {"training.micro_batch=null", "training.accumulation=8"});
  EXPECT_EQ(c.scenario.training.micro_batch, 256);
  EXPECT_FALSE(c.fits());
}

// --- what physics says ---

// The longest sequence whose FLOPs, without recomputation, the GPUs could do at 100 % of their peak.
std::int64_t longest_sequence(const Case& c) {
  const auto gpus = static_cast<double>(c.scenario.parallel.world());
  const double flops = gpus * c.result.dense_peak / *c.scenario.measured->samples_per_s;
  std::int64_t s = 1;
  while (3.0 * models::forward_flops(c.scenario.model, s + 1, c.scenario.model.vocab, false) <= flops) ++s;
  return s;
}

TEST(Gpt70b, SequencesAtPeak) {
  const std::array<double, 4> expected = {475, 662, 450, 508};
  Table table = {
      {"row", "samples/s", "longest sequence at 100 % of peak", "at 50 % of peak with full recomputation"}};
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    const Case c = run_case(kRows[i]);
    const std::int64_t longest = longest_sequence(c);
    EXPECT_NEAR(static_cast<double>(longest), expected[i], 0.01 * expected[i])
        << kRows[i];  // attention: full or causal
    table.push_back({c.scenario.name, number_text(*c.scenario.measured->samples_per_s),
                     fmt::format("{}", longest), fmt::format("about {}", longest * 3 / 8)});
  }
  expect_block(kDocument, "peak", markdown(table));
}

double kind_bytes(const Case& c, schedule::BufferKind kind) {
  return static_cast<double>(
      c.result.stages[c.result.worst_stage].memory.by_kind[static_cast<std::size_t>(kind)].count());
}

TEST(Gpt70b, PlainZero2DoesNotFit) {
  const Case plain = run_case(kRows[1], {"parallel.tp=1", "training.micro_batch=1"});
  EXPECT_FALSE(plain.fits());
  EXPECT_NEAR(kind_bytes(plain, schedule::BufferKind::weight) / 1e9, 139.4, 0.3);  // 2 B of 69.7e9
  const Case tp8 = run_case(kRows[1], {"training.micro_batch=1"});
  const double states = kind_bytes(tp8, schedule::BufferKind::weight) +
                        2.0 * static_cast<double>(models::parameter_count(tp8.scenario.model)) / 128.0;
  EXPECT_NEAR(states / 1e9, 18.55, 0.1);  // weights / 8, and gradients / 128; the rest is on the host
}

TEST(Gpt70b, Zero3MovesMoreThanTheNetworkCarries) {
  // Every microbatch gathers the weights twice and scatters the gradients once: 3 x 139.4 GB x 8 x 15 / 16.
  const double bytes = 3.0 * 2.0 *
                       static_cast<double>(models::parameter_count(run_case(kRows[2]).scenario.model)) * 8.0 *
                       15.0 / 16.0;
  EXPECT_NEAR(bytes / 1e9, 3136.0, 2.0);
  const double reported = 2048.0 / *run_case(kRows[2]).scenario.measured->samples_per_s;
  EXPECT_NEAR(reported, 9.69, 0.01);
  const Case c = run_case(kRows[2], {"parallel.tp=1", "training.micro_batch=null", "training.accumulation=8",
                                     "cluster.node.nics.count=8"});
  EXPECT_GT(c.step(), bytes / 200e9);
  EXPECT_GT(c.step(), 1.5 * reported);
}

// ZeRO-3 hides its traffic behind the layers; ZeRO-2 gathers the updated weights when all else is done.
TEST(Gpt70b, Zero3IsFasterByWhatZero2DoesNotHide) {
  const Case two = run_case(kRows[1]), three = run_case(kRows[2]);
  const double gain = three.result.samples_per_s / two.result.samples_per_s;
  EXPECT_GT(gain, 1.0);
  EXPECT_LT(gain, 1.25) << "211.4 / 143.7 = 1.47 are reported";
}

// One percent of the gradients as (index, value) of 8 B, from every one of 128 ranks, is more than all of
// them in 2 B, reduced on the way.
TEST(Gpt70b, SelectedGradientsOfManyRanksAreMoreThanAllOfThem) {
  const std::vector<std::string> sets = {"parallel.tp=1", "training.micro_batch=2"};
  const Case dense = run_case(kRows[2], sets), selected = run_case(kRows[3], sets);
  EXPECT_GT(selected.step(), 1.5 * dense.step());
  const Case few = run_case(kRows[3]), few_dense = run_case(kRows[2]);  // TP8: 16 ranks
  EXPECT_LT(few.result.communication_total, few_dense.result.communication_total);
}

}  // namespace
}  // namespace orrery::cases
