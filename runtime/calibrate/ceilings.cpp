#include "runtime/calibrate/ceilings.h"

#include <algorithm>
#include <barrier>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "base/quantile.h"
#include "kernels/cpu/linear/gemm.h"
#include "kernels/float_types.h"
#include "runtime/calibrate/together.h"
#include "runtime/executor/executor.h"

namespace orrery::runtime {
namespace {

constexpr std::int64_t kSide = 512, kLeastRepetitions = 3;
constexpr std::size_t kCopyBytes = std::size_t{48} << 20;  // beyond the caches

double seconds_since(std::int64_t begin) { return static_cast<double>(now_ns() - begin) * 1e-9; }

// The shortest of the times that fit into `seconds`.
template <typename F>
double best_of(double seconds, const std::atomic<bool>& stop, F&& f) {
  double best = 1e30;
  const std::int64_t begin = now_ns();
  for (std::int64_t i = 0; i < kLeastRepetitions || (seconds_since(begin) < seconds && !stop.load()); ++i) {
    const std::int64_t start = now_ns();
    f();
    best = std::min(best, seconds_since(start));
  }
  return best;
}

template <typename T>
double product_rate(double seconds, const std::atomic<bool>& stop) {
  const std::vector<T> x(kSide * kSide, static_cast<T>(0.5F)), w(kSide * kSide, static_cast<T>(0.25F));
  std::vector<T> y(kSide * kSide, static_cast<T>(0.0F));
  const auto matrix = [](auto* data) {
    return kernels::Matrix<std::remove_pointer_t<decltype(data)>>{data, kSide, kSide, kSide};
  };
  const double best = best_of(seconds, stop, [&] {
    kernels::gemm_tn<T>(matrix(x.data()), matrix(w.data()), {}, {matrix(y.data()), false});
  });
  return 2.0 * kSide * kSide * kSide / best;
}

// Median over the ranks' threads of bytes read and written each second.
double copy_rate(std::int64_t ranks, double seconds, const std::atomic<bool>& stop) {
  std::vector<float> rates;
  std::mutex mutex;
  std::barrier<> ready(static_cast<std::ptrdiff_t>(ranks));
  std::vector<std::unique_ptr<std::byte[]>> buffers;
  for (std::int64_t b = 0; b < 2 * ranks; ++b) buffers.push_back(std::make_unique<std::byte[]>(kCopyBytes));
  run_together(
      static_cast<std::size_t>(ranks),
      [&](std::size_t r) {
        std::vector<float> times;
        ready.arrive_and_wait();
        const std::int64_t begin = now_ns();
        for (std::int64_t i = 0; i < kLeastRepetitions || (seconds_since(begin) < seconds && !stop.load());
             ++i) {
          const std::int64_t start = now_ns();
          std::memcpy(buffers[2 * r].get(), buffers[2 * r + 1].get(), kCopyBytes);
          times.push_back(static_cast<float>(seconds_since(start)));
        }
        const std::lock_guard lock(mutex);
        rates.push_back(static_cast<float>(2.0 * static_cast<double>(kCopyBytes) / median(times)));
      },
      [&] { ready.arrive_and_drop(); });
  return median(rates);
}

}  // namespace

Ceilings measure_ceilings(std::int64_t ranks, double seconds, const std::atomic<bool>& stop) {
  Ceilings c;
  const double each = seconds / 5.0;
  c.fp32_flops = product_rate<float>(each, stop);
  c.bf16_flops = product_rate<kernels::bf16>(each, stop);
  c.fp16_flops = product_rate<kernels::fp16>(each, stop);
  c.copy_alone = copy_rate(1, each, stop);
  c.copy_together = ranks > 1 ? copy_rate(ranks, each, stop) : c.copy_alone;
  return c;
}

}  // namespace orrery::runtime
