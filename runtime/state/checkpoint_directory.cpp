#include "runtime/state/checkpoint_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/check.h"
#include "base/diagnostics.h"

namespace orrery::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-", kHidden = ".step-";

// The number behind `prefix`, up to `end` or the next '.'.
std::optional<std::int64_t> number_behind(std::string_view name, std::string_view prefix) {
  if (name.substr(0, prefix.size()) != prefix) return std::nullopt;
  name.remove_prefix(prefix.size());
  name = name.substr(0, name.find('.'));
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
  if (error != std::errc() || end != name.data() + name.size() || value < 0) return std::nullopt;
  return value;
}

std::string name_of_step(std::int64_t step) { return fmt::format("{}{:08}", kPrefix, step); }

std::optional<std::int64_t> step_of(std::string_view name) {
  const std::optional<std::int64_t> step = number_behind(name, kPrefix);
  // "step-12" is nobody's: it would be looked for under step 12's own name.
  return step && name_of_step(*step) == name ? step : std::nullopt;
}

template <typename Visit>
void for_each_name(const std::string& directory, Visit&& visit) {
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    visit(it->path().filename().string());
}

bool is_complete(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path / kManifestName, error);
}

void remove_tree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw WorldError(fmt::format("{}: cannot be removed: {}", path.string(), error.message()));
}

}  // namespace

std::string rank_file_name(std::int64_t rank) { return fmt::format("rank-{:05}.bin", rank); }

std::string checkpoint_path(const std::string& directory, std::int64_t step) {
  return (fs::path(directory) / name_of_step(step)).string();
}

std::string partial_path(const std::string& directory, std::int64_t step, const std::string& run) {
  return (fs::path(directory) / fmt::format(".{}.partial.{}", name_of_step(step), run)).string();
}

std::vector<std::int64_t> complete_steps(const std::string& directory) {
  std::vector<std::int64_t> steps;
  for_each_name(directory, [&](const std::string& name) {
    const std::optional<std::int64_t> step = step_of(name);
    if (step && is_complete(fs::path(directory) / name)) steps.push_back(*step);
  });
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::string find_checkpoint(const std::string& path) {
  if (is_complete(path)) return path;
  const std::vector<std::int64_t> steps = complete_steps(path);
  if (!steps.empty()) return checkpoint_path(path, steps.back());
  std::error_code error;
  if (!fs::is_directory(path, error))
    throw InputError(fmt::format("{}: error: no such directory of checkpoints\n", path));
  throw InputError(
      fmt::format("{}: error: holds no complete checkpoint (no step-*/{})\n  hint: name a directory that a run saved "
                  "to, or start anew\n",
                  path, kManifestName));
}

void refuse_later_checkpoints(const std::string& directory, std::int64_t step) {
  const std::vector<std::int64_t> steps = complete_steps(directory);
  if (steps.empty() || steps.back() <= step) return;
  throw InputError(
      fmt::format("{}: error: holds a checkpoint of step {}, and this run goes on from step {}: which is the newest "
                  "would be unclear\n"
                  "  hint: resume from {}, save to another directory, or remove what is not wanted\n",
                  directory, steps.back(), step, checkpoint_path(directory, steps.back())));
}

void remove_leftovers(const std::string& directory, std::int64_t step, const std::string& run) {
  std::vector<std::string> names;
  for_each_name(directory, [&](const std::string& name) {
    const std::optional<std::int64_t> of = number_behind(name, kHidden);
    if (!of) return;
    const bool in_work = *of > step && fs::path(partial_path(directory, *of, run)).filename().string() == name;
    if (!in_work) names.push_back(name);
  });
  for (const std::string& name : names) remove_tree(fs::path(directory) / name);
}

void remove_old(const std::string& directory, std::int64_t step, std::int64_t keep) {
  if (keep <= 0) return;
  std::vector<std::int64_t> steps = complete_steps(directory);
  std::erase_if(steps, [&](std::int64_t s) { return s > step; });
  const std::size_t kept = std::min(steps.size(), static_cast<std::size_t>(keep));
  for (std::size_t i = 0; i + kept < steps.size(); ++i) remove_tree(checkpoint_path(directory, steps[i]));
}

}  // namespace orrery::runtime
