#include "runtime/comm/communicator.h"

#include "base/check.h"

namespace orrery::runtime {

std::int64_t bytes_of(Element element) {
  switch (element) {
    case Element::fp64:
      return 8;
    case Element::fp32:
    case Element::int32:
      return 4;
    case Element::bf16:
    case Element::fp16:
      return 2;
    case Element::byte:
      return 1;
  }
  CHECK(false, static_cast<int>(element));
  return 0;
}

std::string_view name_of(Element element) {
  switch (element) {
    case Element::fp32:
      return "fp32";
    case Element::fp64:
      return "fp64";
    case Element::bf16:
      return "bf16";
    case Element::fp16:
      return "fp16";
    case Element::int32:
      return "int32";
    case Element::byte:
      return "byte";
  }
  return "no element";
}

std::string_view name_of(CommKind kind) {
  switch (kind) {
    case CommKind::send:
      return "send";
    case CommKind::recv:
      return "recv";
    case CommKind::all_reduce:
      return "all_reduce";
    case CommKind::reduce_scatter:
      return "reduce_scatter";
    case CommKind::all_gather:
      return "all_gather";
    case CommKind::all_to_all:
      return "all_to_all";
    case CommKind::broadcast:
      return "broadcast";
    case CommKind::barrier:
      return "barrier";
  }
  return "no kind";
}

}  // namespace orrery::runtime
