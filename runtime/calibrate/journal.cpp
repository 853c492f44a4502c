#include "runtime/calibrate/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/diagnostics.h"

namespace orrery::runtime {
namespace {

constexpr const char* kFormat = "orrery-calibration/1";
constexpr const char* kEnd = "end";
constexpr const char* kFinished = "finished";

}  // namespace

Journal::Journal(const std::string& path, const std::string& id, JournalUse use) : path_(path) {
  open();
  try {
    take_over(read_all(), fmt::format("{} {}", kFormat, id), use);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

Journal::~Journal() { ::close(file_); }

void Journal::open() {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) fail("cannot be opened for writing");
  if (::flock(file_, LOCK_EX | LOCK_NB) == 0) return;
  const int reason = errno;
  ::close(file_);
  if (reason == EWOULDBLOCK)
    throw WorldError(fmt::format("{}: another calibration is writing this file", path_));
  errno = reason;
  fail("cannot be locked");
}

std::string Journal::read_all() const {
  std::string text;
  std::vector<char> chunk(std::size_t{1} << 16);
  for (;;) {
    const ssize_t got = ::pread(file_, chunk.data(), chunk.size(), static_cast<off_t>(text.size()));
    if (got < 0) fail("cannot be read");
    if (got == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

void Journal::take_over(const std::string& text, const std::string& header, JournalUse use) {
  std::vector<Block> blocks;
  Block open_block;
  std::string first;
  std::size_t whole = 0;  // bytes up to the end of the last whole block
  bool finished = false;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    std::string line = text.substr(at, end - at);
    if (at == 0) {
      first = std::move(line);
      whole = end + 1;
    } else if (line == kEnd) {
      finished = open_block == Block{kFinished};
      if (!finished) blocks.push_back(std::move(open_block));
      open_block.clear();
      whole = end + 1;
    } else {
      open_block.push_back(std::move(line));
    }
  }
  const bool ours = first == header;
  if (!ours && !first.empty() && !first.starts_with(kFormat))
    throw InputError(
        fmt::format("{}: error: the file is no journal of a calibration\n  hint: another --name\n", path_));
  if (!ours && !first.empty() && !finished)
    throw InputError(fmt::format(
        "{}: error: it holds an unfinished calibration with other options, scenarios, processor or program\n"
        "  hint: the same again to go on, another --name, or remove the file\n",
        path_));
  if (!ours || (finished && use == JournalUse::begin_anew)) return begin(header);
  earlier_ = std::move(blocks);
  if (whole < text.size() && ::ftruncate(file_, static_cast<off_t>(whole)) != 0) fail("cannot be cut");
}

void Journal::begin(const std::string& header) {
  if (::ftruncate(file_, 0) != 0) fail("cannot be emptied");
  write(header + "\n");
}

void Journal::append(const Block& block) {
  std::string text;
  for (const std::string& line : block) {
    CHECK(line.find('\n') == std::string::npos && line != kEnd, line);
    text += line + "\n";
  }
  write(text + kEnd + "\n");
}

void Journal::finish() { append({kFinished}); }

void Journal::write(const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = ::write(file_, text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) fail("cannot be written");
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
}

void Journal::fail(const char* call) const {
  throw WorldError(fmt::format("{}: {}: {}", path_, call, std::strerror(errno)));
}

}  // namespace orrery::runtime
