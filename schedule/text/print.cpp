// Prints a Schedule in block form. What equals its default is left out; what remains is enough to read
// exactly the same Schedule back (in canonical layout, see ir.h). Grammar: docs/schedule.md. Cost: linear in
// the stored schedule.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "schedule/text.h"
#include "schedule/text/fields.h"
#include "schedule/text/op.h"

namespace orrery::schedule {

bool is_plain_word(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (text.empty() || !letter(text.front()) || text.find("//") != std::string_view::npos) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '\'' || c == '/' || c == '-';
  });
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out + '"';
}

std::string as_name(std::string_view text) { return is_plain_word(text) ? std::string(text) : quoted(text); }

void FieldWriter::write(std::string_view key, std::string_view value) {
  if (!text.empty()) text += ' ';
  ((text += key) += '=') += value;
}

// A name where it is unique among its siblings, else "#index".
template <typename Named>
std::string reference(const std::vector<Named>& all, std::size_t at) {
  const auto same = [&](const Named& other) { return other.name == all[at].name; };
  return std::count_if(all.begin(), all.end(), same) == 1 ? as_name(all[at].name) : fmt::format("#{}", at);
}

std::vector<std::string> buffer_references(const Program& program) {
  std::set<std::string_view> seen, twice;
  for (const Buffer& b : program.buffers)
    if (!seen.insert(b.name).second) twice.insert(b.name);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < program.buffers.size(); ++i)
    names.push_back(twice.count(program.buffers[i].name) != 0 ? fmt::format("#{}", i)
                                                              : as_name(program.buffers[i].name));
  return names;
}

// Formals have no names of their own: the buffer's, with ' and a number behind it from the second on.
std::vector<std::string> formal_names(const Program& program, const Block& block) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const Formal& formal : program.formals_of(block)) {
    const std::string& buffer = program.buffers[formal.buffer.index()].name;
    const std::string stem = is_plain_word(buffer) ? buffer : fmt::format("b{}", formal.buffer.value);
    std::string name = stem;
    for (int n = 2; !taken.insert(name).second; ++n) name = fmt::format("{}'{}", stem, n);
    names.push_back(std::move(name));
  }
  return names;
}

std::string shape_text(const KernelShape& shape) {
  return fields_that_differ(shape, [](auto& s, auto&& visit) { for_each_shape_field(s, visit); });
}

std::string extent_text(const View& view, const View& plain) {
  View whole = plain;
  whole.formal = view.formal, whole.role = view.role, whole.access = view.access;
  whole.allocates = view.allocates, whole.frees = view.frees;
  if (view == whole) return {};
  std::string text =
      view.rows == 1 ? fmt::format("[{}", view.columns) : fmt::format("[{}x{}", view.rows, view.columns);
  if (view.offset != 0) text += fmt::format(" at {}", view.offset);
  if (view.row_stride != view.columns) text += fmt::format(" stride {}", view.row_stride);
  if (view.shard_stride != 0) text += fmt::format(" shard {}", view.shard_stride);
  return text + ']';
}

std::string view_text(const View& view, const Buffer& buffer, const std::string& name) {
  const std::string_view mark = view.access == Access::read ? ":" : view.access == Access::write ? "=" : "+=";
  return fmt::format("{}{}{}{}{}{}", word_of(view.role), mark, name,
                     extent_text(view, default_view(buffer, view.role)), view.allocates ? "!new" : "",
                     view.frees ? "!free" : "");
}

namespace {

class Printer {
 public:
  explicit Printer(const Schedule& schedule) : s_(schedule) {}

