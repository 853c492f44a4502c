#include "sim/commands/cluster_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "base/quantities.h"
#include "scenarios/words.h"
#include "sim/report/text_layout.h"

namespace orrery::sim {
namespace {

using Out = nlohmann::ordered_json;
using Table = std::vector<std::vector<std::string>>;

// "node0/gpu3" -> "node0/gpu*": links between vertices of one kind, at one speed, are one line.
std::string without_number(const std::string& name) {
  const std::size_t slash = name.find('/');
  std::size_t end = name.size();
  while (end > 0 && std::isdigit(static_cast<unsigned char>(name[end - 1])) != 0) --end;
  return end == name.size() || (slash == std::string::npos && end == 0) ? name : name.substr(0, end) + "*";
}

struct LinkKind {
  std::string from, to, link_class;
  Bandwidth usable;
  std::int64_t count = 0;
};

std::vector<LinkKind> kinds_of(const ClusterReport& report, bool all) {
  std::vector<LinkKind> kinds;
  for (const ReportLink& link : report.links) {
    LinkKind kind{all ? link.from : without_number(link.from), all ? link.to : without_number(link.to),
                  name(link.link_class), link.usable, 1};
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const LinkKind& k) {
      return k.from == kind.from && k.to == kind.to && k.link_class == kind.link_class &&
             k.usable == kind.usable;
    });
    if (same != kinds.end())
      ++same->count;
    else
      kinds.push_back(std::move(kind));
  }
  return kinds;
}

std::string gbytes(Bandwidth bandwidth) { return fmt::format("{:.1f}", bandwidth.value() / 1e9); }

// nccl-tests' sizes are powers of two.
std::string size_text(Bytes size) {
  constexpr std::array<const char*, 4> kUnits = {"B", "KiB", "MiB", "GiB"};
  std::int64_t count = size.count();
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && count % 1024 == 0) {
    count /= 1024;
    ++unit;
  }
  return unit == 0 ? human_bytes(size) : fmt::format("{} {}", count, kUnits[unit]);
}

std::string header_text(const ClusterReport& r) {
  std::string text = fmt::format("{}\n  {} node{} of {} x {}: {} GPUs\n  fabric: {}\n", r.name, r.nodes,
                                 r.nodes == 1 ? "" : "s", r.gpus_per_node, r.gpu, r.gpus, r.fabric);
  if (!r.nic_source.empty())
    text += wrapped(fmt::format("{} of line rate ({})", percent_text(r.nic_efficiency), r.nic_source),
                    "  NICs: ");
  return text;
}

std::string links_text(const ClusterAnswer& a) {
  Table table = {{"from -> to", "kind", "links", "usable, one direction"}};
  for (const LinkKind& k : kinds_of(a.report, a.all_links))
    table.push_back({fmt::format("{} -> {}", k.from, k.to), k.link_class, fmt::format("{}", k.count),
                     human_bandwidth(k.usable)});
  return "\nLinks\n" + table_text(table);
}

std::string matrix_text(const BandwidthMatrix& m, bool oversubscribed) {
  Table table(1, {"from \\ to"});
  for (const std::int64_t to : m.gpus) table[0].push_back(fmt::format("{}", to));
  for (std::size_t f = 0; f < m.gpus.size(); ++f) {
    table.push_back({fmt::format("GPU {}", m.gpus[f])});
    for (std::size_t t = 0; t < m.gpus.size(); ++t)
      table.back().push_back(f == t ? "-" : gbytes(m.usable[f][t]));
  }
  std::string text = "\nBandwidth of a transfer between two GPUs, GB/s\n" + table_text(table);
  if (oversubscribed) text += "(across leaves or pods: its share while all of them send)\n";
  return text;
}

std::string path_text(const ReportPath& path) {
  Table table = {{"link", "kind", "usable", "shared as"}};
  for (const ReportLink& link : path.links)
    table.push_back({fmt::format("{} -> {}", link.from, link.to), name(link.link_class),
                     human_bandwidth(link.usable), link.shared_as.empty() ? "-" : link.shared_as});
  return fmt::format("\nPath: {}, {} for a large transfer, {} latency\n", path.kind,
                     human_bandwidth(path.usable), human_duration(path.latency)) +
         table_text(table);
}

// Of a measured time nobody knows the algorithm.
std::string algorithm_text(const TransferPlan& plan) {
  return plan.origin == Origin::modelled ? scenarios::word(plan.algorithm) : std::string(name(plan.origin));
}

std::string collective_text(const CollectiveTable& c) {
  Table table = {{"size", "time", "algbw GB/s", "busbw GB/s", "algorithm", "protocol"}};
  for (const CollectiveRow& row : c.rows)
    table.push_back({size_text(row.size), human_duration(row.plan.time),
                     fmt::format("{:.2f}", row.plan.algorithm_bandwidth / 1e9),
                     fmt::format("{:.2f}", row.plan.bus_bandwidth / 1e9), algorithm_text(row.plan),
                     row.plan.origin == Origin::modelled ? scenarios::word(row.plan.protocol) : "-"});
  std::string text = fmt::format("\n{} over {} GPUs\n", schedule::name(c.kind), c.gpus) + table_text(table);
  return text +
         fmt::format(
             "  algbw = size / time; busbw = algbw x the collective's factor, as nccl-tests defines it\n{}",
             wrapped(c.rows.back().plan.explanation, "  largest: "));
}

