#include "tests/sim/network/measurements.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>

#include "base/data_root.h"
#include "base/json.h"

namespace orrery::sim {
namespace {

using schedule::OpKind;

std::string folder() { return data_root() + "/../shared/data/collectives"; }

std::string base(const std::string& file, const std::string& more = "") {
  return fmt::format(R"({{"base": "hardware/clusters/{}.json"{}}})", file, more);
}

// Tables of one machine; NVLS is off where the measured bus bandwidth is that of a ring.
struct System {
  const char* system;
  std::string cluster;
};
const std::vector<System>& systems() {
  static const std::string no_nvls = R"(, "node": {"nvls": false})";
  static const std::vector<System> all = {
      {"NVIDIA A100 (NVSwitch node)", base("dgx-a100-80g")},
      {"NVIDIA A100-SXM4-80GB", base("dgx-a100-80g")},
      {"NVIDIA H100 80GB HBM3", base("dgx-h100", no_nvls)},
      {"NVIDIA H100_SXM", base("dgx-h100", no_nvls)},
      {"NVIDIA B200", base("dgx-b200", no_nvls)},
      {"NVIDIA V100 (DGX-1-class)", base("dgx-1-v100")},
  };
  return all;
}

std::string nodes(int count, const std::string& fabric, const std::string& node = "") {
  return fmt::format(R"(, "nodes": {}, "fabric": {}{})", count, fabric, node.empty() ? "" : ", \"node\": " + node);
}

std::string one_switch(double efficiency, double hop_us) {
  return fmt::format(R"({{"kind": "one_switch", "transport": "rdma", "hop_latency": "{} us", "efficiency": {},
                         "nic_source": "nccl-tests plateau of the same table"}})", hop_us, efficiency);
}

struct Table {
  std::string file, cluster;
};
std::vector<Table> tables() {
  const std::string efa_h100 = R"({"nvls": true, "nics": {"count": 32, "line": "100 Gbit/s"}})";
  const std::string gh200 = R"({"gpus": 4, "nvls": false, "pcie_switches": 4,
                                "nics": {"count": 4, "line": "200 Gbit/s"}, "host": {"cpu_vendor": "other"}})";
  std::vector<Table> all = {
      {"h100_1n8_nvls_allreduce_dgxc", base("dgx-h100")},
      {"h100_1n8_nvls_allreduce_aws_batch", base("dgx-h100")},
      {"a100_1n4_nvlink_allreduce_sheffield", base("a100-nv4-4")},
      {"a100_1n8_nvlink_allreduce_abci", base("a100-40g-8")},
      {"v100pcie_1n4_pcie_allreduce_sheffield_cu110", base("v100-pcie-4")},
      {"v100pcie_1n4_pcie_allreduce_sheffield_cu111", base("v100-pcie-4")},
      {"a100_2n8_ib_allreduce_deepops", base("a100-80g-16x8", R"(, "nodes": 2)")},
      {"a100_4n8_ib_allreduce_deepops", base("a100-80g-16x8", R"(, "nodes": 4)")},
      {"v100_4n4_ib_allreduce_abci", base("v100-4gpu-2edr-16x4")},
      {"v100_8n4_ib_allreduce_abci", base("v100-4gpu-2edr-16x4")},
      {"v100_16n4_ib_allreduce_abci", base("v100-4gpu-2edr-16x4")},
      {"b200_2n8_ib_allreduce_lambda_dstack", base("b200-16x8", R"(, "nodes": 2)")},
      {"b200_2n8_gcp_a4_allreduce_dstack", base("b200-16x8", R"(, "nodes": 2)")},
      {"h100_2n8_roce_allreduce_oci", base("h100-16x8", R"(, "nodes": 2)")},
      {"h100_2n8_efa_allreduce_aws_p5", base("dgx-h100", nodes(2, one_switch(0.925, 22), efa_h100))},
      {"h100_2n8_efa_allreduce_aws_p5_eks", base("dgx-h100", nodes(2, one_switch(0.925, 22), efa_h100))},
      {"a100_2n8_efa_allreduce_aws_p4de", base("p4d-16x8", R"(, "nodes": 2)")},
      {"h100_2n8_gcp_a3mega_tcpxo_allgather",
       base("dgx-h100", nodes(2, one_switch(0.945, 60), R"({"nvls": false, "nics": {"count": 8, "line": "200 Gbit/s"}})"))},
  };
  for (const char* file : {"gh200_2n4_slingshot_allreduce_alps_ofi1.13.0", "gh200_4n4_slingshot_allreduce_alps_ofi1.13.0",
                           "gh200_8n4_slingshot_allreduce_alps_ofi1.9.2", "gh200_64n4_slingshot_allreduce_alps_ofi1.9.2",
                           "gh200_128n4_slingshot_allreduce_alps_ofi1.13.0"})
    all.push_back({file, base("dgx-h100", nodes(128, one_switch(0.925, 0), gh200))});
  return all;
}

