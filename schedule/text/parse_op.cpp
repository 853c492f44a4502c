// Reads one op line:  gemm(m=8 n=8 k=8) x:a w:b[8x8 at 64] y=c!new in data on compute wait(a) record(c)
#include <fmt/format.h>

#include <limits>

#include "schedule/text/scope.h"

namespace orrery::schedule {
namespace {

constexpr std::size_t kMost16 = 0xfffe;  // 0xffff is kNoFormal

std::uint16_t read_formal(Line& line, TextScope& scope) {
  const Token token = line.peek();
  if (token.kind == Token::Kind::word) {
    const auto known = scope.formals.find(token.text);
    if (known != scope.formals.end()) {
      line.take();
      return known->second;
    }
    if (!scope.buffers.has(token.text)) {
      std::vector<std::string> names;
      for (const auto& [name, index] : scope.formals) names.push_back(name);
      for (const Buffer& b : scope.program().buffers) names.push_back(b.name);
      line.fail_unknown(token, "buffer or formal", token.text, names);
    }
  }
  // A buffer used directly: a formal for its instance 0.
  const std::uint32_t buffer = scope.buffers.read(line, "buffer or formal");
  const std::string name = scope.program().buffers[buffer].name;
  const auto known = scope.formals.find(name);
  return known != scope.formals.end() ? known->second : add_formal(line, scope, name, {BufferId(buffer)});
}

void read_extent(Line& line, View& view) {
  line.rectangle(view.rows, view.columns, true);
  view.row_stride = view.columns;
  while (!line.accept("]")) {
    const Token token = line.peek();
    const std::string word = line.word("at, stride, shard or ]");
    if (word == "at")
      view.offset = line.integer("the offset", 0, Line::kMaxInteger);
    else if (word == "stride")
      view.row_stride = line.integer("the row stride", 0, Line::kMaxInteger);
    else if (word == "shard")
      view.shard_stride = line.integer("the shard stride", 0, Line::kMaxInteger);
    else
      line.fail_unknown(token, "part of a view", word, {"at", "stride", "shard"});
  }
}

void read_view(Line& line, TextScope& scope, Role role) {
  Access access = Access::read;
  if (line.accept("="))
    access = Access::write;
  else if (line.accept("+="))
    access = Access::update;
  else
    line.expect(":", "the role");
  const std::uint16_t formal = read_formal(line, scope);
  const BufferId buffer = scope.program().formals[scope.block().first_formal + formal].buffer;
  View view = default_view(scope.program().buffers[buffer.index()], role);
  view.formal = formal;
  view.access = access;
  if (line.accept("[")) read_extent(line, view);
  while (line.accept("!")) {
    const Token token = line.peek();
    const std::string mark = line.word("new or free");
    if (mark == "new")
      view.allocates = true;
    else if (mark == "free")
      view.frees = true;
    else
      line.fail_unknown(token, "mark of a view", mark, {"new", "free"});
  }
  scope.program().views.push_back(view);
}

void read_waits(Line& line, TextScope& scope, Op& op) {
  line.expect("(", "wait");
  while (!line.accept(")")) {
    if (op.wait_count >= kMost16) line.fail("too many waits of one op");
    const std::uint16_t formal = read_formal(line, scope);
    scope.program().waits.push_back(formal);
    ++op.wait_count;
  }
}

bool is_view(const Line& line) {
  const Token& next = line.peek(1);
  return next.kind == Token::Kind::mark && (next.text == ":" || next.text == "=" || next.text == "+=");
}

// Attributes whose defaults depend on others are set at the end.
struct Given {
  bool group = false, stream = false, peer = false;
};

void read_attribute(Line& line, TextScope& scope, Op& op, OpCall* call, Given& given) {
  const Token token = line.peek();
  const std::string word = line.word("a view or an attribute");
  constexpr std::int64_t kPeerMax = std::numeric_limits<std::int16_t>::max();
  if (word == "to" || word == "from" || word == "peer") {
    const bool fits = word == "to"     ? op.kind == OpKind::send
                      : word == "from" ? op.kind == OpKind::recv
                                       : true;
    if (!fits)
      line.fail_at(token, fmt::format("'{}' does not fit {}", word, name(op.kind)),
                   "send .. to, recv .. from");
    op.peer = static_cast<std::int16_t>(line.integer("the peer", -kPeerMax, kPeerMax));
    given.peer = true;
  } else if (word == "in") {
    op.group = read_group(line, scope.schedule);
    given.group = true;
  } else if (word == "shards") {
    op.shards = read_group(line, scope.schedule);
  } else if (word == "on") {
    op.stream = line.choice<Stream>("stream");
    given.stream = true;
  } else if (word == "phase") {
    op.phase = line.choice<Phase>("phase");
  } else if (word == "site") {
    op.site = static_cast<std::uint8_t>(line.count("the site", 255));
  } else if (word == "grouped") {
    op.grouped = true;
  } else if (word == "wait") {
    read_waits(line, scope, op);
  } else if (word == "record") {
    line.expect("(", "record");
    op.record = read_formal(line, scope);
    line.expect(")", "the formal");
  } else if (call != nullptr && word == "unit") {
    call->unit = line.count("the unit");
  } else if (call != nullptr && word == "microbatch") {
    call->microbatch = line.count("the microbatch");
  } else if (call != nullptr && word == "step") {
    call->step = line.count("the step");
  } else {
    std::vector<std::string> words = {"to",    "from", "peer",    "in",   "shards", "on",
                                      "phase", "site", "grouped", "wait", "record"};
    if (call != nullptr) words.insert(words.end(), {"unit", "microbatch", "step"});
    line.fail_unknown(token, "attribute of an op", word, words);
  }
}

std::uint32_t read_shape_reference(Line& line, TextScope& scope) {
  if (line.accept("(")) return scope.intern(read_shape(line));
  if (!line.accept("#")) return scope.intern(KernelShape{});
  const Token token = line.peek();
  const std::uint32_t at = line.count("the shape");
  if (at >= scope.schedule.shapes.size())
    line.fail_at(token, fmt::format("there is no shape #{}", at),
                 fmt::format("{} shapes are declared", scope.schedule.shapes.size()));
  return at;
}

}  // namespace

KernelShape read_shape(Line& line) {
  KernelShape shape;
  while (!line.accept(")"))
    read_field(line, shape, "field of a shape",
               [](KernelShape& s, auto&& visit) { for_each_shape_field(s, visit); });
  return shape;
}

std::uint16_t add_formal(Line& line, TextScope& scope, const std::string& name, const Formal& formal) {
  Block& block = scope.block();
  if (block.formal_count >= kMost16) line.fail("too many formals in one block");
  const auto index = static_cast<std::uint16_t>(block.formal_count);
  if (!scope.formals.emplace(name, index).second)
    line.fail(fmt::format("there is a formal {} in this block already", name), "give it another name");
  ++block.formal_count;
  scope.program().formals.push_back(formal);
  return index;
}

void read_op(Line& line, TextScope& scope, OpKind kind, Phase phase, OpCall* call) {
  Program& program = scope.program();
  Op op;
  op.kind = kind;
  op.phase = phase;
  op.first_view = static_cast<std::uint32_t>(program.views.size());
  op.first_wait = static_cast<std::uint32_t>(program.waits.size());
  op.shape = read_shape_reference(line, scope);
  Given given;
  while (!line.at_end()) {
    if (!is_view(line)) {
      read_attribute(line, scope, op, call, given);
      continue;
    }
    if (op.view_count >= kMost16) line.fail("too many views of one op");
    read_view(line, scope, line.choice<Role>("role of a view"));
    ++op.view_count;
  }
  if (!given.group) op.group = default_group(kind);
  if (!given.stream) op.stream = default_stream(kind, op.group);
  if (is_point_to_point(kind) && !given.peer)
    line.fail(fmt::format("{} needs its peer", name(kind)),
              kind == OpKind::send ? "as in: to +1" : "as in: from -1");
  program.ops.push_back(op);
  ++scope.block().op_count;
}

}  // namespace orrery::schedule
