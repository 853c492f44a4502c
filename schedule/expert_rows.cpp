#include "schedule/expert_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/random.h"

namespace orrery::schedule {
namespace {

using scenarios::Scenario;

std::int64_t local_tokens(const Scenario& s) {
  const std::int64_t tokens = s.training.micro_batch * s.training.sequence_length / s.parallel.cp;
  return s.parallel.sequence_parallel ? tokens / s.parallel.tp : tokens;
}

// Shares that sum to 1.
std::vector<double> popularity(const Scenario& s) {
  const auto experts = static_cast<std::size_t>(s.model.experts.count);
  std::vector<double> share(experts, 1.0);
  if (s.experts.balance == scenarios::Balance::zipf) {
    for (std::size_t e = 0; e < experts; ++e)
      share[e] = std::pow(static_cast<double>(e + 1), -s.experts.zipf_exponent);
    const RandomStream places({.seed = static_cast<std::uint64_t>(s.training.seed), .purpose = DrawPurpose::routing});
    for (std::size_t e = experts - 1; e > 0; --e)  // Fisher, Yates
      std::swap(share[e], share[static_cast<std::size_t>(places.below(e, e + 1))]);
  } else if (s.experts.balance == scenarios::Balance::counts) {
    for (std::size_t e = 0; e < experts; ++e) share[e] = s.experts.counts[e];
  }
  const double sum = std::accumulate(share.begin(), share.end(), 0.0);
  for (double& each : share) each /= sum;
  return share;
}

// Rows of each expert of `rows` in all, none above `most`.
std::vector<double> limited(const std::vector<double>& share, double rows, double most) {
  std::vector<double> result(share.size(), 0.0);
  std::vector<bool> full(share.size(), false);
  double left = rows, open = 1.0;
  for (bool again = true; again && open > 0.0;) {
    again = false;
    for (std::size_t e = 0; e < share.size(); ++e) {
      if (full[e] || left * share[e] / open <= most) continue;
      full[e] = again = true;
      result[e] = most;
      left -= most;
      open -= share[e];
    }
  }
  for (std::size_t e = 0; e < share.size(); ++e)
    if (!full[e]) result[e] = std::max(0.0, left * share[e] / open);
  return result;
}

}  // namespace

std::int64_t sent_rows(const Scenario& s) { return local_tokens(s) * s.model.experts.top_k; }

std::int64_t capacity_rows(const Scenario& s) {
  if (s.experts.capacity_factor <= 0.0) return 0;
  const double rows =
      s.experts.capacity_factor * static_cast<double>(sent_rows(s)) / static_cast<double>(s.model.experts.count);
  return std::min(local_tokens(s), std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(rows))));
}

std::int64_t reserved_rows(const Scenario& s) {
  const std::int64_t local = s.model.experts.count / s.parallel.ep, tokens = local_tokens(s);
  const std::int64_t capacity = capacity_rows(s);
  const std::int64_t of_sender = std::min(tokens * std::min(local, s.model.experts.top_k),
                                          capacity > 0 ? local * capacity : sent_rows(s));
  return s.parallel.ep * of_sender;
}

std::vector<std::int64_t> drawn_rows(const Scenario& s) {
  const std::int64_t capacity = capacity_rows(s), ep = s.parallel.ep;
  const std::vector<double> wanted =
      limited(popularity(s), static_cast<double>(sent_rows(s)), static_cast<double>(local_tokens(s)));
  const auto local = static_cast<std::size_t>(s.model.experts.count / ep);
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < ep; ++i) {
    double sum = 0.0;
    for (std::size_t e = 0; e < local; ++e) {
      const double of_expert = wanted[static_cast<std::size_t>(i) * local + e];
      sum += capacity > 0 ? std::min(of_expert, static_cast<double>(capacity)) : of_expert;
    }
    const auto received = static_cast<std::int64_t>(std::ceil(sum * static_cast<double>(ep) * (1.0 - 1e-12)));
    rows.push_back(std::clamp<std::int64_t>(received, 1, reserved_rows(s)));
  }
  if (std::equal(rows.begin() + 1, rows.end(), rows.begin())) rows.resize(1);
  return rows;
}

Schedule with_rows(const Schedule& schedule, std::int64_t rows) {
  Schedule drawn = schedule;
  const std::int64_t reserved = schedule.expert_rows.reserved;
  if (reserved == 0) return drawn;
  CHECK(rows >= 1 && rows <= reserved, rows, reserved);
  drawn.expert_rows = {rows, {rows}};
  const auto scaled = [&](std::int64_t n) {
    CHECK(n % reserved == 0, n, reserved);
    return n / reserved * rows;
  };
  for (Program& p : drawn.programs) {
    for (const Block& block : p.blocks)
      for (std::uint32_t i = block.first_op; i < block.first_op + block.op_count; ++i) {
        Op& op = p.ops[i];
        for (std::uint32_t v = op.first_view; v < op.first_view + op.view_count; ++v) {
          View& view = p.views[v];
          if (view.role != Role::release && p.buffer(block, view).extent != Extent::fixed) view.rows = scaled(view.rows);
        }
        if (op.kind != OpKind::grouped_gemm) continue;
        KernelShape shape = schedule.shapes[op.shape];
        std::int64_t& of_rows = shape.layout == Layout::nt ? shape.k : shape.m;
        of_rows = scaled(of_rows);
        const auto known = std::find(drawn.shapes.begin(), drawn.shapes.end(), shape);
        op.shape = static_cast<std::uint32_t>(known - drawn.shapes.begin());
        if (known == drawn.shapes.end()) drawn.shapes.push_back(shape);
      }
    for (Buffer& buffer : p.buffers)
      if (buffer.extent != Extent::fixed) buffer.elements = scaled(buffer.elements);
  }
  return drawn;
}

Schedule with_most_rows(const Schedule& schedule) {
  const std::vector<std::int64_t>& drawn = schedule.expert_rows.drawn;
  return with_rows(schedule, drawn.empty() ? 0 : *std::max_element(drawn.begin(), drawn.end()));
}

Schedule with_mean_rows(const Schedule& schedule) {
  const std::vector<std::int64_t>& drawn = schedule.expert_rows.drawn;
  if (drawn.empty()) return schedule;
  const auto count = static_cast<std::int64_t>(drawn.size());
  return with_rows(schedule, (std::accumulate(drawn.begin(), drawn.end(), std::int64_t{0}) + count / 2) / count);
}

std::int64_t drawn_rows_of(const Schedule& schedule, std::int64_t rank) {
  const std::vector<std::int64_t>& drawn = schedule.expert_rows.drawn;
  const std::uint8_t group = find_group(schedule, "expert");
  if (drawn.size() < 2 || group == kNoGroup) return drawn.empty() ? 0 : drawn.front();
  return drawn[static_cast<std::size_t>(schedule.groups[group].index(rank))];
}

}  // namespace orrery::schedule
