#include "tests/interpreter/tape.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace orrery::interpreter {
namespace {

using Var = Tape::Var;

Matrix product(const Matrix& a, const Matrix& b) {
  CHECK(a.columns == b.rows, a.columns, b.rows);
  Matrix c(a.rows, b.columns);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t k = 0; k < a.columns; ++k)
      for (std::int64_t j = 0; j < b.columns; ++j) c.at(i, j) += a.at(i, k) * b.at(k, j);
  return c;
}

Matrix transposed(const Matrix& a) {
  Matrix t(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < a.columns; ++j) t.at(j, i) = a.at(i, j);
  return t;
}

void add_to(Matrix& a, const Matrix& b) {
  CHECK(a.values.size() == b.values.size(), a.values.size(), b.values.size());
  for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] += b.values[i];
}

Matrix times(const Matrix& a, const Matrix& b) {
  CHECK(a.rows == b.rows && a.columns == b.columns, a.rows, b.rows);
  Matrix c = a;
  for (std::size_t i = 0; i < c.values.size(); ++i) c.values[i] *= b.values[i];
  return c;
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

struct Curve {
  double value, slope;
};

// gelu in its tanh form, written with the sigmoid: 0.5 (1 + tanh u) = sigmoid(2u).
Curve curve(models::ActivationKind kind, double x) {
  using models::ActivationKind;
  switch (kind) {
    case ActivationKind::gelu:
    case ActivationKind::geglu: {
      const double c = 2.0 * 0.7978845608028654;
      const double s = sigmoid(c * (x + 0.044715 * x * x * x));
      return {x * s, s + x * s * (1.0 - s) * c * (1.0 + 0.134145 * x * x)};
    }
    case ActivationKind::swiglu: {
      const double s = sigmoid(x);
      return {x * s, s + x * s * (1.0 - s)};
    }
    case ActivationKind::relu: return {std::max(x, 0.0), x > 0.0 ? 1.0 : 0.0};
    case ActivationKind::squared_relu: return {std::max(x, 0.0) * std::max(x, 0.0), 2.0 * std::max(x, 0.0)};
  }
  CHECK(false, static_cast<int>(kind));
}

}  // namespace

Var Tape::push(Matrix value, std::function<void(const Matrix&)> pull) {
  Matrix gradient(value.rows, value.columns);
  nodes_.push_back({std::move(value), std::move(gradient), std::move(pull)});
  return nodes_.size() - 1;
}

Var Tape::leaf(const Matrix& value) { return push(value, {}); }

Var Tape::multiply(Var a, Var b) {
  return push(product(value(a), value(b)), [this, a, b](const Matrix& g) {
    add_to(grad(a), product(g, transposed(value(b))));
    add_to(grad(b), product(transposed(value(a)), g));
  });
}

Var Tape::multiply_transposed(Var a, Var b) {
  return push(product(value(a), transposed(value(b))), [this, a, b](const Matrix& g) {
    add_to(grad(a), product(g, value(b)));
    add_to(grad(b), product(transposed(g), value(a)));
  });
}

Var Tape::add(Var a, Var b) {
  Matrix sum = value(a);
  add_to(sum, value(b));
  return push(std::move(sum), [this, a, b](const Matrix& g) {
    add_to(grad(a), g);
    add_to(grad(b), g);
  });
}

Var Tape::add_row(Var a, Var bias) {
  Matrix sum = value(a);
  CHECK(value(bias).rows == sum.columns && value(bias).columns == 1, value(bias).rows, sum.columns);
  for (std::int64_t r = 0; r < sum.rows; ++r)
    for (std::int64_t c = 0; c < sum.columns; ++c) sum.at(r, c) += value(bias).at(c, 0);
  return push(std::move(sum), [this, a, bias](const Matrix& g) {
    add_to(grad(a), g);
    for (std::int64_t r = 0; r < g.rows; ++r)
      for (std::int64_t c = 0; c < g.columns; ++c) grad(bias).at(c, 0) += g.at(r, c);
  });
}

Var Tape::add_constant(Var a, const Matrix& constant) {
  Matrix sum = value(a);
  add_to(sum, constant);
  return push(std::move(sum), [this, a](const Matrix& g) { add_to(grad(a), g); });
}

Var Tape::scale(Var a, double factor) {
  return mask(a, Matrix(value(a).rows, value(a).columns, factor));
}

Var Tape::hadamard(Var a, Var b) {
  return push(times(value(a), value(b)), [this, a, b](const Matrix& g) {
    add_to(grad(a), times(g, value(b)));
    add_to(grad(b), times(g, value(a)));
  });
}

