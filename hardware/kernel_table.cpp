// Points are read as one object a line. Sizes given twice are found by sorting: cost O(n log n).
#include "hardware/kernel_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/object_reader.h"
#include "hardware/field_rules.h"

namespace orrery::hardware {
namespace {

constexpr double kLeastSeconds = 1e-9, kMostSeconds = 1e6;

void read_sizes(const Json& json, const MeasuredKernel& kernel, Diagnostics& diagnostics,
                KernelPoint& point) {
  const std::size_t wanted = kernel.dims.size();
  if (!json.is_array() || json.items.size() != wanted) {
    diagnostics.error(json.place, fmt::format("dims of a point of {}", kernel.name),
                      fmt::format("a list of {} integers: {}", wanted, fmt::join(kernel.dims, ", ")));
    return;
  }
  for (std::size_t d = 0; d < wanted; ++d) {
    const Json& item = json.items[d];
    if (item.kind == Json::Kind::integer && item.integer >= 1 && item.integer <= 1'000'000'000'000'000)
      point.dims[d] = item.integer;
    else
      diagnostics.error(item.place, fmt::format("{} of {} is no size", kernel.dims[d], kernel.name),
                        "an integer from 1 to 10^15");
  }
}

KernelPoint read_point(const Json& json, const MeasuredKernel& kernel, Diagnostics& diagnostics) {
  ObjectReader reader(json, diagnostics, "point");
  KernelPoint point;
  if (const Json& dims = reader.required("dims"); !dims.is_null())
    read_sizes(dims, kernel, diagnostics, point);
  point.flops = reader.number("flops", {.fallback = 0.0, .min = 0.0, .max = 1e24});
  point.bytes = reader.number("bytes", {.fallback = std::nullopt, .min = 0.0, .max = 1e18});
  point.seconds =
      reader.number("seconds", {.fallback = std::nullopt, .min = kLeastSeconds, .max = kMostSeconds});
  point.p10 = reader.number("p10", {.fallback = point.seconds, .min = kLeastSeconds, .max = kMostSeconds});
  point.p90 = reader.number("p90", {.fallback = point.seconds, .min = kLeastSeconds, .max = kMostSeconds});
  if (point.p10 > point.seconds || point.p90 < point.seconds)
    diagnostics.error(json.place,
                      fmt::format("percentiles {} and {} around {}", point.p10, point.p90, point.seconds),
                      "p10 <= seconds <= p90");
  if (reader.has("busy_seconds")) {
    point.busy_seconds =
        reader.number("busy_seconds", {.fallback = std::nullopt, .min = kLeastSeconds, .max = kMostSeconds});
    if (point.busy_seconds > kMostContention * point.seconds)
      diagnostics.error(reader.place("busy_seconds"),
                        fmt::format("{} s with busy ranks, and {} s alone", point.busy_seconds, point.seconds),
                        fmt::format("busy_seconds is at most {} x seconds", kMostContention));
  }
  point.samples = reader.integer("samples", {.fallback = 0});
  point.outliers = reader.integer("outliers", {.fallback = 0});
  reader.finish();
  return point;
}

void read_dim_names(const Json& json, Diagnostics& diagnostics, MeasuredKernel& kernel) {
  const bool fits =
      json.is_array() && !json.items.empty() && json.items.size() <= kMaxTableDims &&
      std::all_of(json.items.begin(), json.items.end(), [](const Json& j) { return j.is_string(); });
  if (!fits) {
    diagnostics.error(json.place, "dims must name what the numbers of a point are",
                      fmt::format("a list of 1 to {} names such as [\"rows\", \"columns\"]", kMaxTableDims));
    return;
  }
  for (const Json& item : json.items) kernel.dims.push_back(item.string);
}

void refuse_repeated_points(const Json& points, const MeasuredKernel& kernel, Diagnostics& diagnostics) {
  std::set<std::array<std::int64_t, kMaxTableDims>> seen;
  for (std::size_t i = 0; i < kernel.points.size(); ++i)
    if (!seen.insert(kernel.points[i].dims).second)
      diagnostics.error(points.items[i].place, fmt::format("this size of {} was given before", kernel.name),
                        "one point a size");
}

MeasuredKernel read_kernel(const Json& json, Diagnostics& diagnostics) {
  ObjectReader reader(json, diagnostics, "kernel");
  MeasuredKernel kernel;
  kernel.place = json.place;
  kernel.name = reader.text("name", std::nullopt);
  if (const Json& dims = reader.required("dims"); !dims.is_null()) read_dim_names(dims, diagnostics, kernel);
  const Json& points = reader.required("points");
  reader.finish();
  if (points.is_null() || kernel.dims.empty()) return kernel;
  if (!points.is_array() || points.items.empty()) {
    diagnostics.error(points.place, fmt::format("{} has no list of points", kernel.name),
                      R"([{"dims": [...], "bytes": ..., "seconds": ...}, ...])");
    return kernel;
  }
  for (const Json& point : points.items) kernel.points.push_back(read_point(point, kernel, diagnostics));
  if (!diagnostics.has_errors()) refuse_repeated_points(points, kernel, diagnostics);
  return kernel;
}

Contention read_contention(const Json& json, Diagnostics& diagnostics) {
  ObjectReader reader(json, diagnostics, "contention");
  Contention contention;
  contention.compute_bound = reader.number("compute_bound", {.fallback = 1.0, .min = 1.0, .max = kMostContention});
  contention.memory_bound = reader.number("memory_bound", {.fallback = 1.0, .min = 1.0, .max = kMostContention});
  reader.finish();
  return contention;
}

void read_kernels(const Json& json, Diagnostics& diagnostics, KernelTable& table) {
  if (!json.is_array()) {
    diagnostics.error(json.place, fmt::format("kernels is {}", kind_name(json.kind)), "a list of kernels");
    return;
  }
  std::set<std::string> names;
  for (const Json& item : json.items) {
    table.kernels.push_back(read_kernel(item, diagnostics));
    const std::string& name = table.kernels.back().name;
    if (!name.empty() && !names.insert(name).second)
      diagnostics.error(item.place, fmt::format("a second kernel is called '{}'", name), "names must differ");
  }
}

std::string point_json(const KernelPoint& p, std::size_t dims) {
  std::string text =
      fmt::format("{{\"dims\": [{}]",
                  fmt::join(p.dims.begin(), p.dims.begin() + static_cast<std::ptrdiff_t>(dims), ", "));
  if (p.flops > 0.0) text += fmt::format(", \"flops\": {}", p.flops);
  text += fmt::format(", \"bytes\": {}, \"seconds\": {}, \"p10\": {}, \"p90\": {}", p.bytes, p.seconds, p.p10,
                      p.p90);
  if (p.busy_seconds > 0.0) text += fmt::format(", \"busy_seconds\": {}", p.busy_seconds);
  text += fmt::format(", \"samples\": {}", p.samples);
  if (p.outliers > 0) text += fmt::format(", \"outliers\": {}", p.outliers);
  return text + "}";
}

std::string kernel_json(const MeasuredKernel& kernel) {
  std::string text = fmt::format("    {{\"name\": {}, \"dims\": [", json_quoted(kernel.name));
  for (std::size_t d = 0; d < kernel.dims.size(); ++d)
    text += (d == 0 ? "" : ", ") + json_quoted(kernel.dims[d]);
  text += "], \"points\": [";
  for (std::size_t i = 0; i < kernel.points.size(); ++i)
    text += (i == 0 ? "\n      " : ",\n      ") + point_json(kernel.points[i], kernel.dims.size());
  return text + "]}";
}

}  // namespace

bool operator==(const MeasuredKernel& a, const MeasuredKernel& b) {
  return a.name == b.name && a.dims == b.dims && a.points == b.points;
}

KernelTable read_kernel_table(const Json& json, Diagnostics& diagnostics) {
  KernelTable table;
  ObjectReader reader(json, diagnostics, "kernel table");
  if (const Json& from = reader.required("provenance"); !from.is_null())
    table.provenance = read_provenance(from, diagnostics);
  table.op_overhead = read_delay(reader, "op_overhead");
  table.busy_ranks = reader.integer("busy_ranks", {.fallback = 1, .min = 1, .max = 1'000'000});
  if (const Json* contention = reader.child("contention"); contention != nullptr)
    table.contention = read_contention(*contention, diagnostics);
  if (const Json& kernels = reader.required("kernels"); !kernels.is_null())
    read_kernels(kernels, diagnostics, table);
  reader.finish();
  return table;
}

std::string kernel_table_json(const KernelTable& table) {
  std::string text = fmt::format(
      "{{\n  \"provenance\": {},\n  \"op_overhead\": \"{} ps\",\n  \"busy_ranks\": {},\n"
      "  \"contention\": {{\"compute_bound\": {}, \"memory_bound\": {}}},\n  \"kernels\": [",
      provenance_json(table.provenance), table.op_overhead.ps(), table.busy_ranks,
      table.contention.compute_bound, table.contention.memory_bound);
  for (std::size_t i = 0; i < table.kernels.size(); ++i)
    text += (i == 0 ? "\n" : ",\n") + kernel_json(table.kernels[i]);
  return text + "\n  ]\n}\n";
}

}  // namespace orrery::hardware
