#include "schedule/compile/low_precision.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/check.h"

namespace orrery::schedule {
namespace {

using scenarios::Scaling;

// What a recipe asks for.
struct Format {
  DataType type = DataType::fp8;
  bool two_copies = false;      // another one in the other direction
  bool measures_first = false;  // a pass for the largest magnitude
  std::int64_t block = 0, scale_bytes = 0;
};

Format format_of(const Stage& s) {
  const bool hopper = s.scenario.cluster.gpu.compute_capability < 100;  // and Ada: fp8 products are TN only
  switch (s.scenario.recipe.scaling) {
    case Scaling::delayed:
      return {.two_copies = hopper};
    case Scaling::current:
      return {.two_copies = hopper, .measures_first = true};
    case Scaling::block:
      return {.two_copies = true, .block = 128, .scale_bytes = 4};
    case Scaling::mx:
      return {.two_copies = true, .block = 32, .scale_bytes = 1};
    case Scaling::nvfp4:
      return {
          .type = DataType::fp4, .two_copies = true, .measures_first = true, .block = 16, .scale_bytes = 1};
    case Scaling::none:
      break;
  }
  CHECK(false, "no low precision");
  return {};
}

bool lowers(const Stage& s) { return s.scenario.recipe.scaling != Scaling::none; }

// Room for the elements and, counted in elements of the same type, their scales.
std::int64_t room(const Format& f, std::int64_t elements) {
  if (f.block == 0) return elements;
  const std::int64_t scales = (elements + f.block - 1) / f.block * f.scale_bytes;
  return elements + (f.type == DataType::fp4 ? 2 : 1) * scales;
}

// Activations that only weight gradients read again: their low copy takes their place. (With sequence
// parallelism products read what was gathered of a norm's output, which is gathered again in the backward.)
bool read_by_products_alone(const Stage& s, const std::string& name) {
  return name == "mlp.activated" || (!s.sequence_parallel() && (name == "norm1" || name == "norm2"));
}
bool keeps_copy(const Stage& s, const std::string& name) {
  return name == "attention.out" || read_by_products_alone(s, name);
}

// One block's rewriting.
class Lowering {
 public:
  Lowering(Stage& s, BlockBuilder& b) : stage_(s), b_(b), format_(format_of(s)) {}

  void run() {
    std::vector<BlockBuilder::Draft> old = std::move(b_.drafts());
    b_.drafts().clear();
    const std::vector<std::size_t> cuts = b_.cuts();
    for (std::size_t i = 0; i < old.size(); ++i) {
      for (std::size_t c = 0; c < cuts.size(); ++c)  // they move with the ops behind them
        if (cuts[c] == i) b_.cuts()[c] = b_.drafts().size();
      BlockBuilder::Draft& d = old[i];
      if (is_linear(d)) lower(d);
      for (const View& v : d.views)  // what was cast of it is of an earlier value
        if (v.access != Access::read)
          std::erase_if(casts_, [&](const auto& entry) { return std::get<0>(entry.first) == v.formal; });
      b_.drafts().push_back(std::move(d));
    }
    for (std::size_t c = 0; c < cuts.size(); ++c)
      if (cuts[c] == old.size()) b_.cuts()[c] = b_.drafts().size();
    for (const std::uint16_t formal : replaced_) settle(formal);
  }

 private:
  const Buffer& buffer(std::uint16_t formal) const {
    return stage_.program.buffers[b_.formal_of(formal).buffer.index()];
  }
  static View* find(BlockBuilder::Draft& d, Role role) {
    const auto at =
        std::find_if(d.views.begin(), d.views.end(), [&](const View& v) { return v.role == role; });
    return at == d.views.end() ? nullptr : &*at;
  }
  // Of the layer's own weights.
  bool is_linear(BlockBuilder::Draft& d) const {
    if (d.op.kind != OpKind::gemm) return false;
    const View* const w = find(d, find(d, Role::dw) != nullptr ? Role::dw : Role::w);
    if (w == nullptr) return false;
    const BufferId id = b_.formal_of(w->formal).buffer;
    const UnitStates& layer = stage_.states(UnitKind::layer);
    return id == layer.weights || id == layer.gradients;
  }

  void lower(BlockBuilder::Draft& d) {
    if (View* x = find(d, Role::x)) *x = find(d, Role::dw) != nullptr ? kept(*x) : activation(*x);
    if (View* dy = find(d, Role::dy)) *dy = cast(*dy, false);
    if (View* w = find(d, Role::w)) *w = keeps_low_weights(stage_) ? kept_weights(*w) : cast(*w, false);
  }

  // A forward's operand: beside what the product reads now, the copy that its weight gradient will.
  View activation(const View& x) {
    const std::string name = buffer(x.formal).name;
    const bool saved = b_.life_of(x.formal) == Life::born && keeps_copy(stage_, name);
    if (saved && read_by_products_alone(stage_, name)) replaced_.insert(x.formal);
    return cast(x, saved);
  }

  // A weight gradient's operand: what the forward has kept, or a cast of what was made again.
  View kept(const View& x) {
    const std::string name = buffer(x.formal).name;
    if (!keeps_copy(stage_, name) || b_.life_of(x.formal) == Life::local) return cast(x, false);
    replaced_.insert(x.formal);
    return contiguous(copy_of(x, b_.life_of(x.formal)), x);
  }

