#include "scenarios/rank_order.h"

#include <algorithm>

#include "base/check.h"

namespace orrery::scenarios {
namespace {

struct Dimension {
  std::int64_t size;
  std::int64_t* stride;
};

Dimension dimension(Parallel& p, const std::string& word) {
  if (word == "tp") return {p.tp, &p.tp_stride};
  if (word == "cp") return {p.cp, &p.cp_stride};
  if (word == "dp") return {p.dp, &p.dp_stride};
  CHECK(word == "pp", word);
  return {p.pp, &p.pp_stride};
}

}  // namespace

const std::vector<std::string>& default_rank_order() {
  static const std::vector<std::string> order = {"tp", "cp", "dp", "pp"};
  return order;
}

void place_ranks(Parallel& p, const std::vector<std::string>& order) {
  std::int64_t stride = 1;
  for (const std::string& word : order) {
    const Dimension d = dimension(p, word);
    *d.stride = stride;
    stride *= d.size;
  }
  p.edp = p.tp * p.cp * p.dp / (p.etp * p.ep);
  p.etp_stride = std::min({p.tp_stride, p.cp_stride, p.dp_stride});
  p.ep_stride = p.etp_stride * p.etp;
  p.edp_stride = p.ep_stride * p.ep;
}

bool adjacent(const Parallel& parallel, const std::vector<std::string>& order,
              const std::vector<std::string>& dimensions) {
  Parallel p = parallel;
  std::size_t left = 0;
  const auto asked = [&](const std::string& word) {
    return std::find(dimensions.begin(), dimensions.end(), word) != dimensions.end();
  };
  for (const std::string& word : order)
    if (asked(word) && dimension(p, word).size > 1) ++left;
  const std::size_t all = left;
  for (const std::string& word : order) {
    if (dimension(p, word).size == 1) continue;
    if (asked(word)) --left;
    else if (left > 0 && left < all) return false;
  }
  return true;
}

}  // namespace orrery::scenarios
