// Ids are wrapped uint32 indices into vectors; each kind is its own type, so a RankId never indexes links.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace orrery {

template <typename Tag>
struct Id {
  std::uint32_t value = 0;
  constexpr Id() = default;
  explicit constexpr Id(std::uint32_t v) : value(v) {}
  explicit constexpr Id(std::size_t v) : value(static_cast<std::uint32_t>(v)) {}
  explicit constexpr Id(int v) : value(static_cast<std::uint32_t>(v)) {}
  constexpr std::size_t index() const { return value; }
  constexpr auto operator<=>(const Id&) const = default;
};

using RankId = Id<struct RankTag>;
using OpId = Id<struct OpTag>;
using LinkId = Id<struct LinkTag>;
using NodeId = Id<struct NodeTag>;
using BlockId = Id<struct BlockTag>;
using BufferId = Id<struct BufferTag>;
using ProgramId = Id<struct ProgramTag>;

}  // namespace orrery

template <typename Tag>
struct std::hash<orrery::Id<Tag>> {
  std::size_t operator()(orrery::Id<Tag> id) const noexcept { return id.value; }
};
