#include "runtime/calibrate/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace orrery::runtime {
namespace {

constexpr double kBetweenDraws_s = 0.1;
constexpr const char* kEraseLine = "\r\033[K";

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

}  // namespace

std::string progress_line(const std::string& phase, double share, const std::string& what,
                          std::size_t width) {
  constexpr std::size_t kBar = 24;
  const auto marks = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * kBar);
  std::string line = fmt::format("{:<9} [{}{}] {:>3.0f} %  {}", phase, std::string(marks, '='),
                                 std::string(kBar - marks, ' '), 100.0 * std::clamp(share, 0.0, 1.0), what);
  return line.substr(0, width - 1);
}

Progress::Progress(bool shown) : shown_(shown), terminal_(::isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() { erase(); }

void Progress::erase() {
  if (drawn_) fmt::print(stderr, "{}", kEraseLine);
  drawn_ = false;
}

void Progress::phase(const std::string& what) {
  if (!shown_ || terminal_) return;
  fmt::print(stderr, "calibrate: {}\n", what);
  std::fflush(stderr);
}

void Progress::line(const std::string& text) {
  erase();
  fmt::print(stderr, "{}", text);
  std::fflush(stderr);
}

void Progress::show(const std::string& phase, double share, const std::string& what) {
  if (!shown_ || !terminal_ || seconds() < next_s_) return;
  fmt::print(stderr, "{}{}", kEraseLine, progress_line(phase, share, what, terminal_width()));
  std::fflush(stderr);
  drawn_ = true;
  next_s_ = seconds() + kBetweenDraws_s;
}

}  // namespace orrery::runtime
