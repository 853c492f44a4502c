#include "runtime/state/manifest.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <type_traits>
#include <utility>

#include "base/diagnostics.h"
#include "base/json.h"
#include "base/object_reader.h"
#include "runtime/state/checksum.h"
#include "schedule/text/fields.h"

namespace orrery::runtime {
namespace {

using nlohmann::ordered_json;

constexpr const char* kChecksum = "crc32c";
constexpr const char* kFormat = "orrery checkpoint";
constexpr double kAny = std::numeric_limits<double>::max();

// The fields of each object, named once for both directions.
template <typename P, typename Visit>
void for_each_field_of_progress(P& p, Visit&& visit) {
  visit("step", p.step), visit("optimizer_steps", p.optimizer_steps), visit("loss_scale", p.loss_scale);
  visit("steps_since_overflow", p.steps_since_overflow), visit("seed", p.seed);
  visit("data_source", p.data_source), visit("data_fingerprint", p.data_fingerprint);
  visit("next_data_step", p.next_data_step);
}
template <typename P, typename Visit>
void for_each_field_of_plan(P& p, Visit&& visit) {
  visit("schedule", p.schedule), visit("world", p.world), visit("tp", p.tp), visit("dp", p.dp), visit("pp", p.pp);
}
template <typename F, typename Visit>
void for_each_field_of_file(F& f, Visit&& visit) {
  visit("name", f.name), visit("bytes", f.bytes), visit("header_crc32c", f.header_checksum);
}

struct FieldWriter {
  ordered_json& json;
  template <typename T>
  void operator()(const char* key, const T& value) const {
    if constexpr (std::is_enum_v<T>)
      json[key] = std::string(schedule::word_of(value));
    else if constexpr (std::is_same_v<T, std::uint64_t>)
      json[key] = fmt::format("{:016x}", value);
    else
      json[key] = value;
  }
};

struct FieldReader {
  ObjectReader& r;
  void operator()(const char* key, std::int64_t& value) const {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    value = r.integer(key, {.min = -kMost, .max = kMost});
  }
  void operator()(const char* key, std::uint32_t& value) const {
    value = static_cast<std::uint32_t>(r.integer(key, {.max = 0xFFFFFFFF}));
  }
  void operator()(const char* key, std::uint64_t& value) const {  // hexadecimal: JSON's numbers end before 2^64
    const std::string text = r.text(key, std::nullopt);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc() || end != text.data() + text.size())
      r.diagnostics().error(r.place(key), fmt::format("{} is no hexadecimal number", key));
  }
  void operator()(const char* key, double& value) const { value = r.number(key, {.min = -kAny, .max = kAny}); }
  void operator()(const char* key, bool& value) const { value = r.boolean(key, std::nullopt); }
  void operator()(const char* key, std::string& value) const { value = r.text(key, std::nullopt); }
  template <typename Enum>
  void operator()(const char* key, Enum& value) const {
    std::vector<std::pair<std::string, Enum>> table;
    for (const std::string& word : schedule::all_words<Enum>())
      table.emplace_back(word, *schedule::from_word<Enum>(word));
    value = r.choice<Enum>(key, std::nullopt, table);
  }
};

void read_files(ObjectReader& r, Manifest& manifest) {
  const Json& files = r.required("files");
  for (const Json& item : files.items) {
    ObjectReader file(item, r.diagnostics(), "file");
    for_each_field_of_file(manifest.files.emplace_back(), FieldReader{file});
    file.finish();
    const std::string& name = manifest.files.back().name;
    if (name.find('/') != std::string::npos)
      r.diagnostics().error(file.place("name"), "a file of a checkpoint lies beside its manifest");
  }
}

void require_version(ObjectReader& r) {
  if (r.text("format", std::nullopt) != kFormat)
    r.diagnostics().error(r.place("format"), "is no manifest of a checkpoint",
                          fmt::format("\"{}\" is one's", kFormat));
  const std::int64_t version = r.integer("version", {});
  if (version != kManifestVersion)
    r.diagnostics().error(r.place("version"), fmt::format("format version {} is not known here", version),
                          fmt::format("this program reads version {}; use the one that wrote it", kManifestVersion));
  r.diagnostics().throw_if_errors();
}

void require_checksum(ObjectReader& r, std::string_view text) {
  const std::size_t end = text.empty() ? std::string_view::npos : text.find_last_of('\n', text.size() - 2);
  const std::string_view before = text.substr(0, end == std::string_view::npos ? 0 : end + 1);
  r.text(kChecksum, std::nullopt);
  if (text.substr(before.size()) != checksum_line(before))
    r.diagnostics().error(r.place(kChecksum), "the manifest is damaged: its checksum is wrong");
  r.diagnostics().throw_if_errors();
}

template <typename T>
std::string shown(const T& value) {
  if constexpr (std::is_enum_v<T>)
    return std::string(schedule::word_of(value));
  else
    return fmt::format("{}", value);
}

std::vector<std::pair<std::string, std::string>> shown_fields(const models::Architecture& model) {
  std::vector<std::pair<std::string, std::string>> fields;
  schedule::for_each_model_field(model,
                                 [&](const char* key, const auto& value) { fields.emplace_back(key, shown(value)); });
  return fields;
}

}  // namespace

