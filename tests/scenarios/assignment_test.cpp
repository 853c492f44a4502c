// What "path=value" means, for one value and for lists, and where its errors point.
#include "scenarios/assignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal(const std::string& text) {
  try {
    parse_axis(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string> values(const std::string& text) {
  std::vector<std::string> written;
  for (const Assignment& value : parse_axis(text).values) written.push_back(value.written);
  return written;
}

TEST(Assignment, ValuesAreJsonOrWords) {
  EXPECT_EQ(parse_assignment("training.micro_batch=2").value.integer, 2);
  EXPECT_EQ(parse_assignment("training.tokens=300e9").value.number, 300e9);
  EXPECT_TRUE(parse_assignment("parallel.sp=true").value.boolean);
  EXPECT_TRUE(parse_assignment("base=null").value.is_null());
  EXPECT_EQ(parse_assignment("training.recompute=full").value.string, "full");
  EXPECT_EQ(parse_assignment("training.recompute=\"full\"").value.string, "full");
  EXPECT_EQ(parse_assignment("model=models/zoo/gpt2-124m.json").value.string, "models/zoo/gpt2-124m.json");
  EXPECT_EQ(parse_assignment("cluster.x=400 Gbit/s").value.string, "400 Gbit/s");
  EXPECT_EQ(parse_assignment("name=a=b").value.string, "a=b");
  EXPECT_EQ(parse_assignment("parallel.layers_per_stage=[1, 2]").value.items.size(), 2U);
}

TEST(Assignment, PlacesPointIntoTheArgument) {
  const Place place = parse_assignment("parallel.tp=3").value.place;
  EXPECT_EQ(place.source->path, "--set");
  EXPECT_EQ(place.source->text, "parallel.tp=3");
  EXPECT_EQ(place.column, 13U);
  EXPECT_EQ(parse_assignment("parallel.layers_per_stage=[1, 2]").value.items[1].place.column, 31U);
}

TEST(Axis, ListsAreSplitAtTheirOwnCommasOnly) {
  EXPECT_THAT(values("a=1,2,4"), ElementsAre("1", "2", "4"));
  EXPECT_THAT(values("a=[1, 2, 4]"), ElementsAre("1", "2", "4"));
  EXPECT_THAT(values("a=[1,2],[3,4]"), ElementsAre("[1,2]", "[3,4]"));
  EXPECT_THAT(values("a=[[1,2],[3,4]]"), ElementsAre("[1,2]", "[3,4]"));
  EXPECT_THAT(values("a=\"x,y\",z"), ElementsAre("x,y", "z"));
  EXPECT_THAT(values("a=\"x\\\",y\",z"), ElementsAre("x\",y", "z"));
  EXPECT_THAT(values("a={\"b\": 1, \"c\": 2},none"), ElementsAre("{\"b\":1,\"c\":2}", "none"));
  EXPECT_THAT(values("a=full"), ElementsAre("full"));
}

TEST(Axis, RefusalsPointAtTheFault) {
  EXPECT_THAT(refusal("a"), HasSubstr("--set:1:1: error: this sets nothing"));
  EXPECT_THAT(refusal("=1"), HasSubstr("this sets nothing"));
  EXPECT_THAT(refusal("a=1,,2"), HasSubstr("--set:1:5: error: a value is missing"));
  EXPECT_THAT(refusal("a="), HasSubstr("--set:1:3: error: a value is missing"));
  EXPECT_THAT(refusal("a=[]"), HasSubstr("the list of values is empty"));
  EXPECT_THAT(refusal("a=[1,"), HasSubstr("--set:1:"));
  EXPECT_THAT(refusal("a=\"x"), HasSubstr("--set:1:"));
}

}  // namespace
}  // namespace orrery::scenarios
