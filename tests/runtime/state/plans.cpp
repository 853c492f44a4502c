#include "tests/runtime/state/plans.h"

#include <algorithm>
#include <stdexcept>

#include "base/random.h"
#include "runtime/state/stored_elements.h"
#include "schedule/compile.h"
#include "tests/interpreter/plan_run.h"
#include "tests/interpreter/tiny_models.h"

namespace orrery::runtime {
namespace {

using scenarios::Scenario;

void tp(Scenario& s, std::int64_t n) { s.parallel.tp = n; }
void dp(Scenario& s, std::int64_t n, int zero = 0) {
  s.parallel.dp = n;
  s.parallel.zero = zero;
  s.training.global_batch = 2 * n;
  s.training.micro_batch = 1;
}
void pp(Scenario& s, std::int64_t n) {
  s.parallel.pp = n;
  s.training.micro_batch = 1;
}
void full_precision(Scenario& s) {
  s.training.precision = hardware::Precision::fp32;
  s.recipe.weight_bytes = 4;
  s.recipe.master_weights = false;
}
void three(Scenario& s, int zero) {
  tp(s, 2);
  pp(s, 2);
  dp(s, 2, zero);
}

const std::vector<Plan> kPlans = {
    {"one rank", [](Scenario&) {}},
    {"fp32", full_precision},
    {"bf16 without master weights", [](Scenario& s) { s.recipe.master_weights = false; }},
    {"fp16, 16-bit gradients",
     [](Scenario& s) {
       s.training.precision = hardware::Precision::fp16;
       s.recipe.gradient_bytes = 2;
     }},
    {"offload", [](Scenario& s) { s.offload.optimizer = scenarios::OffloadTarget::cpu; }},
    {"offload, ZeRO-1, no master weights",
     [](Scenario& s) {
       dp(s, 2, 1);
       s.offload.optimizer = scenarios::OffloadTarget::cpu;
       s.recipe.master_weights = false;
     }},
    {"padded vocabulary", [](Scenario& s) { s.training.vocab_divisible_by = 20; }},
    {"TP2, padded vocabulary",
     [](Scenario& s) {
       tp(s, 2);
       s.training.vocab_divisible_by = 10;
     }},
    {"TP2 DP3 ZeRO-1, padded vocabulary, fp32",
     [](Scenario& s) {
       tp(s, 2);
       dp(s, 3, 1);
       full_precision(s);
       s.training.vocab_divisible_by = 18;
     }},
    {"TP2", [](Scenario& s) { tp(s, 2); }},
    {"TP2 with SP",
     [](Scenario& s) {
       tp(s, 2);
       s.parallel.sequence_parallel = true;
     }},
    {"PP2", [](Scenario& s) { pp(s, 2); }},
    {"PP4", [](Scenario& s) { pp(s, 4); }},
    {"PP2 VPP2",
     [](Scenario& s) {
       pp(s, 2);
       s.parallel.vpp = 2;
     }},
    {"PP2 uneven",
     [](Scenario& s) {
       pp(s, 2);
       s.parallel.layers_of_stage = {3, 1};
     }},
    {"PP3, ends alone",
     [](Scenario& s) {
       pp(s, 3);
       s.parallel.layers_of_stage = {0, 4, 0};
     }},
    {"PP2 ZB-V",
     [](Scenario& s) {
       pp(s, 2);
       s.parallel.vpp = 2;
       s.parallel.schedule = scenarios::PipelineSchedule::zero_bubble_v;
       s.overlap.pipeline = true;
     }},
    {"TP2 PP2 DualPipe, every stage twice",
     [](Scenario& s) {
       tp(s, 2);
       pp(s, 2);
       s.parallel.schedule = scenarios::PipelineSchedule::dual_pipe;
       s.overlap.pipeline = true;
     }},
    {"DP2", [](Scenario& s) { dp(s, 2); }},
    {"DP2 ZeRO-1", [](Scenario& s) { dp(s, 2, 1); }},
    {"DP3 ZeRO-1, overlapped gather, no master weights",
     [](Scenario& s) {
       dp(s, 3, 1);
       s.overlap.parameter_gather = true;
       s.recipe.master_weights = false;
     }},
    {"DP3 ZeRO-2", [](Scenario& s) { dp(s, 3, 2); }},
    {"DP3 ZeRO-2 without master weights",
     [](Scenario& s) {
       dp(s, 3, 2);
       s.recipe.master_weights = false;
     }},
    {"DP2 ZeRO-3", [](Scenario& s) { dp(s, 2, 3); }},
    {"DP5 ZeRO-3 without master weights",
     [](Scenario& s) {
       dp(s, 5, 3);
       s.recipe.master_weights = false;
     }},
    {"TP2 DP3 ZeRO-3",
     [](Scenario& s) {
       tp(s, 2);
       dp(s, 3, 3);
     }},
    {"DP4 ZeRO-1 in groups of two",
     [](Scenario& s) {
       dp(s, 4, 1);
       s.sharding.group = 2;
     }},
    {"DP4 ZeRO-3 in groups of two, fp32 shards of bf16 weights",
     [](Scenario& s) {
       dp(s, 4, 3);
       s.sharding.group = 2;
       s.recipe.weight_bytes = s.recipe.gradient_bytes = s.recipe.reduce_bytes = 4;
       s.recipe.gathered_bytes = 2;
       s.recipe.master_weights = false;
     }},
    {"DP4 ZeRO-3 with secondary shards of two",
     [](Scenario& s) {
       dp(s, 4, 3);
       s.sharding.secondary = 2;
     }},
    {"TP2 PP2 DP2", [](Scenario& s) { three(s, 0); }},
    {"TP2 PP2 DP2 ZeRO-1", [](Scenario& s) { three(s, 1); }},
    {"TP2 PP2 DP2 ZeRO-3", [](Scenario& s) { three(s, 3); }},
    {"DP2 compressed",
     [](Scenario& s) {
       dp(s, 2);
       s.compression.top_k = 0.25;
     }},
    {"PP2 DP2 ZeRO-1 compressed",
     [](Scenario& s) {
       pp(s, 2);
       dp(s, 2, 1);
       s.compression.top_k = 0.25;
     }},
    {"CP2 DP2 ZeRO-1",
     [](Scenario& s) {
       dp(s, 2, 1);
       s.parallel.cp = 2;
     }},
    {"CP2 TP2 ZeRO-3",
     [](Scenario& s) {
       tp(s, 2);
       s.parallel.cp = 2;
       s.parallel.zero = 3;
     }},
    {"DP2 ZeRO-2 compressed",
     [](Scenario& s) {
       dp(s, 2, 2);
       s.compression.top_k = 0.25;
     }},
};

Scenario scenario_of(const models::Architecture& a, const Plan& plan) {
  Scenario s = interpreter::plain_scenario(a);
  plan.set(s);
  interpreter::resolve(s);
  return s;
}

}  // namespace

std::vector<models::Architecture> state_models() {
  std::vector<models::Architecture> models{interpreter::tiny_gpt(), interpreter::tiny_llama(),
                                           interpreter::tiny_neox()};
  for (models::Architecture& a : models) a.layers = 4;
  return models;
}

std::vector<Plan> state_plans(const models::Architecture& a) {
  std::vector<Plan> plans = kPlans;
  std::erase_if(plans, [&](const Plan& plan) {
    const Scenario s = scenario_of(a, plan);
    return a.tied_embeddings && s.parallel.pp > 1 && s.parallel.zero >= 2;
  });
  return plans;
}

std::size_t most_state_plans() {
  std::size_t most = 0;
  for (const models::Architecture& a : state_models()) most = std::max(most, state_plans(a).size());
  return most;
}

schedule::Schedule compile_plan(const models::Architecture& a, const Plan& plan) {
  return schedule::compile(scenario_of(a, plan));
}

schedule::Schedule compile_plan(const models::Architecture& a, const std::string& name) {
  for (const Plan& plan : kPlans)
    if (plan.name == name) return compile_plan(a, plan);
  throw std::invalid_argument("no plan " + name);
}

PlainMemory::PlainMemory(const schedule::Schedule& schedule, std::int64_t rank, bool in_double)
    : program_(schedule.program_of(rank)), in_double_(in_double) {
  for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
    const schedule::Buffer& buffer = program_.buffers[b];
    const std::int64_t bytes = in_double ? 8 * buffer.elements : buffer.bytes().count();
    if (!buffer.persistent) continue;
    for (std::uint32_t i = 0; i < buffer.instances; ++i)
      instances_[{b, i}].assign(static_cast<std::size_t>(bytes), std::byte{0x5A});
  }
}

