// What a Markdown document points at: links, headings and the paths it names in backticks. Code fences are left out, as
// what stands in them is an example. Not a Markdown parser: it knows what this repository's documents use.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace orrery::docs {

struct Mention {
  std::size_t line = 0;  // from 1
  std::string target;
};

// Targets of [text](target), images included; not web addresses.
std::vector<Mention> links(const std::string& text);

// Backticked words that look like the path of a file: a slash, an ending, no placeholder (<name>, *, {a,b}, ...).
std::vector<Mention> named_files(const std::string& text);

// What "#..." in a link may name: the headings, in the form that GitHub gives them ("How it is used" is
// "how-it-is-used"; the second of equal ones ends in "-1").
std::set<std::string> anchors(const std::string& text);

}  // namespace orrery::docs
