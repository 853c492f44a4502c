// Printing of diagnostics, "did you mean", and reading of source files. A line of a user's file may be a megabyte long
// or hold tabs, control bytes and text beyond ASCII: the excerpt is a window around the caret, tabs are kept so that the
// caret stands under its byte, and what is not printable is shown as '?'. Cost: one scan of the file per printed finding.
#include "base/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <system_error>
#include <utility>

namespace orrery {
namespace {

constexpr std::size_t kMaxKept = 100;  // a file of a million faults needs no million messages
constexpr std::size_t kWindow = 120;      // columns of an excerpt
constexpr std::size_t kWindowLead = 80;   // of which before the caret, when the line is longer
constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{64} << 20;

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::error: return "error";
    case Severity::warning: return "warning";
    case Severity::note: return "note";
  }
  return "error";
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20U || c == 0x7F; }

std::string_view line_of(std::string_view text, std::uint32_t line) {
  for (std::uint32_t n = 1; n < line; ++n) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  return text;
}

struct Excerpt {
  std::string shown;
  std::string padding;  // up to the caret
};

Excerpt excerpt_of(std::string_view line, std::size_t caret) {
  caret = std::min(caret, line.size());
  std::size_t begin = line.size() > kWindow && caret > kWindowLead ? caret - kWindowLead : 0;
  while (begin < caret && is_continuation(line[begin])) ++begin;
  std::size_t end = std::min(line.size(), begin + kWindow);
  while (end < line.size() && is_continuation(line[end])) ++end;
  Excerpt result;
  if (begin > 0) result.shown = result.padding = "...";
  for (std::size_t i = begin; i < end; ++i) {
    result.shown += is_control(line[i]) && line[i] != '\t' ? '?' : line[i];
    if (i < caret && !is_continuation(line[i])) result.padding += line[i] == '\t' ? '\t' : ' ';
  }
  if (begin > 0) std::fill(result.padding.begin(), result.padding.begin() + 3, ' ');
  if (end < line.size()) result.shown += "...";
  return result;
}

std::string printable(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (is_control(c) && c != '\n' && c != '\t') c = '?';
  return result;
}

std::string place_prefix(const Place& place) {
  if (!place.source) return {};
  if (place.line == 0) return place.source->path + ": ";
  return fmt::format("{}:{}:{}: ", place.source->path, place.line, place.column);
}

}  // namespace

std::string print(const Diagnostic& diagnostic) {
  const Place& place = diagnostic.place;
  std::string out = fmt::format("{}{}: {}\n", place_prefix(place), severity_name(diagnostic.severity),
                                printable(diagnostic.message));
  const std::string hint = printable(diagnostic.hint);
  if (!place.source || place.line == 0) {
    if (!hint.empty()) out += fmt::format("  hint: {}\n", hint);
    return out;
  }
  const std::string number = std::to_string(place.line);
  const std::size_t caret = place.column > 0 ? place.column - 1 : 0;
  const Excerpt excerpt = excerpt_of(line_of(place.source->text, place.line), caret);
  out += fmt::format("  {} | {}\n", number, excerpt.shown);
  out += fmt::format("  {:{}} | {}^{}{}\n", "", number.size(), excerpt.padding, hint.empty() ? "" : " ", hint);
  return out;
}

void Diagnostics::error(Place place, std::string message, std::string hint) {
  ++errors_;
  add({Severity::error, std::move(place), std::move(message), std::move(hint)});
}

void Diagnostics::warning(Place place, std::string message, std::string hint) {
  add({Severity::warning, std::move(place), std::move(message), std::move(hint)});
}

void Diagnostics::add(Diagnostic diagnostic) {
  if (all_.size() < kMaxKept) {
    all_.push_back(std::move(diagnostic));
  } else {
    ++not_kept_;
  }
}

std::string Diagnostics::text() const {
  std::string out;
  for (const Diagnostic& diagnostic : all_) out += print(diagnostic);
  if (not_kept_ > 0) out += fmt::format("{} more findings are not shown\n", not_kept_);
  return out;
}

void Diagnostics::throw_if_errors() const {
  if (has_errors()) throw InputError(text());
}

namespace {

// Levenshtein distance over lower-case letters, with a swap of neighbours as one edit (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::vector<std::size_t> next(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (same ? 0U : 1U)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    std::swap(before, row);
    std::swap(row, next);
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongestWord = 64;
  if (word.empty() || word.size() > kLongestWord) return {};
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::shared_ptr<const SourceFile> read_source(const std::string& path) {
  namespace fs = std::filesystem;
  const auto fail = [&path](const std::string& why, const std::string& hint) {
    throw InputError(fmt::format("{}: error: {}\n  hint: {}\n", printable(path), why, hint));
  };
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (path.empty() || status.type() == fs::file_type::not_found)
    fail("no such file", "check the path; it is relative to the working directory");
  if (fs::is_directory(status)) fail("is a directory, not a file", "name a file in it");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail("cannot be opened for reading", "check its permissions");
  std::string text;
  std::vector<char> chunk(std::size_t{1} << 16);
  while (stream.read(chunk.data(), static_cast<std::streamsize>(chunk.size())) || stream.gcount() > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(stream.gcount()));
    if (text.size() > kMaxFileBytes) fail("is larger than 64 MiB", "split it, or check that it is the right file");
  }
  if (stream.bad()) fail("reading it failed", "check the disk");
  return std::make_shared<const SourceFile>(SourceFile{path, std::move(text)});
}

}  // namespace orrery
