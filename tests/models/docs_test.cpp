// The examples of docs/reference/model.md are models, and its table names exactly the keys that a written
// file has.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/models/read_model.h"

namespace orrery::models {
namespace {

std::string reference() { return read_source("docs/reference/model.md")->text; }

std::vector<std::string> json_blocks(const std::string& text) {
  const std::string open = "```json\n";
  std::vector<std::string> blocks;
  for (std::size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    const std::size_t begin = at + open.size();
    at = text.find("```", begin);
    blocks.push_back(text.substr(begin, at - begin));
  }
  return blocks;
}

TEST(ModelReference, ExamplesAreModels) {
  const std::vector<std::string> blocks = json_blocks(reference());
  ASSERT_EQ(blocks.size(), 2U);
  const ReadModel llama = read_model_text(blocks[0]);
  EXPECT_TRUE(llama.diagnostics.all().empty()) << llama.diagnostics.text();
  EXPECT_EQ(parameter_count(llama.architecture), 68'976'648'192);
  const ReadModel gpt2 = read_model_text(blocks[1]);
  EXPECT_TRUE(gpt2.diagnostics.all().empty()) << gpt2.diagnostics.text();
  EXPECT_EQ(parameter_count(gpt2.architecture), 124'439'808);
}

TEST(ModelReference, TableListsEveryKey) {
  std::set<std::string> documented;
  const std::string text = reference();
  for (std::size_t at = text.find("\n| `"); at != std::string::npos; at = text.find("\n| `", at + 1))
    documented.insert(text.substr(at + 4, text.find('`', at + 4) - at - 4));
  Architecture a;
  a.max_positions = 1;
  a.experts.count = a.latent.kv_rank = a.prediction_layers = 1;
  a.attention_sinks = true;
  const ReadModel none =
      read_model_text(write_architecture(a));  // all dimensions are 0: errors, but none "unknown"
  EXPECT_EQ(none.diagnostics.text().find("unknown"), std::string::npos);
  Diagnostics diagnostics;
  auto source = std::make_shared<const SourceFile>(SourceFile{"m.json", write_architecture(a)});
  std::set<std::string> written;
  for (const JsonMember& member : parse_json(source, diagnostics).members) {
    written.insert(member.key);
    for (const JsonMember& inner : member.value.members) written.insert(member.key + "." + inner.key);
  }
  EXPECT_EQ(documented, written);
}

}  // namespace
}  // namespace orrery::models