PlanSummary plan_summary(const schedule::Schedule& schedule) {
  const auto size = [&](std::size_t group) {
    return group < schedule.groups.size() ? schedule.groups[group].size : std::int64_t{1};
  };
  return {schedule.name, schedule.world, size(schedule::kTensor), size(schedule::kData), size(schedule::kPipe)};
}

std::string manifest_text(const Manifest& manifest) {
  ordered_json json;
  json["format"] = kFormat;
  json["version"] = kManifestVersion;
  for_each_field_of_progress(manifest.progress, FieldWriter{json["progress"]});
  for_each_field_of_plan(manifest.plan, FieldWriter{json["plan"]});
  json["optimizer"] = manifest.optimizer;
  schedule::for_each_model_field(manifest.model, FieldWriter{json["model"]});
  json["files"] = ordered_json::array();
  for (const ManifestFile& file : manifest.files) {
    json["files"].emplace_back();
    for_each_field_of_file(file, FieldWriter{json["files"].back()});
  }
  // Paths may be in any encoding; what is no UTF-8 is replaced.
  std::string text = json.dump(1, ' ', false, ordered_json::error_handler_t::replace);
  text.replace(text.rfind("\n}"), std::string::npos, ",\n");
  return text + checksum_line(text);
}

std::string checksum_line(std::string_view text) {
  return fmt::format(" \"{}\": \"{:08x}\"}}\n", kChecksum, crc32c(std::as_bytes(std::span(text))));
}

Manifest read_manifest(const std::string& path) {
  const std::shared_ptr<const SourceFile> source = read_source(path);
  Diagnostics diagnostics;
  const Json json = parse_json(source, diagnostics);
  diagnostics.throw_if_errors();
  ObjectReader r(json, diagnostics, "manifest");
  require_version(r);
  require_checksum(r, source->text);
  Manifest manifest;
  const auto object = [&](const char* key, auto&& read) {
    ObjectReader part(r.required(key), diagnostics, key);
    read(FieldReader{part});
    part.finish();
  };
  object("progress", [&](auto read) { for_each_field_of_progress(manifest.progress, read); });
  object("plan", [&](auto read) { for_each_field_of_plan(manifest.plan, read); });
  manifest.optimizer = r.text("optimizer", std::nullopt);
  object("model", [&](auto read) { schedule::for_each_model_field(manifest.model, read); });
  read_files(r, manifest);
  r.finish();
  diagnostics.throw_if_errors();
  return manifest;
}

std::string model_difference(const models::Architecture& there, const models::Architecture& here) {
  const auto fields = shown_fields(there), own = shown_fields(here);
  std::string text;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string& key = fields[i].first;
    if (key == "name" || key == "source" || key == "dropout" || fields[i] == own[i]) continue;
    text +=
        fmt::format("{}{} is {} there and {} here", text.empty() ? "" : "; ", key, fields[i].second, own[i].second);
  }
  return text;
}

}  // namespace orrery::runtime
