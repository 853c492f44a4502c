// The examples of docs/schedule.md are read and verified; the one marked "// deadlock" does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/verify/op_rules.h"
#include "schedule/text.h"
#include "schedule/verify.h"

namespace orrery::schedule {
namespace {

TEST(ScheduleDocs, ExamplesAreReadAndVerified) {
  const std::string text = read_source("docs/schedule.md")->text;
  const std::string open = "\n```schedule\n";
  int examples = 0, deadlocks = 0;
  for (std::size_t at = text.find(open); at != std::string::npos; at = text.find(open, at + 1), ++examples) {
    const std::size_t begin = at + open.size();
    const std::string example = text.substr(begin, text.find("\n```\n", begin) + 1 - begin);
    Diagnostics diagnostics;
    const Schedule s =
        parse(std::make_shared<const SourceFile>(SourceFile{"docs/schedule.md", example}), diagnostics);
    ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.text();
    const std::vector<Finding> findings = verify(s);
    if (example.find("// deadlock") == std::string::npos) {
      EXPECT_TRUE(findings.empty()) << example << findings.front().message;
      continue;
    }
    ++deadlocks;
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_THAT(text, testing::HasSubstr("    " + findings[0].message + "\n"));
    for (const std::string& line : findings[0].lines)
      EXPECT_THAT(text, testing::HasSubstr("        " + line + "\n"));
  }
  EXPECT_GE(examples, 3);
  EXPECT_EQ(deadlocks, 1);
}

// The table of operations lists every kind, with the operands that verify asks for.
TEST(ScheduleDocs, TheTableOfOperationsIsTheOneThatIsChecked) {
  const std::string text = read_source("docs/schedule.md")->text;
  for (std::size_t k = 0; k < kOpKinds; ++k) {
    const auto kind = static_cast<OpKind>(k);
    const std::string word = "`" + std::string(name(kind)) + "`";
    EXPECT_THAT(text, testing::HasSubstr(word));
    if (kind == OpKind::copy_to_host || kind == OpKind::copy_to_device || kind == OpKind::cpu_adam ||
        kind == OpKind::host_wait)
      continue;  // rows that share operands or have none
    for (const Layout layout : {Layout::tn, Layout::nn, Layout::nt}) {
      const bool by_layout = kind == OpKind::gemm || kind == OpKind::grouped_gemm;
      const std::string suffix = by_layout ? " " + std::string(name(layout)) : "";
      EXPECT_THAT(text, testing::HasSubstr("| " + word + suffix + " | " +
                                           std::string(operands_of(kind, layout)) + " |"));
    }
  }
}

}  // namespace
}  // namespace orrery::schedule
