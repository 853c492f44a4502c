// The suites over MPI: every process runs every test, in the same order; only rank 0 reports, the others what fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "runtime/comm/mpi_world.h"
#include "tests/runtime/comm/ranks.h"

namespace orrery::runtime::test {
namespace {

MpiWorld* the_world = nullptr;

}  // namespace

std::vector<int> rank_counts() {
  std::vector<int> counts;
  for (const int n : {1, 2, 3, 4, 8})
    if (n <= the_world->size()) counts.push_back(n);
  return counts;
}

void on_ranks(int n, const std::function<void(World&)>& body) {
  if (the_world->rank() >= n) return;
  try {
    body(*the_world);
  } catch (const std::exception& error) {
    ADD_FAILURE() << "rank " << the_world->rank() << ": " << error.what();
    std::fprintf(stderr, "rank %d: %s\n", the_world->rank(), error.what());
    the_world->abort(1);  // the others would wait for it
  }
}

}  // namespace orrery::runtime::test

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  const auto world = orrery::runtime::make_mpi_world(argc, argv);
  orrery::runtime::test::the_world = world.get();
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (world->rank() != 0) {
    delete listeners.Release(listeners.default_result_printer());
  }
  return RUN_ALL_TESTS();
}
