// Runs a test's body on every rank: threads of this process (thread_ranks.cpp) or, under mpirun, the first processes
// (mpi_ranks.cpp). The suites of this folder are compiled with either.
#pragma once

#include <functional>
#include <vector>

#include "runtime/comm/communicator.h"

namespace orrery::runtime::test {

// The numbers of ranks that can be had here.
std::vector<int> rank_counts();

// Calls body(world) on ranks 0 .. n - 1 at the same time; the world may be larger. Returns when all have ended.
void on_ranks(int n, const std::function<void(World&)>& body);

// 0 .. n - 1
std::vector<int> first_ranks(int n);

// Drives the transfer as an executor does: looks, and sleeps until the bell rings.
void finish(World& world, Transfer& transfer);

// prepare, start and finish of one use.
void perform(World& world, Communicator& communicator, std::vector<CommCall> calls,
             const std::vector<std::uint64_t>& sequences);

// All members of the communicator wait for each other.
void meet(World& world, Communicator& communicator, std::uint64_t sequence);

}  // namespace orrery::runtime::test
