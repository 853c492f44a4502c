// Where training state lies. System: compiled plans whose state is cut in every way there is. Expected: each element
// of each tensor has one owner, runs are what the units' slices and shards say element by element, and nothing else
// is kept.
#include "runtime/state/layout.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/runtime/state/plans.h"

namespace orrery::runtime {
namespace {

using schedule::Schedule;
using schedule::Slice;
using schedule::Unit;

std::map<std::string, models::Parameter> parameters_of(const Schedule& s, std::int64_t vocab_rows) {
  std::map<std::string, models::Parameter> all;
  const auto add = [&](const std::string& unit, const std::vector<models::Parameter>& list) {
    for (const models::Parameter& p : list) all[unit + "." + p.name] = p;
  };
  add("embedding", models::embedding_parameters(s.model, vocab_rows));
  for (std::int64_t l = 0; l < s.model.layers; ++l) add(fmt::format("layer{}", l), models::layer_parameters(s.model));
  add("head", models::head_parameters(s.model, vocab_rows));
  return all;
}

// The rows of the vocabulary as trained, from any rank that holds a part of the table.
std::int64_t vocab_rows(const Job& job) {
  for (const StateTensor& t : job.layouts[0].tensors)
    if (t.vocabulary) return t.rows;
  return 0;
}

class LayoutOf : public testing::TestWithParam<std::size_t> {  // of a model
 protected:
  template <typename Check>
  void for_each_plan(Check&& check) {
    const models::Architecture a = state_models()[GetParam()];
    for (const Plan& plan : state_plans(a)) {
      SCOPED_TRACE(a.name + ", " + plan.name);
      check(Job(compile_plan(a, plan)));
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Model, LayoutOf, testing::Range<std::size_t>(0, 3));

// How many owners or savers each element of each tensor has, over all ranks, by state.
using Counts = std::map<StateKind, std::map<std::string, std::vector<int>>>;
Counts count(const Job& job, bool StateRun::*flag) {
  Counts counts;
  for (const StateLayout& layout : job.layouts)
    for (const StateRun& run : layout.runs) {
      if (!(run.*flag)) continue;
      const StateTensor& t = layout.tensors[run.tensor];
      std::vector<int>& elements = counts[run.kind][t.name];
      elements.resize(static_cast<std::size_t>(t.rows * t.columns));
      for (std::int64_t i = 0; i < run.count(); ++i)
        ++elements.at(
            static_cast<std::size_t>((run.row + i / run.columns) * t.columns + run.column + i % run.columns));
    }
  return counts;
}

bool all_once(const std::map<std::string, std::vector<int>>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](const auto& tensor) {
    return std::all_of(tensor.second.begin(), tensor.second.end(), [](int n) { return n == 1; });
  });
}

TEST_P(LayoutOf, EveryElementHasOneOwner) {
  for_each_plan([](const Job& job) {
    const std::size_t tensors = parameters_of(job.schedule, vocab_rows(job)).size();
    Counts owners = count(job, &StateRun::owned);
    const bool masters = owners.count(StateKind::master) != 0;
    EXPECT_EQ(owners.size() - owners.count(StateKind::residual), masters ? 5U : 4U);
    for (const auto& [kind, of_kind] : owners) {
      EXPECT_TRUE(all_once(of_kind)) << name(kind);
      EXPECT_TRUE(kind == StateKind::residual || of_kind.size() == tensors) << name(kind);
    }
    Counts saved = count(job, &StateRun::saved);
    EXPECT_EQ(saved.count(StateKind::gradient), 0U);
    EXPECT_NE(saved.count(StateKind::weight), saved.count(StateKind::master)) << "parameters are saved once";
    for (const StateKind kind : {masters ? StateKind::master : StateKind::weight, StateKind::moment1,
                                 StateKind::moment2, StateKind::residual})
      EXPECT_EQ(saved[kind], owners[kind]) << name(kind);
  });
}

TEST_P(LayoutOf, TensorsAreTheModels) {
  for_each_plan([](const Job& job) {
    auto missing = parameters_of(job.schedule, vocab_rows(job));
    const auto all = missing;
    for (const StateLayout& layout : job.layouts)
      for (const StateTensor& t : layout.tensors) {
        if (t.name.find(".residual.") != std::string::npos) continue;
        missing.erase(t.name);
        ASSERT_EQ(all.count(t.name), 1U) << t.name;
        EXPECT_EQ(all.at(t.name).rows, t.rows) << t.name;
        EXPECT_EQ(all.at(t.name).columns, t.columns) << t.name;
        EXPECT_EQ(all.at(t.name).initial, t.initial) << t.name;
        const bool by_token = t.name == "embedding.token" || t.name == "head.output" || t.name == "head.output_bias";
        EXPECT_EQ(t.vocabulary, by_token) << t.name;
      }
    EXPECT_TRUE(missing.empty()) << missing.begin()->first;
  });
}

// --- against the definition, element by element
// ---------------------------------------------------------------------

struct Global {
  std::size_t tensor = 0;  // number of its name; 0: none
  std::int64_t row = 0, column = 0;
  bool operator==(const Global&) const = default;
};
using Where = std::map<std::size_t, std::vector<Global>>;  // by buffer and instance, then element

std::size_t address_of(const schedule::BufferRef& ref) { return ref.buffer.index() * 1000 + ref.instance; }

// The names of one job's tensors as numbers.
class Names {
 public:
  std::size_t number(const std::string& name) { return numbers_.emplace(name, numbers_.size() + 1).first->second; }

