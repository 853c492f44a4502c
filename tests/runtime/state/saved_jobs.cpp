#include "tests/runtime/state/saved_jobs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/diagnostics.h"
#include "runtime/state/checkpoint_directory.h"
#include "runtime/state/stored_elements.h"

namespace orrery::runtime {

namespace fs = std::filesystem;

CheckpointDirectory::CheckpointDirectory() {
  std::string name = testing::TempDir() + "orrery_checkpoints_XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
  path_ = name;
}

CheckpointDirectory::~CheckpointDirectory() {
  std::error_code error;
  fs::remove_all(path_, error);
}

std::vector<std::string> CheckpointDirectory::names() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

Progress progress_at(std::int64_t step) {
  return {.step = step,
          .optimizer_steps = step - 1,
          .loss_scale = 4096.0,
          .steps_since_overflow = 3,
          .seed = 7,
          .data_source = "a text",
          .data_fingerprint = 0xFEDCBA9876543210ULL,
          .next_data_step = step + 2};
}

std::string save_job(Job& job, const std::string& directory, std::int64_t step, const SaveOptions& options) {
  const SavePlace place{directory, step, options.run};
  for (std::size_t rank = 0; rank < job.layouts.size(); ++rank) {
    Snapshot s;
    snapshot(job.layouts[rank], job.memories[rank], s, options.piece_bytes);
    save_rank(place, static_cast<std::int64_t>(rank), s);
  }
  commit(place, job.schedule, job.layouts[0], progress_at(step), options.keep);
  return checkpoint_path(directory, step);
}

Loaded load_job(Job& job, const std::string& path) {
  std::vector<Loaded> loaded;
  for (std::size_t rank = 0; rank < job.layouts.size(); ++rank)
    loaded.push_back(load_checkpoint(path, job.schedule, job.layouts[rank], job.memories[rank]));
  return loaded[0];
}

std::string load_error(Job& job, const std::string& path) {
  try {
    load_job(job, path);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

std::string state_difference(Job& a, Job& b) {
  for (std::size_t rank = 0; rank < a.layouts.size(); ++rank)
    for (const StateBuffer& buffer : a.layouts[rank].buffers) {
      const std::int64_t bytes = buffer.elements * stored_bytes(a.memories[rank].element(buffer.ref.buffer));
      const std::byte* const x = a.memories[rank].address(buffer.ref);
      const std::byte* const y = b.memories[rank].address(buffer.ref);
      for (std::int64_t i = 0; i < bytes; ++i)
        if (x[i] != y[i])
          return fmt::format("rank {}, buffer {} of instance {}, byte {} of {}", rank, buffer.ref.buffer.index(),
                             buffer.ref.instance, i, bytes);
    }
  return {};
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

std::string with_checksum(const std::string& manifest) {
  const std::size_t end = manifest.size() < 2 ? std::string::npos : manifest.find_last_of('\n', manifest.size() - 2);
  const std::string before = manifest.substr(0, end == std::string::npos ? 0 : end + 1);
  return before + checksum_line(before);
}

}  // namespace orrery::runtime
