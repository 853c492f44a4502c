#include "tests/interpreter/random_plan.h"

#include <fmt/format.h>

#include <numeric>

#include "base/random.h"
#include "tests/interpreter/plan_run.h"
#include "tests/interpreter/tiny_models.h"

namespace orrery::interpreter {

using scenarios::Scenario;

namespace {

class Draws {
 public:
  explicit Draws(std::uint64_t plan)
      : stream_({.seed = 11, .purpose = DrawPurpose::search, .step = plan, .layer = 0, .microbatch = 0}) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(stream_.below(next_++, static_cast<std::uint64_t>(n)));
  }
  bool coin() { return below(2) == 1; }
  std::int64_t one_of(const std::vector<std::int64_t>& choices) {
    return choices[static_cast<std::size_t>(below(static_cast<std::int64_t>(choices.size())))];
  }

 private:
  RandomStream stream_;
  std::uint64_t next_ = 0;
};

models::Architecture draw_model(Draws& d) {
  models::Architecture a;
  switch (d.below(7)) {
    case 0: a = tiny_gpt(); break;
    case 1: a = tiny_llama(); break;
    case 2: a = tiny_bloom(); break;
    case 3: a = tiny_falcon(); break;
    case 4: a = tiny_neox(); break;
    case 5: a = tiny_gemma(); break;
    default: a = tiny_gated_biases(); break;
  }
  a.dropout = d.below(3) == 0 ? 0.2 : 0.0;
  if (d.below(4) == 0) a.tied_embeddings = !a.tied_embeddings;
  return a;
}

void draw_parallel(Draws& d, Scenario& s) {
  scenarios::Parallel& p = s.parallel;
  p.tp = d.one_of({1, 1, 2, 2, 4});
  if (s.model.kv_heads % p.tp != 0) p.tp = 2;
  p.sequence_parallel = p.tp > 1 && d.coin();
  p.pp = d.one_of({1, 1, 2, 2, 3, 4});
  p.dp = d.one_of({1, 2, 2, 3, 4});
  if (p.world() > 16) p.dp = 1;
  p.vpp = p.pp > 1 && p.pp < 4 && d.coin() ? 2 : 1;
  p.schedule = d.below(4) == 0 ? scenarios::PipelineSchedule::gpipe : scenarios::PipelineSchedule::one_f_one_b;
  // The first and the last virtual stage may hold the embedding or the head alone.
  p.layers_of_stage.assign(static_cast<std::size_t>(p.pp * p.vpp), 1);
  if (p.pp > 1 && d.below(4) == 0) p.layers_of_stage.front() = 0;
  if (p.pp > 1 && d.below(4) == 0) p.layers_of_stage.back() = 0;
  if (p.pp * p.vpp == 2 && p.layers_of_stage.front() + p.layers_of_stage.back() == 0) p.layers_of_stage.front() = 1;
  for (std::int64_t extra = d.below(3); extra > 0; --extra)
    ++p.layers_of_stage[static_cast<std::size_t>(d.below(p.pp * p.vpp))];
  s.model.layers = std::accumulate(p.layers_of_stage.begin(), p.layers_of_stage.end(), std::int64_t{0});
  const bool tied_across = s.model.tied_embeddings && p.pp > 1;
  p.zero = p.dp > 1 ? static_cast<int>(d.below(tied_across ? 2 : 4)) : 0;
}

void draw_training(Draws& d, Scenario& s) {
  scenarios::Training& t = s.training;
  t.micro_batch = 1 + d.below(2);
  t.global_batch = t.micro_batch * s.parallel.dp * (1 + d.below(5));
  t.sequence_length = 4 * (1 + d.below(2));
  t.recompute = d.below(2) == 0   ? scenarios::Recompute::none
                : d.below(2) == 0 ? scenarios::Recompute::full
                                  : scenarios::Recompute::selective;
  t.recompute_every = 1 + d.below(3);
  t.clip_gradient_norm = d.coin() ? 0.1 : 0.0;
  t.optimizer = d.below(3) != 0 ? scenarios::Optimizer::adam
                : d.coin()      ? scenarios::Optimizer::sgd
                                : scenarios::Optimizer::sgd_momentum;
  s.recipe.master_weights = d.below(3) != 0;
  s.recipe.gradient_bytes = d.coin() ? 4 : 2;
}

void draw_execution(Draws& d, Scenario& s) {
  s.overlap.gradient_reduce = d.coin();
  s.overlap.parameter_gather = d.coin();
  s.overlap.pipeline = d.coin();
  s.overlap.tensor_backward = d.coin();
  s.overlap.bucket_elements = d.one_of({0, 700, 3000, 6000});
  s.overlap.prefetch_units = d.below(4);
  s.kernels.fused_attention = d.coin();
  s.kernels.fused_softmax = d.coin();
  s.kernels.softmax_fp32_copy = d.coin();
  s.kernels.fused_elementwise = d.coin();
  s.kernels.fp32_logits = d.coin();
  if (s.training.optimizer == scenarios::Optimizer::adam && d.below(4) == 0)
    s.offload.optimizer = scenarios::OffloadTarget::cpu;
}

// One of the schedules that compute while their messages are on the way, where the plan has what it needs.
void draw_schedule(Draws& d, Scenario& s) {
  using scenarios::PipelineSchedule;
  scenarios::Parallel& p = s.parallel;
  const std::int64_t m = s.training.global_batch / (s.training.micro_batch * p.dp);
  std::vector<PipelineSchedule> choices;
  for (std::size_t number = 0; number < scenarios::kPipelineSchedules; ++number) {
    const auto schedule = static_cast<PipelineSchedule>(number);
    const scenarios::PipelineTraits& traits = scenarios::traits(schedule);
    const bool mirrored = traits.placement == scenarios::PlacementKind::mirrored;
    const bool chunks_fit = (p.vpp == 1) == (traits.chunks == scenarios::Chunks::one);
    if (!traits.sends_aside || !chunks_fit || (traits.splits_backward && p.zero >= 2)) continue;
    if (m < traits.microbatches_per_rank * p.pp || (mirrored && (m % 2 != 0 || p.pp % 2 != 0))) continue;
    choices.push_back(schedule);
  }
  if (!choices.empty()) p.schedule = choices[static_cast<std::size_t>(d.below(static_cast<std::int64_t>(choices.size())))];
}

// What later switches put aside or cut, drawn last so that plans of a number stay what they were otherwise.
void draw_aside(Draws& d, Scenario& s) {
  const scenarios::Parallel& p = s.parallel;
  const std::int64_t chunks = d.one_of({1, 1, 2, 4});
  const std::int64_t rows = s.training.sequence_length / (p.sequence_parallel ? p.tp : 1);
  if (p.tp > 1 && !s.model.parallel_block && rows % chunks == 0) s.overlap.tensor_chunks = chunks;
  const std::int64_t deferred = d.below(5);
  if (p.pp > 1 && p.zero < 2 && !scenarios::traits(p.schedule).splits_backward) s.overlap.deferred_microbatches = deferred;
  s.sharding.prefetch_before_kernels = d.coin();
  s.sharding.limit_on_host = d.below(4) == 0;
}

std::string layers_text(const Scenario& s) {
  std::string text;
  for (const std::int64_t n : s.parallel.layers_of_stage) text += fmt::format(" {}", n);
  return text;
}

}  // namespace