Var Tape::mask(Var a, const Matrix& constant) {
  return push(times(value(a), constant), [this, a, constant](const Matrix& g) { add_to(grad(a), times(g, constant)); });
}

Var Tape::columns(Var a, std::int64_t first, std::int64_t count) {
  Matrix part(value(a).rows, count);
  for (std::int64_t r = 0; r < part.rows; ++r)
    for (std::int64_t c = 0; c < count; ++c) part.at(r, c) = value(a).at(r, first + c);
  return push(std::move(part), [this, a, first](const Matrix& g) {
    for (std::int64_t r = 0; r < g.rows; ++r)
      for (std::int64_t c = 0; c < g.columns; ++c) grad(a).at(r, first + c) += g.at(r, c);
  });
}

Var Tape::join_columns(const std::vector<Var>& parts) {
  std::int64_t total = 0;
  for (const Var p : parts) total += value(p).columns;
  Matrix all(value(parts.front()).rows, total);
  std::int64_t first = 0;
  for (const Var p : parts) {
    for (std::int64_t r = 0; r < all.rows; ++r)
      for (std::int64_t c = 0; c < value(p).columns; ++c) all.at(r, first + c) = value(p).at(r, c);
    first += value(p).columns;
  }
  return push(std::move(all), [this, parts](const Matrix& g) {
    std::int64_t from = 0;
    for (const Var p : parts) {
      for (std::int64_t r = 0; r < g.rows; ++r)
        for (std::int64_t c = 0; c < value(p).columns; ++c) grad(p).at(r, c) += g.at(r, from + c);
      from += value(p).columns;
    }
  });
}

Var Tape::pick_rows(Var table, const std::vector<std::int64_t>& rows) {
  Matrix picked(static_cast<std::int64_t>(rows.size()), value(table).columns);
  for (std::int64_t r = 0; r < picked.rows; ++r)
    for (std::int64_t c = 0; c < picked.columns; ++c)
      picked.at(r, c) = value(table).at(rows[static_cast<std::size_t>(r)], c);
  return push(std::move(picked), [this, table, rows](const Matrix& g) {
    for (std::int64_t r = 0; r < g.rows; ++r)
      for (std::int64_t c = 0; c < g.columns; ++c) grad(table).at(rows[static_cast<std::size_t>(r)], c) += g.at(r, c);
  });
}

// n = (a - mean) / root: da = (g - mean(g) - n mean(g n)) / root, without mean(g) where the rows are not centred.
Var Tape::normalise(Var a, bool centred, double epsilon) {
  Matrix n = value(a);
  std::vector<double> roots;
  const auto width = static_cast<double>(n.columns);
  for (std::int64_t r = 0; r < n.rows; ++r) {
    double mean = 0.0, square = 0.0;
    for (std::int64_t c = 0; centred && c < n.columns; ++c) mean += n.at(r, c) / width;
    for (std::int64_t c = 0; c < n.columns; ++c) square += (n.at(r, c) - mean) * (n.at(r, c) - mean) / width;
    roots.push_back(std::sqrt(square + epsilon));
    for (std::int64_t c = 0; c < n.columns; ++c) n.at(r, c) = (n.at(r, c) - mean) / roots.back();
  }
  return push(n, [this, a, n, roots, centred, width](const Matrix& g) {
    for (std::int64_t r = 0; r < g.rows; ++r) {
      double mean = 0.0, correlation = 0.0;
      for (std::int64_t c = 0; c < g.columns; ++c) {
        mean += centred ? g.at(r, c) / width : 0.0;
        correlation += g.at(r, c) * n.at(r, c) / width;
      }
      for (std::int64_t c = 0; c < g.columns; ++c)
        grad(a).at(r, c) += (g.at(r, c) - mean - n.at(r, c) * correlation) / roots[static_cast<std::size_t>(r)];
    }
  });
}

Var Tape::scale_columns(Var a, Var weight) {
  Matrix scaled = value(a);
  CHECK(value(weight).rows == scaled.columns, value(weight).rows, scaled.columns);
  for (std::int64_t r = 0; r < scaled.rows; ++r)
    for (std::int64_t c = 0; c < scaled.columns; ++c) scaled.at(r, c) *= value(weight).at(c, 0);
  return push(std::move(scaled), [this, a, weight](const Matrix& g) {
    for (std::int64_t r = 0; r < g.rows; ++r)
      for (std::int64_t c = 0; c < g.columns; ++c) {
        grad(a).at(r, c) += g.at(r, c) * value(weight).at(c, 0);
        grad(weight).at(c, 0) += g.at(r, c) * value(a).at(r, c);
      }
  });
}

