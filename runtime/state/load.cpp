#include "runtime/state/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <unordered_map>

#include "base/check.h"
#include "base/diagnostics.h"
#include "runtime/state/checkpoint_directory.h"
#include "runtime/state/checksum.h"
#include "runtime/state/durable_file.h"
#include "runtime/state/initialise.h"
#include "runtime/state/rank_file.h"
#include "runtime/state/stored_elements.h"

namespace orrery::runtime {
namespace {

namespace fs = std::filesystem;

// One stored state of one tensor, of which this rank wants the runs.
struct Wanted {
  std::vector<const StateRun*> runs;
  std::int64_t stored_rows = 0;    // of the whole tensor, as all files say; 0: no file has it
  std::vector<StoredPiece> found;  // in any file
};

struct Overlap {
  std::int64_t row = 0, column = 0, rows = 0, columns = 0;
  bool empty() const { return rows <= 0 || columns <= 0; }
};

template <typename A, typename B>
Overlap overlap(const A& a, const B& b) {
  Overlap o{.row = std::max(a.row, b.row), .column = std::max(a.column, b.column)};
  o.rows = std::min(a.row + a.rows, b.row + b.rows) - o.row;
  o.columns = std::min(a.column + a.columns, b.column + b.columns) - o.column;
  return o;
}

bool feeds(StoredState state, StateKind kind) {
  switch (kind) {
    case StateKind::weight:
    case StateKind::master:
      return state == StoredState::parameter;
    case StateKind::moment1:
      return state == StoredState::moment1;
    case StateKind::moment2:
      return state == StoredState::moment2;
    case StateKind::residual:
      return state == StoredState::residual;
    case StateKind::gradient:
      return false;
  }
  return false;
}

class Loader {
 public:
  Loader(std::string path, const schedule::Schedule& schedule, const StateLayout& layout, StateMemory& memory)
      : path_(std::move(path)), schedule_(schedule), layout_(layout), memory_(memory) {
    loaded_.path = path_;
  }
  Loaded load();

 private:
  void check_same_job() const;
  void list_wanted();
  void look_into(const ManifestFile& file);
  std::vector<std::uint32_t> match_tensors(const std::string& file, const RankFile& contents) const;
  void check_complete();
  void read_pieces(const std::string& file);
  void place(const StoredPiece& piece, const Wanted& wanted, const std::vector<std::byte>& bytes);
  void begin_missing_rows();
  void note_residuals();
  Wanted& wanted(std::size_t tensor, StoredState state) {
    return wanted_[tensor * kStoredStates + static_cast<std::size_t>(state)];
  }
  std::string file_path(const std::string& name) const { return (fs::path(path_) / name).string(); }
  template <typename Act>
  void or_older(Act&& act) const;  // a failure names the checkpoint before this one, where there is one