 private:
  std::map<std::string, std::size_t> numbers_;
};

void put(Where& where, std::size_t address, std::int64_t element, Global global) {
  std::vector<Global>& elements = where[address];
  const auto at = static_cast<std::size_t>(element);
  if (elements.size() <= at) elements.resize(at + 1);
  EXPECT_EQ(elements[at].tensor, 0U) << "two runs lie on element " << element;
  elements[at] = global;
}

void place(Where& where, const Job& job, std::int64_t rank, const Unit& unit, schedule::BufferRef ref,
           std::int64_t shards, Names& names) {
  const schedule::Buffer& buffer = job.schedule.program_of(rank).buffers[ref.buffer.index()];
  const std::int64_t tensor = job.schedule.groups[schedule::kTensor].index(rank);
  const std::int64_t first =
      shards == 1 ? 0 : job.schedule.groups[unit.shard_group].index(rank) * unit.elements / shards;
  const std::int64_t last = first + unit.elements / shards;
  const std::string prefix = unit.kind == schedule::UnitKind::layer       ? fmt::format("layer{}.", unit.layer)
                             : unit.kind == schedule::UnitKind::embedding ? "embedding."
                                                                          : "head.";
  for (const Slice& s : unit.slices) {
    const std::int64_t row = s.parameter.sharding == models::Sharding::rows ? tensor * s.rows : 0;
    const std::int64_t column = s.parameter.sharding == models::Sharding::columns ? tensor * s.columns : 0;
    const std::size_t name = names.number(prefix + s.parameter.name);
    for (std::int64_t i = 0; i < s.rows * s.columns; ++i) {
      const std::int64_t at = s.offset + i;
      if (at < first || at >= last) continue;
      put(where, address_of(ref), buffer.elements < unit.elements ? at - first : at,
          {name, row + i / s.columns, column + i % s.columns});
    }
  }
}

TEST_P(LayoutOf, RunsAreWhatUnitsSay) {
  for_each_plan([](const Job& job) {
    Names names;
    for (std::int64_t rank = 0; rank < job.schedule.world; ++rank) {
      std::map<StateKind, Where> expected, found;
      for (const Unit& unit : job.schedule.program_of(rank).units) {
        place(expected[StateKind::weight], job, rank, unit, unit.weights, unit.weight_shards, names);
        if (!(unit.master == unit.weights))
          place(expected[StateKind::master], job, rank, unit, unit.master, unit.optimizer_shards, names);
        place(expected[StateKind::gradient], job, rank, unit, unit.gradients, unit.gradient_shards, names);
      }
      const StateLayout& layout = job.layouts[static_cast<std::size_t>(rank)];
      for (const StateRun& run : layout.runs) {
        const std::size_t name = names.number(layout.tensors[run.tensor].name);
        for (std::int64_t i = 0; i < run.count(); ++i)
          put(found[run.kind], address_of(run.buffer), run.offset + i,
              {name, run.row + i / run.columns, run.column + i % run.columns});
      }
      for (const auto& [kind, where] : expected)
        EXPECT_TRUE(found[kind] == where) << name(kind) << " of rank " << rank;
    }
  });
}

// Moments are found through the optimizer's ops; the compiler names their buffers.
TEST_P(LayoutOf, MomentsLieInTheirBuffers) {
  for_each_plan([](const Job& job) {
    for (std::int64_t rank = 0; rank < job.schedule.world; ++rank) {
      const schedule::Program& program = job.schedule.program_of(rank);
      std::map<StateKind, std::set<std::size_t>> buffers;
      for (const StateRun& run : job.layouts[static_cast<std::size_t>(rank)].runs) {
        const std::string& buffer = program.buffers[run.buffer.buffer.index()].name;
        buffers[run.kind].insert(address_of(run.buffer));
        const bool named =
            run.kind != StateKind::weight && run.kind != StateKind::gradient && run.kind != StateKind::master;
        EXPECT_TRUE(!named || buffer.ends_with(std::string(name(run.kind)))) << buffer;
      }
      std::int64_t moments = 0;
      for (const schedule::Buffer& b : program.buffers) moments += b.name.ends_with(".moment1") ? b.instances : 0;
      EXPECT_EQ(static_cast<std::int64_t>(buffers[StateKind::moment1].size()), moments);
      EXPECT_EQ(static_cast<std::int64_t>(buffers[StateKind::moment2].size()), moments);
    }
  });
}

TEST_P(LayoutOf, BuffersAreAllThatIsKept) {
  for_each_plan([](const Job& job) {
    for (std::int64_t rank = 0; rank < job.schedule.world; ++rank) {
      const schedule::Program& program = job.schedule.program_of(rank);
      std::map<std::size_t, std::int64_t> expected, found;
      for (std::size_t b = 0; b < program.buffers.size(); ++b) {
        const schedule::Buffer& buffer = program.buffers[b];
        // A second copy of the weights (hpZ) is made anew in every forward.
        const bool made_again = buffer.name.ends_with(".secondary_weights");
        const bool state = !made_again && (buffer.kind == schedule::BufferKind::weight ||
                                           buffer.kind == schedule::BufferKind::optimizer);
        for (std::uint32_t i = 0; state && buffer.persistent && i < buffer.instances; ++i)
          expected[address_of({BufferId(b), i})] = buffer.elements;
      }
      for (const StateBuffer& buffer : job.layouts[static_cast<std::size_t>(rank)].buffers)
        EXPECT_TRUE(found.emplace(address_of(buffer.ref), buffer.elements).second) << "listed twice";
      EXPECT_EQ(found, expected);
    }
  });
}

TEST(Layout, KnowsTheOptimizer) {
  const models::Architecture a = state_models()[0];
  const auto word = [&](scenarios::Optimizer optimizer) {
    return optimizer_word(state_layout(
        compile_plan(a, Plan{"", [&](scenarios::Scenario& s) { s.training.optimizer = optimizer; }}), 0));
  };
  EXPECT_EQ(word(scenarios::Optimizer::adam), "adam");
  EXPECT_EQ(word(scenarios::Optimizer::sgd), "sgd");
  EXPECT_EQ(word(scenarios::Optimizer::sgd_momentum), "sgd with momentum");
}

// The first stage's copy of a tied embedding is the one that counts; both are held.
TEST(Layout, OneCopyOfATiedEmbeddingOwns) {
  const Job job(compile_plan(state_models()[0], "PP2"));
  const auto holds = [&](std::size_t rank, bool owned) {
    return std::any_of(job.layouts[rank].runs.begin(), job.layouts[rank].runs.end(), [&](const StateRun& run) {
      return job.layouts[rank].tensors[run.tensor].name == "embedding.token" && run.owned == owned;
    });
  };
  EXPECT_TRUE(holds(0, true));
  EXPECT_FALSE(holds(0, false));
  EXPECT_TRUE(holds(1, false));
  EXPECT_FALSE(holds(1, true));
}

// ZeRO-1 whose gather overlaps the next forward: between steps only the updated shard of the weights is of this step.
TEST(Layout, ThoseWhoUpdateOwn) {
  const Job job(compile_plan(state_models()[0], "DP3 ZeRO-1, overlapped gather, no master weights"));
  for (std::size_t rank = 0; rank < 3; ++rank) {
    std::int64_t held = 0, owned = 0;
    for (const StateRun& run : job.layouts[rank].runs) {
      if (run.kind != StateKind::weight) continue;
      held += run.count();
      owned += run.owned ? run.count() : 0;
    }
    EXPECT_NEAR(static_cast<double>(owned), static_cast<double>(held) / 3.0, 10.0) << "of padding at most";
  }
}

}  // namespace
}  // namespace orrery::runtime
