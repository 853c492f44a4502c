// Files that survive a power cut once finish() has returned, and reading of parts of files. A failing call is a
// WorldError with its reason; a file that is not there or too short to read from is the user's (InputError).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace orrery::runtime {

class DurableFile {
 public:
  explicit DurableFile(std::string path);  // created, or emptied
  ~DurableFile();
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;
  void write(std::span<const std::byte> bytes);
  void sync();    // what was written until now, to the disc
  void finish();  // all of it, and closed

 private:
  std::string path_;
  int descriptor_ = -1;
};

// Names in a directory are durable only when the directory is.
void sync_directory(const std::string& path);

// With those above it; a directory that was not there is a name in the one above it.
void make_directories_durably(const std::string& path);

class InputFile {
 public:
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  std::int64_t size() const { return size_; }
  void read(std::int64_t offset, std::span<std::byte> into) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace orrery::runtime
