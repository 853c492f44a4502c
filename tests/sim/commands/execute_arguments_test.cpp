// What `execute` keeps for itself of its command line, and what mpirun is called with.
#include "sim/commands/execute_arguments.h"

#include <gtest/gtest.h>

#include "base/diagnostics.h"

namespace orrery::sim {
namespace {

using Words = std::vector<std::string>;

TEST(ExecuteArguments, ScenariosComeFirstAndTheRestIsPassedOn) {
  const ExecuteArguments a =
      parse_execute({"a.json", "b.json", "--steps", "5", "--ranks-as", "mpi", "--data", "c.json"});
  EXPECT_EQ(a.scenarios, (Words{"a.json", "b.json"}));
  EXPECT_EQ(a.passed, (Words{"--steps", "5", "--data", "c.json"}));
  EXPECT_EQ(a.ranks_as, RanksAs::mpi);
  EXPECT_FALSE(a.help);
}

TEST(ExecuteArguments, OursMayStandAnywhereBeforeTheDashes) {
  const ExecuteArguments a =
      parse_execute({"--ranks-as=threads", "a.json", "--json", "--", "--ranks-as", "mpi", "-h"});
  EXPECT_EQ(a.ranks_as, RanksAs::threads);
  EXPECT_EQ(a.passed, (Words{"--json", "--ranks-as", "mpi", "-h"}));
  EXPECT_FALSE(a.help);
  EXPECT_TRUE(parse_execute({"a.json", "--steps", "5", "-h"}).help);
  EXPECT_TRUE(parse_execute({"--help"}).help);
}

TEST(ExecuteArguments, FieldsThatAreSetAreReadAndPassedOn) {
  const ExecuteArguments a = parse_execute({"a.json", "--set", "parallel.tp=2", "--set=training.seed=3"});
  EXPECT_EQ(a.sets, (Words{"parallel.tp=2", "training.seed=3"}));
  EXPECT_EQ(a.passed, (Words{"--set", "parallel.tp=2", "--set", "training.seed=3"}));
}

TEST(ExecuteArguments, WrongOnesAreRefused) {
  EXPECT_THROW(parse_execute({}), InputError);
  EXPECT_THROW(parse_execute({"--steps", "5", "a.json"}), InputError);
  EXPECT_THROW(parse_execute({"a.json", "--ranks-as"}), InputError);
  EXPECT_THROW(parse_execute({"a.json", "--ranks-as", "x"}), InputError);
}

TEST(MpirunArguments, RootAndMoreRanksThanCores) {
  EXPECT_EQ(mpirun_arguments({.ranks = 2, .cores = 8}, "rt", {"a", "b"}), (Words{"-n", "2", "--bind-to", "none", "rt", "a", "b"}));
  EXPECT_EQ(mpirun_arguments({.ranks = 5, .cores = 8, .is_root = true}, "rt", {}),
            (Words{"-n", "5", "--bind-to", "none", "--allow-run-as-root", "--oversubscribe", "rt"}));
}

}  // namespace
}  // namespace orrery::sim