Scenario random_plan(std::uint64_t number) {
  Draws d(number);
  Scenario s = plain_scenario(draw_model(d));
  draw_parallel(d, s);
  draw_training(d, s);
  draw_execution(d, s);
  // A blocking interleaved exchange needs whole groups of microbatches.
  if (s.parallel.vpp > 1 && !s.overlap.pipeline)
    s.training.global_batch = s.training.micro_batch * s.parallel.dp * s.parallel.pp * (1 + d.below(2));
  if (s.parallel.pp > 1 && s.overlap.pipeline && d.coin()) draw_schedule(d, s);
  draw_aside(d, s);
  resolve(s);
  return s;
}

std::string describe(const Scenario& s) {
  const scenarios::Parallel& p = s.parallel;
  const scenarios::Training& t = s.training;
  const scenarios::Overlap& o = s.overlap;
  return fmt::format(
      "{} tied {} dropout {}: tp {} sp {} pp {} dp {} vpp {} zero {} schedule {} layers{}; m {} b {} s {}; recompute {} "
      "every {}, clip {}, optimizer {}, master {}, offload {}; overlap reduce {} gather {} pipe {} tensor {} "
      "bucket {} prefetch {} before kernels {} limit {}; chunks {} deferred {}; fused attention {} elementwise {}",
      s.model.name, s.model.tied_embeddings, s.model.dropout, p.tp, p.sequence_parallel, p.pp, p.dp, p.vpp, p.zero,
      static_cast<int>(p.schedule), layers_text(s), t.microbatches, t.micro_batch, t.sequence_length,
      static_cast<int>(t.recompute), t.recompute_every, t.clip_gradient_norm, static_cast<int>(t.optimizer),
      s.recipe.master_weights, s.offload.optimizer != scenarios::OffloadTarget::none, o.gradient_reduce,
      o.parameter_gather, o.pipeline, o.tensor_backward, o.bucket_elements, o.prefetch_units,
      s.sharding.prefetch_before_kernels, s.sharding.limit_on_host, o.tensor_chunks, o.deferred_microbatches,
      s.kernels.fused_attention, s.kernels.fused_elementwise);
}

}  // namespace orrery::interpreter
