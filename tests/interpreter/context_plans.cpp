// Plans with context parallelism: each way of it alone, and with everything else.
#include "tests/interpreter/named_plans.h"

namespace orrery::interpreter {
namespace {

using scenarios::ContextMethod;
using scenarios::Scenario;

void cp(Scenario& s, std::int64_t ways, ContextMethod method) {
  s.parallel.cp = ways;
  s.parallel.context_method = method;
  if (method == ContextMethod::ulysses || method == ContextMethod::hybrid) s.model.kv_heads = 4;
  if (method == ContextMethod::hybrid) s.parallel.ulysses = 2;
}

NamedPlan alone(const char* name, std::int64_t ways, ContextMethod method) {
  return {name, [=](Scenario& s) { cp(s, ways, method); }};
}

std::vector<NamedPlan> alone_plans() {
  return {alone("CP2 ring", 2, ContextMethod::ring),
          alone("CP4 ring", 4, ContextMethod::ring),
          alone("CP2 all-gather", 2, ContextMethod::all_gather),
          alone("CP4 all-gather", 4, ContextMethod::all_gather),
          alone("CP2 ulysses", 2, ContextMethod::ulysses),
          alone("CP4 ulysses", 4, ContextMethod::ulysses),
          alone("CP4 hybrid", 4, ContextMethod::hybrid)};
}

std::vector<NamedPlan> combined_with_context() {
  return {
      {"CP2 ring x TP2 SP", [](Scenario& s) { sequence_parallel(s); cp(s, 2, ContextMethod::ring); }},
      {"CP2 all-gather x TP2", [](Scenario& s) { tensor_parallel(s); cp(s, 2, ContextMethod::all_gather); }},
      {"CP2 ulysses x TP2 SP, tensor traffic overlapped",
       [](Scenario& s) {
         sequence_parallel(s);
         cp(s, 2, ContextMethod::ulysses);
         s.overlap.tensor_backward = true;
       }},
      {"CP2 ring x PP2, overlapped, accumulation",
       [](Scenario& s) {
         cp(s, 2, ContextMethod::ring);
         s.parallel.pp = 2;
         s.training.micro_batch = 2;
         s.overlap.pipeline = s.overlap.gradient_reduce = true;
       }},
      {"CP4 hybrid x DP2, ZeRO-1, overlapped, clipping",
       [](Scenario& s) {
         zero_stage(s, 1);
         cp(s, 4, ContextMethod::hybrid);
         s.overlap.gradient_reduce = s.overlap.parameter_gather = true;
         s.training.clip_gradient_norm = 0.1;
       }},
      {"CP2 ring, ZeRO-2",  // sharded over the context alone
       [](Scenario& s) {
         cp(s, 2, ContextMethod::ring);
         s.parallel.zero = 2;
         s.training.micro_batch = 2;
       }},
      {"CP2 ulysses x DP2, ZeRO-3, clipping",
       [](Scenario& s) {
         zero_stage(s, 3);
         cp(s, 2, ContextMethod::ulysses);
         s.overlap.gradient_reduce = true;
         s.training.clip_gradient_norm = 0.1;
       }},
      {"CP2 ring, full recomputation",
       [](Scenario& s) {
         cp(s, 2, ContextMethod::ring);
         s.training.recompute = scenarios::Recompute::full;
         s.training.micro_batch = 4;
       }},
      {"CP2 ulysses, full recomputation",
       [](Scenario& s) {
         cp(s, 2, ContextMethod::ulysses);
         s.training.recompute = scenarios::Recompute::full;
       }},
      {"CP4 hybrid, selective recomputation",
       [](Scenario& s) {
         cp(s, 4, ContextMethod::hybrid);
         s.training.recompute = scenarios::Recompute::selective;
       }},
      {"CP2 ring, selective recomputation",
       [](Scenario& s) {
         cp(s, 2, ContextMethod::ring);
         s.training.recompute = scenarios::Recompute::selective;
       }},
      {"CP2 ring x TP2 SP x PP2 x DP2, ZeRO-1, all overlapped, clipping",
       [](Scenario& s) {
         three_dimensional(s);
         cp(s, 2, ContextMethod::ring);
         s.parallel.zero = 1;
         s.overlap.gradient_reduce = s.overlap.pipeline = s.overlap.tensor_backward = s.overlap.parameter_gather = true;
         s.training.clip_gradient_norm = 0.1;
       }},
  };
}

}  // namespace

const std::vector<NamedPlan>& context_plans() {
  static const std::vector<NamedPlan> kPlans = [] {
    std::vector<NamedPlan> all = alone_plans();
    for (NamedPlan& plan : combined_with_context()) all.push_back(std::move(plan));
    return all;
  }();
  return kPlans;
}

}  // namespace orrery::interpreter