  std::string path_;
  const schedule::Schedule& schedule_;
  const StateLayout& layout_;
  StateMemory& memory_;
  Manifest manifest_;
  Loaded loaded_;
  std::vector<Wanted> wanted_;  // tensors x stored states
  std::unordered_map<std::string_view, std::uint32_t> tensor_of_name_;
  struct Read {
    std::size_t wanted;
    StoredPiece piece;
    std::int64_t offset;  // in the file
  };
  std::unordered_map<std::string, std::vector<Read>> reads_;  // by file
  bool residuals_stored_ = false, residuals_go_on_ = true;
};

constexpr std::uint32_t kNotWanted = 0xFFFFFFFF;

[[noreturn]] void refuse(const std::string& path, const std::string& what, const std::string& hint = {}) {
  throw InputError(fmt::format("{}: error: {}\n{}", path, what, hint.empty() ? "" : "  hint: " + hint + "\n"));
}

template <typename Act>
void Loader::or_older(Act&& act) const {
  try {
    act();
  } catch (const InputError& error) {
    const std::string directory = fs::path(path_).parent_path().string();
    std::string older;
    for (const std::int64_t step : complete_steps(directory)) {
      const std::string path = checkpoint_path(directory, step);
      if (path == path_) break;
      older = path;
    }
    throw InputError(error.what() + (older.empty() ? older : fmt::format("  hint: the one before is {}\n", older)));
  }
}

Loaded Loader::load() {
  or_older([&] { manifest_ = read_manifest(file_path(kManifestName)); });
  check_same_job();
  list_wanted();
  or_older([&] {
    for (const ManifestFile& file : manifest_.files) look_into(file), memory_.moved();
    check_complete();
    clear_state(layout_, memory_);
    for (const ManifestFile& file : manifest_.files) read_pieces(file.name);
  });
  begin_missing_rows();
  note_residuals();
  loaded_.progress = manifest_.progress;
  loaded_.plan = manifest_.plan;
  if (manifest_.progress.seed != schedule_.hyper.seed)
    loaded_.notes.push_back(
        fmt::format("the checkpoint was trained with seed {}; data and dropout go on with seed {}",
                    manifest_.progress.seed, schedule_.hyper.seed));
  return std::move(loaded_);
}

void Loader::check_same_job() const {
  const std::string path = file_path(kManifestName);
  if (const std::string difference = model_difference(manifest_.model, schedule_.model); !difference.empty())
    refuse(path, "is of another model: " + difference, "resume with the model that the checkpoint was trained with");
  if (const std::string_view here = optimizer_word(layout_); manifest_.optimizer != here)
    refuse(path, fmt::format("was trained by {}, this run has {}", manifest_.optimizer, here),
           fmt::format("set training.optimizer to {}", manifest_.optimizer));
}

void Loader::list_wanted() {
  wanted_.resize(layout_.tensors.size() * kStoredStates);
  for (std::size_t t = 0; t < layout_.tensors.size(); ++t)
    tensor_of_name_.emplace(layout_.tensors[t].name, static_cast<std::uint32_t>(t));
  for (const StateRun& run : layout_.runs)
    for (std::size_t s = 0; s < kStoredStates; ++s)
      if (feeds(static_cast<StoredState>(s), run.kind))
        wanted(run.tensor, static_cast<StoredState>(s)).runs.push_back(&run);
  const PlanSummary here = plan_summary(schedule_);
  residuals_go_on_ = manifest_.plan.tp == here.tp && manifest_.plan.dp == here.dp;
}

// Layout tensors of the file's tensors, kNotWanted for those that this rank has no part of.
std::vector<std::uint32_t> Loader::match_tensors(const std::string& file, const RankFile& contents) const {
  std::vector<std::uint32_t> indices;
  for (const StoredTensor& stored : contents.tensors) {
    const auto found = tensor_of_name_.find(stored.name);
    if (found == tensor_of_name_.end()) {
      indices.push_back(kNotWanted);
      continue;
    }
    const StateTensor& own = layout_.tensors[found->second];
    const bool rows_fit = own.vocabulary ? stored.rows >= schedule_.model.vocab : stored.rows == own.rows;
    const bool residual = own.name.find(".residual.") != std::string::npos;
    if (!residual && (!rows_fit || stored.columns != own.columns))
      refuse(file, fmt::format("{} is [{} x {}] there and [{} x {}] here", stored.name, stored.rows, stored.columns,
                               own.rows, own.columns));
    const bool usable = rows_fit && stored.columns == own.columns && (!residual || residuals_go_on_);
    indices.push_back(usable ? found->second : kNotWanted);
  }
  return indices;
}

void Loader::look_into(const ManifestFile& file) {
  const std::string path = file_path(file.name);
  const RankFileHeader header = read_rank_file_header(path);
  if (header.bytes != file.bytes || header.checksum != file.header_checksum)
    refuse(path, "is not the file that the manifest speaks of");
  const std::vector<std::uint32_t> tensors = match_tensors(path, header.file);
  for (const StoredPiece& piece : header.file.pieces) {
    residuals_stored_ = residuals_stored_ || piece.state == StoredState::residual;
    const std::uint32_t tensor = tensors[piece.tensor];
    if (tensor == kNotWanted) continue;
    Wanted& w = wanted(tensor, piece.state);
    if (w.runs.empty()) continue;
    const std::int64_t rows = header.file.tensors[piece.tensor].rows;
    if (w.stored_rows != 0 && w.stored_rows != rows)
      refuse(path, fmt::format("{} has {} rows here and {} in another file", layout_.tensors[tensor].name, rows,
                               w.stored_rows));
    w.stored_rows = rows;
    w.found.push_back(piece);
    const bool needed =
        std::any_of(w.runs.begin(), w.runs.end(), [&](const StateRun* run) { return !overlap(*run, piece).empty(); });
    if (needed)
      reads_[file.name].push_back(
          {static_cast<std::size_t>(&w - wanted_.data()), piece, header.data_offset + piece.offset});
  }
}

// Pieces of one tensor: as many elements as it has, and none twice.
bool covers(std::vector<StoredPiece> pieces, std::int64_t elements) {
  std::sort(pieces.begin(), pieces.end(), [](const StoredPiece& a, const StoredPiece& b) { return a.row < b.row; });
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    elements -= pieces[i].rows * pieces[i].columns;
    for (std::size_t j = i + 1; j < pieces.size() && pieces[j].row < pieces[i].row + pieces[i].rows; ++j)
      if (!overlap(pieces[i], pieces[j]).empty()) return false;
  }
  return elements == 0;
}

void Loader::check_complete() {
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    const Wanted& w = wanted_[i];
    const auto state = static_cast<StoredState>(i % kStoredStates);
    const StateTensor& tensor = layout_.tensors[i / kStoredStates];
    if (w.runs.empty()) continue;
    if (state == StoredState::residual && w.found.empty()) {
      residuals_go_on_ = false;
      continue;
    }
    if (!covers(w.found, w.stored_rows * tensor.columns) || w.found.empty())
      refuse(path_, fmt::format("{} ({}) is not there, or not exactly once", tensor.name, name(state)),
             "the files are not those of one checkpoint; copy its directory as a whole");
  }
}

