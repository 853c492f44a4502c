// Cost: one entry per op of a step.
#include "sim/engine/unroll.h"

#include <algorithm>
#include <array>
#include <limits>

namespace orrery::sim::engine {
namespace {

using schedule::Call;
using schedule::kStreams;
using schedule::Program;
using schedule::Repeat;
using schedule::Schedule;

// The calls of one step in host issue order, cut repeats shortened.
class Unroller {
 public:
  Unroller(const Program& program, const std::vector<bool>& cut, std::int64_t skip)
      : program_(program), cut_(cut), skip_(skip) {}

  std::vector<IssuedOp> issued() {
    std::size_t next = 0;
    for (std::size_t r = 0; r < program_.repeats.size(); ++r) {
      const Repeat& repeat = program_.repeats[r];
      while (next < repeat.first_call) append(next++, 0, 0, behind_);
      const std::int64_t count = repeat.count - (cut_[r] ? skip_ : 0);
      const std::uint32_t loop = cut_[r] && skip_ > 0 ? static_cast<std::uint32_t>(r) + 1 : 0;
      for (std::int64_t i = 0; i < count; ++i)
        for (std::size_t c = 0; c < repeat.call_count; ++c) append(repeat.first_call + c, i, loop, behind_);
      next += repeat.call_count;
      if (loop > 0) note_cut(repeat, count);
    }
    while (next < program_.calls.size()) append(next++, 0, 0, behind_);
    return std::move(issued_);
  }

 private:
  void append(std::size_t index, std::int64_t iteration, std::uint32_t loop, std::int64_t behind) {
    const Call& call = program_.calls[index];
    std::int64_t microbatch = call.microbatch;
    if (behind > 0 && microbatch >= behind) microbatch -= skipped_;
    microbatch += iteration * call.microbatch_step;
    const schedule::Block& block = program_.block(call);
    for (std::uint32_t i = 0; i < block.op_count; ++i) {
      const std::uint32_t op = block.first_op + i;
      const auto stream = static_cast<std::size_t>(program_.ops[op].stream);
      issued_.push_back({.op = op,
                         .call = static_cast<std::uint32_t>(index),
                         .microbatch = static_cast<std::uint32_t>(microbatch),
                         .position = length_[stream]++,
                         .loop = loop});
    }
  }

  // Calls behind the repeat that name a microbatch beyond what is left of it name the one `skipped_` below.
  void note_cut(const Repeat& repeat, std::int64_t count) {
    std::int64_t first_beyond = std::numeric_limits<std::int64_t>::max();
    for (std::size_t c = 0; c < repeat.call_count; ++c) {
      const Call& call = program_.calls[repeat.first_call + c];
      first_beyond = std::min(first_beyond, call.microbatch + count * call.microbatch_step);
      skipped_ = skip_ * call.microbatch_step;
    }
    behind_ = behind_ > 0 ? std::min(behind_, first_beyond) : first_beyond;
  }

  const Program& program_;
  const std::vector<bool>& cut_;
  std::int64_t skip_ = 0, skipped_ = 0;
  std::int64_t behind_ = 0;  // the lowest microbatch beyond a cut repeat; 0: none was cut yet
  std::array<std::uint32_t, kStreams> length_{};
  std::vector<IssuedOp> issued_;
};

// Every call goes on by the same number of microbatches an iteration: `step`.
bool advances(const Program& program, const Repeat& repeat, std::uint32_t& step) {
  for (std::size_t c = 0; c < repeat.call_count; ++c) {
    const std::uint32_t of_call = program.calls[repeat.first_call + c].microbatch_step;
    if (of_call == 0 || (c > 0 && of_call != step)) return false;
    step = of_call;
  }
  return repeat.call_count > 0;
}

}  // namespace

Cut find_cut(const Schedule& schedule) {
  Cut cut;
  std::int64_t longest = 0;
  std::uint32_t step = 0, chosen_step = 0;
  for (const Program& program : schedule.programs)
    for (const Repeat& repeat : program.repeats)
      if (advances(program, repeat, step)) longest = std::max(longest, std::int64_t{repeat.count});
  // The main loops are all about as long as the longest; shorter repeats are warm-ups and cool-downs.
  std::int64_t shortest = longest;
  bool every_program = !schedule.programs.empty(), equal_steps = true;
  for (const Program& program : schedule.programs) {
    std::vector<bool> chosen;
    for (const Repeat& repeat : program.repeats) {
      chosen.push_back(advances(program, repeat, step) && 2 * std::int64_t{repeat.count} >= longest);
      if (!chosen.back()) continue;
      shortest = std::min(shortest, std::int64_t{repeat.count});
      equal_steps &= chosen_step == 0 || chosen_step == step;
      chosen_step = step;
    }
    every_program &= std::find(chosen.begin(), chosen.end(), true) != chosen.end();
    cut.repeats.push_back(std::move(chosen));
  }
  if (!every_program || !equal_steps || longest == 0) return cut;
  cut.iterations = shortest;
  cut.microbatches_per_iteration = chosen_step;
  for (const Program& program : schedule.programs)
    if (std::int64_t{program.slots} < shortest) cut.slots = std::max(cut.slots, std::int64_t{program.slots});
  return cut;
}

std::vector<IssuedOp> unroll(const Program& program, const std::vector<bool>& cut_repeats,
                             std::int64_t skip) {
  return Unroller(program, cut_repeats, skip).issued();
}

}  // namespace orrery::sim::engine
