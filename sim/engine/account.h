// Where the time of one actor goes. Counters say what is running or waiting; their non-zero bits, in the
// order of Share, are a mask whose lowest bit is the share that an instant goes to (DESIGN.md section 6). The
// time since the last change of the mask is added when the mask changes: O(1) a change, and the shares always
// sum to the time passed.
//
// Bubble: a message to or from a rank of another program is waited for. A tensor-, context- or expert-parallel meeting that waits
// for a member holds the rank's computation whatever else is outstanding, so it counts as wait, not as
// bubble.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "sim/engine/simulation.h"

namespace orrery::sim::engine {

inline constexpr unsigned kBubble = static_cast<unsigned>(Share::bubble);
inline constexpr unsigned kHeldUp = kShares - 1;  // counter of such meetings that wait

// Whether a meeting of such a group that waits for a member holds the rank's computation.
inline bool holds_computation(schedule::GroupKind kind) {
  using schedule::GroupKind;
  return kind == GroupKind::tensor || kind == GroupKind::context || kind == GroupKind::expert;
}

class Account {
 public:
  void add(std::int64_t now, unsigned what) {
    if (counts_[what]++ == 0) flip(now, what);
  }
  void remove(std::int64_t now, unsigned what) {
    if (--counts_[what] == 0) flip(now, what);
  }

  // Forgets the past: what is added up from now on.
  void restart(std::int64_t now) {
    shares_ = {};
    communication_ = {};
    any_ = 0;
    since_ = now;
  }
  void close(std::int64_t now) { change(now, mask_); }

  const std::array<std::int64_t, kShares>& shares() const { return shares_; }
  const std::array<std::int64_t, schedule::kGroupKinds>& communication() const { return communication_; }
  std::int64_t communication_any() const { return any_; }

 private:
  void flip(std::int64_t now, unsigned what) {
    if (what < kBubble) {
      change(now, mask_ ^ (1U << what));
    } else {
      const bool bubble = counts_[kBubble] > 0 && counts_[kHeldUp] == 0;
      change(now, (mask_ & ~(1U << kBubble)) | (bubble ? 1U << kBubble : 0U));
    }
  }

  void change(std::int64_t now, std::uint32_t mask) {
    if (const std::int64_t passed = now - since_; passed > 0) {
      shares_[static_cast<std::size_t>(std::countr_zero(mask_ | kWait))] += passed;
      if (const std::uint32_t running = (mask_ >> 1) & kGroups; running != 0) {
        any_ += passed;
        for (unsigned g = 0; g < schedule::kGroupKinds; ++g) communication_[g] += (running >> g & 1U) != 0 ? passed : 0;
      }
      since_ = now;
    }
    mask_ = mask;
  }

  std::int64_t since_ = 0;
  static constexpr std::uint32_t kGroups = (1U << schedule::kGroupKinds) - 1;
  static constexpr std::uint32_t kWait = 1U << static_cast<unsigned>(Share::wait);  // in every mask
  std::uint32_t mask_ = kWait;
  std::array<std::uint16_t, kShares> counts_{};
  std::array<std::int64_t, kShares> shares_{};
  std::array<std::int64_t, schedule::kGroupKinds> communication_{};
  std::int64_t any_ = 0;
};

}  // namespace orrery::sim::engine
