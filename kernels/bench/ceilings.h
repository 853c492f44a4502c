// Kernels held against what the machine can do on one thread: OpenBLAS's sgemm at 1024 x 1024 x 1024, and
// STREAM's copy and triad (McCalpin 1995) on arrays of 256 MiB together. Bytes are counted as STREAM counts
// them: what the kernel reads and writes, without the lines that the cache fetches in order to write them.
//
// Machines drift and are shared, so ceiling and kernel are measured in turns, in CPU time, and the best of
// each is taken. A benchmark calls one of the two functions once and is registered with ceiling_benchmark().
#pragma once

#include <benchmark/benchmark.h>

#include <functional>

namespace orrery::kernels::bench {

// Counters GFLOP/s; share_of_blas: of OpenBLAS with its AVX2 kernels, which is what our instruction set
// allows; share_of_native: of the kernels that OpenBLAS picks for this CPU. `flops` and `bytes` are of one
// call of the kernel.
void against_blas(benchmark::State& state, double flops, const std::function<void()>& kernel);

// Counters GB/s and share_of_stream: of the better of copy and triad.
void against_stream(benchmark::State& state, double bytes, const std::function<void()>& kernel);

// The times shown are of one call.
inline void ceiling_benchmark(benchmark::internal::Benchmark* b) {
  b->UseManualTime()->Iterations(1)->Unit(benchmark::kMicrosecond);
}

}  // namespace orrery::kernels::bench