  View kept_weights(const View& w) {
    const BufferId low = declare_once(stage_, low_weights());
    const Formal f = b_.formal_of(w.formal);
    View view = w;
    view.formal = b_.tensor(low, {f.base, f.unit_stride, f.slot_stride}, Life::bound, 1, 1).formal;
    return view;
  }
  Buffer low_weights() const;

  // The instance beside x's own that keeps its copy.
  Tensor copy_of(const View& x, Life life) {
    const Buffer& of = buffer(x.formal);
    const Formal f = b_.formal_of(x.formal);
    const BufferId id = declare_once(stage_, {.name = of.name + ".low",
                                              .kind = BufferKind::activation,
                                              .type = format_.type,
                                              .elements = room(format_, x.count()),
                                              .instances = of.instances});
    return b_.tensor(id, {f.base, f.unit_stride, f.slot_stride}, life, x.rows, x.columns);
  }

  static View contiguous(const Tensor& t, const View& like) {
    View view = like;
    view.formal = t.formal;
    view.offset = t.offset;
    view.row_stride = view.columns;
    view.shard_stride = 0;
    view.access = Access::read;
    return view;
  }

  // The kernels that make a low copy of what `x` sees, and the view of it. `saved`: one more, for later, in
  // the place of x's instance.
  View cast(const View& x, bool saved) {
    const auto key = std::tuple(x.formal, x.offset, x.rows, x.columns);
    const auto known = casts_.find(key);
    if (known != casts_.end()) return contiguous(known->second, x);
    const std::string name =
        buffer(x.formal).name + ".low" + std::to_string(x.offset) + "." + std::to_string(x.count());
    const auto local = [&](const std::string& which) {
      const Tensor t = workspace(stage_, b_, name + which, format_.type, 1, room(format_, x.count()));
      return Tensor{t.formal, 0, x.rows, x.columns, x.columns, 0};
    };
    const Tensor source{x.formal, x.offset, x.rows, x.columns, x.row_stride, 0};
    if (format_.measures_first) {
      const Tensor largest = workspace(stage_, b_, name + ".absmax", DataType::fp32, 1, 1);
      b_.add(OpKind::absmax, {in(Role::x, source), out(Role::y, largest)});
    }
    const Tensor low = local("");
    std::vector<Operand> views{in(Role::x, source), out(Role::y, low)};
    if (saved)
      views.push_back(out(Role::y, copy_of(x, Life::born)));
    else if (format_.two_copies)
      views.push_back(out(Role::y, local(".turned")));
    b_.add(OpKind::cast, views);
    casts_.emplace(key, low);
    return contiguous(low, x);
  }

  // A tensor whose reader went: it ends in its block, or is not used in it at all.
  void settle(std::uint16_t formal) {
    bool used = false, written = false;
    for (const BlockBuilder::Draft& d : b_.drafts())
      for (const View& v : d.views)
        if (v.formal == formal) used = true, written = written || v.access != Access::read;
    const bool ends = b_.life_of(formal) == Life::dies;
    const Formal f = b_.formal_of(formal);
    if (!used && ends && !read_by_products_alone(stage_, buffer(formal).name))
      b_.release(f.buffer, {f.base, f.unit_stride, f.slot_stride});  // others read it before this block
    else if (!used)
      b_.set_life(formal, Life::bound);
    else if (written && b_.life_of(formal) == Life::born)
      b_.set_life(formal, Life::local);
  }

  Stage& stage_;
  BlockBuilder& b_;
  Format format_;
  std::map<std::tuple<std::uint16_t, std::int64_t, std::int64_t, std::int64_t>, Tensor> casts_;
  std::set<std::uint16_t> replaced_;
};

Buffer low_weights_of(const Stage& s, const Format& f) {
  const std::int64_t one = room(f, s.unit(UnitKind::layer).elements);
  return {.name = "layer.low_weights",
          .kind = BufferKind::weight,
          .type = f.type,
          .persistent = true,
          .elements = f.two_copies ? 2 * one : one,
          .instances = static_cast<std::uint32_t>(s.layer_units)};
}

Buffer Lowering::low_weights() const { return low_weights_of(stage_, format_); }

}  // namespace

bool keeps_low_weights(const Stage& s) { return lowers(s) && s.zero() != 3; }

void lower_products(Stage& s, BlockBuilder& b) {
  if (lowers(s)) Lowering(s, b).run();
}

BlockId cast_weights(Stage& s) {
  const Format f = format_of(s);
  BlockBuilder b(s.schedule, s.program, "cast_weights", Phase::setup);
  const Unit& unit = s.unit(UnitKind::layer);
  const BufferId low = declare_once(s, low_weights_of(s, f));
  const Tensor weights = columns_of(flat_kept(s, b, UnitKind::layer, s.states(UnitKind::layer).weights), unit.decay_from,
                                    unit.replicated_from - unit.decay_from);
  const Tensor all =
      b.tensor(low, {.unit_stride = 1}, Life::bound, 1, s.program.buffers[low.index()].elements);
  const auto part = [&](std::int64_t from) {
    return columns_of(all, from + weights.offset, weights.columns);
  };
  b.begin_after(weights.formal);
  if (f.measures_first)
    b.add(OpKind::absmax,
          {in(Role::x, weights), out(Role::y, workspace(s, b, "low.absmax", DataType::fp32, 1, 1))});
  std::vector<Operand> views{in(Role::x, weights), out(Role::y, part(0))};
  if (f.two_copies) views.push_back(out(Role::y, part(all.columns / 2)));
  b.add(OpKind::cast, views);
  return b.finish();
}

}  // namespace orrery::schedule
