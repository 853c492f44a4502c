#include "runtime/state/rank_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "base/object_reader.h"
#include "runtime/state/checksum.h"
#include "runtime/state/durable_file.h"
#include "runtime/state/stored_elements.h"

namespace orrery::runtime {
namespace {

constexpr std::array<char, 8> kMagic{'O', 'R', 'R', 'Y', 'R', 'A', 'N', 'K'};
constexpr std::int64_t kMostElements = std::int64_t{1} << 48;  // of a tensor; far from overflowing
constexpr std::size_t kSyncedAtOnce = std::size_t{64} << 20;   // a few tenths of a second on most disks

struct Prefix {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kRankFileVersion;
  std::uint32_t checksum = 0;
  std::uint64_t header_bytes = 0;
};
static_assert(sizeof(Prefix) == 24);

std::string header_text(const RankFile& file) {
  nlohmann::ordered_json json;
  json["rank"] = file.rank;
  json["step"] = file.step;
  json["tensors"] = nlohmann::ordered_json::array();
  for (const StoredTensor& t : file.tensors) json["tensors"].push_back({t.name, t.rows, t.columns});
  json["pieces"] = nlohmann::ordered_json::array();
  for (const StoredPiece& p : file.pieces)
    json["pieces"].push_back({p.tensor, std::string(name(p.state)), std::string(stored_word(p.element)), p.row,
                              p.column, p.rows, p.columns, p.checksum});
  return json.dump();
}

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw InputError(fmt::format("{}: error: {}\n", path, what));
}

// Reads the header's arrays: `[word, word, number, ...]`. A fault is reported once; what is read then is unused.
class Row {
 public:
  Row(const Json& json, std::size_t length, Diagnostics& diagnostics) : json_(json), diagnostics_(diagnostics) {
    sound_ = json.is_array() && json.items.size() == length;
    if (!sound_) diagnostics.error(json.place, fmt::format("is no list of {} values", length));
  }
  std::int64_t number(std::int64_t min, std::int64_t max) {
    if (const Json* const item = next(); item != nullptr) {
      if (item->kind == Json::Kind::integer && item->integer >= min && item->integer <= max) return item->integer;
      fault(*item, fmt::format("is no number from {} to {}", min, max));
    }
    return min;
  }
  std::string word() {
    if (const Json* const item = next(); item != nullptr) {
      if (item->is_string()) return item->string;
      fault(*item, "is no word");
    }
    return {};
  }
  void fault(const Json& item, std::string what) {
    if (sound_) diagnostics_.error(item.place, std::move(what));
    sound_ = false;
  }
  bool sound() const { return sound_; }
  const Json& json() const { return json_; }

 private:
  const Json* next() { return sound_ ? &json_.items[at_++] : nullptr; }
  const Json& json_;
  Diagnostics& diagnostics_;
  std::size_t at_ = 0;
  bool sound_ = true;
};

void read_tensor(const Json& json, RankFile& file, Diagnostics& diagnostics) {
  Row row(json, 3, diagnostics);
  StoredTensor tensor;
  tensor.name = row.word();
  tensor.rows = row.number(1, kMostElements);
  tensor.columns = row.number(1, kMostElements);
  if (tensor.rows > kMostElements / tensor.columns) row.fault(json, "is too large for a tensor");
  file.tensors.push_back(std::move(tensor));
}

std::optional<StoredState> state_of(std::string_view word) {
  for (std::size_t i = 0; i < kStoredStates; ++i)
    if (name(static_cast<StoredState>(i)) == word) return static_cast<StoredState>(i);
  return std::nullopt;
}

void read_piece(const Json& json, RankFile& file, Diagnostics& diagnostics) {
  Row row(json, 8, diagnostics);
  StoredPiece piece;
  piece.tensor = static_cast<std::uint32_t>(row.number(0, static_cast<std::int64_t>(file.tensors.size()) - 1));
  const std::optional<StoredState> state = state_of(row.word());
  const std::optional<Element> element = stored_element(row.word());
  if (!state || !element) row.fault(json, "has an unknown state or element type");
  if (!row.sound()) return;
  piece.state = *state;
  piece.element = *element;
  const StoredTensor& tensor = file.tensors[piece.tensor];
  piece.row = row.number(0, tensor.rows - 1);
  piece.column = row.number(0, tensor.columns - 1);
  piece.rows = row.number(1, tensor.rows - piece.row);
  piece.columns = row.number(1, tensor.columns - piece.column);
  piece.checksum = static_cast<std::uint32_t>(row.number(0, 0xFFFFFFFF));
  if (!file.pieces.empty()) piece.offset = file.pieces.back().offset + file.pieces.back().bytes();
  if (piece.offset > kMostElements) row.fault(json, "lies beyond every file's end");
  if (row.sound()) file.pieces.push_back(piece);
}

RankFile parse_header(const std::string& path, std::string text) {
  const auto source = std::make_shared<const SourceFile>(SourceFile{path, std::move(text)});
  Diagnostics diagnostics;
  const Json json = parse_json(source, diagnostics);
  diagnostics.throw_if_errors();
  RankFile file;
  ObjectReader r(json, diagnostics, "header");
  file.rank = r.integer("rank", {});
  file.step = r.integer("step", {});
  for (const Json& tensor : r.required("tensors").items) read_tensor(tensor, file, diagnostics);
  const Json& pieces = r.required("pieces");
  r.finish();
  diagnostics.throw_if_errors();
  for (const Json& piece : pieces.items) read_piece(piece, file, diagnostics);
  diagnostics.throw_if_errors();
  return file;
}

}  // namespace