  std::string run() {
    header();
    for (const Program& program : s_.programs) print_program(program);
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  void header() {
    line("schedule {}", quoted(s_.name));
    line("world {}", s_.world);
    line("microbatches {}", s_.microbatches);
    for (std::size_t g = 0; g < s_.groups.size(); ++g) print_group(g);
    print_program_group();
    const std::string hyper =
        fields_that_differ(s_.hyper, [](auto& h, auto&& visit) { for_each_hyper_field(h, visit); });
    if (!hyper.empty()) line("hyper {}", hyper);
    const std::string model =
        fields_that_differ(s_.model, [](auto& m, auto&& visit) { for_each_model_field(m, visit); });
    if (!model.empty()) line("model {}", model);
    if (s_.expert_rows.reserved > 0)
      line("expert_rows reserved {} drawn {}", s_.expert_rows.reserved, fmt::join(s_.expert_rows.drawn, " "));
    print_shape_table();
  }

  static std::string grid_text(const Group& g) {
    std::string text = fmt::format("stride {} size {}", g.stride, g.size);
    if (g.period != g.size) text += fmt::format(" period {}", g.period);
    if (g.step != 1) text += fmt::format(" step {}", g.step);
    return text;
  }

  void print_group(std::size_t at) {
    const Group& group = s_.groups[at];
    if (at < kStandardGroupNames.size() && group.name != kStandardGroupNames[at])
      line("group {} named {} {}", kStandardGroupNames[at], quoted(group.name), grid_text(group));
    else
      line("group {} {}", as_name(group.name), grid_text(group));
  }

  void print_program_group() {
    for (std::size_t g = 0; g < s_.groups.size(); ++g)
      if (s_.groups[g] == s_.program_group) return line("programs by {}", group_reference(g));
    line("programs named {} {}", quoted(s_.program_group.name), grid_text(s_.program_group));
  }

  std::string group_reference(std::size_t g) const {
    return g < kStandardGroupNames.size() ? std::string(kStandardGroupNames[g]) : reference(s_.groups, g);
  }

  // Shapes are written in the ops that use them. The table itself is written only where its order is not that
  // of first use, as reading the ops would rebuild it.
  void print_shape_table() {
    std::vector<std::uint32_t> used;
    std::vector<char> seen(s_.shapes.size(), 0);
    bool in_order = true;
    std::uint32_t next = 0;
    for (const Program& p : s_.programs)
      for (const Op& op : p.ops) {
        if (op.shape >= seen.size()) continue;
        if (seen[op.shape] == 0 && op.shape != next++) in_order = false;
        seen[op.shape] = 1;
      }
    if (in_order && next == s_.shapes.size() && distinct_shapes()) return;
    for (const KernelShape& shape : s_.shapes) line("shape ({})", shape_text(shape));
  }

  bool distinct_shapes() const {
    std::set<std::string> texts;
    return std::all_of(s_.shapes.begin(), s_.shapes.end(),
                       [&](const KernelShape& s) { return texts.insert(shape_text(s)).second; });
  }

  void print_program(const Program& program) {
    buffers_ = buffer_references(program);
    text_ += '\n';
    line("program {} slots {} {{", as_name(program.name), program.slots);
    for (const Buffer& buffer : program.buffers) print_buffer(buffer);
    for (const Unit& unit : program.units) print_unit(unit);
    for (const Block& block : program.blocks) print_block(program, block);
    print_calls(program);
    line("}}");
  }

  void print_buffer(const Buffer& b) {
    const Buffer token{.name = b.name, .kind = BufferKind::token, .elements = 0, .instances = b.instances};
    const std::string count = b.instances == 1 ? "" : fmt::format(" x {}", b.instances);
    if (b == token) return line("  token {}{}", as_name(b.name), count);
    const std::string extent = b.extent == Extent::fixed ? "" : fmt::format(" extent {}", word_of(b.extent));
    line("  buffer {} {}[{}]{} {}{}{}{}", as_name(b.name), word_of(b.type), b.elements, count, word_of(b.kind),
         b.on_host ? " host" : "", b.persistent ? " persistent" : "", extent);
  }

  std::string reference_text(const BufferRef& ref) const {
    return fmt::format("{}[{}]", buffers_.at(ref.buffer.index()), ref.instance);
  }

  void print_unit(const Unit& u) {
    const std::string fields =
        fields_that_differ(u, [](auto& unit, auto&& v) { for_each_unit_field(unit, v); });
    std::string sharded;
    const auto in_group = [&](const char* key, std::uint8_t group, std::uint8_t usual) {
      if (group != usual) sharded += fmt::format(" {}={}", key, group == kNoGroup ? "none" : group_reference(group));
    };
    in_group("shards_in", u.shard_group, kData);
    in_group("replicas_in", u.replica_group, kNoGroup);
    in_group("cut_in", u.cut_group, kTensor);
    in_group("experts_in", u.expert_group, kNoGroup);
    line("  unit {}{}{}{} weights={} gradients={} master={}", word_of(u.kind), fields.empty() ? "" : " ",
         fields, sharded, reference_text(u.weights), reference_text(u.gradients), reference_text(u.master));
    for (const Slice& s : u.slices)
      line("    slice {} {}x{} at {} of {}x{} {} {}{}{}", as_name(s.parameter.name), s.rows, s.columns,
           s.offset, s.parameter.rows, s.parameter.columns, word_of(s.parameter.sharding),
           word_of(s.parameter.initial), s.parameter.decayed ? " decayed" : "",
           s.expert < 0 ? "" : fmt::format(" expert {}", s.expert));
  }

  std::string formal_text(const Formal& f) const {
    std::string index;
    const auto term = [&](std::uint32_t factor, std::string_view variable) {
      if (factor == 0) return;
      if (!index.empty()) index += " + ";
      index += factor == 1 ? std::string(variable) : fmt::format("{}*{}", factor, variable);
    };
    if (f.base != 0) index = fmt::format("{}", f.base);
    term(f.unit_stride, "unit");
    term(f.ordinal_stride, "ordinal");
    term(f.slot_stride, "slot");
    return index.empty() ? buffers_[f.buffer.index()]
                         : fmt::format("{}[{}]", buffers_[f.buffer.index()], index);
  }

  void print_block(const Program& program, const Block& block) {
    const auto ops = program.ops_of(block);
    const Phase phase = ops.empty() ? Phase::forward : ops.front().phase;
    line("  block {} {} {{", as_name(block.name), word_of(phase));
    const std::vector<std::string> names = formal_names(program, block);
    for (std::size_t f = 0; f < names.size(); ++f)
      line("    formal {} = {}", names[f], formal_text(program.formals_of(block)[f]));
    for (const Op& op : ops) print_op(program, block, op, names, phase);
    line("  }}");
  }

  void print_op(const Program& program, const Block& block, const Op& op,
                const std::vector<std::string>& names, Phase phase) {
    std::string t = fmt::format("    {}{}", word_of(op.kind), shape_reference(op.shape));
    for (const View& view : program.views_of(op))
      t += ' ' + view_text(view, program.buffer(block, view), names[view.formal]);
    if (is_point_to_point(op.kind))
      t += fmt::format(" {} {:+}", op.kind == OpKind::send ? "to" : "from", op.peer);
    else if (op.peer != 0)
      t += fmt::format(" peer {}", op.peer);
    if (op.group != default_group(op.kind))
      t += " in " + (op.group == kNoGroup ? std::string("none") : group_reference(op.group));
    if (op.shards != kNoGroup) t += " shards " + group_reference(op.shards);
    if (op.stream != default_stream(op.kind, op.group)) t += fmt::format(" on {}", word_of(op.stream));
    if (op.phase != phase) t += fmt::format(" phase {}", word_of(op.phase));
    if (op.site != 0) t += fmt::format(" site {}", op.site);
    if (op.grouped) t += " grouped";
    if (op.wait_count != 0) {
      t += " wait(";
      for (std::size_t w = 0; w < op.wait_count; ++w)
        t += (w == 0 ? "" : " ") + names[program.waits_of(op)[w]];
      t += ')';
    }
    if (op.record != kNoFormal) t += fmt::format(" record({})", names[op.record]);
    line("{}", t);
  }

  std::string shape_reference(std::uint32_t at) const {
    const KernelShape& shape = s_.shapes.at(at);
    const auto first = std::find(s_.shapes.begin(), s_.shapes.end(), shape);
    if (first - s_.shapes.begin() != static_cast<std::ptrdiff_t>(at)) return fmt::format("#{}", at);
    const std::string text = shape_text(shape);
    return text.empty() ? "" : fmt::format("({})", text);
  }

  void print_calls(const Program& program) {
    std::uint32_t next = 0;
    for (const Repeat& repeat : program.repeats) {
      for (; next < repeat.first_call; ++next) print_call(program, program.calls[next], "  ");
      line("  repeat {} {{", repeat.count);
      for (; next < repeat.first_call + repeat.call_count; ++next)
        print_call(program, program.calls[next], "    ");
      line("  }}");
    }
    for (; next < program.calls.size(); ++next) print_call(program, program.calls[next], "  ");
  }

  void print_call(const Program& program, const Call& call, std::string_view indent) {
    std::string t = fmt::format("{}call {}", indent, reference(program.blocks, call.block.index()));
    if (call.unit != 0) t += fmt::format(" unit {}", call.unit);
    if (call.microbatch != 0) t += fmt::format(" microbatch {}", call.microbatch);
    if (call.microbatch_step != 0) t += fmt::format(" step {}", call.microbatch_step);
    line("{}", t);
  }

  const Schedule& s_;
  std::string text_;
  std::vector<std::string> buffers_;  // of the current program, as the text refers to them
};

}  // namespace

std::string print(const Schedule& schedule) { return Printer(schedule).run(); }

}  // namespace orrery::schedule
