#include "sim/commands/mpirun_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace orrery::sim {
namespace {

constexpr std::size_t kDashes = 60;  // Open MPI writes 74

constexpr std::array<std::string_view, 4> kKnownBlocks = {
    "MPI_ABORT was invoked on rank", "Primary job  terminated normally",
    "mpirun detected that one or more processes", "mpirun noticed that process rank"};
// "[host:1234] ..." behind blocks of which several were alike.
constexpr std::array<std::string_view, 2> kKnownLines = {"sent help message", "orte_base_help_aggregate"};
constexpr std::string_view kForwarding = "mpirun: Forwarding signal";
constexpr std::string_view kRanksStarted = "orrery-rt: all ranks have started\n";  // runtime/run/launcher.h; for us alone

bool is_rule(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  return line.size() >= kDashes && line.find_first_not_of('-') == std::string_view::npos;
}

// A line of which this is the beginning may turn out to be mpirun's.
bool may_be_theirs(std::string_view begin) {
  return begin.starts_with('-') || begin.starts_with('[') || begin.starts_with(kForwarding) ||
         kForwarding.starts_with(begin) || kRanksStarted.starts_with(begin);
}

template <std::size_t n>
bool holds_one_of(std::string_view text, const std::array<std::string_view, n>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

// "... process rank 1 with PID 0 on node vm exited on signal 9 (Killed)."
std::string death_in(const std::string& block) {
  const std::string rank = "process rank ", signal = " exited on signal ";
  const std::size_t at = block.find(rank), by = block.find(signal);
  if (at == std::string::npos || by == std::string::npos) return {};
  const std::size_t number = at + rank.size(), name = by + signal.size();
  return fmt::format("rank {} was ended by signal {}", block.substr(number, block.find(' ', number) - number),
                     block.substr(name, block.find_first_of(".\n", name) - name));
}

}  // namespace

void MpirunWords::take(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) break;
    pending_ += text.substr(0, end + 1);
    line(std::exchange(pending_, {}));
    text.remove_prefix(end + 1);
  }
  pending_ += text;
  // A line without its end goes on at once, unless it may be mpirun's.
  if (pending_.empty() || in_block_ || (!in_kept_line_ && may_be_theirs(pending_))) return;
  keep(std::exchange(pending_, {}));
}

void MpirunWords::finish() {
  if (!pending_.empty()) line(std::exchange(pending_, {}));
  if (in_block_) end_block();
}

void MpirunWords::line(std::string_view line) {
  const bool goes_on = in_kept_line_;
  if (!goes_on && line == kRanksStarted) {
    ranks_started_ = true;
    return;
  }
  if (!goes_on && is_rule(line)) {
    block_ += line;
    if (in_block_)
      end_block();
    else
      in_block_ = true;
  } else if (in_block_) {
    block_ += line;
  } else if (goes_on ||
             !(line.starts_with(kForwarding) || (line.starts_with('[') && holds_one_of(line, kKnownLines)))) {
    keep(line);
  }
}

void MpirunWords::end_block() {
  in_block_ = false;
  const std::string block = std::exchange(block_, {});
  if (!holds_one_of(block, kKnownBlocks)) return keep(block);
  if (death_.empty()) death_ = death_in(block);
}

void MpirunWords::keep(std::string_view text) {
  constexpr std::string_view kError = "error: ";  // it may come in pieces
  last_kept_ += text;
  said_error_ = said_error_ || last_kept_.find(kError) != std::string::npos;
  if (last_kept_.size() >= kError.size()) last_kept_.erase(0, last_kept_.size() - kError.size() + 1);
  in_kept_line_ = text.back() != '\n';
  forward_(text);
}

}  // namespace orrery::sim
