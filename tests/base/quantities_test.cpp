// Quantities from text, and for people.
#include "base/quantities.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(ParseQuantities, EveryPrefixMeansWhatItSays) {
  EXPECT_EQ(parse_bytes("80 GiB"), Bytes(80LL << 30));
  EXPECT_EQ(parse_bytes("18.6 GB"), Bytes(18'600'000'000));
  EXPECT_EQ(parse_bytes("1kB"), Bytes(1000));
  EXPECT_EQ(parse_bytes("0 B"), Bytes(0));
  EXPECT_EQ(parse_bandwidth("400 Gbit/s")->value(), 50e9);
  EXPECT_EQ(parse_bandwidth("25 GB/s")->value(), 25e9);
  EXPECT_EQ(parse_bandwidth("1 GiB/s")->value(), 1073741824.0);
  EXPECT_EQ(parse_bandwidth("8 bit/s")->value(), 1.0);
  EXPECT_EQ(parse_flop_rate("0.989 PFLOP/s")->value(), 989e12);
  EXPECT_EQ(parse_duration("9.69 s"), Duration::from_ps(9'690'000'000'000));
  EXPECT_EQ(parse_duration("1.1 us"), Duration::from_ps(1'100'000));
  EXPECT_EQ(parse_duration("2 d"), Duration::from_ps(172'800'000'000'000'000));
}

TEST(ParseQuantities, SomethingNeverBecomesNothing) {
  EXPECT_EQ(parse_duration("0.001 ps"), Duration::from_ps(1));
  EXPECT_EQ(parse_bytes("1e-9 B"), Bytes(1));
}

TEST(ParseQuantities, RefusesWhatIsNoQuantity) {
  for (const char* text : {"", " ", "5", "GB", "-1 GB", "+1 GB", "nan GB", "inf GB", "1e999 GB", "1 Gb", "1 gb", "1 GBs", "1 G B",
                           "1,5 GB", "0x10 GB", "1 GB ", " 1 GB", "1e19 GB", "1..2 GB", ". GB", "1 GB/s"})
    EXPECT_FALSE(parse_bytes(text)) << text;
  for (const char* text : {"400 Gb/s", "400 Gbps", "1 GB", "400Gbit"}) EXPECT_FALSE(parse_bandwidth(text)) << text;
  for (const char* text : {"200 d", "1e300 s", "2 GiB", "1 sec"}) EXPECT_FALSE(parse_duration(text)) << text;
  EXPECT_FALSE(parse_flop_rate("312 TFLOPS"));
}

TEST(HumanQuantities, ThreeSignificantDigits) {
  EXPECT_EQ(human_bytes(Bytes(18'600'000'000)), "18.6 GB");
  EXPECT_EQ(human_bytes(Bytes(999)), "999 B");
  EXPECT_EQ(human_bytes(Bytes(999'499)), "999 kB");
  EXPECT_EQ(human_bytes(Bytes(999'600)), "1.00 MB");
  EXPECT_EQ(human_bytes(Bytes(-2'000'000)), "-2.00 MB");
  EXPECT_EQ(human_duration(Duration::from_ps(9'690'000'000'000)), "9.69 s");
  EXPECT_EQ(human_duration(Duration::from_us(2)), "2.00 us");
  EXPECT_EQ(human_duration(Duration{}), "0 s");
  EXPECT_EQ(human_duration(Duration::from_seconds_up(7200.0)), "2.00 h");
  EXPECT_EQ(human_duration(Duration::from_seconds_up(3.0 * 86400)), "3.00 d");
  EXPECT_EQ(human_bandwidth(Bandwidth(25e9)), "25.0 GB/s");
  EXPECT_EQ(human_flop_rate(FlopRate(312e12)), "312 TFLOP/s");
  EXPECT_EQ(human_count(69.7e9), "69.7 B");
  EXPECT_EQ(human_count(1.56e9), "1.56 B");
  EXPECT_EQ(human_count(124'439'808), "124 M");
  EXPECT_EQ(human_count(512), "512");
}

}  // namespace
}  // namespace orrery
