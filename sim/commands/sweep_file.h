// The file that a sweep writes row by row, and goes on with where it was stopped: CSV, whose `sweep` column
// holds the id of the sweep and whose `index` column the combination. Opening it reads the finished rows,
// cuts off a last record that was torn by a kill, and refuses a file that is not this sweep's. A row is one
// write(), so that what is in the file is either whole or the torn end. The file is locked: two sweeps do not
// write one file.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "sim/commands/sweep_row.h"

namespace orrery::sim {

class SweepFile {
 public:
  // Throws InputError for another's file, WorldError where it cannot be written.
  SweepFile(const std::string& path, const SweepPlan& plan);
  ~SweepFile();
  SweepFile(const SweepFile&) = delete;
  SweepFile& operator=(const SweepFile&) = delete;

  const std::map<std::size_t, SweepRow>& finished() const { return finished_; }
  void append(const SweepRow& row);

 private:
  void open();
  std::string read_all();
  void take_over(const std::string& text, const SweepPlan& plan);
  void cut(std::size_t bytes);
  void write(const std::string& text);
  [[noreturn]] void refuse(const std::string& what) const;
  [[noreturn]] void fail(const char* call) const;

  std::string path_;
  int file_ = -1;
  std::map<std::size_t, SweepRow> finished_;
};

}  // namespace orrery::sim
