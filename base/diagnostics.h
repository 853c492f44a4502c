// What is wrong with a user's file: every finding is collected, points at its place, says what was found, what is
// allowed and what to do, and is printed like
//
//     scenarios/a.json:14:16: error: tp=3 does not divide num_heads=32
//       14 |     "tp": 3,
//          |           ^ use 1, 2, 4, 8, 16 or 32
//
// A reader reports into a Diagnostics; who called it asks `has_errors()` and throws InputError, which main prints
// (exit 2).
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

struct SourceFile {
  std::string path;  // as the user named it
  std::string text;
};

// A place in a file. Lines and columns are 1-based (columns count bytes); line 0 means "the file as a whole".
struct Place {
  std::shared_ptr<const SourceFile> source;  // null: no file (a command line, a default)
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

enum class Severity : std::uint8_t { error, warning, note };

struct Diagnostic {
  Severity severity = Severity::error;
  Place place;
  std::string message;
  std::string hint;  // beside the caret: what is allowed, or what to do; may be empty
};

class Diagnostics {
 public:
  void error(Place place, std::string message, std::string hint = {});
  void warning(Place place, std::string message, std::string hint = {});
  bool has_errors() const { return errors_ > 0; }
  const std::vector<Diagnostic>& all() const { return all_; }  // the first 100
  std::string text() const;       // all of them, printed, each ending in a newline
  void throw_if_errors() const;   // InputError with text()

 private:
  void add(Diagnostic diagnostic);
  std::vector<Diagnostic> all_;
  std::size_t errors_ = 0;
  std::size_t not_kept_ = 0;
};

std::string print(const Diagnostic& diagnostic);

// The user's input is wrong. what() is the whole printed text.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The candidate nearest to `word` by edit distance, for "did you mean"; empty when none is near.
std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates);

// Reads a whole file. Throws InputError naming the path (missing, a directory, larger than 64 MiB).
std::shared_ptr<const SourceFile> read_source(const std::string& path);

}  // namespace orrery
