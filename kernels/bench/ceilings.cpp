#include "kernels/bench/ceilings.h"

#include <algorithm>

#include "kernels/bench/buffer.h"
#include "kernels/bench/openblas.h"
#include "kernels/bench/thread_clock.h"

namespace orrery::kernels::bench {
namespace {

constexpr int kRounds = 9;
constexpr double kRoundSeconds = 0.02;

// Seconds of one call, over enough calls to be timed.
double time_calls(const std::function<void()>& kernel, int calls) {
  const double start = thread_seconds();
  for (int i = 0; i < calls; ++i) kernel();
  return (thread_seconds() - start) / calls;
}

int calls_a_round(const std::function<void()>& kernel) {
  kernel();  // grows scratch, touches memory
  return std::max(1, static_cast<int>(kRoundSeconds / std::max(time_calls(kernel, 1), 1e-7)));
}

class Stream {
 public:
  // Bytes a second, the better of copy and triad.
  double measure_once() {
    const double *a = a_.data(), *b = b_.data();
    double* c = c_.data();
    const auto size = static_cast<double>(kCount * sizeof(double));
    const double start = thread_seconds();
    for (std::size_t i = 0; i < kCount; ++i) c[i] = a[i];
    benchmark::ClobberMemory();
    const double between = thread_seconds();
    for (std::size_t i = 0; i < kCount; ++i) c[i] = a[i] + scalar_ * b[i];
    benchmark::ClobberMemory();
    return std::max(2.0 * size / (between - start), 3.0 * size / (thread_seconds() - between));
  }

 private:
  static constexpr std::size_t kCount = (std::size_t{256} << 20) / sizeof(double) / 3;
  Buffer<double> a_{kCount, 0, 1.0}, b_{kCount, 1, 2.0}, c_{kCount, 2};
  double scalar_ = 3.0;
};

void record(double seconds, double& best) { best = std::min(best, seconds); }

}  // namespace

void against_blas(benchmark::State& state, double flops, const std::function<void()>& kernel) {
  static OpenBlas avx2("Haswell"), native("");
  double seconds = 1e9, avx2_rate = 0.0, native_rate = 0.0;
  const int calls = calls_a_round(kernel);
  for (auto _ : state) {
    for (int round = 0; round < kRounds; ++round) {
      avx2_rate = std::max(avx2_rate, avx2.measure_once());
      record(time_calls(kernel, calls), seconds);
      native_rate = std::max(native_rate, native.measure_once());
      record(time_calls(kernel, calls), seconds);
    }
    state.SetIterationTime(seconds);
  }
  state.counters["GFLOP/s"] = 1e-9 * flops / seconds;
  if (!avx2.found()) return state.SetLabel("no OpenBLAS here: no shares");
  state.counters["share_of_blas"] = flops / seconds / avx2_rate;
  state.counters["share_of_native"] = flops / seconds / native_rate;
  state.SetLabel("OpenBLAS: " + avx2.core_name() + ", native " + native.core_name());
}

void against_stream(benchmark::State& state, double bytes, const std::function<void()>& kernel) {
  static Stream stream;
  double seconds = 1e9, rate = 0.0;
  const int calls = calls_a_round(kernel);
  for (auto _ : state) {
    for (int round = 0; round < kRounds; ++round) {
      rate = std::max(rate, stream.measure_once());
      record(time_calls(kernel, calls), seconds);
    }
    state.SetIterationTime(seconds);
  }
  state.counters["GB/s"] = 1e-9 * bytes / seconds;
  state.counters["share_of_stream"] = bytes / seconds / rate;
}

}  // namespace orrery::kernels::bench
