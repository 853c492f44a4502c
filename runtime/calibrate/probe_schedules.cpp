#include "runtime/calibrate/probe_schedules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "schedule/text.h"
#include "schedule/verify.h"

namespace orrery::runtime {
namespace {

using hardware::TransferOperation;

schedule::Schedule parsed(std::string text) {
  Diagnostics diagnostics;
  const auto source = std::make_shared<SourceFile>(SourceFile{"a probe", std::move(text)});
  schedule::Schedule s = schedule::parse(source, diagnostics);
  CHECK(!diagnostics.has_errors(), diagnostics.text());
  const std::vector<schedule::Finding> findings = schedule::verify(s);
  CHECK(findings.empty(), findings.front().message);
  return s;
}

// What is written before the message, and the message: "x=x[16]", "y+=x[16]".
struct MessageText {
  std::string written, message;
};

MessageText text_of(TransferOperation operation, std::int64_t ranks, std::int64_t elements) {
  const auto all = fmt::format("[{}]", elements), part = fmt::format("[{}]", elements / ranks);
  switch (operation) {
    case TransferOperation::all_reduce:
      return {"x" + all, "all_reduce y+=x" + all};
    case TransferOperation::reduce_scatter:
      return {"x" + all, "reduce_scatter x:x" + all + " y=y" + part};
    case TransferOperation::all_gather:
      return {"x" + part, "all_gather x:x" + part + " y=y" + all};
    case TransferOperation::all_to_all:
      return {"x" + all, "all_to_all x:x" + all + " y=y" + all};
    case TransferOperation::broadcast:
      return {"x" + all, "broadcast y=x" + all};
    case TransferOperation::send_recv:
      return {"x" + all, "send x:x" + all + " to +1"};
  }
  return {};
}

constexpr std::int64_t kSide = 256;  // of a product that takes half a millisecond or so

std::string product_buffers() {
  return fmt::format("buffer a fp32[{0}] persistent\nbuffer b fp32[{0}] persistent\nbuffer c fp32[{0}] persistent\n",
                     kSide * kSide);
}

std::string product() {
  return fmt::format("gemm(layout=tn m={0} n={0} k={0}) x:a[{0}x{0}] w:b[{0}x{0}] y=c[{0}x{0}]", kSide);
}

std::string message_buffers(std::int64_t elements) {
  return product_buffers() +
         fmt::format("buffer x fp32[{0}] persistent\nbuffer y fp32[{0}] persistent\ntoken written\ntoken moved\n",
                     elements);
}

}  // namespace

schedule::Schedule message_probe(TransferOperation operation, std::int64_t ranks,
                                 std::span<const std::int64_t> bytes) {
  const bool pair = operation == TransferOperation::send_recv;
  const std::int64_t most = *std::max_element(bytes.begin(), bytes.end()) / 4;
  std::string text = fmt::format("schedule \"messages\"\nworld {}\ngroup {} stride 1 size {}\n", ranks,
                                 pair ? "pipe" : "data", ranks);
  if (pair) text += "programs by pipe\n";
  std::string receiver = "program receiver {\n" + message_buffers(most) + "fill y=a\nfill y=b\n";
  text += "program sender {\n" + message_buffers(most) + "fill y=a\nfill y=b\n";
  for (const std::int64_t size : bytes) {
    const MessageText m = text_of(operation, ranks, size / 4);
    text += product() + " wait(moved)\n";
    text += fmt::format("fill y={} record(written)\n", m.written);
    text += fmt::format("{} {} wait(written) record(moved)\n", m.message,
                        pair ? "on pipe_send_forward" : "in data on data");
    receiver += product() + " wait(moved) record(written)\n";
    receiver += fmt::format("recv y=y[{}] from -1 on pipe_recv_forward wait(written) record(moved)\n", size / 4);
  }
  text += "}\n";
  return parsed(pair ? text + receiver + "}\n" : text);
}

schedule::Schedule overhead_probe(std::int64_t ops) {
  std::string text = "schedule \"small kernels\"\nworld 1\nprogram one {\nbuffer x fp32[16] persistent\n";
  for (std::int64_t i = 0; i < ops; ++i) text += "fill y=x\n";
  return parsed(text + "}\n");
}

schedule::Schedule interference_probe(std::int64_t ranks, std::int64_t rounds, std::int64_t bytes) {
  constexpr std::int64_t kStream = std::int64_t{1} << 19;
  std::string text =
      fmt::format("schedule \"kernels beside transfers\"\nworld {0}\ngroup data stride 1 size {0}\n", ranks);
  text += fmt::format(
      "program one {{\nbuffer big fp32[{0}] persistent\ntoken begun\n"
      "buffer p fp32[{1}] persistent\nbuffer q fp32[{1}] persistent\n",
      bytes / 4, kStream);
  text += product_buffers();
  text += "fill y=a record(begun)\nfill y=b\nfill y=p\nfill y=q\n";
  for (int i = 0; i < 4; ++i)
    text += fmt::format("all_reduce y+=big in data on data{}\n", i == 0 ? " wait(begun)" : "");
  for (std::int64_t i = 0; i < rounds; ++i)
    text += product() + "\nadd x:p y+=q\n";
  return parsed(text + "}\n");
}

}  // namespace orrery::runtime
