// `cluster`: what the file describes, as links; what any two GPUs get from each other, and by which path; and
// what a collective over the first N ranks takes.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "base/quantities.h"
#include "hardware/cluster_reader.h"
#include "scenarios/words.h"
#include "sim/commands/cluster_text.h"
#include "sim/commands/command.h"
#include "sim/commands/scenario_files.h"
#include "sim/network/measured_network.h"

namespace orrery::sim {
namespace {

struct ClusterOptions {
  std::string file, collective, size, algorithm = "auto", protocol = "auto";
  std::int64_t from = -1, to = -1, gpus = 0;
  bool json = false, links = false;
};

hardware::Cluster read(const std::string& path) {
  const Json json = scenarios::read_shipped_json(path);
  Diagnostics diagnostics;
  hardware::Cluster cluster = hardware::read_cluster(json, diagnostics);
  diagnostics.throw_if_errors();
  return cluster;
}

[[noreturn]] void refuse(const std::string& message, const std::string& hint) {
  throw InputError(fmt::format("error: {}\n  hint: {}\n", message, hint));
}

void check_rank(const hardware::Cluster& cluster, const char* option, std::int64_t rank) {
  if (rank >= cluster.gpus())
    refuse(fmt::format("{} {}: there is no such GPU", option, rank),
           fmt::format("GPUs are 0 to {}", cluster.gpus() - 1));
}

// 1 KiB to 4 GiB in steps of 4, as nccl-tests does, or the one that was asked for.
std::vector<Bytes> sizes_of(const ClusterOptions& o) {
  if (!o.size.empty()) {
    const std::optional<Bytes> size = parse_bytes(o.size);
    if (!size || size->count() == 0)
      refuse(fmt::format("--size \"{}\" is no size", o.size), "as in --size \"1 GiB\" or \"25 MB\"");
    return {*size};
  }
  std::vector<Bytes> sizes;
  for (std::int64_t bytes = 1024; bytes <= (std::int64_t{1} << 32); bytes *= 4) sizes.emplace_back(bytes);
  return sizes;
}

schedule::OpKind kind_of(const std::string& word) {
  for (std::size_t i = 0; i < schedule::kOpKinds; ++i) {
    const auto kind = static_cast<schedule::OpKind>(i);
    if (schedule::is_collective(kind) && schedule::name(kind) == word) return kind;
  }
  refuse(fmt::format("--collective {} is none", word),
         "all_reduce, reduce_scatter, all_gather, all_to_all or broadcast");
}

scenarios::Network wanted_of(const ClusterOptions& o) {
  scenarios::Network wanted;
  for (const auto& [word, algorithm] : scenarios::algorithm_words())
    if (word == o.algorithm) wanted.algorithm = algorithm;
  for (const auto& [word, protocol] : scenarios::protocol_words())
    if (word == o.protocol) wanted.protocol = protocol;
  return wanted;
}

CollectiveTable table_of(const ClusterOptions& o, const AlphaBeta& model, const NetworkModel& times) {
  const std::int64_t gpus = o.gpus > 0 ? o.gpus : model.cluster().gpus();
  if (gpus < 2 || gpus > model.cluster().gpus())
    refuse(fmt::format("--gpus {}: a collective needs 2 to {} of them", gpus, model.cluster().gpus()),
           "ranks 0 to N-1 take part");
  return collective_table(times, kind_of(o.collective), gpus, sizes_of(o));
}

void check_options(const ClusterOptions& o, const hardware::Cluster& cluster) {
  if ((o.from < 0) != (o.to < 0)) refuse("a path has two ends", "give --from and --to");
  if (o.from >= 0) {
    check_rank(cluster, "--from", o.from);
    check_rank(cluster, "--to", o.to);
    if (o.from == o.to) refuse("--from and --to are one GPU", "two different ones");
  }
  if (o.collective.empty() && !o.size.empty())
    refuse("--size is of a collective", "add --collective all_reduce");
  if (o.collective.empty() && o.gpus > 0) refuse("--gpus is of a collective", "add --collective all_reduce");
}

// `times`: the model that predictions use, which knows measured curves.
ClusterAnswer answer_of(const ClusterOptions& o, const AlphaBeta& model, const NetworkModel& times) {
  ClusterAnswer answer;
  answer.report = report_cluster(model);
  answer.all_links = o.links;
  if (o.from >= 0) answer.path = report_path(model, times, o.from, o.to);
  if (!o.collective.empty()) answer.collective = table_of(o, model, times);
  if (!answer.path && !answer.collective) answer.matrix = bandwidth_matrix(model, times);
  return answer;
}

int cluster(const ClusterOptions& o, Output& out) try {
  const AlphaBeta model(read(o.file), wanted_of(o));
  check_options(o, model.cluster());
  std::optional<MeasuredNetwork> measured;
  if (model.cluster().transfers != nullptr) measured.emplace(model.cluster(), wanted_of(o));
  const NetworkModel& times = measured ? static_cast<const NetworkModel&>(*measured) : model;
  const ClusterAnswer answer = answer_of(o, model, times);
  out.write(o.json ? cluster_json(answer) : cluster_text(answer));
  return kFine;
} catch (const DurationTooLong& error) {
  refuse(fmt::format("{}: a transfer takes too long: {}", o.file, error.what()),
         "a smaller --size, or the cluster's bandwidths, efficiency and oversubscription");
}

template <typename Enum>
std::vector<std::string> words(const scenarios::Words<Enum>& table) {
  std::vector<std::string> all;
  for (const auto& entry : table) all.push_back(entry.first);
  return all;
}

}  // namespace

Action declare_cluster(CLI::App& app) {
  const auto o = std::make_shared<ClusterOptions>();
  app.add_option("FILE", o->file, "A cluster file")->type_name("")->required();
  app.add_option("--from", o->from, "The path and bandwidth from this GPU ...")
      ->type_name("GPU")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--to", o->to, "... to this one")->type_name("GPU")->check(CLI::NonNegativeNumber);
  app.add_option("--collective", o->collective,
                 "Time, algbw and busbw of all_reduce, reduce_scatter, all_gather, all_to_all, broadcast")
      ->type_name("NAME");
  app.add_option("--size", o->size,
                 "Bytes, as nccl-tests counts them (\"1 GiB\"); by default a table of sizes")
      ->type_name("SIZE");
  app.add_option("--gpus", o->gpus, "Ranks 0 to N-1 take part; by default all")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  app.add_option("--algorithm", o->algorithm, "Instead of NCCL's choice")
      ->check(CLI::IsMember(words(scenarios::algorithm_words())));
  app.add_option("--protocol", o->protocol, "Instead of NCCL's choice")
      ->check(CLI::IsMember(words(scenarios::protocol_words())));
  app.add_flag("--links", o->links, "List every link, also those that are alike");
  app.add_flag("--json", o->json, "One JSON document, nothing else");
  return [o](Output& out) { return cluster(*o, out); };
}

}  // namespace orrery::sim
