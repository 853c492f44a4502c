// A line on stderr that says what is being measured and how much of its time is used; only where stderr is a
// terminal.
#pragma once

#include <string>

namespace orrery::runtime {

class Progress {
 public:
  explicit Progress(bool shown);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `share` of the phase, 0 .. 1.
  void show(const std::string& phase, double share, const std::string& what);

 private:
  bool shown_, drawn_ = false;
  double next_s_ = 0.0;
};

// "kernels  [=====>    ]  41 %  gpt, hidden x 2", cut to `width`.
std::string progress_line(const std::string& phase, double share, const std::string& what, std::size_t width);

}  // namespace orrery::runtime
