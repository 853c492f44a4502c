// CSV is read back as it was written, and a torn end is told from a whole one.
#include "sim/commands/csv_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::sim {
namespace {

using testing::ElementsAre;

TEST(CsvText, IsReadBackAsItWasWritten) {
  const std::vector<std::string> odd = {"", "a,b", "say \"x\"", "two\nlines", " blank ", "\r\n"};
  const CsvText csv = parse_csv(csv_record(odd) + csv_record({"1"}));
  EXPECT_THAT(csv.records, ElementsAre(odd, ElementsAre("1")));
}

TEST(CsvText, WholeRecordsEndWhereTheTornOneBegins) {
  const std::string text = csv_record({"1", "a\nb"}) + csv_record({"2", "c"});
  const std::size_t first = csv_record({"1", "a\nb"}).size();
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const CsvText csv = parse_csv(std::string_view(text).substr(0, length));
    const std::size_t whole = length == text.size() ? 2 : length >= first ? 1 : 0;
    EXPECT_EQ(csv.records.size(), whole) << length;
    EXPECT_EQ(csv.whole, whole == 2 ? text.size() : whole == 1 ? first : 0) << length;
  }
}

}  // namespace
}  // namespace orrery::sim
