// docs/cases/scenarios.md: predicted beside measured for every scenario that has a measurement, and what 175B
// fits on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sim/report/measured_rows.h"
#include "sim/report/text_layout.h"
#include "tests/cases/document.h"
#include "tests/cases/runs.h"

namespace orrery::cases {
namespace {

constexpr const char* kDocument = "docs/cases/scenarios.md";

bool is_memory_or_share(const sim::MeasuredRow& row) { return row.unit == "B" || row.unit == "fraction"; }

// The runs of Megatron-LM whose split is published: one set of settings a year, no setting of a row.
bool is_megatron(const std::string& path) {
  return path.find("korthikanti/") != std::string::npos || path.find("megatron-sc21/") != std::string::npos;
}

TEST(ShippedTable, PredictedBesideMeasured) {
  Table table = {{"scenario", "of", "measured", "predicted", "error"}};
  int megatron = 0, of_2022 = 0;
  for (const std::string& path : shipped_scenarios()) {
    const Case c = run_case(path);
    if (!c.scenario.measured) continue;
    for (const sim::MeasuredRow& row : sim::measured_rows(c.scenario, c.result)) {
      if (is_memory_or_share(row)) continue;
      table.push_back({"`" + path + "`", row.what, sim::quantity_text(row.measured, row.unit),
                       sim::quantity_text(row.predicted, row.unit), signed_percent(row.error())});
      if (!is_megatron(path)) continue;
      EXPECT_LT(std::abs(row.error()), 0.10) << path;
      ++megatron;
      if (path.find("korthikanti/") != std::string::npos) ++of_2022;
    }
  }
  EXPECT_GE(megatron, 10);
  EXPECT_GE(of_2022, 6) << "22B to 1T of Korthikanti et al. 2022";
  expect_block(kDocument, "measured", markdown(table));
}

TEST(ShippedTable, What175bFitsOn) {
  Table table = {{"p4d nodes", "optimizer", "verdict", "memory", "step"}};
  bool fits_on_one = false, fits_in_the_end = true;
  for (const char* nodes : {"1", "2", "4", "8", "16", "24"})
    for (const char* where : {"none", "cpu"}) {
      const Case c = run_case("scenarios/175b-p4d.json", {fmt::format("cluster.nodes={}", nodes),
                                                          fmt::format("offload.optimizer={}", where)});
      table.push_back({nodes, std::string(where) == "cpu" ? "on the host" : "on the GPUs",
                       c.fits() ? "fits" : "does not fit", sim::bytes_text(c.result.peak_memory_bytes.value),
                       sim::seconds_text(c.step())});
      if (std::string(nodes) == "1") fits_on_one |= c.fits();
      if (std::string(nodes) == "24") fits_in_the_end &= c.fits();
    }
  EXPECT_FALSE(fits_on_one);
  EXPECT_TRUE(fits_in_the_end);
  EXPECT_FALSE(run_case("scenarios/175b-8xa100-40g.json").fits());
  expect_block(kDocument, "175b", markdown(table));
}

}  // namespace
}  // namespace orrery::cases
