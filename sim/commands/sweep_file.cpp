#include "sim/commands/sweep_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/diagnostics.h"
#include "sim/commands/csv_text.h"

namespace orrery::sim {
namespace {

std::optional<std::size_t> parse_index(const std::string& text, std::size_t size) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value >= size) return std::nullopt;
  return value;
}

}  // namespace

SweepFile::SweepFile(const std::string& path, const SweepPlan& plan) : path_(path) {
  open();
  try {
    take_over(read_all(), plan);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

SweepFile::~SweepFile() { ::close(file_); }

void SweepFile::open() {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) fail("cannot be opened for writing");
  struct stat status {};
  const bool regular = ::fstat(file_, &status) == 0 && S_ISREG(status.st_mode);
  if (regular && ::flock(file_, LOCK_EX | LOCK_NB) == 0) return;
  const int reason = errno;
  ::close(file_);
  if (!regular) throw WorldError(fmt::format("{}: is no ordinary file", path_));
  if (reason == EWOULDBLOCK) throw WorldError(fmt::format("{}: another sweep is writing this file", path_));
  errno = reason;
  fail("cannot be locked");
}

std::string SweepFile::read_all() {
  std::string text;
  std::vector<char> chunk(std::size_t{1} << 16);
  for (;;) {
    const ssize_t got = ::pread(file_, chunk.data(), chunk.size(), static_cast<off_t>(text.size()));
    if (got < 0) fail("cannot be read");
    if (got == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

void SweepFile::take_over(const std::string& text, const SweepPlan& plan) {
  const std::vector<std::string> columns = sweep_columns(plan);
  const std::string header = csv_record(columns);
  if (text.size() < header.size() &&
      header.starts_with(text)) {  // new, or killed while the header was written
    cut(0);
    write(header);
    return;
  }
  const CsvText csv = parse_csv(text);
  if (csv.records.empty() || csv.records.front() != columns)
    refuse("its columns are not those of this sweep");
  for (std::size_t i = 1; i < csv.records.size(); ++i) {
    const SweepRow& row = csv.records[i];
    if (row.size() != columns.size())
      refuse(fmt::format("record {} has {} fields, not {}", i + 1, row.size(), columns.size()));
    if (row[1] != plan.id)
      refuse(fmt::format("record {} is of sweep {}, this one is {}", i + 1, row[1], plan.id));
    const std::optional<std::size_t> index = parse_index(row[0], plan.size());
    if (!index || !finished_.emplace(*index, row).second)
      refuse(fmt::format("record {} has the index {}", i + 1, row[0]));
  }
  if (csv.whole < text.size()) cut(csv.whole);
}

void SweepFile::append(const SweepRow& row) { write(csv_record(row)); }

void SweepFile::cut(std::size_t bytes) {
  if (::ftruncate(file_, static_cast<off_t>(bytes)) != 0) fail("cannot be cut");
}

void SweepFile::write(const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = ::write(file_, text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) fail("cannot be written");
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
}

void SweepFile::refuse(const std::string& what) const {
  throw InputError(fmt::format(
      "{}: error: the file holds something else than this sweep: {}\n"
      "  hint: another --output, or remove the file; a sweep is the same while its files, fields and "
      "values are\n",
      path_, what));
}

void SweepFile::fail(const char* call) const {
  throw WorldError(fmt::format("{}: {}: {}", path_, call, std::strerror(errno)));
}

}  // namespace orrery::sim
