#include "schedule/compile/block_builder.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"

namespace orrery::schedule {

Tensor columns_of(Tensor t, std::int64_t from, std::int64_t columns) {
  CHECK(from >= 0 && from + columns <= t.columns, from, columns, t.columns);
  t.offset += from;
  t.columns = columns;
  return t;
}

Tensor rows_of(Tensor t, std::int64_t from, std::int64_t rows) {
  CHECK(from >= 0 && from + rows <= t.rows, from, rows, t.rows);
  t.offset += from * t.row_stride;
  t.rows = rows;
  return t;
}

Tensor reshaped(Tensor t, std::int64_t rows, std::int64_t columns) {
  CHECK(t.row_stride == t.columns && rows * columns == t.count(), rows, columns, t.count());
  t.rows = rows;
  t.columns = columns;
  t.row_stride = columns;
  return t;
}

Tensor own_shard(Tensor t, std::int64_t n) {
  CHECK(t.row_stride == t.columns && t.count() % n == 0, t.count(), n);
  Tensor shard = reshaped(t, 1, t.count());
  shard.columns = shard.row_stride = t.count() / n;
  shard.shard_stride = shard.columns;
  return shard;
}

BlockBuilder::BlockBuilder(Schedule& schedule, Program& program, std::string name, Phase phase)
    : schedule_(schedule),
      program_(program),
      name_(std::move(name)),
      phase_(phase),
      awaited_(kStreams, std::vector<std::size_t>(kStreams, 0)) {}

std::uint16_t BlockBuilder::formal(BufferId buffer, Index index, Life life) {
  for (std::size_t i = 0; i < formals_.size(); ++i) {
    const Formal& f = formals_[i];
    if (f.buffer == buffer && f.base == index.base && f.unit_stride == index.unit_stride &&
        f.slot_stride == index.slot_stride && f.ordinal_stride == index.ordinal_stride) {
      CHECK(lives_[i] == life, name_, program_.buffers[buffer.index()].name);
      return static_cast<std::uint16_t>(i);
    }
  }
  formals_.push_back({buffer, index.base, index.unit_stride, index.slot_stride, index.ordinal_stride});
  lives_.push_back(life);
  return static_cast<std::uint16_t>(formals_.size() - 1);
}

Tensor BlockBuilder::tensor(BufferId buffer, Index index, Life life, std::int64_t rows,
                            std::int64_t columns) {
  CHECK(rows * columns <= program_.buffers[buffer.index()].elements, name_,
        program_.buffers[buffer.index()].name);
  return {.formal = formal(buffer, index, life),
          .offset = 0,
          .rows = rows,
          .columns = columns,
          .row_stride = columns};
}

std::uint16_t BlockBuilder::token(BufferId buffer, Index index) { return formal(buffer, index, Life::bound); }

BlockBuilder& BlockBuilder::add(OpKind kind, const std::vector<Operand>& operands, const KernelShape& shape) {
  Draft draft;
  draft.op.kind = kind;
  draft.op.phase = phase_;
  const auto known = std::find(schedule_.shapes.begin(), schedule_.shapes.end(), shape);
  draft.op.shape = static_cast<std::uint32_t>(known - schedule_.shapes.begin());
  if (known == schedule_.shapes.end()) schedule_.shapes.push_back(shape);
  for (const Operand& o : operands) {
    if (!o.tensor.exists()) continue;
    View v;
    v.offset = o.tensor.offset;
    v.rows = o.tensor.rows;
    v.columns = o.tensor.columns;
    v.row_stride = o.tensor.row_stride;
    v.shard_stride = o.tensor.shard_stride;
    v.formal = o.tensor.formal;
    v.role = o.role;
    v.access = o.access;
    draft.views.push_back(v);
  }
  ops_.push_back(std::move(draft));
  return *this;
}

BlockBuilder& BlockBuilder::on(Stream stream) {
  ops_.back().op.stream = stream;
  return *this;
}
BlockBuilder& BlockBuilder::group(std::uint8_t group) {
  ops_.back().op.group = group;
  return *this;
}
BlockBuilder& BlockBuilder::shards(std::uint8_t group) {
  ops_.back().op.shards = group;
  return *this;
}
BlockBuilder& BlockBuilder::site(int site) {
  ops_.back().op.site = static_cast<std::uint8_t>(site);
  return *this;
}
BlockBuilder& BlockBuilder::peer(int offset) {
  ops_.back().op.peer = static_cast<std::int16_t>(offset);
  return *this;
}
BlockBuilder& BlockBuilder::grouped() {
  ops_.back().op.grouped = true;
  return *this;
}
BlockBuilder& BlockBuilder::wait(std::uint16_t formal) {
  ops_.back().waits.push_back(formal);
  return *this;
}
BlockBuilder& BlockBuilder::record(std::uint16_t formal) {
  ops_.back().op.record = formal;
  return *this;
}

bool BlockBuilder::has_compute() const {
  return std::any_of(ops_.begin(), ops_.end(), [](const Draft& d) { return d.op.stream == Stream::compute; });
}

BlockBuilder& BlockBuilder::behind_compute() {
  ops_.back().behind_compute = true;
  return *this;
}

// `later` waits for `earlier`, unless its stream already waited for something at or behind it.
void BlockBuilder::depend(std::size_t later, std::size_t earlier) {
  Draft& l = ops_[later];
  Draft& e = ops_[earlier];
  const auto ls = static_cast<std::size_t>(l.op.stream), es = static_cast<std::size_t>(e.op.stream);
  if (ls == es || awaited_[ls][es] > earlier) return;
  if (e.op.record == kNoFormal) {
    const auto output =
        std::find_if(e.views.begin(), e.views.end(), [](const View& v) { return v.access != Access::read; });
    e.op.record = output != e.views.end() ? output->formal : e.views.front().formal;
  }
  l.waits.push_back(e.op.record);
  awaited_[ls][es] = earlier + 1;
}

void BlockBuilder::set_block_events() {
  if (ops_.empty()) return;
  ops_.front().waits.insert(ops_.front().waits.end(), begins_after_.begin(), begins_after_.end());
  if (end_records_ == kNoFormal) return;
  const auto last =
      std::find_if(ops_.rbegin(), ops_.rend(), [](const Draft& d) { return d.op.stream == Stream::compute; });
  CHECK(last != ops_.rend() && last->op.record == kNoFormal, name_);
  last->op.record = end_records_;
}

namespace {

// Of views of one buffer: whether they may share elements, and whether one surely has all of the other's.
struct Span {
  std::int64_t first, end;
};
Span span_of(const View& v) {
  return {v.offset, v.offset + (v.rows > 0 ? (v.rows - 1) * v.row_stride + v.columns : 0)};
}
bool is_contiguous(const View& v) { return v.rows == 1 || v.row_stride == v.columns; }

bool may_overlap(const View& a, const View& b) {
  if (a.shard_stride != 0 || b.shard_stride != 0) return true;
  const Span s = span_of(a), t = span_of(b);
  if (s.end <= t.first || t.end <= s.first) return false;
  const std::int64_t stride = a.row_stride;
  if (a.rows == 1 || b.rows == 1 || stride != b.row_stride) return true;
  const std::int64_t from = a.offset % stride, other = b.offset % stride;
  if (from + a.columns > stride || other + b.columns > stride) return true;
  return from < other + b.columns && other < from + a.columns;
}

bool covers(const View& a, const View& b) {
  if (a.offset == b.offset && a.rows == b.rows && a.columns == b.columns && a.row_stride == b.row_stride &&
      a.shard_stride == b.shard_stride)
    return true;
  if (a.shard_stride != 0 || b.shard_stride != 0 || !is_contiguous(a)) return false;
  const Span s = span_of(a), t = span_of(b);
  return s.first <= t.first && t.end <= s.end;
}

}  // namespace

// Chunks of one buffer are used on two streams side by side, so rectangles are compared, latest use first, up to a write
// of all that is touched.
void BlockBuilder::order_streams() {
  constexpr std::size_t kNone = ~std::size_t{0};
  struct Use {
    std::size_t op, view;
  };
  std::vector<std::vector<Use>> uses(formals_.size());
  std::size_t compute = kNone;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    if (ops_[i].op.stream == Stream::compute) compute = i;
    if (ops_[i].behind_compute && compute != kNone) depend(i, compute);
    for (std::size_t v = 0; v < ops_[i].views.size(); ++v) {
      const View view = ops_[i].views[v];
      const std::vector<Use>& of = uses[view.formal];
      for (auto use = of.rbegin(); use != of.rend(); ++use) {
        const View& other = ops_[use->op].views[use->view];
        const bool writes = other.access != Access::read;
        if ((!writes && view.access == Access::read) || !may_overlap(other, view)) continue;
        depend(i, use->op);
        if (writes && covers(other, view)) break;
      }
    }
    for (std::size_t v = 0; v < ops_[i].views.size(); ++v) uses[ops_[i].views[v].formal].push_back({i, v});
  }
}

