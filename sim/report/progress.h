// A progress bar for long commands: on stderr, and only where that is a terminal. Redrawn at most ten times a
// second; erased when it is destroyed, so that what is printed next begins on a clean line.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace orrery::sim {

class Progress {
 public:
  Progress(std::string what, std::int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(std::int64_t by = 1);
  std::int64_t done() const { return done_; }

 private:
  void draw();
  std::string what_;
  std::int64_t total_ = 0, done_ = 0;
  bool terminal_ = false, drawn_ = false;
  std::chrono::steady_clock::time_point started_, next_draw_;
};

// The line as it is drawn: "sweep  [=====>    ]  12/40  about 8 s left". `seconds`: since the beginning.
std::string progress_line(const std::string& what, std::int64_t done, std::int64_t total, double seconds);

}  // namespace orrery::sim