std::byte* PlainMemory::address(schedule::BufferRef ref) {
  return instances_.at({ref.buffer.index(), ref.instance}).data();
}

Element PlainMemory::element(BufferId buffer) const {
  if (in_double_) return Element::fp64;
  switch (program_.buffers[buffer.index()].type) {
    case schedule::DataType::fp32:
      return Element::fp32;
    case schedule::DataType::fp16:
      return Element::fp16;
    case schedule::DataType::bf16:
      return Element::bf16;
    case schedule::DataType::int32:
      return Element::int32;
    case schedule::DataType::byte:
    case schedule::DataType::fp8:
    case schedule::DataType::fp4:
      return Element::byte;
  }
  return Element::byte;
}

double PlainMemory::value(const StateRun& run, std::int64_t i) const {
  const std::byte* const data = instances_.at({run.buffer.buffer.index(), run.buffer.instance}).data();
  return visit_element(element(run.buffer.buffer), [&](auto type) {
    return load_element<decltype(type)>(data + (run.offset + i) * static_cast<std::int64_t>(sizeof(type)));
  });
}

Job::Job(schedule::Schedule compiled, bool in_double) : schedule(std::move(compiled)) {
  for (std::int64_t rank = 0; rank < schedule.world; ++rank) {
    layouts.push_back(state_layout(schedule, rank));
    memories.emplace_back(schedule, rank, in_double);
  }
}

