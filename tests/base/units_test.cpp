// The arithmetic of the units: exact on integers, rounded up where a real number becomes picoseconds.
#include "base/units.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Units, TimesAndDurations) {
  const Time start = Time::from_ps(100);
  const Time end = start + Duration::from_ps(2'000);
  EXPECT_EQ(end.ps(), 2'100);
  EXPECT_EQ((end - start).ps(), 2'000);
  EXPECT_EQ((end - Duration::from_ps(1'000)).ps(), 1'100);
  EXPECT_EQ((3 * Duration::from_us(2)).ps(), 6'000'000);
  EXPECT_LT(start, end);
  EXPECT_EQ(Duration::from_us(3) / Duration::from_us(2), 1.5);
}

TEST(Units, DivisionRoundsUpToAPicosecond) {
  EXPECT_EQ((Bytes(1) / Bandwidth(1e12)).ps(), 1);
  EXPECT_EQ((Bytes(1) / Bandwidth(3e12)).ps(), 1);
  EXPECT_EQ((Bytes(10) / Bandwidth(3e12)).ps(), 4);
  EXPECT_EQ((Bytes(0) / Bandwidth(3e12)).ps(), 0);
  EXPECT_EQ((Flops(312e12) / FlopRate(312e12)).ps(), 1'000'000'000'000);
  EXPECT_EQ((Flops(1.0) / FlopRate(989e12)).ps(), 1);
}

TEST(Units, ImpossibleDurationsAreInternalErrors) {
  EXPECT_THROW(Duration::from_seconds_up(-1e-12), InternalError);
  EXPECT_THROW(Duration::from_seconds_up(std::nan("")), InternalError);
  EXPECT_THROW(Duration::from_seconds_up(1e7), DurationTooLong);
  EXPECT_THROW(Bytes(1) / Bandwidth(1e-300), DurationTooLong);
  EXPECT_THROW(Bytes(1) / Bandwidth(0.0), DurationTooLong);
  EXPECT_EQ(Duration::from_seconds_up(9.1e6).seconds(), 9.1e6);
}

TEST(Units, BytesAreWholeAndPowersOfTwo) {
  EXPECT_EQ(Bytes::from_gib(80).count(), 85'899'345'920);
  EXPECT_EQ(Bytes::from_mib(1) * 1024, Bytes::from_gib(1));
  EXPECT_EQ(Bytes::from_gib(3) / Bytes::from_gib(2), 1.5);
  EXPECT_EQ((Bytes(5) - Bytes(7)).count(), -2);
}

TEST(Check, SaysConditionAndValues) {
  try {
    CHECK(1 + 1 == 3, 42, "why");
    FAIL() << "CHECK did not throw";
  } catch (const InternalError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("CHECK(1 + 1 == 3) failed with 42, why"), std::string::npos) << text;
    EXPECT_NE(text.find("units_test.cpp"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace orrery
