// Inheritance between files on disk, and overrides as `sweep` sets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/inherit.h"
#include "scenarios/override.h"
#include "tests/scenarios/scenario_text.h"

namespace orrery::scenarios {
namespace {

using ::testing::HasSubstr;

// A folder of files that lives as long as the test.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() / ("orrery_scenarios_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_ / "deeper");
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

constexpr const char* kWhole = R"({
  "model": "models/zoo/gpt2-124m.json",
  "cluster": "hardware/clusters/a100-80g-16x8.json",
  "parallel": { "tp": 2, "zero": 1 },
  "training": { "global_batch": 512, "micro_batch": 1, "sequence_length": 1024 }
})";

std::string failure(const std::string& path) {
  try {
    read_scenario(path);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Inherit, ChainsFoundBesideTheNamingFile) {
  const Folder folder;
  folder.write("whole.json", kWhole);
  folder.write("deeper/middle.json", R"({ "base": "../whole.json", "parallel": { "tp": 4 } })");
  const std::string top =
      folder.write("top.json", R"({ "base": "deeper/middle.json", "parallel": { "pp": 2 } })");
  const Scenario s = read_scenario(top);
  EXPECT_EQ(s.parallel.tp, 4);    // from the middle
  EXPECT_EQ(s.parallel.pp, 2);    // from the top
  EXPECT_EQ(s.parallel.zero, 1);  // from the bottom
  EXPECT_EQ(s.parallel.dp, 16);
  EXPECT_EQ(s.name, "top");
  EXPECT_THAT(s.origins.tp.source->path, HasSubstr("middle.json"));
  EXPECT_THAT(s.origins.zero.source->path, HasSubstr("whole.json"));
}

TEST(Inherit, AMistakeInABasePointsIntoTheBase) {
  const Folder folder;
  folder.write("whole.json", kWhole);
  folder.write("bad.json", "{ \"base\": \"whole.json\",\n  \"parallel\": { \"tp\": 5 } }");
  const std::string top = folder.write("top.json", R"({ "base": "bad.json" })");
  EXPECT_THAT(failure(top), HasSubstr("bad.json:2:23: error: tp=5 does not divide heads=12"));
}

TEST(Inherit, CirclesAreNamed) {
  const Folder folder;
  folder.write("a.json", R"({ "base": "deeper/b.json" })");
  folder.write("deeper/b.json", R"({ "base": "../a.json" })");
  const std::string self = folder.write("self.json", R"({ "base": "self.json" })");
  const std::string a = folder.write("a.json", R"({ "base": "deeper/b.json" })");
  EXPECT_THAT(failure(a), HasSubstr("base leads back to \"../a.json\""));
  EXPECT_THAT(failure(self), HasSubstr("base leads back to \"self.json\""));
}

TEST(Inherit, LongChainsEnd) {
  const Folder folder;
  for (int i = 0; i < 20; ++i)
    folder.write(std::to_string(i) + ".json", "{ \"base\": \"" + std::to_string(i + 1) + ".json\" }");
  const std::string last = folder.write("20.json", kWhole);
  EXPECT_EQ(failure(last), "");
  EXPECT_THAT(failure(folder.write("top.json", R"({ "base": "0.json" })")),
              HasSubstr("more than 16 files deep"));
}

TEST(Inherit, WhatCannotBeABase) {
  const Folder folder;
  EXPECT_THAT(failure(folder.write("a.json", R"({ "base": "nowhere.json" })")),
              HasSubstr("there is no file \"nowhere.json\""));
  EXPECT_THAT(failure(folder.write("b.json", R"({ "base": 3 })")),
              HasSubstr("base must be the path of a file"));
  folder.write("list.json", "[1]");
  folder.write("null.json", "null");
  folder.write("broken.json", "{ \"model\": ");
  EXPECT_THAT(failure(folder.write("c.json", R"({ "base": "list.json" })")),
              HasSubstr("base must be an object, found an array"));
  EXPECT_THAT(failure(folder.write("d.json", R"({ "base": "null.json" })")),
              HasSubstr("base must be an object, found null"));
  EXPECT_THAT(failure(folder.write("e.json", R"({ "base": "broken.json" })")), HasSubstr("broken.json:1:"));
  EXPECT_THAT(
      failure(folder.write(
          "f.json", R"({ "model": "null.json", "cluster": 7, "training": { "sequence_length": 1 } })")),
      HasSubstr("model must be an object, found null"));
  EXPECT_THAT(failure(folder.write("g.json",
                                   R"({ "model": [], "cluster": 7, "training": { "sequence_length": 1 } })")),
              HasSubstr("cluster must be the path of a file or an object, found an integer"));
}

// An object laid on a path refines the file at that path; with its own base, or null, it does not.
TEST(Inherit, AnObjectOnAPathRefinesTheFile) {
  const Folder folder;
  folder.write("whole.json", kWhole);
  const Scenario refined =
      read_scenario(folder.write("a.json", R"({ "base": "whole.json", "cluster": { "nodes": 2 } })"));
  EXPECT_EQ(refined.cluster.nodes, 2);
  EXPECT_EQ(refined.cluster.node.gpus, 8);
  const Scenario other = read_scenario(folder.write(
      "b.json",
      R"({ "base": "whole.json", "cluster": { "base": "hardware/clusters/h100-16x8.json", "nodes": 2 } })"));
  EXPECT_THAT(other.cluster.gpu.name, HasSubstr("H100"));
  EXPECT_THAT(
      failure(folder.write("c.json", R"({ "base": "whole.json", "cluster": { "base": null, "nodes": 2 } })")),
      HasSubstr("required"));
}

Json json_of(const std::string& text) {
  Diagnostics diagnostics;
  Json json = testing::parse(text, diagnostics);
  diagnostics.throw_if_errors();
  return json;
}

Scenario with(const std::string& text, const std::string& path, const std::string& value) {
  Diagnostics diagnostics;
  Scenario s = resolve_scenario(apply_override(json_of(text), path, json_of(value)), diagnostics);
  diagnostics.throw_if_errors();
  return s;
}

TEST(Override, SetsFieldsThatAreThereAndThatAreNot) {
  EXPECT_EQ(with(kWhole, "parallel.tp", "4").parallel.tp, 4);
  EXPECT_EQ(with(kWhole, "parallel.pp", "2").parallel.pp, 2);
  EXPECT_EQ(with(kWhole, "training.recompute", "\"full\"").training.recompute, Recompute::full);
  EXPECT_EQ(with(kWhole, "framework", "\"megatron\"").framework, Framework::megatron);
  EXPECT_FALSE(with(kWhole, "kernels.fused_attention", "false").kernels.fused_attention);
  EXPECT_EQ(with(kWhole, "parallel.tp", "null").parallel.tp, 1);  // back to the default
}

TEST(Override, ReachesIntoNamedFiles) {
  EXPECT_EQ(with(kWhole, "cluster.nodes", "2").cluster.gpus(), 16);
  EXPECT_EQ(with(kWhole, "model.layers", "6").model.layers, 6);
  EXPECT_EQ(with(kWhole, "cluster", "\"hardware/clusters/h100-16x8.json\"").cluster.gpu.architecture,
            "hopper");
  const Folder folder;
  const std::string base = folder.write("whole.json", kWhole);
  EXPECT_EQ(with("{ \"base\": \"" + base + "\" }", "cluster.nodes", "2").cluster.gpus(), 16);
}

TEST(Override, RefusesWhatIsNoField) {
  const auto refusal = [](const std::string& path) {
    try {
      apply_override(json_of(kWhole), path, json_of("1"));
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal("training.micro_bath"), HasSubstr("did you mean \"training.micro_batch\"?"));
  EXPECT_THAT(refusal("tp"), HasSubstr("did you mean \"parallel.tp\"?"));
  EXPECT_THAT(refusal("sequence_length"), HasSubstr("did you mean \"training.sequence_length\"?"));
  for (const char* path : {"", ".", "parallel", "parallel.", "model.", "tp", "training.micro_batch.x"})
    EXPECT_THAT(refusal(path), HasSubstr("names no field of a scenario")) << path;
}

}  // namespace
}  // namespace orrery::scenarios
