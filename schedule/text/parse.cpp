// Reads the text form, a statement a line. A wrong line is reported and left out; reading goes on with the
// next one (a wrong line that opens a brace takes what is inside with it), so all mistakes of a file appear
// at once. What comes out without errors has every index in range; whether it makes sense is verify's
// business.
#include <fmt/format.h>

#include <algorithm>

#include "schedule/text.h"
#include "schedule/text/scope.h"

namespace orrery::schedule {

void Names::add(const std::string& name) {
  first_.emplace(name, count_++);
  ++times_[name];
}

std::uint32_t Names::read(Line& line, std::string_view what) const {
  const Token token = line.peek();
  if (line.accept("#")) {
    const Token number = line.peek();
    const std::uint32_t at = line.count(what);
    if (at >= count_)
      line.fail_at(number, fmt::format("there is no {} #{}", what, at),
                   fmt::format("{} are declared", count_));
    return at;
  }
  const std::string name = line.name(fmt::format("a {}", what));
  const auto found = first_.find(name);
  if (found == first_.end()) {
    std::vector<std::string> names;
    for (const auto& [other, index] : first_) names.push_back(other);
    line.fail_unknown(token, what, name, names);
  }
  if (times_.at(name) > 1)
    line.fail_at(token, fmt::format("there are {} of the name {}", times_.at(name), name),
                 fmt::format("refer to the first as #{}", found->second));
  return found->second;
}

std::uint32_t TextScope::intern(const KernelShape& shape) {
  std::vector<KernelShape>& shapes = schedule.shapes;
  const auto known = std::find(shapes.begin(), shapes.end(), shape);
  const auto at = static_cast<std::uint32_t>(known - shapes.begin());
  if (known == shapes.end()) shapes.push_back(shape);
  return at;
}

std::uint8_t read_group(Line& line, const Schedule& schedule) {
  if (line.accept_word("none")) return kNoGroup;
  if (line.peek().kind == Token::Kind::word)
    for (std::size_t g = 0; g < kStandardGroupNames.size(); ++g)
      if (line.accept_word(kStandardGroupNames[g])) return static_cast<std::uint8_t>(g);
  Names names;
  for (const Group& group : schedule.groups) names.add(group.name);
  return static_cast<std::uint8_t>(names.read(line, "group"));
}

namespace {

constexpr std::size_t kMostErrors = 50;
constexpr std::int64_t kMostRanks = 1'000'000'000;
constexpr std::size_t kMostGroups = 250;
constexpr std::uint32_t kMostInstances = 1U << 24;
constexpr double kMostBytes = 1e17;  // of one program's buffers: sums stay far from the end of int64

class Parser {
 public:
  Parser(std::shared_ptr<const SourceFile> source, Diagnostics& diagnostics)
      : source_(std::move(source)), diagnostics_(diagnostics) {
    for (const std::string_view standard : kStandardGroupNames)
      scope_.schedule.groups.push_back({.name = std::string(standard)});
  }

  Schedule run() {
    const std::string_view text = source_->text;
    for (std::size_t at = 0; at < text.size() && diagnostics_.all().size() < kMostErrors; ++number_) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      read_line(text.substr(at, end - at));
      at = end + 1;
    }
    if (!open_.empty()) error_in_file("a { is never closed", "put } on a line of its own");
    if (!diagnostics_.has_errors()) finish();
    return std::move(scope_.schedule);
  }

 private:
  enum class Inside : std::uint8_t {
    program,
    block,
    repeat,
    nothing
  };  // nothing: behind a wrong opening line

  void error_in_file(std::string message, std::string hint) {
    diagnostics_.error({source_, number_ > 1 ? number_ - 1 : 1, 1}, std::move(message), std::move(hint));
  }

  void read_line(std::string_view text) {
    try {
      Line line(source_, text, number_, diagnostics_);
      if (line.at_end()) return;
      opens_ = std::string_view::npos != text.find('{') && text.find_last_not_of(" \t\r") == text.rfind('{');
      if (inside() == Inside::nothing) return skip(line);
      read_statement(line);
    } catch (const LineError&) {
      if (opens_) open_.push_back(Inside::nothing);
    }
    opens_ = false;
  }

