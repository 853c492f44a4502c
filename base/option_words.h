// What is said of words on a command line that no option takes, the same in every program: which one, and what was meant.
#pragma once

#include <string>
#include <vector>

namespace orrery {

// The words that no option took, and the names of the options ("--steps"). The message has no "error:" and no end of line;
// the hint may be empty.
struct UnknownOption {
  std::string message, hint;
};
UnknownOption unknown_option(const std::vector<std::string>& left_over, const std::vector<std::string>& options);

}  // namespace orrery
