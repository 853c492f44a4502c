#include "runtime/state/initialise.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/random.h"
#include "runtime/state/stored_elements.h"

namespace orrery::runtime {
namespace {

std::uint64_t bits(std::int64_t n) { return static_cast<std::uint64_t>(n); }

std::uint64_t hash_of(std::string_view name) {
  std::uint64_t state = name.size();
  for (const char c : name) state = mix_bits((state ^ static_cast<unsigned char>(c)) + 0x9E3779B97F4A7C15ULL);
  return state;
}

double deviation(const schedule::Schedule& schedule, models::Initial initial) {
  if (initial != models::Initial::normal_scaled) return kInitialDeviation;
  return kInitialDeviation / std::sqrt(2.0 * static_cast<double>(std::max<std::int64_t>(1, schedule.model.layers)));
}

// Calls put(element of the run, value).
template <typename Put>
void draw(const schedule::Schedule& schedule, const StateTensor& tensor, const StateRun& run, StateMemory& memory, Put&& put) {
  const double scale = deviation(schedule, tensor.initial);
  const std::uint64_t name = hash_of(tensor.name);
  for (std::int64_t r = 0; r < run.rows; ++r) {
    const RandomStream stream({.seed = bits(schedule.hyper.seed),
                               .purpose = DrawPurpose::weight_init,
                               .step = 0,
                               .layer = name,
                               .microbatch = bits(run.row + r)});
    for (std::int64_t c = 0; c < run.columns; ++c)
      put(r * run.columns + c, scale * stream.normal(bits(run.column + c)));
    memory.moved();
  }
}

}  // namespace

void clear_state(const StateLayout& layout, StateMemory& memory) {
  for (const StateBuffer& buffer : layout.buffers) {
    const std::int64_t bytes = buffer.elements * stored_bytes(memory.element(buffer.ref.buffer));
    std::memset(memory.address(buffer.ref), 0, static_cast<std::size_t>(bytes));
    memory.moved();
  }
}

void initialise_run(const schedule::Schedule& schedule, const StateTensor& tensor, const StateRun& run,
                    StateMemory& memory) {
  const bool weight = run.kind == StateKind::weight || run.kind == StateKind::master;
  const models::Initial initial = weight ? tensor.initial : models::Initial::zeros;
  visit_element(memory.element(run.buffer.buffer), [&](auto type) {
    using T = decltype(type);
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
    std::byte* const first = memory.address(run.buffer) + run.offset * kSize;
    const auto put = [&](std::int64_t i, double value) { store_element<T>(first + i * kSize, value); };
    if (initial == models::Initial::normal || initial == models::Initial::normal_scaled) {
      draw(schedule, tensor, run, memory, put);
      return;
    }
    const double value = initial == models::Initial::ones ? 1.0 : 0.0;
    for (std::int64_t i = 0; i < run.count(); ++i) put(i, value);
  });
}

void initialise(const schedule::Schedule& schedule, const StateLayout& layout, StateMemory& memory) {
  clear_state(layout, memory);
  for (const StateRun& run : layout.runs)
    if (run.kind == StateKind::weight || run.kind == StateKind::master)
      initialise_run(schedule, layout.tensors[run.tensor], run, memory);
}

}  // namespace orrery::runtime
