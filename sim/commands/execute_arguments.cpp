#include "sim/commands/execute_arguments.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "base/diagnostics.h"

namespace orrery::sim {
namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& hint) {
  throw InputError(fmt::format("error: {}\n  hint: {}\n", what, hint));
}

RanksAs ranks_as(const std::string& word) {
  if (word == "threads") return RanksAs::threads;
  if (word == "mpi") return RanksAs::mpi;
  refuse(fmt::format("--ranks-as: \"{}\" is no way to run ranks", word), "threads or mpi");
}

// The words, with where we are among them.
class Words {
 public:
  explicit Words(const std::vector<std::string>& words) : words_(words) {}
  bool at_end() const { return at_ == words_.size(); }
  const std::string& next() { return words_[at_++]; }
  // The value of the option `name` if `word` is it: "--name=value", or "--name" and the next word.
  std::optional<std::string> value_of(std::string_view name, const std::string& word) {
    if (word.size() > name.size() && word.starts_with(name) && word[name.size()] == '=')
      return word.substr(name.size() + 1);
    if (word != name) return std::nullopt;
    if (at_end()) refuse(fmt::format("{} needs a value", name), "orrery execute --help");
    return next();
  }

 private:
  const std::vector<std::string>& words_;
  std::size_t at_ = 0;
};

}  // namespace

ExecuteArguments parse_execute(const std::vector<std::string>& words) {
  ExecuteArguments parsed;
  bool scenarios_go_on = true, all_is_passed = false;
  for (Words w(words); !w.at_end();) {
    const std::string& word = w.next();
    if (all_is_passed) {
      parsed.passed.push_back(word);
    } else if (word == "--") {
      all_is_passed = true;
    } else if (word == "-h" || word == "--help") {
      parsed.help = true;
    } else if (const auto kind = w.value_of("--ranks-as", word)) {
      parsed.ranks_as = ranks_as(*kind);
    } else if (const auto set = w.value_of("--set", word)) {
      scenarios_go_on = false;
      parsed.sets.push_back(*set);
      parsed.passed.insert(parsed.passed.end(), {"--set", *set});
    } else if (scenarios_go_on && !word.starts_with("-")) {
      parsed.scenarios.push_back(word);
    } else {
      scenarios_go_on = false;
      parsed.passed.push_back(word);
    }
  }
  if (parsed.scenarios.empty() && !parsed.help)
    refuse(parsed.passed.empty() ? "execute needs a scenario file"
                                 : "the scenario file comes first, before options",
           "orrery execute SCENARIO --steps 10");
  return parsed;
}

std::vector<std::string> mpirun_arguments(const MpiRun& of, const std::string& program,
                                          const std::vector<std::string>& arguments) {
  std::vector<std::string> all = {"-n", fmt::format("{}", of.ranks)};
  // Else Open MPI binds each rank to one core where there are one or two, and all lanes of a rank to that core.
  all.insert(all.end(), {"--bind-to", "none"});
  if (of.is_root) all.emplace_back("--allow-run-as-root");
  // Open MPI counts cores, of which a machine may have half as many as hardware threads.
  if (of.ranks * 2 > std::int64_t{of.cores}) all.emplace_back("--oversubscribe");
  all.push_back(program);
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

}  // namespace orrery::sim