void Loader::read_pieces(const std::string& file) {
  const auto found = reads_.find(file);
  if (found == reads_.end()) return;
  const InputFile in(file_path(file));
  std::vector<std::byte> bytes;
  for (const Read& read : found->second) {
    bytes.resize(static_cast<std::size_t>(read.piece.bytes()));
    in.read(read.offset, bytes);
    if (crc32c(bytes) != read.piece.checksum)
      refuse(file_path(file),
             fmt::format("is damaged: bytes {} to {} (of {}) have a wrong checksum", read.offset,
                         read.offset + read.piece.bytes(), layout_.tensors[read.wanted / kStoredStates].name));
    place(read.piece, wanted_[read.wanted], bytes);
    memory_.moved();
  }
}

void Loader::place(const StoredPiece& piece, const Wanted& wanted, const std::vector<std::byte>& bytes) {
  const std::int64_t from_size = stored_bytes(piece.element);
  for (const StateRun* const run : wanted.runs) {
    Overlap o = overlap(*run, piece);
    if (o.empty()) continue;
    const Element element = memory_.element(run->buffer.buffer);
    const std::byte* from =
        bytes.data() + ((o.row - piece.row) * piece.columns + o.column - piece.column) * from_size;
    std::byte* to =
        memory_.address(run->buffer) +
        (run->offset + (o.row - run->row) * run->columns + o.column - run->column) * stored_bytes(element);
    if (o.columns == piece.columns && o.columns == run->columns) {  // one stretch in both
      o.columns *= o.rows;
      o.rows = 1;
    }
    for (std::int64_t r = 0; r < o.rows; ++r)
      convert({from + r * piece.columns * from_size, piece.element}, o.columns,
              to + r * run->columns * stored_bytes(element), element);
  }
}

// Rows of the vocabulary's padding that this plan has and the checkpoint has not.
void Loader::begin_missing_rows() {
  for (std::size_t t = 0; t < layout_.tensors.size(); ++t) {
    const Wanted& w = wanted(t, StoredState::parameter);
    for (const StateRun* const run : w.runs) {
      const std::int64_t skipped = std::max<std::int64_t>(0, w.stored_rows - run->row);
      if (skipped >= run->rows) continue;
      StateRun missing = *run;
      missing.row += skipped;
      missing.rows -= skipped;
      missing.offset += skipped * run->columns;
      initialise_run(schedule_, layout_.tensors[t], missing, memory_);
    }
  }
}

void Loader::note_residuals() {
  const bool kept = std::any_of(layout_.runs.begin(), layout_.runs.end(),
                                [](const StateRun& run) { return run.kind == StateKind::residual; });
  if (kept && !residuals_go_on_)
    loaded_.notes.emplace_back(
        "gradients that compression had not sent yet begin at 0: the checkpoint has none, or those of another tp or "
        "dp");
  if (!kept && residuals_stored_)
    loaded_.notes.emplace_back("gradients that compression had not sent yet are dropped: this plan keeps none");
}

}  // namespace

Loaded load_checkpoint(const std::string& path, const schedule::Schedule& schedule, const StateLayout& layout,
                       StateMemory& memory) {
  std::string found = fs::path(find_checkpoint(path)).lexically_normal().string();
  if (found.size() > 1 && found.back() == '/') found.pop_back();
  return Loader(std::move(found), schedule, layout, memory).load();
}

}  // namespace orrery::runtime
