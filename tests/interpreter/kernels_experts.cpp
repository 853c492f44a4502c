#include "tests/interpreter/kernels_experts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "tests/interpreter/kernels_linear.h"

namespace orrery::interpreter {
namespace {

std::int64_t whole(double value) { return static_cast<std::int64_t>(value); }

std::vector<double> scores_of(const schedule::KernelShape& shape, ConstView x, std::int64_t t) {
  std::vector<double> s;
  double sum = 0.0;
  for (std::int64_t e = 0; e < x.columns; ++e) {
    s.push_back(shape.sigmoid ? 1.0 / (1.0 + std::exp(-x.at(t, e))) : std::exp(x.at(t, e)));
    sum += s.back();
  }
  if (!shape.sigmoid)
    for (double& each : s) each /= sum;
  return s;
}

// Indices of the n largest, the lower one first where two are equal.
std::vector<std::int64_t> largest(const std::vector<double>& values, std::int64_t n) {
  std::vector<std::int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return values[static_cast<std::size_t>(a)] > values[static_cast<std::size_t>(b)];
  });
  order.resize(static_cast<std::size_t>(n));
  return order;
}

// A group is as good as its best expert, or (sigmoid) its best two together: DeepSeek-V2 and V3.
std::vector<std::int64_t> chosen(const schedule::KernelShape& shape, std::vector<double> scores) {
  const auto size = static_cast<std::size_t>(shape.experts / shape.groups);
  if (shape.top_groups < shape.groups) {
    std::vector<double> of_group;
    for (std::size_t g = 0; g < static_cast<std::size_t>(shape.groups); ++g) {
      std::vector<double> members(scores.begin() + static_cast<std::ptrdiff_t>(g * size),
                                  scores.begin() + static_cast<std::ptrdiff_t>((g + 1) * size));
      std::sort(members.rbegin(), members.rend());
      of_group.push_back(members[0] + (shape.sigmoid && size > 1 ? members[1] : 0.0));
    }
    std::vector<bool> kept(of_group.size(), false);
    for (const std::int64_t g : largest(of_group, shape.top_groups)) kept[static_cast<std::size_t>(g)] = true;
    for (std::size_t e = 0; e < scores.size(); ++e)
      if (!kept[e / size]) scores[e] = -1e300;
  }
  return largest(scores, shape.k);
}

// The row of each choice among those that are sent, expert by expert, within one by token; -1: none.
std::vector<std::int64_t> places(ConstView routes) {
  std::vector<std::int64_t> place(static_cast<std::size_t>(routes.count()), -1);
  std::int64_t most = -1, next = 0;
  for (std::int64_t i = 0; i < routes.count(); ++i) most = std::max(most, whole(routes[i]));
  for (std::int64_t e = 0; e <= most; ++e)
    for (std::int64_t i = 0; i < routes.count(); ++i)
      if (whole(routes[i]) == e) place[static_cast<std::size_t>(i)] = next++;
  return place;
}

}  // namespace

std::int64_t CountTable::rows(std::int64_t sender, std::int64_t expert) const {
  return whole(counts.at(sender, index * local() + expert));
}

std::int64_t CountTable::rows_between(std::int64_t tensor, std::int64_t from, std::int64_t to) const {
  std::int64_t sum = 0;
  for (std::int64_t e = to * local(); e < (to + 1) * local(); ++e) sum += whole(counts.at(tensor * ep + from, e));
  return sum;
}

std::int64_t CountTable::received(std::int64_t tensor) const {
  std::int64_t sum = 0;
  for (std::int64_t from = 0; from < ep; ++from) sum += rows_between(tensor, from, index);
  return sum;
}

std::int64_t CountTable::gathered() const {
  std::int64_t sum = 0;
  for (std::int64_t tensor = 0; tensor < etp; ++tensor) sum += received(tensor);
  return sum;
}

std::int64_t CountTable::of_expert(std::int64_t expert) const {
  std::int64_t sum = 0;
  for (std::int64_t s = 0; s < senders(); ++s) sum += rows(s, expert);
  return sum;
}

void route_forward(const schedule::KernelShape& shape, ConstView x, OptionalInput bias, Output w, Output routes,
                   Output counts) {
  std::vector<std::int64_t> taken(static_cast<std::size_t>(shape.experts), 0);
  for (std::int64_t t = 0; t < x.rows; ++t) {
    const std::vector<double> s = scores_of(shape, x, t);
    std::vector<double> biased = s;
    for (std::size_t e = 0; bias && e < s.size(); ++e) biased[e] += (*bias)[static_cast<std::int64_t>(e)];
    const std::vector<std::int64_t> experts = chosen(shape, biased);
    double sum = 0.0;
    for (const std::int64_t e : experts) sum += s[static_cast<std::size_t>(e)];
    for (std::int64_t j = 0; j < shape.k; ++j) {
      const std::int64_t e = experts[static_cast<std::size_t>(j)];
      w.put(t, j, shape.scale * s[static_cast<std::size_t>(e)] / (shape.normalized ? sum : 1.0));
      std::int64_t& n = taken[static_cast<std::size_t>(e)];
      const bool has_room = shape.m == 0 || n < shape.m;
      routes.put(t, j, static_cast<double>(has_room ? e : -1 - e));
      if (has_room) ++n;
    }
  }
  for (std::size_t e = 0; e < taken.size(); ++e)
    counts.put(static_cast<std::int64_t>(e), static_cast<double>(taken[e]));
}

