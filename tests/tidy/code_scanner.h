// Just enough of C++ to find where functions begin and end: comments, strings, characters and preprocessor lines are blanked
// out, then braces are matched; what stands before a brace tells a namespace or type from a function. A lambda or a local type
// belongs to its function. Cost: linear in the text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace orrery::tidy {

// The same text with comments, literals and preprocessor lines replaced by blanks; lines and columns stay.
std::string blank_out(const std::string& code);

struct Function {
  std::string head;  // what stands before its brace
  std::string body;  // blanked out
  std::size_t first_line = 0;  // 1-based, where the head begins
  std::size_t last_line = 0;   // where the brace closes
  std::size_t lines() const { return last_line - first_line + 1; }
};

std::vector<Function> functions_of(const std::string& code);

// The files that `#include "..."` names, with the lines they stand in.
struct Include {
  std::string path;
  std::size_t line = 0;
};
std::vector<Include> includes_of(const std::string& code);

}  // namespace orrery::tidy
