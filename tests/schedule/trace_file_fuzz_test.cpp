// Damaged trace files: the reader gives a trace that can be written and read again, or reports an error at a
// place inside the text; it never crashes, hangs or takes memory beyond the file's own measure. Seeded, so
// every failure can be repeated.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "schedule/trace_file.h"
#include "tests/fuzz/mutator.h"
#include "tests/schedule/small_trace.h"

namespace orrery::schedule {
namespace {

constexpr const char* kSchedule = R"(world 2
program first {
  buffer a bf16[4] persistent
  fill y=a record(a)
  send x:a to +1 wait(a)
}
program second {
  buffer a bf16[4] persistent
  recv y=a from -1
  add x:a y+=a
}
)";

Trace seed_trace(unsigned seed) {
  return testing::made_up_trace(testing::parsed_schedule(kSchedule), 1, 2, seed);
}

bool is_inside(const Place& place) {
  const std::string& text = place.source->text;
  std::size_t begin = 0;
  for (std::uint32_t line = 1; line < place.line; ++line) {
    begin = text.find('\n', begin);
    if (begin == std::string::npos) return false;
    ++begin;
  }
  return place.line >= 1 && place.column >= 1 &&
         begin + place.column - 1 <= std::min(text.find('\n', begin), text.size());
}

// Returns whether the text was accepted.
bool survives(const std::string& text) {
  Diagnostics diagnostics;
  const Trace trace =
      parse_trace(std::make_shared<const SourceFile>(SourceFile{"fuzz.trace", text}), diagnostics);
  for (const Diagnostic& found : diagnostics.all()) {
    EXPECT_TRUE(is_inside(found.place)) << print(found) << text;
    EXPECT_FALSE(print(found).empty());
  }
  if (diagnostics.has_errors()) return false;
  const std::string again = trace_text(trace);
  Diagnostics second;
  const Trace same =
      parse_trace(std::make_shared<const SourceFile>(SourceFile{"again.trace", again}), second);
  EXPECT_EQ(second.text(), "") << text;
  EXPECT_EQ(trace_text(same), again);
  return true;
}

TEST(TraceFileFuzz, EveryPrefixIsRefused) {
  const std::string text = trace_text(seed_trace(1));
  ASSERT_TRUE(survives(text));
  for (std::size_t length = 0; length + 2 < text.size(); ++length)
    EXPECT_FALSE(survives(text.substr(0, length))) << length;
}

TEST(TraceFileFuzz, DamageIsDiagnosedOrHarmless) {
  constexpr std::uint64_t kTexts = 20'000;
  std::vector<std::string> seeds;
  for (unsigned seed = 0; seed < 8; ++seed) seeds.push_back(trace_text(seed_trace(seed)));
  std::uint64_t accepted = 0;
  for (std::uint64_t n = 0; n < kTexts && !HasFailure(); ++n) {
    test::Mutator mutator(n);
    SCOPED_TRACE(::testing::Message() << "mutation " << n);
    EXPECT_NO_THROW(accepted += survives(mutator.mutate(mutator.pick(seeds))) ? 1U : 0U);
  }
  EXPECT_LT(accepted, kTexts / 2);
  EXPECT_GT(accepted, kTexts / 100);  // else the mutations are so wild that the test shows little
}

}  // namespace
}  // namespace orrery::schedule