// Where a buffer last used by op `last_user` can be freed: there if it is on the compute stream, else at the
// first later compute op that waits for it (the memory is not free before); there again when the block has
// none.
std::size_t BlockBuilder::release_point(std::size_t last_user) const {
  const Op& user = ops_[last_user].op;
  if (user.stream == Stream::compute || user.record == kNoFormal) return last_user;
  for (std::size_t i = last_user + 1; i < ops_.size(); ++i) {
    const std::vector<std::uint16_t>& waits = ops_[i].waits;
    if (ops_[i].op.stream == Stream::compute &&
        std::find(waits.begin(), waits.end(), user.record) != waits.end())
      return i;
  }
  return last_user;
}

void BlockBuilder::release(BufferId buffer, Index index) { released_.push_back(formal(buffer, index, Life::dies)); }

void BlockBuilder::add_releases() {
  if (released_.empty()) return;
  const auto last =
      std::find_if(ops_.rbegin(), ops_.rend(), [](const Draft& d) { return d.op.stream == Stream::compute; });
  CHECK(last != ops_.rend(), name_);
  for (const std::uint16_t f : released_) {
    View view;
    view.formal = f;
    view.rows = 0;
    view.role = Role::release;
    last->views.push_back(view);
  }
}

void BlockBuilder::set_lifetimes() {
  for (std::size_t f = 0; f < formals_.size(); ++f) {
    if (lives_[f] == Life::bound) continue;
    View* first = nullptr;
    std::array<std::size_t, kStreams> last_users{};  // 1 + the op
    for (std::size_t i = 0; i < ops_.size(); ++i)
      for (View& v : ops_[i].views)
        if (v.formal == f) {
          if (first == nullptr) first = &v;
          last_users[static_cast<std::size_t>(ops_[i].op.stream)] = i + 1;
        }
    CHECK(first != nullptr, name_, program_.buffers[formals_[f].buffer.index()].name);
    if (lives_[f] != Life::dies) first->allocates = true;
    if (lives_[f] == Life::born) continue;
    std::size_t at = 0;
    for (const std::size_t user : last_users)
      if (user > 0) at = std::max(at, release_point(user - 1));
    std::vector<View>& views = ops_[at].views;
    const auto view =
        std::find_if(views.rbegin(), views.rend(), [&](const View& v) { return v.formal == f; });
    if (view != views.rend()) {
      view->frees = true;
    } else {
      View release;
      release.formal = static_cast<std::uint16_t>(f);
      release.rows = 0;
      release.role = Role::release;
      release.frees = true;
      views.push_back(release);
    }
  }
}

