#include "runtime/state/checksum.h"

#include <array>
#include <bit>
#include <cstring>

namespace orrery::runtime {
namespace {

static_assert(std::endian::native == std::endian::little, "checkpoints are little-endian");

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables t{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1U) != 0 ? 0x82F63B78U : 0U);
    t[0][i] = c;
  }
  for (std::size_t k = 1; k < t.size(); ++k)
    for (std::size_t i = 0; i < 256; ++i) t[k][i] = (t[k - 1][i] >> 8) ^ t[0][t[k - 1][i] & 0xFFU];
  return t;
}

constexpr Tables kTables = make_tables();

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t c = ~before;
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + at, 8);
    word ^= c;
    c = 0;
    for (std::size_t k = 0; k < 8; ++k) c ^= kTables[7 - k][(word >> (8 * k)) & 0xFFU];
  }
  for (; at < bytes.size(); ++at) c = (c >> 8) ^ kTables[0][(c ^ std::to_integer<std::uint32_t>(bytes[at])) & 0xFFU];
  return ~c;
}

}  // namespace orrery::runtime
