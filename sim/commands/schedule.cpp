// `schedule`: the compiled schedule as text, in blocks or unrolled for one rank; or a text read back and
// verified.
#include <fmt/format.h>

#include <memory>

#include "schedule/compile.h"
#include "schedule/text.h"
#include "sim/commands/command.h"
#include "sim/commands/scenario_files.h"
#include "sim/commands/schedule_file.h"

namespace orrery::sim {
namespace {

struct ScheduleOptions {
  std::string file, read;
  std::vector<std::string> sets;
  std::int64_t rank = -1;
  bool has_rank = false;
};

schedule::Schedule compiled(const ScheduleOptions& o) {
  return schedule::compile(load_scenarios({{o.file}, o.sets}).front());
}

int print_rank(const schedule::Schedule& schedule, std::int64_t rank, Output& out) {
  if (rank >= schedule.world)
    throw InputError(
        fmt::format("error: there is no rank {}\n  hint: ranks are 0 to {}\n", rank, schedule.world - 1));
  out.write(schedule::print_rank(schedule, rank));
  return kFine;
}

int verify_text(const ScheduleOptions& o, Output& out) {
  const schedule::Schedule schedule = schedule::read_schedule(o.read);
  const std::vector<schedule::Finding> findings = schedule::verify(schedule);
  const bool sound = schedule::is_sound(findings);
  if (o.has_rank && sound) return print_rank(schedule, o.rank, out);
  out.line(fmt::format("{}: {}: {}", o.read, findings_word(findings), shape_of(schedule)));
  out.write(findings_text(findings));
  return sound ? kFine : kNo;
}

int run(const ScheduleOptions& o, Output& out) {
  if (o.file.empty() == o.read.empty())
    throw InputError(
        "error: name a scenario file, or a schedule text with --read\n  hint: orrery schedule --help\n");
  if (!o.read.empty()) return verify_text(o, out);
  const schedule::Schedule schedule = compiled(o);
  if (o.has_rank) return print_rank(schedule, o.rank, out);
  out.write(schedule::print(schedule));
  return kFine;
}

}  // namespace

Action declare_schedule(CLI::App& app) {
  const auto o = std::make_shared<ScheduleOptions>();
  app.add_option("FILE", o->file, "A scenario file")->type_name("");
  app.add_option("--set", o->sets, "Set a field of the scenario (repeatable)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  CLI::Option* rank =
      app.add_option("--rank", o->rank, "Only this rank's ops, repeats unrolled")->type_name("RANK");
  rank->check(CLI::NonNegativeNumber);
  app.add_option("--read", o->read, "Read this schedule text instead, and verify it (1: not sound)")
      ->type_name("FILE");
  return [o, rank](Output& out) {
    o->has_rank = rank->count() > 0;
    return run(*o, out);
  };
}

}  // namespace orrery::sim