BlockId BlockBuilder::finish() {
  CHECK(cuts_.empty(), name_);
  return finish_parts().front();
}

std::vector<BlockId> BlockBuilder::finish_parts() {
  set_block_events();
  order_streams();
  add_releases();
  set_lifetimes();
  std::vector<BlockId> parts;
  cuts_.push_back(ops_.size());
  std::size_t from = 0;
  for (const std::size_t until : cuts_)
    if (until > from || parts.empty()) {
      parts.push_back(emit(from, until));
      from = until;
    }
  return parts;
}

// The ops [from, until) as a block. Parts of one have the same formals.
BlockId BlockBuilder::emit(std::size_t from, std::size_t until) {
  Block block;
  block.name = name_;
  block.first_op = static_cast<std::uint32_t>(program_.ops.size());
  block.op_count = static_cast<std::uint32_t>(until - from);
  block.first_formal = static_cast<std::uint32_t>(program_.formals.size());
  block.formal_count = static_cast<std::uint32_t>(formals_.size());
  program_.formals.insert(program_.formals.end(), formals_.begin(), formals_.end());
  for (std::size_t i = from; i < until; ++i) {
    Draft& d = ops_[i];
    std::sort(d.waits.begin(), d.waits.end());
    d.waits.erase(std::unique(d.waits.begin(), d.waits.end()), d.waits.end());
    d.op.first_view = static_cast<std::uint32_t>(program_.views.size());
    d.op.view_count = static_cast<std::uint16_t>(d.views.size());
    d.op.first_wait = static_cast<std::uint32_t>(program_.waits.size());
    d.op.wait_count = static_cast<std::uint16_t>(d.waits.size());
    program_.views.insert(program_.views.end(), d.views.begin(), d.views.end());
    program_.waits.insert(program_.waits.end(), d.waits.begin(), d.waits.end());
    program_.ops.push_back(d.op);
  }
  program_.blocks.push_back(block);
  return BlockId(program_.blocks.size() - 1);
}

}  // namespace orrery::schedule
