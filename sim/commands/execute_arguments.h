// The command line of `execute`: scenario files first, then anything. What is ours (--ranks-as, --help) is
// taken out, all else is passed on to orrery-rt as it stands, so that its options are declared once, by it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery::sim {

enum class RanksAs : std::uint8_t { threads, mpi };

struct ExecuteArguments {
  std::vector<std::string> scenarios;
  RanksAs ranks_as = RanksAs::threads;
  bool help = false;
  std::vector<std::string> sets;    // --set: they are passed on, and decide how many ranks there are
  std::vector<std::string> passed;  // with them
};

// Throws InputError: no scenario, an option before it, --ranks-as of neither kind.
ExecuteArguments parse_execute(const std::vector<std::string>& words);

// What mpirun is called with: `ranks` processes of `program`; `cores`: hardware threads of this machine.
struct MpiRun {
  std::int64_t ranks = 1;
  unsigned cores = 1;
  bool is_root = false;
};
std::vector<std::string> mpirun_arguments(const MpiRun& of, const std::string& program,
                                          const std::vector<std::string>& arguments);

}  // namespace orrery::sim
