#include "hardware/transfer_table.h"

#include <fmt/format.h>

#include <array>
#include <set>
#include <tuple>

#include "base/object_reader.h"

namespace orrery::hardware {
namespace {

constexpr double kLeastSeconds = 1e-9, kMostSeconds = 1e6;
constexpr std::array<std::string_view, kTransferOperations> kOperationNames = {
    "all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "send_recv"};

TransferPoint read_point(const Json& json, Diagnostics& diagnostics) {
  ObjectReader reader(json, diagnostics, "point");
  TransferPoint point;
  point.bytes = reader.integer("bytes", {.fallback = std::nullopt, .min = 1, .max = 1'000'000'000'000'000});
  point.seconds =
      reader.number("seconds", {.fallback = std::nullopt, .min = kLeastSeconds, .max = kMostSeconds});
  point.p10 = reader.number("p10", {.fallback = point.seconds, .min = kLeastSeconds, .max = kMostSeconds});
  point.p90 = reader.number("p90", {.fallback = point.seconds, .min = kLeastSeconds, .max = kMostSeconds});
  if (point.p10 > point.seconds || point.p90 < point.seconds)
    diagnostics.error(json.place,
                      fmt::format("percentiles {} and {} around {}", point.p10, point.p90, point.seconds),
                      "p10 <= seconds <= p90");
  point.samples = reader.integer("samples", {.fallback = 0});
  point.outliers = reader.integer("outliers", {.fallback = 0});
  reader.finish();
  return point;
}

void read_points(const Json& json, Diagnostics& diagnostics, TransferCurve& curve) {
  if (!json.is_array() || json.items.empty()) {
    diagnostics.error(json.place, "a curve without points", R"([{"bytes": ..., "seconds": ...}, ...])");
    return;
  }
  for (const Json& item : json.items) {
    curve.points.push_back(read_point(item, diagnostics));
    const std::size_t n = curve.points.size();
    if (n > 1 && curve.points[n - 1].bytes <= curve.points[n - 2].bytes)
      diagnostics.error(
          item.place, fmt::format("{} bytes after {}", curve.points[n - 1].bytes, curve.points[n - 2].bytes),
          "points in ascending order of bytes, one a size");
  }
}

TransferCurve read_curve(const Json& json, Diagnostics& diagnostics) {
  ObjectReader reader(json, diagnostics, "curve");
  TransferCurve curve;
  std::vector<std::pair<std::string, TransferOperation>> operations;
  for (std::size_t i = 0; i < kTransferOperations; ++i)
    operations.emplace_back(kOperationNames[i], static_cast<TransferOperation>(i));
  curve.operation = reader.choice<TransferOperation>("operation", std::nullopt, operations);
  curve.ranks = reader.integer("ranks", {.fallback = std::nullopt, .min = 2, .max = 1'048'576});
  if (curve.operation == TransferOperation::send_recv && curve.ranks != 2)
    diagnostics.error(reader.place("ranks"), fmt::format("send_recv among {} ranks", curve.ranks), "2");
  curve.placement = reader.choice<TransferPlacement>(
      "placement", std::nullopt,
      {{"one_node", TransferPlacement::one_node}, {"across_nodes", TransferPlacement::across_nodes}});
  curve.cores = reader.number("cores", {.fallback = 0.0, .min = 0.0, .max = 1.0});
  if (const Json& points = reader.required("points"); !points.is_null())
    read_points(points, diagnostics, curve);
  reader.finish();
  return curve;
}

void read_curves(const Json& json, Diagnostics& diagnostics, TransferTable& table) {
  if (!json.is_array()) {
    diagnostics.error(json.place, fmt::format("curves is {}", kind_name(json.kind)), "a list of curves");
    return;
  }
  std::set<std::tuple<TransferOperation, std::int64_t, TransferPlacement>> seen;
  for (const Json& item : json.items) {
    const TransferCurve& curve = table.curves.emplace_back(read_curve(item, diagnostics));
    if (!seen.insert({curve.operation, curve.ranks, curve.placement}).second)
      diagnostics.error(item.place,
                        fmt::format("a second curve of {} among {} ranks, {}", name(curve.operation),
                                    curve.ranks, name(curve.placement)),
                        "one curve for each operation, number of ranks and placement");
  }
}

std::string point_json(const TransferPoint& p) {
  std::string text = fmt::format(R"({{"bytes": {}, "seconds": {}, "p10": {}, "p90": {}, "samples": {})",
                                 p.bytes, p.seconds, p.p10, p.p90, p.samples);
  if (p.outliers > 0) text += fmt::format(", \"outliers\": {}", p.outliers);
  return text + "}";
}

std::string curve_json(const TransferCurve& curve) {
  std::string text =
      fmt::format(R"(    {{"operation": "{}", "ranks": {}, "placement": "{}", "cores": {}, "points": [)",
                  name(curve.operation), curve.ranks, name(curve.placement), curve.cores);
  for (std::size_t i = 0; i < curve.points.size(); ++i)
    text += (i == 0 ? "\n      " : ",\n      ") + point_json(curve.points[i]);
  return text + "]}";
}

}  // namespace

std::string_view name(TransferOperation operation) {
  return kOperationNames[static_cast<std::size_t>(operation)];
}

std::string_view name(TransferPlacement placement) {
  return placement == TransferPlacement::one_node ? "one_node" : "across_nodes";
}

TransferTable read_transfer_table(const Json& json, Diagnostics& diagnostics) {
  TransferTable table;
  ObjectReader reader(json, diagnostics, "transfer table");
  if (const Json& from = reader.required("provenance"); !from.is_null())
    table.provenance = read_provenance(from, diagnostics);
  if (const Json& curves = reader.required("curves"); !curves.is_null())
    read_curves(curves, diagnostics, table);
  reader.finish();
  return table;
}

std::string transfer_table_json(const TransferTable& table) {
  std::string text =
      fmt::format("{{\n  \"provenance\": {},\n  \"curves\": [", provenance_json(table.provenance));
  for (std::size_t i = 0; i < table.curves.size(); ++i)
    text += (i == 0 ? "\n" : ",\n") + curve_json(table.curves[i]);
  return text + "\n  ]\n}\n";
}

}  // namespace orrery::hardware
