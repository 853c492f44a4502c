// Whether calls fit: each one by itself, when it is prepared, and the sides of a meeting with each other, when they
// meet. What the sides compare is a CallDigest of fixed size, which a transport can send.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>

#include "runtime/comm/communicator.h"

namespace orrery::runtime {

// Throws CommError where the call could not work whatever the others do.
void check_call(const CommCall& call, int size);

struct CallDigest {
  std::uint64_t sequence = 0, signature = 0;
  std::int64_t elements =
      0;                     // of what each side brings to the meeting: of y for recv, all_reduce, broadcast, else of x
  std::uint64_t counts = 0;  // hash of the pieces' counts
  std::int32_t rank = 0;
  CommKind kind = CommKind::barrier;  // a message's is `send` on both sides
  CommReduce reduce = CommReduce::sum;
  Element element = Element::fp32;
  std::array<char, 129> what{};  // cut where it is longer
};
static_assert(std::is_trivially_copyable_v<CallDigest>);

CallDigest digest_of(const CommCall& call, int rank, std::uint64_t sequence);

// Empty where they fit, else what a CommError says.
std::string misfit(const CallDigest& one, const CallDigest& other);

}  // namespace orrery::runtime