double trained_value(const std::string& tensor, StateKind kind, std::int64_t row, std::int64_t column) {
  std::uint64_t key =
      kind == StateKind::master ? static_cast<std::uint64_t>(StateKind::weight) : static_cast<std::uint64_t>(kind);
  for (const char c : tensor) key = mix_bits(key + static_cast<unsigned char>(c) + 1);
  const RandomStream stream({.seed = key, .step = static_cast<std::uint64_t>(row)});
  return stream.uniform(static_cast<std::uint64_t>(column)) - 0.5;
}

double rounded(double value, Element element) {
  return visit_element(element, [&](auto type) {
    std::byte bytes[sizeof(type)];
    store_element<decltype(type)>(bytes, value);
    return load_element<decltype(type)>(bytes);
  });
}

void put_trained_state(Job& job) {
  for (std::size_t rank = 0; rank < job.layouts.size(); ++rank) {
    PlainMemory& memory = job.memories[rank];
    const StateLayout& layout = job.layouts[rank];
    for (const StateBuffer& buffer : layout.buffers) {  // padding is 0
      const std::int64_t bytes = buffer.elements * stored_bytes(memory.element(buffer.ref.buffer));
      std::fill_n(memory.address(buffer.ref), bytes, std::byte{0});
    }
    const bool masters = std::any_of(layout.runs.begin(), layout.runs.end(),
                                     [](const StateRun& run) { return run.kind == StateKind::master; });
    for (const StateRun& run : layout.runs) {
      if (run.kind == StateKind::gradient) continue;
      const Element element = memory.element(run.buffer.buffer);
      const Element first =
          run.kind == StateKind::weight && masters && element != Element::fp64 ? Element::fp32 : element;
      for (std::int64_t i = 0; i < run.count(); ++i) {
        const double value = trained_value(layout.tensors[run.tensor].name, run.kind, run.row + i / run.columns,
                                           run.column + i % run.columns);
        visit_element(element, [&](auto type) {
          store_element<decltype(type)>(
              memory.address(run.buffer) + (run.offset + i) * static_cast<std::int64_t>(sizeof(type)),
              rounded(value, first));
        });
      }
    }
  }
}

}  // namespace orrery::runtime
