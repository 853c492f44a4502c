#include "base/option_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostics.h"

namespace orrery {

UnknownOption unknown_option(const std::vector<std::string>& left_over, const std::vector<std::string>& options) {
  const auto option = std::find_if(left_over.begin(), left_over.end(), [](const std::string& word) { return word.starts_with("-"); });
  if (option == left_over.end())
    return {fmt::format("\"{}\" is one file or word too many", left_over.empty() ? "" : left_over.front()), ""};
  const std::string name = option->substr(0, option->find('='));
  const std::string near = nearest_word(name, options);
  return {fmt::format("there is no option {}", name), near.empty() ? "" : fmt::format("did you mean {}?", near)};
}

}  // namespace orrery
