// Per buffer: if all strided views share one stride S, element e has the coordinates (e / S, e % S), a
// strided view is a rectangle and a contiguous one at most three of them; the views' edges cut the plane into
// a small grid of cells. If strides differ, every row of every view is an interval, and their ends cut a
// line. Either way, each cell gets a signature: the XOR of a 64-bit number of every view that covers it.
// Cells of one signature are one atom. Cost: (views of a buffer)^2 cells in the first case, rows log rows in
// the second.
#include "schedule/verify/regions.h"

#include <algorithm>
#include <map>

namespace orrery::schedule {
namespace {

struct Strided {
  std::int64_t offset = 0, rows = 1, columns = 0, stride = 0;
  bool contiguous() const { return rows == 1 || stride == columns; }
  std::int64_t count() const { return rows * columns; }
  auto operator<=>(const Strided&) const = default;
};

std::uint64_t signature_of(std::size_t index) {  // splitmix64
  std::uint64_t z = (index + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// Half-open rectangles of cells.
struct Box {
  std::int64_t row = 0, row_end = 0, column = 0, column_end = 0;
};

std::vector<Box> boxes_of(const Strided& v, std::int64_t width) {
  if (!v.contiguous()) {
    const std::int64_t row = v.offset / width, column = v.offset % width;
    return {{row, row + v.rows, column, column + v.columns}};
  }
  const std::int64_t begin = v.offset, end = v.offset + v.count();
  const std::int64_t first = begin / width, last = end / width;
  if (first == last) return {{first, first + 1, begin % width, end % width}};
  std::vector<Box> boxes;
  const std::int64_t full = begin % width == 0 ? first : first + 1;
  if (full != first) boxes.push_back({first, full, begin % width, width});
  if (full < last) boxes.push_back({full, last, 0, width});
  if (end % width != 0) boxes.push_back({last, last + 1, 0, end % width});
  return boxes;
}

void sort_unique(std::vector<std::int64_t>& v) {
  std::sort(v.begin(), v.end());
  v.erase(std::unique(v.begin(), v.end()), v.end());
}

std::size_t position(const std::vector<std::int64_t>& edges, std::int64_t edge) {
  return static_cast<std::size_t>(std::lower_bound(edges.begin(), edges.end(), edge) - edges.begin());
}

// The atoms of one buffer's distinct views.
class BufferCutter {
 public:
  explicit BufferCutter(std::vector<Strided> views) : views_(std::move(views)) {}

  bool cut() {
    if (!choose_width()) {
      if (!lines_fit()) return false;
      width_ = 1;  // rows of one element: each row of a view is one box
    }
    std::vector<std::vector<Box>> boxes;
    for (const Strided& v : views_) boxes.push_back(by_lines_ ? lines_of(v) : boxes_of(v, width_));
    for (const auto& list : boxes)
      for (const Box& b : list) {
        rows_.insert(rows_.end(), {b.row, b.row_end});
        columns_.insert(columns_.end(), {b.column, b.column_end});
      }
    sort_unique(rows_);
    sort_unique(columns_);
    if (rows_.size() * columns_.size() > kMostCells) return false;
    paint(boxes);
    collect(boxes);
    return true;
  }

  std::uint32_t atoms() const { return atoms_; }
  const std::vector<std::uint32_t>& atoms_of(std::size_t view) const { return of_view_[view]; }

 private:
  static constexpr std::size_t kMostCells = 1U << 22;

  bool choose_width() {
    for (const Strided& v : views_) {
      if (v.contiguous()) continue;
      if (width_ != 0 && width_ != v.stride) return false;
      width_ = v.stride;
    }
    if (width_ == 0) {
      for (const Strided& v : views_) width_ = std::max(width_, v.offset + v.count());
      width_ = std::max<std::int64_t>(width_, 1) + 1;  // one row holds the buffer
      return true;
    }
    return std::all_of(views_.begin(), views_.end(), [&](const Strided& v) {
      return v.contiguous() || v.offset % width_ + v.columns <= width_;
    });
  }

  bool lines_fit() {
    by_lines_ = true;
    std::int64_t rows = 0;
    for (const Strided& v : views_) rows += v.contiguous() ? 1 : std::min<std::int64_t>(v.rows, kMostCells);
    return rows < static_cast<std::int64_t>(kMostCells) / 4;
  }

  static std::vector<Box> lines_of(const Strided& v) {
    if (v.contiguous()) return {{v.offset, v.offset + v.count(), 0, 1}};
    std::vector<Box> boxes;
    for (std::int64_t r = 0; r < v.rows; ++r)
      boxes.push_back({v.offset + r * v.stride, v.offset + r * v.stride + v.columns, 0, 1});
    return boxes;
  }

  template <typename Visit>
  void each_cell(const Box& b, Visit&& visit) const {
    const std::size_t row_end = position(rows_, b.row_end), column_end = position(columns_, b.column_end);
    const std::size_t first_column = position(columns_, b.column);
    for (std::size_t r = position(rows_, b.row); r < row_end; ++r)
      for (std::size_t c = first_column; c < column_end; ++c) visit(r * columns_.size() + c);
  }

  void paint(const std::vector<std::vector<Box>>& boxes) {
    signatures_.assign(rows_.size() * columns_.size(), 0);
    for (std::size_t v = 0; v < boxes.size(); ++v)
      for (const Box& b : boxes[v])
        each_cell(b, [&](std::size_t cell) { signatures_[cell] ^= signature_of(v); });
  }

  void collect(const std::vector<std::vector<Box>>& boxes) {
    std::map<std::uint64_t, std::uint32_t> numbers;
    of_view_.resize(boxes.size());
    for (std::size_t v = 0; v < boxes.size(); ++v) {
      for (const Box& b : boxes[v])
        each_cell(b, [&](std::size_t cell) {
          const auto [at, is_new] = numbers.emplace(signatures_[cell], atoms_);
          if (is_new) ++atoms_;
          of_view_[v].push_back(at->second);
        });
      std::vector<std::uint32_t>& list = of_view_[v];
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }

  std::vector<Strided> views_;
  std::int64_t width_ = 0;
  bool by_lines_ = false;
  std::vector<std::int64_t> rows_, columns_;
  std::vector<std::uint64_t> signatures_;
  std::uint32_t atoms_ = 0;
  std::vector<std::vector<std::uint32_t>> of_view_;
};

}  // namespace

Regions cut_regions(const Schedule& schedule, const Program& program, std::int64_t rank) {
  std::vector<std::map<Strided, std::size_t>> distinct(program.buffers.size());
  struct Use {
    std::size_t buffer = 0, index = 0;
    bool empty = true;
  };
  std::vector<Use> uses(program.views.size());
  for (const Block& block : program.blocks)
    for (const Op& op : program.ops_of(block))
      for (const View& v : program.views_of(op)) {
        if (v.count() == 0) continue;
        const std::size_t buffer = program.formals_of(block)[v.formal].buffer.index();
        const std::int64_t shard =
            v.shard_stride == 0 ? 0 : schedule.groups[shard_group(op)].index(rank) * v.shard_stride;
        const Strided key{v.offset + shard, v.rows, v.columns, v.rows == 1 ? v.columns : v.row_stride};
        const auto at = distinct[buffer].emplace(key, distinct[buffer].size()).first;
        uses[static_cast<std::size_t>(&v - program.views.data())] = {buffer, at->second, false};
      }
  Regions regions;
  std::vector<BufferCutter> cutters;
  for (const auto& views : distinct) {
    std::vector<Strided> list(views.size());
    for (const auto& [view, index] : views) list[index] = view;
    cutters.emplace_back(std::move(list));
    if (!cutters.back().cut()) regions.complete = false;
    regions.atoms_of_buffer.push_back(cutters.back().atoms());
  }
  if (!regions.complete) return regions;
  regions.first_atom.push_back(0);
  for (const Use& use : uses) {
    if (!use.empty) {
      const std::vector<std::uint32_t>& own = cutters[use.buffer].atoms_of(use.index);
      regions.atoms.insert(regions.atoms.end(), own.begin(), own.end());
    }
    regions.first_atom.push_back(static_cast<std::uint32_t>(regions.atoms.size()));
  }
  return regions;
}

}  // namespace orrery::schedule
