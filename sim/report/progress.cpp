#include "sim/report/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "sim/report/text_layout.h"

namespace orrery::sim {
namespace {
constexpr std::chrono::milliseconds kBetweenDraws{100};
constexpr const char* kEraseLine = "\r\033[K";
}  // namespace

std::string progress_line(const std::string& what, std::int64_t done, std::int64_t total, double seconds) {
  constexpr std::size_t kWidth = 30;
  const double share =
      total > 0 ? std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0) : 0.0;
  const auto marks = static_cast<std::size_t>(share * kWidth);
  std::string line = fmt::format("{}  [{}{}]  {}/{}", what, std::string(marks, '='),
                                 std::string(kWidth - marks, ' '), done, total);
  if (done > 0 && done < total)
    line += fmt::format("  about {} left", seconds_text(seconds * static_cast<double>(total - done) /
                                                        static_cast<double>(done)));
  return line;
}

Progress::Progress(std::string what, std::int64_t total)
    : what_(std::move(what)),
      total_(total),
      terminal_(isatty(STDERR_FILENO) != 0),
      started_(std::chrono::steady_clock::now()),
      next_draw_(started_ + kBetweenDraws) {}

Progress::~Progress() {
  if (drawn_) fmt::print(stderr, "{}", kEraseLine);
}

void Progress::advance(std::int64_t by) {
  done_ += by;
  if (terminal_ && std::chrono::steady_clock::now() >= next_draw_) draw();
}

void Progress::draw() {
  const auto now = std::chrono::steady_clock::now();
  fmt::print(stderr, "{}{}", kEraseLine,
             progress_line(what_, done_, total_, std::chrono::duration<double>(now - started_).count()));
  std::fflush(stderr);
  drawn_ = true;
  next_draw_ = now + kBetweenDraws;
}

}  // namespace orrery::sim
