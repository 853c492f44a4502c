#include "runtime/state/save.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/check.h"
#include "base/diagnostics.h"
#include "runtime/state/checkpoint_directory.h"
#include "runtime/state/durable_file.h"
#include "runtime/state/stored_elements.h"

namespace orrery::runtime {
namespace {

namespace fs = std::filesystem;

StoredState stored_state(StateKind kind) {
  switch (kind) {
    case StateKind::weight:
    case StateKind::master: return StoredState::parameter;
    case StateKind::moment1: return StoredState::moment1;
    case StateKind::moment2: return StoredState::moment2;
    case StateKind::residual: return StoredState::residual;
    case StateKind::gradient: break;
  }
  check_failed("gradients are not saved", __FILE__, __LINE__, "");
}

// Appends the run's pieces: as many whole rows each as fit into `piece_bytes`, one at least.
void cut(const StateRun& run, Element element, std::int64_t piece_bytes, RankFile& file) {
  const std::int64_t rows_at_once = std::max<std::int64_t>(1, piece_bytes / (run.columns * stored_bytes(element)));
  for (std::int64_t r = 0; r < run.rows; r += rows_at_once) {
    StoredPiece piece{.tensor = run.tensor,
                      .state = stored_state(run.kind),
                      .element = element,
                      .row = run.row + r,
                      .column = run.column,
                      .rows = std::min(rows_at_once, run.rows - r),
                      .columns = run.columns};
    if (!file.pieces.empty()) piece.offset = file.pieces.back().offset + file.pieces.back().bytes();
    file.pieces.push_back(piece);
  }
}

// Fails where `to` is a directory that holds something.
void rename_durably(const std::string& from, const std::string& to, const std::string& directory) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw WorldError(fmt::format("{}: cannot be renamed to {}: {}", from, to, error.message()));
  sync_directory(directory);
}

std::string partial(const SavePlace& place) {
  CHECK(!place.run.empty() && std::all_of(place.run.begin(), place.run.end(),
                                          [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; }),
        place.run);
  return partial_path(place.directory, place.step, place.run);
}

RankFileHeader read_back(const std::string& path) {
  try {
    return read_rank_file_header(path);
  } catch (const InputError& error) {
    throw WorldError(error.what());
  }
}

// The ranks' files, looked at where they lie, since what a rank believes to have written is not what counts. One that
// cannot be read back is no fault of the user's.
std::vector<ManifestFile> written_files(const SavePlace& place, std::int64_t world) {
  std::vector<ManifestFile> files;
  for (std::int64_t rank = 0; rank < world; ++rank) {
    const std::string name = rank_file_name(rank);
    const RankFileHeader header = read_back((fs::path(partial(place)) / name).string());
    CHECK(header.file.rank == rank && header.file.step == place.step, header.file.rank, header.file.step);
    files.push_back({name, header.bytes, header.checksum});
  }
  return files;
}

}  // namespace

void snapshot(const StateLayout& layout, StateMemory& memory, Snapshot& into, std::int64_t piece_bytes) {
  into.file.tensors.clear();
  into.file.pieces.clear();
  for (const StateTensor& t : layout.tensors) into.file.tensors.push_back({t.name, t.rows, t.columns});
  std::int64_t bytes = 0;
  for (const StateRun& run : layout.runs) {
    if (!run.saved) continue;
    const Element element = memory.element(run.buffer.buffer);
    cut(run, element, piece_bytes, into.file);
    bytes += run.count() * stored_bytes(element);
  }
  into.data.resize(static_cast<std::size_t>(bytes));
  std::byte* to = into.data.data();
  for (const StateRun& run : layout.runs) {
    if (!run.saved) continue;
    const std::int64_t size = stored_bytes(memory.element(run.buffer.buffer));
    const auto count = static_cast<std::size_t>(run.count() * size);
    std::memcpy(to, memory.address(run.buffer) + run.offset * size, count);
    to += count;
  }
}

void save_rank(const SavePlace& place, std::int64_t rank, Snapshot& snapshot, const std::function<void()>& moved) {
  const std::string path = partial(place);
  make_directories_durably(path);
  snapshot.file.rank = rank;
  snapshot.file.step = place.step;
  write_rank_file((fs::path(path) / rank_file_name(rank)).string(), snapshot.file, snapshot.data, moved);
}

void refuse_foreign_checkpoints(const std::string& directory, const models::Architecture& model) {
  const auto difference = [&](const std::string& checkpoint) -> std::string {
    try {
      return model_difference(read_manifest((fs::path(checkpoint) / kManifestName).string()).model, model);
    } catch (const InputError&) {
      return {};
    }
  };
  for (const std::int64_t step : complete_steps(directory)) {
    const std::string checkpoint = checkpoint_path(directory, step);
    if (const std::string found = difference(checkpoint); !found.empty())
      throw InputError(fmt::format("{}: error: is a checkpoint of another model ({}), and a run removes old ones\n"
                                   "  hint: save to another directory\n",
                                   checkpoint, found));
  }
}

void commit(const SavePlace& place, const schedule::Schedule& schedule, const StateLayout& layout,
            const Progress& progress, std::int64_t keep) {
  CHECK(progress.step == place.step, progress.step, place.step);
  const std::string path = partial(place), final_path = checkpoint_path(place.directory, place.step);
  const std::string text = manifest_text({.progress = progress,
                                          .plan = plan_summary(schedule),
                                          .optimizer = std::string(optimizer_word(layout)),
                                          .model = schedule.model,
                                          .files = written_files(place, schedule.world)});
  DurableFile manifest((fs::path(path) / kManifestName).string());
  manifest.write(std::as_bytes(std::span(text)));
  manifest.finish();
  sync_directory(path);
  rename_durably(path, final_path, place.directory);
  remove_old(place.directory, place.step, keep);
  remove_leftovers(place.directory, place.step, place.run);
}

}  // namespace orrery::runtime