  Inside inside() const { return open_.empty() ? Inside::program : open_.back(); }

  void skip(Line& line) {
    if (line.accept("}"))
      open_.pop_back();
    else if (opens_)
      open_.push_back(Inside::nothing);
  }

  void open(Line& line, Inside what) {
    line.expect("{", "the name");
    line.expect_end();
    open_.push_back(what);
  }

  void read_statement(Line& line) {
    if (line.accept("}")) return close(line);
    const Token token = line.peek();
    const std::string word = line.word("a statement");
    if (open_.empty()) return read_top(line, token, word);
    if (inside() == Inside::block) {
      if (word == "formal") return read_formal_statement(line);
      return read_op(line, scope_, kind_of(line, token, word, {"formal"}), block_phase_, nullptr);
    }
    if (word == "call") return read_call(line);
    if (inside() == Inside::repeat) return read_lone_op(line, kind_of(line, token, word, {"call"}));
    read_in_program(line, token, word);
  }

  static OpKind kind_of(Line& line, const Token& token, const std::string& word,
                        std::vector<std::string> others) {
    if (const auto kind = from_word<OpKind>(word)) return *kind;
    for (std::string& kind : all_words<OpKind>()) others.push_back(std::move(kind));
    line.fail_unknown(token, "statement here", word, others);
  }

  void close(Line& line) {
    if (open_.empty()) line.fail_at(line.peek(), "this } closes nothing");
    line.expect_end();
    if (open_.back() == Inside::repeat) {
      Repeat& repeat = scope_.program().repeats.back();
      repeat.call_count = static_cast<std::uint32_t>(scope_.program().calls.size()) - repeat.first_call;
    }
    open_.pop_back();
  }

  // --- outside of programs ---

  void read_top(Line& line, const Token& token, const std::string& word) {
    Schedule& s = scope_.schedule;
    if (word == "schedule") {
      s.name = line.name("a name");
    } else if (word == "world") {
      s.world = line.integer("the number of ranks", 1, kMostRanks);
    } else if (word == "microbatches") {
      s.microbatches = line.integer("the number of microbatches", 1, 0xffffffffLL);
    } else if (word == "group") {
      read_group_statement(line);
    } else if (word == "programs") {
      read_programs(line);
    } else if (word == "hyper") {
      read_fields(line, s.hyper, [](Hyper& h, auto&& visit) { for_each_hyper_field(h, visit); });
    } else if (word == "model") {
      read_fields(line, s.model,
                  [](models::Architecture& m, auto&& visit) { for_each_model_field(m, visit); });
    } else if (word == "shape") {
      line.expect("(", "shape");
      s.shapes.push_back(read_shape(line));
    } else if (word == "expert_rows") {
      read_expert_rows(line);
    } else if (word == "program") {
      return read_program(line);
    } else {
      line.fail_unknown(
          token, "statement here", word,
          {"schedule", "world", "microbatches", "group", "programs", "hyper", "model", "shape", "expert_rows",
           "program"});
    }
    line.expect_end();
  }

  // expert_rows reserved 96 drawn 8 12 6
  void read_expert_rows(Line& line) {
    ExpertRows& rows = scope_.schedule.expert_rows;
    if (!line.accept_word("reserved")) line.fail("expected reserved", "as in expert_rows reserved 96 drawn 8");
    rows.reserved = line.integer("the most rows", 1, Line::kMaxInteger);
    if (!line.accept_word("drawn")) line.fail("expected drawn", "as in expert_rows reserved 96 drawn 8");
    while (!line.at_end()) rows.drawn.push_back(line.integer("rows", 0, rows.reserved));
  }

  template <typename T, typename Each>
  static void read_fields(Line& line, T& object, Each&& each) {
    while (!line.at_end()) read_field(line, object, "field", each);
  }

