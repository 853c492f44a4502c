// Collects what verify finds. A mistake in a block shows at every call of it: the same mistake of the same op
// is reported once, and of each kind of mistake only the first few, with the number of the others.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "schedule/verify.h"

namespace orrery::schedule {

class Findings {
 public:
  // `kind` groups findings for counting; (kind, program, place) names one mistake. Text is only built when
  // kept:
  //     if (findings.is_new("race", program, view)) findings.add(...)
  bool is_new(std::string_view kind, std::size_t program, std::size_t place) {
    if (!seen_.emplace(kind, program, place).second) return false;
    return ++times_[std::string(kind)] <= kShown;
  }
  void add(std::string message, std::vector<std::string> lines = {}) {
    list_.push_back({std::move(message), std::move(lines)});
  }
  void add_unchecked(std::string message, std::vector<std::string> lines = {}) {
    list_.push_back({std::move(message), std::move(lines), true});
  }
  bool empty() const { return list_.empty(); }
  std::vector<Finding> take() {
    for (const auto& [kind, times] : times_)
      if (times > kShown)
        list_.push_back({std::to_string(times - kShown) + " more of the kind: " + kind, {}});
    return std::move(list_);
  }

 private:
  static constexpr std::size_t kShown = 8;
  std::set<std::tuple<std::string, std::size_t, std::size_t>> seen_;
  std::map<std::string, std::size_t> times_;
  std::vector<Finding> list_;
};

}  // namespace orrery::schedule
