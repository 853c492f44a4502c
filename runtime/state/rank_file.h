// One rank's file of a checkpoint: the pieces of global tensors that the rank owns.
//
//     bytes 0..7    "ORRYRANK"
//     8..11         format version
//     12..15        CRC-32C of the header
//     16..23        bytes of the header (JSON; the table below)
//     then          the header, and behind it the pieces' elements, in the header's order, without gaps
//
// The header lists tensors [name, rows, columns] and pieces [tensor, state, element type, row, column, rows, columns,
// CRC-32C]: a rectangle of the tensor, row-major. Pieces are at most a few MiB, so that another plan can read and
// verify just what it wants. Everything is little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/comm/communicator.h"

namespace orrery::runtime {

inline constexpr std::uint32_t kRankFileVersion = 1;

// What a checkpoint keeps of a tensor. A parameter is as the optimizer keeps it: the master weight where there is
// one.
enum class StoredState : std::uint8_t { parameter, moment1, moment2, residual };
inline constexpr std::size_t kStoredStates = 4;
std::string_view name(StoredState state);

struct StoredTensor {
  std::string name;
  std::int64_t rows = 0, columns = 1;
  bool operator==(const StoredTensor&) const = default;
};

struct StoredPiece {
  std::uint32_t tensor = 0;  // index into RankFile::tensors
  StoredState state = StoredState::parameter;
  Element element = Element::fp32;
  std::int64_t row = 0, column = 0, rows = 0, columns = 0;
  std::uint32_t checksum = 0;
  std::int64_t offset = 0;  // bytes behind the header; pieces follow each other
  std::int64_t bytes() const;
};

struct RankFile {
  std::int64_t rank = 0, step = 0;
  std::vector<StoredTensor> tensors;
  std::vector<StoredPiece> pieces;
};

// Writes `file` with its pieces' elements to `path`, durably; sets their checksums. Throws WorldError. `moved` is called
// now and then: behind each piece's checksum, and whenever another 64 MiB are on the disk.
void write_rank_file(const std::string& path, RankFile& file, std::span<const std::byte> data,
                     const std::function<void()>& moved = {});

// What a reader finds: everything but the elements.
struct RankFileHeader {
  RankFile file;
  std::uint32_t checksum = 0;    // of the header's text
  std::int64_t bytes = 0;        // of the whole file
  std::int64_t data_offset = 0;  // of the first piece
};

// Throws InputError with path and reason for whatever is no whole, sound rank file of this version.
RankFileHeader read_rank_file_header(const std::string& path);

}  // namespace orrery::runtime