  static void read_grid(Line& line, Group& g) {
    g.size = 0;
    g.period = 0;
    while (!line.at_end()) {
      const Token token = line.peek();
      const std::string word = line.word("stride, size, period or step");
      std::int64_t* field = word == "stride"   ? &g.stride
                            : word == "size"   ? &g.size
                            : word == "period" ? &g.period
                            : word == "step"   ? &g.step
                                               : nullptr;
      if (field == nullptr)
        line.fail_unknown(token, "part of a group", word, {"stride", "size", "period", "step"});
      *field = line.integer(word, 1, kMostRanks);
    }
    if (g.size == 0) line.fail("a group needs its size", "as in: stride 1 size 8");
    if (g.period == 0) g.period = (g.size - 1) * g.step + 1;
    if ((g.size - 1) * g.step >= g.period)
      line.fail("the members of this group lie outside of its period", "(size - 1) * step < period");
  }

  void read_group_statement(Line& line) {
    std::vector<Group>& groups = scope_.schedule.groups;
    Group group;
    group.name = line.name("a group");
    const auto standard = std::find(kStandardGroupNames.begin(), kStandardGroupNames.end(), group.name);
    const bool is_standard = standard != kStandardGroupNames.end();
    const auto at = static_cast<std::size_t>(standard - kStandardGroupNames.begin());
    if (is_standard && line.accept_word("named")) group.name = line.name("a name");
    read_grid(line, group);
    if (is_standard) {
      groups[at] = group;
      given_[at] = true;
      return;
    }
    if (groups.size() >= kMostGroups) line.fail(fmt::format("more than {} groups", kMostGroups));
    groups.push_back(group);
  }

  void read_programs(Line& line) {
    if (line.accept_word("by")) {
      program_group_ = read_group(line, scope_.schedule);
      return;
    }
    Group group;
    if (line.accept_word("named")) group.name = line.name("a name");
    read_grid(line, group);
    scope_.schedule.program_group = group;
    explicit_program_group_ = true;
  }

  void read_program(Line& line) {
    Program program;
    program.name = line.name("a name");
    if (line.accept_word("slots"))
      program.slots = static_cast<std::uint32_t>(line.integer("slots", 1, kMostInstances));
    open(line, Inside::program);
    scope_.schedule.programs.push_back(std::move(program));
    scope_.buffers = Names();
    scope_.blocks = Names();
    bytes_ = 0.0;
  }

  // --- in a program ---

  void read_in_program(Line& line, const Token& token, const std::string& word) {
    if (word == "buffer") return read_buffer(line);
    if (word == "token") return read_token(line);
    if (word == "unit") return read_unit(line);
    if (word == "slice") return read_slice(line);
    if (word == "block") return read_block(line);
    if (word == "repeat") return read_repeat(line);
    read_lone_op(line,
                 kind_of(line, token, word, {"buffer", "token", "unit", "slice", "block", "call", "repeat"}));
  }

  void add_buffer(Line& line, const Buffer& buffer) {
    line.expect_end();
    bytes_ +=
        static_cast<double>(buffer.elements) * static_cast<double>(size_of(buffer.type)) * buffer.instances;
    if (bytes_ > kMostBytes) line.fail("the buffers of this program are larger than 100 PB");
    scope_.program().buffers.push_back(buffer);
    scope_.buffers.add(buffer.name);
  }

  static std::uint32_t read_instances(Line& line) {
    if (!line.accept_word("x")) return 1;
    return static_cast<std::uint32_t>(line.integer("the number of instances", 1, kMostInstances));
  }

  void read_token(Line& line) {
    Buffer buffer;
    buffer.name = line.name("a name");
    buffer.kind = BufferKind::token;
    buffer.instances = read_instances(line);
    add_buffer(line, buffer);
  }

