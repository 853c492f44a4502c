#include "tests/runtime/run/one_rank.h"

#include <fmt/format.h>

#include <cmath>

#include "tests/interpreter/plan_run.h"

namespace orrery::runtime {

using scenarios::Scenario;

namespace {

// The gradient of a key's bias is zero but for rounding: softmax does not see a shift of all scores of a query.
bool has_no_gradient(const std::string& name) {
  return name.find("key_bias") != std::string::npos || name.find("qkv_bias") != std::string::npos;
}

}  // namespace

Scenario one_rank(const Scenario& s) {
  Scenario one = interpreter::plain_scenario(s.model);
  one.training = s.training;
  one.training.micro_batch = s.training.global_batch;
  one.training.recompute = scenarios::Recompute::none;
  one.recipe = s.recipe;
  interpreter::resolve(one);
  return one;
}

std::string difference(const PlanOutcome& plan, const PlanOutcome& one, double learning_rate, const Tolerances& t) {
  std::string text;
  for (std::size_t i = 0; i < one.losses.size(); ++i)
    if (!(std::abs(plan.losses[i] - one.losses[i]) <= t.loss * std::abs(one.losses[i])))
      text += fmt::format("loss of step {}: {:.12g}, one rank {:.12g}\n", i, plan.losses[i], one.losses[i]);
  const auto compare = [&](const char* what, const GlobalTensors& a, const GlobalTensors& b, double floor_of_each) {
    for (const auto& [name, tensor] : b) {
      const auto found = a.find(name);
      if (found == a.end()) {
        text += fmt::format("{} {} is missing\n", what, name);
        continue;
      }
      if (has_no_gradient(name)) continue;
      const Distance d = distance(found->second, tensor);
      const double floor = floor_of_each * std::sqrt(static_cast<double>(d.elements));
      if (!(d.off <= t.tensor * std::max(d.size, floor)))
        text += fmt::format("{} of {}: off by {:.3g} of {:.3g}\n", what, name, d.off, d.size);
    }
    if (a.size() != b.size()) text += fmt::format("{} {} tensors, one rank {}\n", a.size(), what, b.size());
  };
  compare("gradient", plan.gradients, one.gradients, 0.0);
  compare("weight", plan.weights, one.weights, learning_rate);
  return text;
}

std::string difference_from_one_rank(const Scenario& scenario, const Tolerances& tolerances, bool in_double,
                                     std::int64_t steps) {
  RunOptions options;
  options.steps = steps;
  options.in_double = in_double;
  const PlanOutcome one = perform(one_rank(scenario), options);
  const PlanOutcome plan = perform(scenario, options);
  return difference(plan, one, scenario.training.learning_rate, tolerances);
}

}  // namespace orrery::runtime
