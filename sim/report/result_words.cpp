#include "sim/report/result_words.h"

#include <fmt/format.h>

namespace orrery::sim {

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::fits:
      return "fits";
    case Verdict::risky:
      return "risky";
    case Verdict::does_not_fit:
      return "does not fit";
  }
  return "?";
}

std::string_view key_of(Share share) {
  switch (share) {
    case Share::compute:
      return "compute";
    case Share::exposed_tensor:
      return "exposed_tp";
    case Share::exposed_data:
      return "exposed_dp";
    case Share::exposed_pipe:
      return "exposed_pp";
    case Share::exposed_context:
      return "exposed_cp";
    case Share::exposed_expert:
      return "exposed_ep";
    case Share::exposed_other:
      return "exposed_other";
    case Share::copy:
      return "copy";
    case Share::host:
      return "host";
    case Share::bubble:
      return "bubble";
    case Share::wait:
      return "wait";
  }
  return "?";
}

std::string_view words_for(Share share) {
  switch (share) {
    case Share::compute:
      return "compute";
    case Share::exposed_tensor:
      return "tensor transfers, not hidden";
    case Share::exposed_data:
      return "data transfers, not hidden";
    case Share::exposed_pipe:
      return "pipeline transfers, not hidden";
    case Share::exposed_context:
      return "context transfers, not hidden";
    case Share::exposed_expert:
      return "expert transfers, not hidden";
    case Share::exposed_other:
      return "other transfers, not hidden";
    case Share::copy:
      return "host copies, not hidden";
    case Share::host:
      return "host (issue, CPU optimizer)";
    case Share::bubble:
      return "pipeline bubble";
    case Share::wait:
      return "wait for slower ranks";
  }
  return "?";
}

std::string_view memory_key(schedule::BufferKind kind) {
  switch (kind) {
    case schedule::BufferKind::weight:
      return "weights";
    case schedule::BufferKind::gradient:
      return "gradients";
    case schedule::BufferKind::optimizer:
      return "optimizer";
    case schedule::BufferKind::activation:
      return "activations";
    case schedule::BufferKind::workspace:
      return "workspace";
    case schedule::BufferKind::communication:
      return "communication";
    case schedule::BufferKind::token:
      return "tokens";
  }
  return "?";
}

Bytes fixed_bytes(const StageResult& stage) {
  Bytes sum;
  for (const FixedMemory& line : stage.fixed) sum += line.bytes;
  return sum;
}

std::string place_text(const Place& place) {
  if (!place.source) return {};
  if (place.line == 0) return place.source->path;
  return fmt::format("{}:{}:{}", place.source->path, place.line, place.column);
}

}  // namespace orrery::sim
