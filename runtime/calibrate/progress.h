// What is being measured, on stderr: where that is a terminal, a line that is drawn anew with how much of the phase's time is
// used; elsewhere (a log, a pipe) a line a phase.
#pragma once

#include <string>

namespace orrery::runtime {

class Progress {
 public:
  explicit Progress(bool shown);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // A new phase begins: a line of its own where stderr is no terminal, which shows nothing else.
  void phase(const std::string& what);
  // Text that stays, whatever stderr is.
  void line(const std::string& text);
  // `share` of the phase, 0 .. 1.
  void show(const std::string& phase, double share, const std::string& what);

 private:
  void erase();

  bool shown_, terminal_, drawn_ = false;
  double next_s_ = 0.0;
};

// "kernels  [=====>    ]  41 %  gpt, hidden x 2", cut to `width`.
std::string progress_line(const std::string& phase, double share, const std::string& what, std::size_t width);

}  // namespace orrery::runtime
