// What `mpirun` adds to the standard error of a job that fails: blocks between lines of dashes that say in
// several ways that a process ended. The user is to read what the ranks said instead, so those blocks are
// left out; one that we do not know is kept. Written after Open MPI 4.1.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace orrery::sim {

class MpirunWords {
 public:
  // `forward` gets what is kept, as it comes.
  explicit MpirunWords(std::function<void(std::string_view)> forward) : forward_(std::move(forward)) {}
  void take(std::string_view text);
  void finish();  // no more text comes

  bool ranks_started() const { return ranks_started_; }  // rank 0 has said so
  bool said_error() const { return said_error_; }  // a line "error: ..." was kept
  const std::string& death() const {
    return death_;
  }  // "rank 1 was ended by signal 9 (Killed)"; empty: none was

 private:
  void line(std::string_view line);  // with its newline
  void end_block();
  void keep(std::string_view text);

  std::function<void(std::string_view)> forward_;
  std::string pending_;  // the beginning of a line that might be one of mpirun's
  bool in_block_ = false, in_kept_line_ = false, ranks_started_ = false;
  std::string block_, last_kept_;
  bool said_error_ = false;
  std::string death_;
};

}  // namespace orrery::sim
