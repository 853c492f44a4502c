// What the elements of a buffer are in memory: what the schedule says, or doubles where the run computes in double
// precision. Integers are what they are. Transfers, kernels and checkpoints all ask here.
#pragma once

#include "runtime/comm/communicator.h"
#include "schedule/ir.h"

namespace orrery::runtime {

inline Element element_of(schedule::DataType type, bool in_double) {
  using schedule::DataType;
  switch (type) {
    case DataType::fp32: return in_double ? Element::fp64 : Element::fp32;
    case DataType::bf16: return in_double ? Element::fp64 : Element::bf16;
    case DataType::fp16: return in_double ? Element::fp64 : Element::fp16;
    case DataType::int32: return Element::int32;
    case DataType::byte:
    case DataType::fp8:
    case DataType::fp4: return Element::byte;
  }
  return Element::byte;
}

}  // namespace orrery::runtime