  void read_buffer(Line& line) {
    Buffer buffer;
    buffer.name = line.name("a name");
    buffer.type = line.choice<DataType>("data type");
    line.expect("[", "the type");
    buffer.elements = line.integer("the number of elements", 0, Line::kMaxInteger);
    line.expect("]", "the number of elements");
    buffer.instances = read_instances(line);
    while (!line.at_end()) {
      if (line.accept_word("host"))
        buffer.on_host = true;
      else if (line.accept_word("persistent"))
        buffer.persistent = true;
      else if (line.accept_word("extent"))
        buffer.extent = line.choice<Extent>("extent");
      else
        buffer.kind = line.choice<BufferKind>("buffer kind (or host, or persistent)");
    }
    add_buffer(line, buffer);
  }

  BufferRef read_reference(Line& line) {
    BufferRef ref;
    ref.buffer = BufferId(scope_.buffers.read(line, "buffer"));
    if (line.accept("[")) {
      ref.instance = line.count("the instance");
      line.expect("]", "the instance");
    }
    return ref;
  }

  void read_unit(Line& line) {
    Unit unit;
    unit.kind = line.choice<UnitKind>("kind of unit");
    while (!line.at_end()) {
      const std::string key = line.peek().text;
      BufferRef* ref = key == "weights"     ? &unit.weights
                       : key == "gradients" ? &unit.gradients
                       : key == "master"    ? &unit.master
                                            : nullptr;
      std::uint8_t* group = key == "shards_in"     ? &unit.shard_group
                            : key == "replicas_in" ? &unit.replica_group
                            : key == "cut_in"      ? &unit.cut_group
                            : key == "experts_in"  ? &unit.expert_group
                                                   : nullptr;
      if (group != nullptr) {
        line.take();
        line.expect("=", key);
        *group = line.accept_word("none") ? kNoGroup : read_group(line, scope_.schedule);
        continue;
      }
      if (ref == nullptr) {
        read_field(line, unit, "field of a unit",
                   [](Unit& u, auto&& visit) { for_each_unit_field(u, visit); });
        continue;
      }
      line.take();
      line.expect("=", key);
      *ref = read_reference(line);
    }
    scope_.program().units.push_back(std::move(unit));
  }

  void read_slice(Line& line) {
    if (scope_.program().units.empty()) line.fail("a slice belongs to the unit above it, and there is none");
    Slice slice;
    slice.parameter.name = line.name("a name");
    line.rectangle(slice.rows, slice.columns, false);
    if (line.accept_word("at")) slice.offset = line.integer("the offset", 0, Line::kMaxInteger);
    slice.parameter.rows = slice.rows;
    slice.parameter.columns = slice.columns;
    if (line.accept_word("of")) line.rectangle(slice.parameter.rows, slice.parameter.columns, false);
    slice.parameter.sharding = line.choice<models::Sharding>("sharding");
    slice.parameter.initial = line.choice<models::Initial>("initial value");
    slice.parameter.decayed = line.accept_word("decayed");
    if (line.accept_word("expert")) slice.expert = line.integer("the expert's number", 0, kMostInstances);
    line.expect_end();
    scope_.program().units.back().slices.push_back(std::move(slice));
  }

  void begin_block(const std::string& name) {
    Program& p = scope_.program();
    Block block;
    block.name = name;
    block.first_op = static_cast<std::uint32_t>(p.ops.size());
    block.first_formal = static_cast<std::uint32_t>(p.formals.size());
    p.blocks.push_back(std::move(block));
    scope_.blocks.add(name);
    scope_.formals.clear();
  }

  void read_block(Line& line) {
    const std::string name = line.name("a name");
    block_phase_ = line.peek().text == "{" ? Phase::forward : line.choice<Phase>("phase");
    open(line, Inside::block);
    begin_block(name);
  }

  void read_formal_statement(Line& line) {
    const std::string name = line.word("a name");
    line.expect("=", "the name");
    Formal formal;
    formal.buffer = BufferId(scope_.buffers.read(line, "buffer"));
    if (line.accept("[")) {
      do read_term(line, formal);
      while (line.accept("+"));
      line.expect("]", "the index");
    }
    line.expect_end();
    add_formal(line, scope_, name, formal);
  }