Var Tape::sigmoid(Var a) {
  Matrix y = value(a), slope = value(a);
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    const double s = interpreter::sigmoid(y.values[i]);
    y.values[i] = s;
    slope.values[i] = s * (1.0 - s);
  }
  return push(std::move(y), [this, a, slope](const Matrix& g) { add_to(grad(a), times(g, slope)); });
}

Var Tape::share_of_row(Var a) {
  Matrix y = value(a);
  std::vector<double> sums;
  for (std::int64_t r = 0; r < y.rows; ++r) {
    double sum = 0.0;
    for (std::int64_t c = 0; c < y.columns; ++c) sum += y.at(r, c);
    for (std::int64_t c = 0; c < y.columns; ++c) y.at(r, c) /= sum;
    sums.push_back(sum);
  }
  return push(y, [this, a, y, sums](const Matrix& g) {
    for (std::int64_t r = 0; r < g.rows; ++r) {
      double inner = 0.0;
      for (std::int64_t c = 0; c < g.columns; ++c) inner += g.at(r, c) * y.at(r, c);
      for (std::int64_t c = 0; c < g.columns; ++c)
        grad(a).at(r, c) += (g.at(r, c) - inner) / sums[static_cast<std::size_t>(r)];
    }
  });
}

Var Tape::scale_rows(Var a, Var weight) {
  Matrix y = value(a);
  for (std::int64_t r = 0; r < y.rows; ++r)
    for (std::int64_t c = 0; c < y.columns; ++c) y.at(r, c) *= value(weight).at(r, 0);
  return push(std::move(y), [this, a, weight](const Matrix& g) {
    for (std::int64_t r = 0; r < g.rows; ++r)
      for (std::int64_t c = 0; c < g.columns; ++c) {
        grad(a).at(r, c) += g.at(r, c) * value(weight).at(r, 0);
        grad(weight).at(r, 0) += g.at(r, c) * value(a).at(r, c);
      }
  });
}

Var Tape::softmax_rows(Var a) {
  Matrix p = value(a);
  for (std::int64_t r = 0; r < p.rows; ++r) {
    double largest = p.at(r, 0), sum = 0.0;
    for (std::int64_t c = 0; c < p.columns; ++c) largest = std::max(largest, p.at(r, c));
    for (std::int64_t c = 0; c < p.columns; ++c) sum += p.at(r, c) = std::exp(p.at(r, c) - largest);
    for (std::int64_t c = 0; c < p.columns; ++c) p.at(r, c) /= sum;
  }
  return push(p, [this, a, p](const Matrix& g) {
    for (std::int64_t r = 0; r < g.rows; ++r) {
      double inner = 0.0;
      for (std::int64_t c = 0; c < g.columns; ++c) inner += g.at(r, c) * p.at(r, c);
      for (std::int64_t c = 0; c < g.columns; ++c) grad(a).at(r, c) += p.at(r, c) * (g.at(r, c) - inner);
    }
  });
}

Var Tape::activate(Var a, models::ActivationKind kind) {
  Matrix y = value(a), slope = value(a);
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    const Curve at = curve(kind, y.values[i]);
    y.values[i] = at.value;
    slope.values[i] = at.slope;
  }
  return push(std::move(y), [this, a, slope](const Matrix& g) { add_to(grad(a), times(g, slope)); });
}

Var Tape::cross_entropy(Var logits, const std::vector<std::int64_t>& labels) {
  const Matrix& x = value(logits);
  Matrix p = x, loss(1, 1);
  for (std::int64_t r = 0; r < x.rows; ++r) {
    double sum = 0.0;
    for (std::int64_t c = 0; c < x.columns; ++c) sum += std::exp(x.at(r, c));
    for (std::int64_t c = 0; c < x.columns; ++c) p.at(r, c) = std::exp(x.at(r, c)) / sum;
    const std::int64_t label = labels[static_cast<std::size_t>(r)];
    loss.at(0, 0) += std::log(sum) - x.at(r, label);
    p.at(r, label) -= 1.0;
  }
  return push(std::move(loss), [this, logits, p](const Matrix& g) {
    Matrix d = p;
    for (double& v : d.values) v *= g.at(0, 0);
    add_to(grad(logits), d);
  });
}

void Tape::backward(Var root, double seed) {
  nodes_[root].gradient.at(0, 0) = seed;
  for (std::size_t i = root + 1; i-- > 0;)
    if (nodes_[i].pull) nodes_[i].pull(nodes_[i].gradient);
}

}  // namespace orrery::interpreter
