// Initial weights: bitwise the same model under every plan, with the deviations that the architecture asks for.
#include "runtime/state/initialise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "runtime/state/stored_elements.h"
#include "tests/runtime/state/plans.h"

namespace orrery::runtime {
namespace {

struct Tensor {
  std::int64_t columns = 1;
  std::map<std::int64_t, double> values;  // by row * columns + column
};
using Tensors = std::map<std::string, Tensor>;

// All tensors from all ranks; every holder must agree.
Tensors initial_tensors(Job& job, StateKind kind) {
  Tensors all;
  for (std::size_t rank = 0; rank < job.layouts.size(); ++rank) {
    initialise(job.schedule, job.layouts[rank], job.memories[rank]);
    for (const StateRun& run : job.layouts[rank].runs) {
      if (run.kind != kind) continue;
      Tensor& tensor = all[job.layouts[rank].tensors[run.tensor].name];
      tensor.columns = job.layouts[rank].tensors[run.tensor].columns;
      for (std::int64_t i = 0; i < run.count(); ++i) {
        const std::int64_t at = (run.row + i / run.columns) * tensor.columns + run.column + i % run.columns;
        const double value = job.memories[rank].value(run, i);
        const auto [found, fresh] = tensor.values.emplace(at, value);
        EXPECT_EQ(found->second, value) << job.layouts[rank].tensors[run.tensor].name << " " << at << ", first "
                                        << fresh;
      }
    }
  }
  return all;
}

// `wide`, rounded, is `found`; a padded vocabulary has rows of its own, and those in common are equal.
void expect_same(const Tensors& wide, const Tensors& found, Element element) {
  EXPECT_EQ(wide.size(), found.size());
  for (const auto& [name, tensor] : found) {
    const auto other = wide.find(name);
    ASSERT_NE(other, wide.end()) << name;
    std::size_t compared = 0;
    for (const auto& [at, value] : tensor.values) {
      const auto reference = other->second.values.find(at);
      if (reference == other->second.values.end()) continue;
      ++compared;
      ASSERT_EQ(rounded(reference->second, element), value) << name << " " << at;
    }
    EXPECT_EQ(compared, std::min(other->second.values.size(), tensor.values.size())) << name;
  }
}

TEST(Initialise, IsTheSameModelUnderEveryPlan) {
  for (const models::Architecture& a : state_models()) {
    Job reference(compile_plan(a, "fp32"));
    const Tensors weights = initial_tensors(reference, StateKind::weight);
    for (const Plan& plan : state_plans(a)) {
      SCOPED_TRACE(a.name + ", " + plan.name);
      Job job(compile_plan(a, plan));
      const schedule::Unit& unit = job.schedule.programs[0].units[0];
      expect_same(weights, initial_tensors(job, StateKind::weight), job.memories[0].element(unit.weights.buffer));
      if (!(unit.master == unit.weights))
        expect_same(weights, initial_tensors(job, StateKind::master), job.memories[0].element(unit.master.buffer));
    }
  }
}

TEST(Initialise, IsTheSameInDoubleButForRounding) {
  Job reference(compile_plan(state_models()[1], "fp32")),
      job(compile_plan(state_models()[1], "TP2 DP3 ZeRO-3"), true);
  const Tensors single = initial_tensors(reference, StateKind::weight);
  for (const auto& [name, tensor] : initial_tensors(job, StateKind::weight))
    for (const auto& [at, value] : tensor.values)
      ASSERT_EQ(rounded(value, Element::fp32), single.at(name).values.at(at)) << name << " " << at;
}

// Everything that is no weight is 0 on rubbish, also the padding behind a unit's last parameter.
TEST(Initialise, LeavesZerosElsewhere) {
  for (const Plan& plan : state_plans(state_models()[1])) {
    SCOPED_TRACE(plan.name);
    Job job(compile_plan(state_models()[1], plan));
    for (std::size_t rank = 0; rank < job.layouts.size(); ++rank) {
      initialise(job.schedule, job.layouts[rank], job.memories[rank]);
      auto left = job.memories[rank].all();  // what is no weight or master weight, weights overwritten by 0
      for (const StateRun& run : job.layouts[rank].runs) {
        const std::int64_t size = stored_bytes(job.memories[rank].element(run.buffer.buffer));
        if (run.kind == StateKind::weight || run.kind == StateKind::master)
          std::memset(left.at({run.buffer.buffer.index(), run.buffer.instance}).data() + run.offset * size, 0,
                      static_cast<std::size_t>(run.count() * size));
      }
      for (const StateBuffer& buffer : job.layouts[rank].buffers)
        for (const std::byte byte : left.at({buffer.ref.buffer.index(), buffer.ref.instance}))
          ASSERT_EQ(byte, std::byte{0});
    }
  }
}

struct Moments {
  double mean = 0.0, deviation = 0.0;
};
Moments moments(const Tensor& tensor) {
  const auto n = static_cast<double>(tensor.values.size());
  Moments m;
  for (const auto& [at, value] : tensor.values) m.mean += value / n;
  for (const auto& [at, value] : tensor.values) m.deviation += (value - m.mean) * (value - m.mean) / n;
  m.deviation = std::sqrt(m.deviation);
  return m;
}

TEST(Initialise, HasTheDeviationsOfTheArchitecture) {
  Job job(compile_plan(state_models()[2], "fp32"));
  Tensors all = initial_tensors(job, StateKind::weight);
  for (auto& [name, tensor] : all) {
    const Moments m = moments(tensor);
    const auto n = static_cast<double>(tensor.values.size());
    const bool bias = name.find("bias") != std::string::npos;
    const bool norm = name.find("norm") != std::string::npos && !bias;
    const bool scaled = name.ends_with("attention.out") || name.ends_with("mlp.down");
    const double deviation = bias || norm ? 0.0 : scaled ? 0.02 / std::sqrt(8.0) : 0.02;  // 4 layers
    EXPECT_NEAR(m.mean, norm ? 1.0 : 0.0, 5.0 * deviation / std::sqrt(n)) << name;
    EXPECT_NEAR(m.deviation, deviation, 5.0 * deviation / std::sqrt(2.0 * n)) << name;
  }
  EXPECT_NE(all["layer0.mlp.up"].values, all["layer1.mlp.up"].values);
  EXPECT_NE(all["layer0.attention.query"].values, all["layer0.attention.key"].values);
}

TEST(Initialise, DependsOnTheSeed) {
  Job one(compile_plan(state_models()[0], "fp32")), two(compile_plan(state_models()[0], "fp32"));
  two.schedule.hyper.seed = one.schedule.hyper.seed + 1;
  EXPECT_NE(initial_tensors(one, StateKind::weight)["layer0.mlp.up"].values,
            initial_tensors(two, StateKind::weight)["layer0.mlp.up"].values);
}

}  // namespace
}  // namespace orrery::runtime
