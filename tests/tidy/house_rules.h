// The house rules that a machine can check, each a pure function from the files to its findings ("path:line: what").
#pragma once

#include <string>
#include <vector>

#include "tests/tidy/source_tree.h"

namespace orrery::tidy {

using Findings = std::vector<std::string>;

// A folder includes only itself and what stands above it (base, hardware, models, scenarios, schedule, sim, runtime); sim and
// runtime never include each other; kernels includes no other room; includes are written from the root, and exist.
Findings check_arrows(const std::vector<TextFile>& files);
Findings check_include_circles(const std::vector<TextFile>& files);
Findings check_lengths(const std::vector<TextFile>& files);  // functions of 70 lines, files of 600
Findings check_words(const std::vector<TextFile>& files);    // postponed work, paths of one machine
Findings check_names(const std::vector<TextFile>& files);    // names that say nothing
Findings check_first_comment(const std::vector<TextFile>& files);  // a file, or the header beside it, says what it is
Findings check_tests_assert(const std::vector<TextFile>& files);   // a test that cannot fail is none

}  // namespace orrery::tidy