std::string_view name(StoredState state) {
  switch (state) {
    case StoredState::parameter:
      return "parameter";
    case StoredState::moment1:
      return "moment1";
    case StoredState::moment2:
      return "moment2";
    case StoredState::residual:
      return "residual";
  }
  return "";
}

std::int64_t StoredPiece::bytes() const { return rows * columns * stored_bytes(element); }

void write_rank_file(const std::string& path, RankFile& file, std::span<const std::byte> data,
                     const std::function<void()>& moved) {
  for (StoredPiece& piece : file.pieces) {
    piece.checksum =
        crc32c(data.subspan(static_cast<std::size_t>(piece.offset), static_cast<std::size_t>(piece.bytes())));
    if (moved) moved();
  }
  const std::string header = header_text(file);
  const auto header_bytes = std::as_bytes(std::span(header));
  const Prefix prefix{.checksum = crc32c(header_bytes), .header_bytes = header.size()};
  DurableFile out(path);
  out.write(std::as_bytes(std::span(&prefix, 1)));
  out.write(header_bytes);
  while (!data.empty()) {
    const auto part = data.first(std::min(data.size(), kSyncedAtOnce));
    out.write(part);
    out.sync();
    if (moved) moved();
    data = data.subspan(part.size());
  }
  out.finish();
}

RankFileHeader read_rank_file_header(const std::string& path) {
  const InputFile in(path);
  RankFileHeader header;
  header.bytes = in.size();
  Prefix prefix;
  constexpr auto kPrefix = static_cast<std::int64_t>(sizeof(Prefix));
  if (in.size() < kPrefix) refuse(path, "is cut short: not even the file's head is there");
  in.read(0, std::as_writable_bytes(std::span(&prefix, 1)));
  if (prefix.magic != kMagic) refuse(path, "is no rank file of a checkpoint");
  if (prefix.version != kRankFileVersion)
    refuse(path, fmt::format("has format version {}; this program reads version {}: use the program that wrote it",
                             prefix.version, kRankFileVersion));
  if (prefix.header_bytes > static_cast<std::uint64_t>(in.size() - kPrefix))
    refuse(path, "is cut short within its header");
  std::string text(static_cast<std::size_t>(prefix.header_bytes), '\0');
  in.read(kPrefix, std::as_writable_bytes(std::span(text)));
  header.checksum = prefix.checksum;
  if (crc32c(std::as_bytes(std::span(text))) != prefix.checksum)
    refuse(path, "is damaged: its header's checksum is wrong");
  header.data_offset = kPrefix + static_cast<std::int64_t>(text.size());
  header.file = parse_header(path, std::move(text));
  const std::vector<StoredPiece>& pieces = header.file.pieces;
  const std::int64_t expected =
      header.data_offset + (pieces.empty() ? 0 : pieces.back().offset + pieces.back().bytes());
  if (expected != in.size())
    refuse(path, fmt::format("is damaged: it has {} bytes, its header speaks of {}", in.size(), expected));
  return header;
}

}  // namespace orrery::runtime
