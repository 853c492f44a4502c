// Reading goes on after every error, and every error says what was found, what is allowed and what to do.
#include "base/object_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/source_text.h"

namespace orrery {
namespace {

using test::parsed;
using testing::AllOf;
using testing::HasSubstr;

// One object and what was reported while reading it.
struct Reading {
  explicit Reading(const std::string& text) : json(parsed(text)), reader(json, diagnostics, "parallel") {}
  std::string report() const { return diagnostics.text(); }
  std::size_t errors() const { return diagnostics.all().size(); }
  Json json;
  Diagnostics diagnostics;
  ObjectReader reader;
};

TEST(ObjectReader, ReadsEveryKind) {
  Reading r(
      R"({"i": 8, "d": 0.5, "b": true, "t": "x", "size": "80 GiB", "bw": "400 Gbit/s", "rate": "312 TFLOP/s",
                "lat": "2 us", "word": "gpipe", "o": {}, "z": null})");
  EXPECT_EQ(r.reader.integer("i", {}), 8);
  EXPECT_EQ(r.reader.number("d", {}), 0.5);
  EXPECT_TRUE(r.reader.boolean("b", {}));
  EXPECT_EQ(r.reader.text("t", {}), "x");
  EXPECT_EQ(r.reader.bytes("size", {}), Bytes::from_gib(80));
  EXPECT_EQ(r.reader.bandwidth("bw", {}).value(), 50e9);
  EXPECT_EQ(r.reader.flop_rate("rate", {}).value(), 312e12);
  EXPECT_EQ(r.reader.duration("lat", {}), Duration::from_us(2));
  EXPECT_EQ((r.reader.choice<int>("word", {}, {{"1f1b", 1}, {"gpipe", 2}})), 2);
  EXPECT_TRUE(r.reader.child("o")->is_object());
  EXPECT_FALSE(r.reader.has("z"));
  r.reader.finish();
  EXPECT_EQ(r.report(), "");
}

TEST(ObjectReader, FallbacksStandInForMissingAndNull) {
  Reading r(R"({"i": null})");
  EXPECT_EQ(r.reader.integer("i", {.fallback = 7}), 7);
  EXPECT_EQ(r.reader.number("d", {.fallback = 1.5}), 1.5);
  EXPECT_TRUE(r.reader.boolean("b", true));
  EXPECT_EQ(r.reader.text("t", "x"), "x");
  EXPECT_EQ(r.reader.duration("lat", Duration::from_us(3)), Duration::from_us(3));
  EXPECT_EQ((r.reader.choice<int>("word", 1, {{"1f1b", 1}, {"gpipe", 2}})), 1);
  EXPECT_EQ(r.reader.child("o"), nullptr);
  EXPECT_EQ(r.report(), "");
}

TEST(ObjectReader, IntegersMayBeWrittenWithAnExponent) {
  Reading r(R"({"a": 5e8, "b": 1e9, "c": 2.0, "d": 1.5, "e": 1e17})");
  EXPECT_EQ(r.reader.integer("a", {}), 500'000'000);
  EXPECT_EQ(r.reader.integer("b", {}), 1'000'000'000);
  EXPECT_EQ(r.reader.integer("c", {}), 2);
  EXPECT_EQ(r.errors(), 0U);
  r.reader.integer("d", {});
  r.reader.integer("e", {});  // a double of that size does not know its last digits
  EXPECT_THAT(r.report(), AllOf(HasSubstr("\"d\" in parallel must be an integer, found 1.5"),
                                HasSubstr("\"e\" in parallel must be an integer, found 1e+17")));
}

TEST(ObjectReader, RangesAreChecked) {
  Reading r(R"({"tp": 0, "pp": 70, "x": -1.5, "y": 2})");
  EXPECT_EQ(r.reader.integer("tp", {.fallback = 1, .min = 1, .max = 64}), 1);
  EXPECT_EQ(r.reader.integer("pp", {.fallback = 1, .min = 1, .max = 64}), 64);
  EXPECT_EQ(r.reader.number("x", {}), 0.0);
  EXPECT_EQ(r.reader.number("y", {.fallback = 0.5, .min = 0.0, .max = 1.0}), 1.0);
  EXPECT_THAT(r.report(),
              AllOf(HasSubstr("\"tp\" in parallel is 0, which is out of range"),
                    HasSubstr("allowed: an integer from 1 to 64"), HasSubstr("allowed: a number at least 0"),
                    HasSubstr("allowed: a number from 0 to 1")));
  EXPECT_EQ(r.errors(), 4U);
}

TEST(ObjectReader, WrongKindsAreAllReportedAtTheirPlace) {
  Reading r(R"({"i": "3", "d": [], "b": "true", "t": 5, "size": true, "word": 1, "lat": {}})");
  r.reader.integer("i", {});
  r.reader.number("d", {});
  r.reader.boolean("b", false);
  r.reader.text("t", {});
  r.reader.bytes("size", {});
  r.reader.choice<int>("word", {}, {{"1f1b", 1}});
  r.reader.duration("lat", {});
  r.reader.finish();
  EXPECT_EQ(r.errors(), 7U);
  EXPECT_THAT(
      r.report(),
      AllOf(HasSubstr("test.json:1:7: error: \"i\" in parallel must be an integer, found the string \"3\""),
            HasSubstr("found an array"), HasSubstr("allowed: true or false, without quotes"),
            HasSubstr("\"t\" in parallel must be a string, found 5"), HasSubstr("found an object")));
}

TEST(ObjectReader, ABareNumberWithoutItsUnitIsAnError) {
  Reading r(R"({"lat": 5, "bw": 400, "size": 0})");
  r.reader.duration("lat", {});
  r.reader.bandwidth("bw", {});
  r.reader.bytes("size", Bytes(3));
  EXPECT_THAT(r.report(), AllOf(HasSubstr("\"lat\" in parallel has no unit"), HasSubstr("such as \"5 us\""),
                                HasSubstr("such as \"400 Gbit/s\""), HasSubstr("such as \"0 GiB\"")));
}

TEST(ObjectReader, WrongUnitsNameTheAllowedOnes) {
  Reading r(R"({"bw": "400 Gb/s", "lat": "2 GiB"})");
  EXPECT_EQ(r.reader.bandwidth("bw", Bandwidth(7.0)).value(), 7.0);
  r.reader.duration("lat", {});
  EXPECT_THAT(r.report(),
              AllOf(HasSubstr("must be a bandwidth, found the string \"400 Gb/s\""), HasSubstr("Gbit/s"),
                    HasSubstr("must be a duration, found the string \"2 GiB\"")));
}

TEST(ObjectReader, MissingMembersAreReportedOnce) {
  Reading r("\n  {\"z\": null}");
  r.reader.integer("tp", {.min = 1});
  r.reader.required("model");
  r.reader.text("z", {});
  EXPECT_EQ(r.errors(), 3U);
  EXPECT_THAT(r.report(),
              AllOf(HasSubstr("test.json:2:3: error: \"tp\" in parallel is required, and is missing"),
                    HasSubstr("test.json:2:9: error: \"z\" in parallel is required, and is null")));
}

TEST(ObjectReader, UnknownKeysSuggestTheNearest) {
  Reading r(R"({"micro_batc": 1, "colour": 2})");
  r.reader.integer("micro_batch", {.fallback = 1});
  r.reader.finish();
  EXPECT_THAT(r.report(),
              AllOf(HasSubstr("test.json:1:2: error: unknown key \"micro_batc\" in parallel"),
                    HasSubstr("did you mean \"micro_batch\"?"), HasSubstr("known keys: micro_batch")));
}

TEST(ObjectReader, UnknownWordsListTheChoices) {
  Reading r(R"({"schedule": "1f1bb"})");
  EXPECT_EQ((r.reader.choice<int>("schedule", 2, {{"1f1b", 1}, {"gpipe", 2}})), 2);
  EXPECT_THAT(r.report(), HasSubstr("did you mean \"1f1b\"? allowed: 1f1b, gpipe"));
}

TEST(ObjectReader, WhatIsNoObjectIsOneErrorNotMany) {
  Reading r("[1, 2]");
  EXPECT_EQ(r.reader.integer("tp", {.min = 1}), 1);
  r.reader.required("model");
  r.reader.finish();
  EXPECT_EQ(r.errors(), 1U);
  EXPECT_THAT(r.report(), HasSubstr("parallel must be an object, found an array"));
}

TEST(ObjectReader, AMemberKnowsItsPlaceAndAMissingOneItsObjects) {
  Reading r("\n { \"a\": 1}");
  EXPECT_EQ(r.reader.place("a").column, 9U);
  EXPECT_EQ(r.reader.place("b").column, 2U);
  EXPECT_EQ(r.reader.place().line, 2U);
}

}  // namespace
}  // namespace orrery
