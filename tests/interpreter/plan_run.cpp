#include "tests/interpreter/plan_run.h"

#include <fmt/format.h>

#include <cmath>

#include "scenarios/rank_order.h"
#include "schedule/compile.h"
#include "tests/interpreter/reference_model.h"

namespace orrery::interpreter {

using scenarios::Scenario;

Scenario plain_scenario(const models::Architecture& a) {
  Scenario s;
  s.name = a.name;
  s.model = a;
  s.training.global_batch = 8;
  s.training.micro_batch = 8;
  s.training.sequence_length = 8;
  s.training.vocab_divisible_by = 1;
  s.training.dropout = a.dropout;
  s.training.learning_rate = 1e-2;
  s.training.epsilon = 1e-6;
  s.training.clip_gradient_norm = 0.0;
  s.training.seed = 7;
  s.overlap.gradient_reduce = false;
  return s;
}

void resolve(Scenario& s) {
  scenarios::Parallel& p = s.parallel;
  if (p.layers_of_stage.empty())
    p.layers_of_stage.assign(static_cast<std::size_t>(p.pp * p.vpp), s.model.layers / (p.pp * p.vpp));
  if (p.vpp > 1 && scenarios::traits(p.schedule).chunks == scenarios::Chunks::one)
    p.schedule = scenarios::PipelineSchedule::interleaved;
  if (p.context_method == scenarios::ContextMethod::ulysses) p.ulysses = p.cp;
  if (s.model.experts.count == 0) p.etp = p.tp;
  scenarios::place_ranks(p);
  s.training.microbatches = s.training.global_batch / (s.training.micro_batch * p.dp);
}

Outcome run_plan(const Scenario& scenario, const RunOptions& options) {
  const schedule::Schedule schedule = schedule::compile(scenario);
  Executor executor(schedule, options);
  executor.run();
  return {executor.losses(), collect(schedule, executor, State::gradients), collect(schedule, executor, State::master)};
}

Outcome reference_outcome(const Scenario& scenario, std::int64_t steps) {
  const scenarios::Training& t = scenario.training;
  const schedule::Hyper hyper{.learning_rate = t.learning_rate,
                              .weight_decay = t.weight_decay,
                              .beta1 = t.beta1,
                              .beta2 = t.beta2,
                              .epsilon = t.epsilon,
                              .clip_gradient_norm = t.clip_gradient_norm,
                              .seed = t.seed};
  const ReferenceOptimizer optimizer = t.optimizer == scenarios::Optimizer::adam  ? ReferenceOptimizer::adam
                                       : t.optimizer == scenarios::Optimizer::sgd ? ReferenceOptimizer::sgd
                                                                                  : ReferenceOptimizer::sgd_momentum;
  Outcome outcome;
  outcome.weights = initial_weights(scenario.model, scenario.vocab_rows(), t.seed);
  ReferenceMoments moments;
  for (std::int64_t step = 0; step < steps; ++step) {
    const ReferenceBatch batch{t.global_batch, t.sequence_length, t.seed, step, {}};
    ReferenceResult result = reference_loss(scenario.model, outcome.weights, batch);
    outcome.losses.push_back(result.loss);
    reference_step(outcome.weights, result.gradients, moments, hyper, optimizer, step + 1);
    outcome.gradients = std::move(result.gradients);
  }
  return outcome;
}

std::string difference(const Outcome& plan, const Outcome& reference) {
  std::string text;
  for (std::size_t i = 0; i < reference.losses.size(); ++i)
    if (!(std::abs(plan.losses[i] - reference.losses[i]) <= 1e-10 * std::abs(reference.losses[i])))
      text += fmt::format("loss of step {}: {:.15g}, reference {:.15g}\n", i, plan.losses[i], reference.losses[i]);
  constexpr int kShown = 3;  // a wrong weight makes every later number wrong
  int found_differences = 0;
  const auto compare = [&](const char* what, const NamedTensors& a, const NamedTensors& b) {
    for (const auto& [name, tensor] : b) {
      const auto found = a.find(name);
      const double off = distance(found == a.end() ? Matrix{} : found->second, tensor);
      // A gradient that is zero but for rounding (of a key's bias) is measured against the whole.
      const double size = std::max(norm(tensor), 1e-3 * norm(b));
      if (!(off <= 1e-9 * size) && ++found_differences <= kShown) text += fmt::format("{} of {}: off by {:.3g} of {:.3g}\n", what, name, off, size);
    }
    if (a.size() != b.size()) text += fmt::format("{} {} tensors, reference {}\n", a.size(), what, b.size());
  };
  compare("gradient", plan.gradients, reference.gradients);
  compare("weight", plan.weights, reference.weights);
  if (found_differences > kShown) text += fmt::format("and {} more tensors\n", found_differences - kShown);
  return text;
}

}  // namespace orrery::interpreter