std::optional<OpKind> kind_of(const std::string& collective) {
  if (collective == "all_reduce") return OpKind::all_reduce;
  if (collective == "all_gather") return OpKind::all_gather;
  if (collective == "reduce_scatter") return OpKind::reduce_scatter;
  if (collective == "alltoall") return OpKind::all_to_all;
  return std::nullopt;
}

MeasuredCurve curve_of(const Json& table, const std::string& name, const std::string& cluster) {
  MeasuredCurve curve{name, cluster, OpKind::all_reduce, table.find("ranks")->integer, {}, true, {}};
  curve.kind = *kind_of(table.find("collective")->string);
  const Json* forced = table.find("algo_forced");
  if (forced != nullptr && forced->is_string() && forced->string == "Ring") curve.forced = scenarios::Algorithm::ring;
  // Slingshot with libfabric: the same machine is ten times slower between 64 KiB and 1 MiB with one plug-in version
  // than with the next, and single runs stall. That is no property of a network that a model could know.
  curve.in_table = name.find("slingshot") == std::string::npos;
  for (const Json& row : table.find("rows")->items)
    if (row.items.size() > 5 && row.items[0].number > 0.0 && row.items[5].number > 0.0)
      curve.points.push_back({row.items[0].number, row.items[5].number});
  return curve;
}

void append_tables(std::vector<MeasuredCurve>& curves) {
  const Json json = read_json(folder() + "/tables.json");
  for (const Table& wanted : tables())
    for (const Json& table : json.items)
      if (table.find("file")->string == wanted.file + ".txt") curves.push_back(curve_of(table, wanted.file, wanted.cluster));
}

// system,collective,ranks,nodes,dtype,bytes,time_us,...
void append_line(const std::string& line, std::map<std::string, MeasuredCurve>& curves) {
  std::vector<std::string> field;
  std::istringstream in(line);
  for (std::string part; std::getline(in, part, ',');) field.push_back(part);
  if (field.size() < 7 || field[3] != "1") return;
  const std::optional<OpKind> kind = kind_of(field[1]);
  if (!kind) return;
  for (const System& system : systems()) {
    if (field[0] != system.system) continue;
    MeasuredCurve& curve = curves[fmt::format("{} {} {}", field[0], field[1], field[2])];
    curve.name = fmt::format("{} {} {}", field[0], field[1], field[2]);
    curve.cluster = system.cluster;
    curve.kind = *kind;
    curve.ranks = std::stoll(field[2]);
    curve.points.push_back({std::stod(field[5]), std::stod(field[6])});
  }
}

// Curves of a thousand evenly spaced sizes would outweigh all others: one point per factor of two is kept.
void thin_out(MeasuredCurve& curve) {
  if (curve.points.size() < 500) return;
  std::vector<Measurement> kept;
  double next = 0.0;
  for (const Measurement& point : curve.points)
    if (point.bytes >= next) {
      kept.push_back(point);
      next = point.bytes * 2.0;
    }
  curve.points = kept;
}

void append_one_machine(std::vector<MeasuredCurve>& curves) {
  const std::string command = "gzip -dc '" + folder() + "/collectives_1node.csv.gz'";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return;
  std::map<std::string, MeasuredCurve> found;
  std::array<char, 1024> buffer{};
  while (std::fgets(buffer.data(), static_cast<int>(buffer.size()), pipe) != nullptr) append_line(buffer.data(), found);
  pclose(pipe);
  for (auto& [name, curve] : found) {
    thin_out(curve);
    curves.push_back(curve);
  }
}

}  // namespace

bool measurements_exist() { return std::filesystem::exists(folder() + "/tables.json"); }

std::vector<MeasuredCurve> measured_curves() {
  std::vector<MeasuredCurve> curves;
  append_one_machine(curves);
  append_tables(curves);
  return curves;
}

}  // namespace orrery::sim