Out link_json(const ReportLink& link) {
  return {{"from", link.from},
          {"to", link.to},
          {"kind", name(link.link_class)},
          {"usable_bytes_per_s", link.usable.value()},
          {"shared_as", link.shared_as}};
}

Out links_json(const std::vector<ReportLink>& links) {
  Out out = Out::array();
  for (const ReportLink& link : links) out.push_back(link_json(link));
  return out;
}

Out path_json(const ReportPath& path) {
  return {{"kind", path.kind},
          {"usable_bytes_per_s", path.usable.value()},
          {"latency_s", path.latency.seconds()},
          {"links", links_json(path.links)}};
}

Out collective_json(const CollectiveTable& c) {
  Out rows = Out::array();
  for (const CollectiveRow& row : c.rows)
    rows.push_back({{"bytes", row.size.count()},
                    {"time_s", row.plan.time.seconds()},
                    {"algbw_bytes_per_s", row.plan.algorithm_bandwidth},
                    {"busbw_bytes_per_s", row.plan.bus_bandwidth},
                    {"algorithm", scenarios::word(row.plan.algorithm)},
                    {"protocol", scenarios::word(row.plan.protocol)},
                    {"origin", std::string(name(row.plan.origin))},
                    {"explanation", row.plan.explanation}});
  return {{"name", std::string(schedule::name(c.kind))}, {"gpus", c.gpus}, {"rows", std::move(rows)}};
}

Out matrix_json(const BandwidthMatrix& m) {
  Out rows = Out::array();
  for (const std::vector<Bandwidth>& row : m.usable) {
    Out cells = Out::array();
    for (const Bandwidth& cell : row) cells.push_back(cell.value());
    rows.push_back(std::move(cells));
  }
  return {{"gpus", m.gpus}, {"usable_bytes_per_s", std::move(rows)}};
}

}  // namespace

CollectiveTable collective_table(const NetworkModel& times, schedule::OpKind kind, std::int64_t gpus,
                                 const std::vector<Bytes>& sizes) {
  std::vector<std::int64_t> members(static_cast<std::size_t>(gpus));
  std::iota(members.begin(), members.end(), std::int64_t{0});
  CollectiveTable table{kind, gpus, {}};
  for (const Bytes size : sizes) table.rows.push_back({size, times.collective(kind, size, members)});
  return table;
}

BandwidthMatrix bandwidth_matrix(const AlphaBeta& model, const NetworkModel& times) {
  const hardware::Cluster& cluster = model.cluster();
  BandwidthMatrix m;
  const std::int64_t remote =
      cluster.gpus() > cluster.node.gpus ? std::min<std::int64_t>(2, cluster.gpus() - cluster.node.gpus) : 0;
  std::int64_t local = 0;
  std::vector<std::int64_t> far;
  for (std::int64_t rank = 0; rank < cluster.gpus(); ++rank) {
    const std::int64_t node = model.endpoints().place(rank).node;
    if (node == 0 && local < kMatrixGpus - remote) {
      m.gpus.push_back(rank);
      ++local;
    } else if (node == 1 && static_cast<std::int64_t>(far.size()) < remote) {
      far.push_back(rank);
    }
  }
  m.gpus.insert(m.gpus.end(), far.begin(), far.end());
  for (const std::int64_t from : m.gpus) {
    m.usable.emplace_back();
    for (const std::int64_t to : m.gpus)
      m.usable.back().push_back(from == to ? Bandwidth(0.0) : report_path(model, times, from, to).usable);
  }
  return m;
}

std::string cluster_text(const ClusterAnswer& a) {
  std::string text = header_text(a.report);
  if (a.matrix || a.all_links) text += links_text(a);
  if (a.matrix && a.matrix->gpus.size() > 1) text += matrix_text(*a.matrix, a.report.oversubscribed);
  if (a.path) text += path_text(*a.path);
  if (a.collective) text += collective_text(*a.collective);
  return text;
}

std::string cluster_json(const ClusterAnswer& a) {
  const ClusterReport& r = a.report;
  Out out = {{"schema_version", 1},
             {"name", r.name},
             {"gpu", r.gpu},
             {"fabric", r.fabric},
             {"nodes", r.nodes},
             {"gpus_per_node", r.gpus_per_node},
             {"gpus", r.gpus},
             {"nic_efficiency", r.nic_efficiency},
             {"nic_source", r.nic_source},
             {"links", links_json(r.links)}};
  if (a.matrix) out["bandwidth"] = matrix_json(*a.matrix);
  if (a.path) out["path"] = path_json(*a.path);
  if (a.collective) out["collective"] = collective_json(*a.collective);
  return out.dump(2, ' ', false, Out::error_handler_t::replace) + "\n";
}

}  // namespace orrery::sim
