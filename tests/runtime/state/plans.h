// Plans of small models whose training state lies as differently as it can, and plain memory for one rank of them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/architecture.h"
#include "runtime/state/layout.h"
#include "runtime/state/state_memory.h"
#include "scenarios/scenario.h"
#include "schedule/ir.h"

namespace orrery::runtime {

struct Plan {
  std::string name;
  std::function<void(scenarios::Scenario&)> set;
};

// Four layers each: tied and learned positions; untied and rotary; untied with a bias on the head.
std::vector<models::Architecture> state_models();
// Those plans that are legal for the model (a tied embedding on two stages excludes ZeRO-2 and 3). All with Adam.
std::vector<Plan> state_plans(const models::Architecture& a);
std::size_t most_state_plans();  // of the model that has most
schedule::Schedule compile_plan(const models::Architecture& a, const Plan& plan);
schedule::Schedule compile_plan(const models::Architecture& a, const std::string& name);

// Every persistent buffer of a rank, filled with rubbish.
class PlainMemory final : public StateMemory {
 public:
  PlainMemory(const schedule::Schedule& schedule, std::int64_t rank, bool in_double = false);
  std::byte* address(schedule::BufferRef ref) override;
  Element element(BufferId buffer) const override;
  double value(const StateRun& run, std::int64_t i) const;  // of the run's i-th element
  const std::map<std::pair<std::size_t, std::uint32_t>, std::vector<std::byte>>& all() const { return instances_; }

 private:
  const schedule::Program& program_;
  bool in_double_;
  std::map<std::pair<std::size_t, std::uint32_t>, std::vector<std::byte>> instances_;
};

// All ranks of a job.
struct Job {
  explicit Job(schedule::Schedule compiled, bool in_double = false);
  Job(const Job&) = delete;  // memories refer to the schedule
  Job& operator=(const Job&) = delete;
  schedule::Schedule schedule;
  std::vector<StateLayout> layouts;
  std::vector<PlainMemory> memories;
};

// A stand-in for what training made of a tensor: a different number for every state and element, the same on every
// rank and in every plan. Weights are rounded master weights.
double trained_value(const std::string& tensor, StateKind kind, std::int64_t row, std::int64_t column);
void put_trained_state(Job& job);

// Rounded to an element type, as memory holds it.
double rounded(double value, Element element);

}  // namespace orrery::runtime