  // 3, unit, slot, 2*unit, 4*slot
  static void read_term(Line& line, Formal& formal) {
    std::uint32_t factor = 1;
    const bool is_number =
        line.peek().kind == Token::Kind::word && line.peek().text != "unit" &&
        line.peek().text != "slot" && line.peek().text != "ordinal";
    if (is_number) {
      factor = line.count("an index, unit, ordinal or slot", kMostInstances);
      if (!line.accept("*")) {
        formal.base = factor;
        return;
      }
    }
    if (line.accept_word("unit"))
      formal.unit_stride = factor;
    else if (line.accept_word("ordinal"))
      formal.ordinal_stride = factor;
    else if (line.accept_word("slot"))
      formal.slot_stride = factor;
    else
      line.fail("expected unit, ordinal or slot", "as in act[2 + unit + 4*slot]");
  }

  void read_call(Line& line) {
    Call call;
    call.block = BlockId(scope_.blocks.read(line, "block"));
    while (!line.at_end()) {
      const Token token = line.peek();
      const std::string word = line.word("unit, microbatch or step");
      if (word == "unit")
        call.unit = line.count("the unit");
      else if (word == "microbatch")
        call.microbatch = line.count("the microbatch");
      else if (word == "step")
        call.microbatch_step = line.count("the step");
      else
        line.fail_unknown(token, "part of a call", word, {"unit", "microbatch", "step"});
    }
    scope_.program().calls.push_back(call);
  }

  // An op that stands alone is a block of one op, called here.
  void read_lone_op(Line& line, OpKind kind) {
    Program& p = scope_.program();
    begin_block(fmt::format("{}.{}", name(kind), p.blocks.size()));
    OpCall call;
    read_op(line, scope_, kind, Phase::forward, &call);
    p.calls.push_back({BlockId(p.blocks.size() - 1), call.unit, call.microbatch, call.step});
  }

  void read_repeat(Line& line) {
    Repeat repeat;
    repeat.count = static_cast<std::uint32_t>(line.integer("the number of iterations", 1, 0x7fffffff));
    open(line, Inside::repeat);
    repeat.first_call = static_cast<std::uint32_t>(scope_.program().calls.size());
    scope_.program().repeats.push_back(repeat);
  }

  // --- the end ---

  void finish() {
    Schedule& s = scope_.schedule;
    if (s.programs.empty()) return error_in_file("there is no program", "program NAME { ... }");
    const auto programs = static_cast<std::int64_t>(s.programs.size());
    const std::int64_t stride = std::max<std::int64_t>(1, s.world / programs);
    if (!given_[kWorld]) s.groups[kWorld].size = s.groups[kWorld].period = s.world;
    if (!given_[kPipe])
      s.groups[kPipe] = {std::string(kStandardGroupNames[kPipe]), stride, programs, programs, 1};
    if (program_group_ != kNoGroup)
      s.program_group = s.groups[program_group_];
    else if (!explicit_program_group_)
      s.program_group = s.groups[kPipe];
    if (s.program_group.size != programs || s.program_group.period != programs)
      return error_in_file(
          fmt::format("{} programs, but the group '{}' that picks a rank's program has {} members", programs,
                      s.program_group.name, s.program_group.size),
          fmt::format("add: programs stride {} size {}", stride, programs));
    if (s.world % (s.program_group.stride * programs) != 0)
      error_in_file(fmt::format("world {} is no multiple of {} programs x stride {}", s.world, programs,
                                s.program_group.stride),
                    "every program must have as many ranks");
  }

  std::shared_ptr<const SourceFile> source_;
  Diagnostics& diagnostics_;
  TextScope scope_;
  std::uint32_t number_ = 1;
  bool opens_ = false;
  std::vector<Inside> open_;
  Phase block_phase_ = Phase::forward;
  double bytes_ = 0.0;
  std::array<bool, kStandardGroupNames.size()> given_{};
  std::uint8_t program_group_ = kNoGroup;
  bool explicit_program_group_ = false;
};

}  // namespace

Schedule parse(std::shared_ptr<const SourceFile> source, Diagnostics& diagnostics) {
  return Parser(std::move(source), diagnostics).run();
}

}  // namespace orrery::schedule