void route_backward(const schedule::KernelShape& shape, ConstView dw, ConstView x, ConstView routes, Output dx) {
  for (std::int64_t t = 0; t < x.rows; ++t) {
    const std::vector<double> s = scores_of(shape, x, t);
    std::vector<double> ds(s.size(), 0.0);
    double sum = 0.0, inner = 0.0;
    const auto expert = [&](std::int64_t j) {
      const std::int64_t e = whole(routes.at(t, j));
      return static_cast<std::size_t>(e < 0 ? -1 - e : e);
    };
    for (std::int64_t j = 0; j < shape.k; ++j) sum += s[expert(j)];
    for (std::int64_t j = 0; j < shape.k; ++j) inner += dw.at(t, j) * s[expert(j)] / sum;
    for (std::int64_t j = 0; j < shape.k; ++j)
      ds[expert(j)] = shape.scale * (shape.normalized ? (dw.at(t, j) - inner) / sum : dw.at(t, j));
    double mean = 0.0;
    for (std::size_t e = 0; e < s.size(); ++e) mean += ds[e] * s[e];
    for (std::size_t e = 0; e < s.size(); ++e)
      dx.put(t, static_cast<std::int64_t>(e), shape.sigmoid ? ds[e] * s[e] * (1.0 - s[e]) : s[e] * (ds[e] - mean));
  }
}

void permute(ConstView x, ConstView routes, Output y) {
  const std::vector<std::int64_t> place = places(routes);
  for (std::int64_t i = 0; i < routes.count(); ++i)
    for (std::int64_t c = 0; place[static_cast<std::size_t>(i)] >= 0 && c < x.columns; ++c)
      y.put(place[static_cast<std::size_t>(i)], c, x.at(i / routes.columns, c));
}

void combine(ConstView x, ConstView routes, OptionalInput w, Output y) {
  const std::vector<std::int64_t> place = places(routes);
  for (std::int64_t t = 0; t < routes.rows; ++t)
    for (std::int64_t c = 0; c < x.columns; ++c) {
      double sum = 0.0;
      for (std::int64_t j = 0; j < routes.columns; ++j) {
        const std::int64_t row = place[static_cast<std::size_t>(t * routes.columns + j)];
        if (row >= 0) sum += (w ? w->at(t, j) : 1.0) * x.at(row, c);
      }
      y.put(t, c, sum);
    }
}

void combine_backward(ConstView dy, ConstView x, ConstView routes, ConstView w, Output dx, Output dw) {
  const std::vector<std::int64_t> place = places(routes);
  for (std::int64_t t = 0; t < routes.rows; ++t)
    for (std::int64_t j = 0; j < routes.columns; ++j) {
      const std::int64_t row = place[static_cast<std::size_t>(t * routes.columns + j)];
      double dot = 0.0;
      for (std::int64_t c = 0; row >= 0 && c < dy.columns; ++c) {
        dot += dy.at(t, c) * x.at(row, c);
        dx.put(row, c, w.at(t, j) * dy.at(t, c));
      }
      dw.put(t, j, dot);
    }
}

void expert_sort(const CountTable& table, ConstView x, Output y, bool back) {
  std::vector<std::int64_t> first_of_expert(static_cast<std::size_t>(table.local()), 0);
  for (std::int64_t e = 1; e < table.local(); ++e)
    first_of_expert[static_cast<std::size_t>(e)] =
        first_of_expert[static_cast<std::size_t>(e - 1)] + table.of_expert(e - 1);
  std::int64_t by_sender = 0;
  for (std::int64_t s = 0; s < table.senders(); ++s)
    for (std::int64_t e = 0; e < table.local(); ++e)
      for (std::int64_t r = 0; r < table.rows(s, e); ++r, ++by_sender) {
        const std::int64_t by_expert = first_of_expert[static_cast<std::size_t>(e)]++;
        for (std::int64_t c = 0; c < x.columns; ++c)
          y.put(back ? by_sender : by_expert, c, x.at(back ? by_expert : by_sender, c));
      }
}

void grouped_gemm(const CountTable& table, schedule::Layout layout, ConstView a, ConstView b, Output result) {
  const auto part = [](auto view, std::int64_t first, std::int64_t rows) {
    view.data += first * view.stride;
    view.rows = rows;
    return view;
  };
  std::int64_t first = 0;
  for (std::int64_t e = 0; e < table.local(); ++e) {
    const std::int64_t rows = table.of_expert(e);
    if (layout == schedule::Layout::nt) {
      const std::int64_t height = result.view.rows / table.local();
      gemm_weight_gradient(part(a, first, rows), part(b, first, rows),
                           {part(result.view, e * height, height), result.accumulates});
    } else {
      const std::int64_t height = b.rows / table.local();
      const Output y{part(result.view, first, rows), result.accumulates};
      if (layout == schedule::Layout::tn)
        gemm_forward(part(a, first, rows), part(b, e * height, height), std::nullopt, y);
      else
        gemm_input_gradient(part(a, first, rows), part(b, e * height, height), y);
    }
    first += rows;
  }
}

}  // namespace orrery::interpreter
