// Values and places that the JSON reader gives, and where it points when the text is wrong.
#include "base/json.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/source_text.h"

namespace orrery {
namespace {

using test::findings;
using test::parsed;
using testing::HasSubstr;
using testing::StartsWith;

std::string where(const Place& place) { return fmt::format("{}:{}", place.line, place.column); }

TEST(Json, KeepsValuesKindsAndOrder) {
  const Json json = parsed(R"({"z": 1, "a": -2.5, "s": "x\ny", "t": true, "f": false, "n": null, "l": [1, [], {}]})");
  ASSERT_EQ(json.members.size(), 7U);
  EXPECT_EQ(json.members[0].key, "z");
  EXPECT_EQ(json.members[1].key, "a");
  EXPECT_EQ(json.find("z")->kind, Json::Kind::integer);
  EXPECT_EQ(json.find("z")->integer, 1);
  EXPECT_EQ(json.find("z")->number, 1.0);
  EXPECT_EQ(json.find("a")->kind, Json::Kind::number);
  EXPECT_EQ(json.find("a")->number, -2.5);
  EXPECT_EQ(json.find("s")->string, "x\ny");
  EXPECT_TRUE(json.find("t")->boolean);
  EXPECT_FALSE(json.find("f")->boolean);
  EXPECT_TRUE(json.find("n")->is_null());
  EXPECT_EQ(json.find("l")->items.size(), 3U);
  EXPECT_EQ(json.find("missing"), nullptr);
}

TEST(Json, EveryKeyAndValueKnowsItsPlace) {
  const Json json = parsed(
      "// a comment, with: signs\n"
      "{ /* { \"no\": 1 */ \"a\" : 12,\n"
      "  \"text, with: // signs\" : \"v\" ,\n"
      "\t\"list\":[true,null, -1.5e3 ,\n"
      "  { \"in\": \"\\u00e9\" }, []] }\n");
  const auto& m = json.members;
  ASSERT_EQ(m.size(), 3U);
  EXPECT_EQ(where(json.place), "2:1");
  EXPECT_EQ(where(m[0].key_place) + " " + where(m[0].value.place), "2:19 2:25");
  EXPECT_EQ(where(m[1].key_place) + " " + where(m[1].value.place), "3:3 3:28");
  EXPECT_EQ(where(m[2].key_place) + " " + where(m[2].value.place), "4:2 4:9");
  const auto& items = m[2].value.items;
  ASSERT_EQ(items.size(), 5U);
  EXPECT_EQ(where(items[0].place), "4:10");
  EXPECT_EQ(where(items[1].place), "4:15");
  EXPECT_EQ(where(items[2].place), "4:21");
  EXPECT_EQ(where(items[3].place), "5:3");
  EXPECT_EQ(where(items[3].members[0].value.place), "5:11");
  EXPECT_EQ(where(items[4].place), "5:23");
  EXPECT_EQ(json.place.source->path, "test.json");
}

TEST(Json, ColumnsCountBytesAndLinesMayEndInCarriageReturns) {
  const Json json = parsed("\xEF\xBB\xBF{\r\n\"\xC3\xA9\": 1}");
  EXPECT_EQ(where(json.place), "1:4");
  EXPECT_EQ(where(json.members[0].value.place), "2:7");
}

TEST(Json, TheExtremeIntegersAndDoublesPass) {
  const Json json = parsed("[9223372036854775807, -9223372036854775808, 1.7976931348623157e308, 5e-324, -0.0, 1e30]");
  EXPECT_EQ(json.items[0].integer, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(json.items[1].integer, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(json.items[2].number, std::numeric_limits<double>::max());
  EXPECT_EQ(json.items[3].number, std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(json.items[5].number, 1e30);
}

struct Wrong {
  const char* text;
  const char* place;    // where the message must point
  const char* message;  // what it must say
};

class JsonErrors : public testing::TestWithParam<Wrong> {};

TEST_P(JsonErrors, PointAtTheFault) {
  const std::string text = findings(GetParam().text);
  EXPECT_THAT(text, StartsWith(fmt::format("test.json:{}: error: ", GetParam().place)));
  EXPECT_THAT(text, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Syntax, JsonErrors,
    testing::Values(Wrong{"", "1:1", "the file is empty"}, Wrong{" \n ", "1:1", "the file is empty"},
                    Wrong{"{\"a\":1,}", "1:8", "remove the comma before it"},
                    Wrong{"[1,\n]", "2:1", "remove the comma before it"},
                    Wrong{"[1,,2]", "1:4", "unexpected ','"}, Wrong{"{\"a\" 1}", "1:6", "expected ':'"},
                    Wrong{"{\"a\":1 \"b\":2}", "1:8", "is a comma missing before it?"},
                    Wrong{"{\"a\":[1, 2\n\n", "1:11", "unexpected end of the file"},
                    Wrong{"{\"a\":NaN}", "1:6", "NaN and Infinity are not JSON"},
                    Wrong{"{\"a\":tru}", "1:9", "invalid literal"}, Wrong{"{'a':1}", "1:2", "double quotes"},
                    Wrong{"[01]", "1:3", "unexpected number literal"}, Wrong{"{\"a\":-}", "1:7", "expected digit"},
                    Wrong{"{\"a\": 1} 2", "1:10", "unexpected number literal"},
                    Wrong{"\"abc", "1:5", "missing closing quote"}, Wrong{"\"ab\nc\"", "1:4", "control character"},
                    Wrong{"{\"a\":1 /* abc", "1:14", "missing closing '*/'"},
                    Wrong{"{\"a\":\"x\xFF\"}", "1:8", "ill-formed UTF-8"},
                    Wrong{"[\"\\ud800\"]", "1:9", "surrogate"}, Wrong{"[\"a\\u0000b\"]", "1:2", "NUL"}));

INSTANTIATE_TEST_SUITE_P(Values, JsonErrors,
                         testing::Values(Wrong{"{\"a\":1e999, \"b\":2}", "1:6", "out of range"},
                                         Wrong{"[1, -1e400]", "1:5", "out of range"},
                                         Wrong{"[9223372036854775808]", "1:2", "does not fit into 64 bits"},
                                         Wrong{"[-9223372036854775809]", "1:2", "does not fit into 64 bits"},
                                         Wrong{"{\"a\":1,\n\"b\":2,\n\"a\":3}", "3:1", "it was first at line 1"}));

TEST(Json, ANulByteIsNotTheEnd) {
  EXPECT_THAT(findings(std::string("{\"a\":1}\0{", 9)), StartsWith("test.json:1:8: error: the file holds a NUL byte"));
}

TEST(Json, AWrongTextIsOneNullValue) {
  Diagnostics diagnostics;
  EXPECT_TRUE(parse_json(test::source_text("{\"a\": [1, 2}"), diagnostics).is_null());
  EXPECT_EQ(diagnostics.all().size(), 1U);
}

TEST(Json, EveryRepeatedKeyIsReported) {
  Diagnostics diagnostics;
  parse_json(test::source_text(R"({"a":1,"a":2,"o":{"b":1,"b":2},"p":{"b":1}})"), diagnostics);
  EXPECT_EQ(diagnostics.all().size(), 2U);
}

TEST(Json, NestingEndsAtSixtyFourLevels) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(findings(nested(64)), "");
  EXPECT_THAT(findings(nested(65)), StartsWith("test.json:1:65: error: objects and arrays are nested deeper"));
  EXPECT_THAT(findings(std::string(5'000'000, '[')), HasSubstr("nested deeper"));
}

TEST(Json, TooManyValuesAreRefused) {
  std::string text = "[0";
  for (int i = 0; i < (1 << 21); ++i) text += ",0";
  EXPECT_THAT(findings(text + "]"), HasSubstr("more than 2097152 values"));
}

TEST(Json, ReadJsonThrowsWithTheWholeText) {
  EXPECT_THAT([] { read_json("base/json.h"); }, testing::ThrowsMessage<InputError>(HasSubstr("base/json.h:4:1: error: JSON syntax")));
}

TEST(Merge, ObjectsMergeDeeplyAndTheRestIsReplaced) {
  const Json under = parsed(R"({"a": 1, "o": {"x": 1, "y": [1, 2]}, "n": 3})");
  const Json over = parsed("\n\n{\"o\": {\"y\": [9], \"z\": 4}, \"a\": {\"deep\": 1}, \"new\": true}");
  const Json both = merge(under, over);
  ASSERT_EQ(both.members.size(), 4U);
  EXPECT_EQ(both.members[0].key, "a");
  EXPECT_TRUE(both.find("a")->is_object());
  EXPECT_EQ(both.find("n")->integer, 3);
  EXPECT_EQ(both.find("o")->find("x")->integer, 1);
  ASSERT_EQ(both.find("o")->find("y")->items.size(), 1U);
  EXPECT_EQ(both.find("o")->find("y")->items[0].integer, 9);
  EXPECT_EQ(both.find("o")->find("z")->integer, 4);
  EXPECT_EQ(both.members[3].key, "new");
}

TEST(Merge, PlacesStayWithTheirValues) {
  const Json both = merge(parsed("{\"a\": 1, \"b\": 2}"), parsed("\n{\"b\": 3}"));
  EXPECT_EQ(where(both.find("a")->place), "1:7");
  EXPECT_EQ(where(both.find("b")->place), "2:7");
  EXPECT_EQ(where(both.members[1].key_place), "2:2");
}

TEST(Merge, NullReplaces) {
  EXPECT_TRUE(merge(parsed("{\"a\": {\"b\": 1}}"), parsed("{\"a\": null}")).find("a")->is_null());
}

}  // namespace
}  // namespace orrery
