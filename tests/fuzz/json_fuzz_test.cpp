// Damaged JSON: the reader either gives exactly the value that nlohmann's own parser gives, or reports at least one error at
// a place inside the text. It never crashes, hangs or accepts what is no JSON. The number of texts is fixed.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/object_reader.h"
#include "tests/base/source_text.h"
#include "tests/fuzz/mutator.h"

namespace orrery {
namespace {

using test::Mutator;

constexpr std::uint64_t kTexts = 200'000;

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> kSeeds{
      "{}", "[1, 2.5, -3e4, \"x\", true, false, null, [], {}]",
      R"({ // a scenario
  "name": "7B on 8 GPUs", "model": "models/zoo/llama-2-7b.json",
  /* a plan */ "parallel": { "tp": 2, "pp": 1, "dp": "auto", "zero": 3, "order": "tp-cp-ep-dp-pp" },
  "training": { "global_batch": 1e3, "sequence_length": 4096, "precision": "bf16" },
  "cluster": { "bandwidth": "400 Gbit/s", "memory": "80 GiB", "latency": "2 us" }
})",
      R"({"a":{"b":{"c":[{"d":"\u00e9\n\"\\"},{"e":1.7976931348623157e308}]}},"f":-9223372036854775808})"};
  return kSeeds;
}

nlohmann::json as_reference(const Json& json) {
  switch (json.kind) {
    case Json::Kind::null: return nullptr;
    case Json::Kind::boolean: return json.boolean;
    case Json::Kind::integer: return json.integer;
    case Json::Kind::number: return json.number;
    case Json::Kind::string: return json.string;
    case Json::Kind::array: {
      nlohmann::json array = nlohmann::json::array();
      for (const Json& item : json.items) array.push_back(as_reference(item));
      return array;
    }
    case Json::Kind::object: {
      nlohmann::json object = nlohmann::json::object();
      for (const JsonMember& member : json.members) object[member.key] = as_reference(member.value);
      return object;
    }
  }
  return nullptr;
}

// What this reader refuses and JSON allows.
bool breaks_an_own_rule(const Diagnostics& diagnostics) {
  const std::string text = diagnostics.text();
  const auto says = [&](std::string_view words) { return text.find(words) != std::string::npos; };
  return says("stands twice") || says("NUL") || says("nested deeper") || says("does not fit into 64 bits");
}

// True where the place lies in the text, or just behind its end.
bool is_inside(const Place& place) {
  const std::string& text = place.source->text;
  std::uint32_t line = 1;
  std::size_t begin = 0;
  for (; line < place.line; ++line) {
    begin = text.find('\n', begin);
    if (begin == std::string::npos) return false;
    ++begin;
  }
  const std::size_t end = std::min(text.find('\n', begin), text.size());
  return place.line >= 1 && place.column >= 1 && begin + place.column - 1 <= end;
}

// Every value stands where its place says: its first character fits its kind.
void expect_right_places(const Json& json, const std::string& text, std::vector<std::size_t>& line_begins) {
  const std::size_t offset = line_begins[json.place.line - 1] + json.place.column - 1;
  ASSERT_LT(offset, text.size());
  constexpr std::string_view kNumber = "-0123456789";
  const std::string_view first = json.is_null()                          ? "n"
                                 : json.kind == Json::Kind::boolean      ? (json.boolean ? "t" : "f")
                                 : json.is_string()                      ? "\""
                                 : json.is_array()                       ? "["
                                 : json.is_object()                      ? "{"
                                                                         : kNumber;
  EXPECT_NE(first.find(text[offset]), std::string_view::npos) << "offset " << offset;
  for (const Json& item : json.items) expect_right_places(item, text, line_begins);
  for (const JsonMember& member : json.members) expect_right_places(member.value, text, line_begins);
}

std::vector<std::size_t> line_begins_of(const std::string& text) {
  std::vector<std::size_t> begins{0};
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') begins.push_back(i + 1);
  return begins;
}

TEST(JsonFuzz, DamagedTextGivesTheRightValueOrAnErrorAtAPlace) {
  std::uint64_t accepted = 0;
  for (std::uint64_t n = 0; n < kTexts && !HasFailure(); ++n) {
    Mutator mutator(n);
    const std::string text = mutator.mutate(mutator.pick(seeds()));
    SCOPED_TRACE(testing::Message() << "mutation " << n << ": " << text);
    Diagnostics diagnostics;
    const Json json = parse_json(test::source_text(text), diagnostics);
    for (const Diagnostic& found : diagnostics.all()) {
      EXPECT_TRUE(is_inside(found.place));
      EXPECT_FALSE(print(found).empty());
    }
    const nlohmann::json reference = nlohmann::json::parse(text, nullptr, false, true);
    if (diagnostics.has_errors()) {
      EXPECT_TRUE(reference.is_discarded() || breaks_an_own_rule(diagnostics)) << diagnostics.text();
      continue;
    }
    ++accepted;
    ASSERT_FALSE(reference.is_discarded());
    EXPECT_EQ(as_reference(json), reference);
    std::vector<std::size_t> begins = line_begins_of(text);
    expect_right_places(json, text, begins);
  }
  EXPECT_GT(accepted, kTexts / 100);  // else the mutations are so wild that the test shows little
}

TEST(JsonFuzz, ATypedReaderSurvivesWhatParses) {
  std::uint64_t reported = 0;
  for (std::uint64_t n = 0; n < kTexts; ++n) {
    Mutator mutator(n);
    Diagnostics parsing;
    const Json json = parse_json(test::source_text(mutator.mutate(seeds()[2])), parsing);
    if (parsing.has_errors()) continue;
    Diagnostics reading;
    ObjectReader root(json, reading, "the scenario");
    root.text("name", {});
    ObjectReader parallel(root.required("parallel"), reading, "parallel");
    const std::int64_t tp = parallel.integer("tp", {.min = 1, .max = 64});
    EXPECT_TRUE(tp >= 1 && tp <= 64);
    parallel.finish();
    ObjectReader cluster(root.required("cluster"), reading, "cluster");
    EXPECT_GE(cluster.bandwidth("bandwidth", {}).value(), 0.0);
    EXPECT_GE(cluster.bytes("memory", {}).count(), 0);
    EXPECT_GE(cluster.duration("latency", {}).ps(), 0);
    root.finish();
    reported += reading.all().size();
    EXPECT_FALSE(reading.has_errors() && reading.text().empty());
  }
  EXPECT_GT(reported, 0U);
}

TEST(QuantityFuzz, WhateverTheTextTheAnswerIsFiniteOrNone) {
  const std::vector<std::string> words{"400 Gbit/s", "80 GiB", "2 us", "312 TFLOP/s", "1e9 B", "9.69 s"};
  for (std::uint64_t n = 0; n < kTexts; ++n) {
    Mutator mutator(n);
    const std::string text = mutator.mutate(mutator.pick(words));
    if (const auto bytes = parse_bytes(text)) { EXPECT_GE(bytes->count(), 0) << text; }
    if (const auto duration = parse_duration(text)) { EXPECT_GE(duration->ps(), 0) << text; }
    if (const auto bandwidth = parse_bandwidth(text)) {
      EXPECT_TRUE(std::isfinite(bandwidth->value()) && bandwidth->value() >= 0.0) << text;
    }
    if (const auto rate = parse_flop_rate(text)) { EXPECT_TRUE(std::isfinite(rate->value())) << text; }
  }
}

}  // namespace
}  // namespace orrery
