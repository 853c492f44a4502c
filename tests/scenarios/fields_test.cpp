// The field table, the reader and the reference agree: every field's example is read, every field that is
// read is in the table, and the documents hold what the table renders. ORRERY_UPDATE=1 writes the documents
// anew.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/data_root.h"
#include "scenarios/fields.h"
#include "scenarios/rules.h"
#include "scenarios/override.h"
#include "tests/scenarios/scenario_text.h"

namespace orrery::scenarios {
namespace {

Json json_of(const std::string& text) {
  Diagnostics diagnostics;
  Json json = testing::parse(text, diagnostics);
  EXPECT_EQ(diagnostics.text(), "") << text;
  return json;
}

// Alone on a plan in which it is legal: two nodes, two stages.
TEST(Fields, EveryExampleIsRead) {
  const std::string plan =
      testing::compose({.nodes = 2, .parallel = R"("pp": 2)", .training = R"("sequence_length": 128)"});
  for (const Field& field : fields()) {
    const std::string path(field.path);
    Json json = json_of(plan);
    if (path != "training.global_batch") json = apply_override(json, "training.global_batch", json_of("64"));
    if (path != "training.micro_batch") json = apply_override(json, "training.micro_batch", json_of("1"));
    if (path == "parallel.layers_per_virtual_stage")
      json = apply_override(json, "model.layers", json_of("24"));
    if (path == "parallel.in_flight") json = apply_override(json, "parallel.schedule", json_of("\"zb-auto\""));
    if (path == "training.recompute_layers") json = apply_override(json, "training.recompute", json_of("\"full\""));
    if (path.starts_with("experts.")) {
      json = apply_override(json, "model.mlp_bias", json_of("false"));
      json = apply_override(json, "model.experts", json_of(R"({ "count": 2, "top_k": 1 })"));
    }
    if (path == "experts.counts") json = apply_override(json, "experts.balance", json_of("\"counts\""));
    json = apply_override(json, path, json_of(std::string(field.example)));
    if (path == "measured.source") json = apply_override(json, "measured.samples_per_s", json_of("1"));
    Diagnostics diagnostics;
    resolve_scenario(json, diagnostics);
    EXPECT_FALSE(diagnostics.has_errors()) << path << "\n" << diagnostics.text();
  }
}

// A key that is not in the table is refused in every section: no field is read in silence.
TEST(Fields, NothingElseIsRead) {
  std::vector<std::string> sections;
  for (const Field& field : fields()) {
    const std::size_t dot = field.path.find('.');
    if (dot != std::string_view::npos) sections.emplace_back(field.path.substr(0, dot));
  }
  for (const std::string& section : sections) {
    Diagnostics diagnostics;
    Json json = json_of(testing::compose({.rest = ""}));
    Json* object = json.find(section);
    if (object == nullptr) {
      json.members.push_back({section, {}, json_of("{}")});
      object = json.find(section);
    }
    object->members.push_back({"no_such_key", {}, json_of("1")});
    resolve_scenario(json, diagnostics);
    // The message lists the known keys of the section: each must be in the table.
    const std::string text = diagnostics.text();
    const std::size_t at = text.find("known keys: ");
    ASSERT_NE(at, std::string::npos) << section << "\n" << text;
    std::istringstream words(text.substr(at + 12, text.find('\n', at) - at - 12));
    for (std::string word; std::getline(words, word, ',');) {
      word.erase(0, word.find_first_not_of(' '));
      if (word == "fp16" || word == "bf16") continue;  // read only to be refused
      EXPECT_TRUE(is_field_path(section + "." + word)) << section << "." << word;
    }
  }
}

TEST(Fields, DefaultsAreWhatTheTableSays) {
  const Scenario s = testing::read(testing::Parts{}).scenario;
  const auto fallback = [](std::string_view path) {
    for (const Field& field : fields())
      if (field.path == path) return std::stod(std::string(field.fallback));
    return -1.0;
  };
  EXPECT_EQ(static_cast<double>(s.parallel.tp), fallback("parallel.tp"));
  EXPECT_EQ(static_cast<double>(s.parallel.pp), fallback("parallel.pp"));
  EXPECT_EQ(static_cast<double>(s.parallel.vpp), fallback("parallel.vpp"));
  EXPECT_EQ(static_cast<double>(s.parallel.zero), fallback("parallel.zero"));
  EXPECT_EQ(s.training.clip_gradient_norm, fallback("training.clip_gradient_norm"));
  EXPECT_EQ(s.training.learning_rate, fallback("training.learning_rate"));
  EXPECT_EQ(s.training.weight_decay, fallback("training.weight_decay"));
  EXPECT_EQ(s.training.beta1, fallback("training.beta1"));
  EXPECT_EQ(s.training.beta2, fallback("training.beta2"));
  EXPECT_EQ(s.training.epsilon, fallback("training.epsilon"));
  EXPECT_EQ(static_cast<double>(s.training.recompute_every), fallback("training.recompute_every"));
  EXPECT_EQ(static_cast<double>(s.training.seed), fallback("training.seed"));
  EXPECT_EQ(s.compression.top_k, fallback("compression.top_k"));
}

std::string slurp(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// The part of a document between its two markers.
void expect_rendered(const std::string& document, const std::string& rendered) {
  const std::string path = data_root() + "/docs/reference/" + document;
  const std::string begin = "<!-- generated: begin -->\n", end = "<!-- generated: end -->";
  std::string text = slurp(path);
  const std::size_t from = text.find(begin), to = text.find(end);
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos) << path;
  const std::size_t start = from + begin.size();
  if (std::getenv("ORRERY_UPDATE") != nullptr) {
    text.replace(start, to - start, rendered);
    std::ofstream(path) << text;
    return;
  }
  EXPECT_EQ(text.substr(start, to - start), rendered) << "run this test with ORRERY_UPDATE=1";
}

TEST(Fields, TheReferenceIsWhatTheTableRenders) { expect_rendered("scenario.md", render_fields()); }
TEST(Rules, TheReferenceIsWhatTheTablesRender) { expect_rendered("rules.md", render_rules()); }
TEST(Policies, TheReferenceIsWhatTheTableRenders) { expect_rendered("frameworks.md", render_policies()); }

}  // namespace
}  // namespace orrery::scenarios
