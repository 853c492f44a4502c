// Every file of models/zoo against the parameter count that was published for it: exactly where the count of
// the released weights is known, else to the digits that the paper prints. A file without an entry here
// fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>

#include "tests/models/read_model.h"

namespace orrery::models {
namespace {

struct Exact {
  const char* file;
  std::int64_t parameters;
};

constexpr Exact exact_counts[] = {
    {"byte-gpt-4x256", 3'356'160},
    {"byte-llama-4x256", 3'279'104},
    {"gpt2-124m", 124'439'808},
    {"gpt2-355m", 354'823'168},
    {"gpt2-774m", 774'030'080},
    {"gpt2-1558m", 1'557'611'200},
    {"bloom-560m", 559'214'592},
    {"bloom-1b1", 1'065'314'304},
    {"bloom-3b", 3'002'557'440},
    {"bloom-7b1", 7'069'016'064},
    {"bloom-176b", 176'247'271'424},
    {"llama-2-7b", 6'738'415'616},
    {"llama-2-13b", 13'015'864'320},
    {"llama-2-70b", 68'976'648'192},
    {"llama-30b", 32'528'943'616},
    {"llama-65b", 65'285'660'672},
    {"llama-3.1-8b", 8'030'261'248},
    {"llama-3.1-70b", 70'553'706'496},
    {"llama-3.1-405b", 405'853'388'800},
    {"llama-3.2-1b", 1'235'814'400},
    {"llama-3.2-3b", 3'212'749'824},
    {"mistral-7b", 7'241'732'096},
    {"mistral-nemo-12b", 12'247'782'400},
    {"mistral-small-24b", 23'572'403'200},
    {"mistral-large-123b", 122'610'069'504},
    {"gpt-neox-20b", 20'554'567'680},
    {"pythia-160m", 162'322'944},
    {"pythia-410m", 405'334'016},
    {"pythia-1b", 1'011'781'632},
    {"pythia-1.4b", 1'414'647'808},
    {"pythia-2.8b", 2'775'208'960},
    {"pythia-6.9b", 6'857'302'016},
    {"pythia-12b", 11'846'072'320},
    {"gpt-j-6b", 6'050'882'784},
    {"falcon-7b", 6'921'720'704},
    {"falcon-40b", 41'303'293'952},
    {"gemma-2b", 2'506'172'416},
    {"gemma-7b", 8'537'680'896},
    {"gemma-2-2b", 2'614'341'888},
    {"gemma-2-9b", 9'241'705'984},
    {"gemma-2-27b", 27'227'128'320},
    {"gemma-3-1b", 999'885'952},
    {"qwen2-7b", 7'615'616'512},
    {"qwen2-72b", 72'706'203'648},
    {"qwen2.5-0.5b", 494'032'768},
    {"qwen2.5-1.5b", 1'543'714'304},
    {"qwen2.5-7b", 7'615'616'512},
    {"qwen2.5-72b", 72'706'203'648},
    {"qwen2.5-3b", 3'085'938'688},
    {"qwen2.5-14b", 14'770'033'664},
    {"qwen2.5-32b", 32'763'876'352},
    {"qwen3-0.6b", 596'049'920},
    {"qwen3-1.7b", 1'720'574'976},
    {"qwen3-4b", 4'022'468'096},
    {"qwen3-8b", 8'190'735'360},
    {"qwen3-14b", 14'768'307'200},
    {"qwen3-32b", 32'762'123'264},
    {"phi-2", 2'779'683'840},
    {"phi-3-mini", 3'821'079'552},
    {"phi-3-medium", 13'960'238'080},
    {"phi-4", 14'659'507'200},
    {"phi-4-mini", 3'836'021'760},
    {"opt-125m", 125'239'296},
    {"opt-1.3b", 1'315'758'080},
    {"opt-2.7b", 2'651'596'800},
    {"opt-6.7b", 6'658'473'984},
    {"opt-13b", 12'853'473'280},
    {"opt-30b", 29'974'540'288},
    {"yi-6b", 6'061'035'520},
    {"yi-34b", 34'388'917'248},
    {"deepseek-llm-7b", 6'910'365'696},
    {"starcoder2-3b", 3'030'371'328},
    {"starcoder2-7b", 7'173'923'840},
    {"starcoder2-15b", 15'957'889'024},
    {"mpt-7b", 6'649'286'656},
    {"aya-23-8b", 8'028'033'024},
    {"command-r-35b", 34'980'831'232},
    {"tinyllama-1.1b", 1'100'048'384},
    {"smollm2-135m", 134'515'008},
    {"smollm2-1.7b", 1'711'376'384},
    {"chatglm3-6b", 6'243'584'000},
    {"internlm2-7b", 7'737'708'544},
    {"stablelm-3b", 2'795'443'200},
    {"byte-moe-4x256", 9'478'400},
    {"mixtral-8x7b", 46'702'792'704},
    {"mixtral-8x22b", 140'620'634'112},
    {"deepseek-v2-lite", 15'706'484'224},
    {"deepseek-v2", 235'741'434'880},
    {"deepseek-v3", 671'026'419'200},
    {"qwen3-30b-a3b", 30'532'122'624},
    {"qwen3-235b-a22b", 235'093'634'560},
    {"gpt-oss-20b", 20'914'757'184},
    {"gpt-oss-120b", 116'829'156'672},
};

// What one token passes through. Mixtral: 12.9B (table 1); DeepSeek-V3: 37B; Qwen3: 3.3B and 22B; gpt-oss: 3.6B and 5.1B,
// both without the token embedding (model card, table 1); DeepSeek-V2: 21B and, Lite, 2.4B, without embeddings.
constexpr Exact active_counts[] = {
    {"mixtral-8x7b", 12'879'925'248},
    {"mixtral-8x22b", 39'152'031'744},
    {"deepseek-v3", 37'552'297'472},
};

// Billions as printed, and half a unit of the last digit; `besides_embeddings` where the paper leaves them
// out.
struct Printed {
  const char* file;
  double billions;
  double half_digit;
  bool besides_embeddings = false;
};

constexpr Printed printed_counts[] = {
    {"gpt3-2.7b", 2.65, 0.005},
    {"gpt3-6.7b", 6.66, 0.005},
    {"gpt3-13b", 12.85, 0.005},
    {"gpt3-175b", 174.6, 0.05},
    {"megatron-22b", 22, 0.5},
    {"megatron-76b", 76.1, 0.05},
    {"megatron-175b", 175, 0.5},
    {"megatron-530b", 529.6, 0.05},
    {"megatron-1t", 1008.0, 0.05},
    {"gpt-70b", 69.7, 0.05},
    {"gpt-3b", 2.65, 0.005},
    {"gpt-7b", 6.66, 0.005},
    {"gpt-13b", 12.85, 0.005},
    {"gpt-30b", 30, 0.5},
    {"opt-66b", 66, 0.5},
    {"opt-175b", 175, 0.5},
    {"nemotron-4-15b", 12.5, 0.05, true},
    {"nemotron-4-340b", 331.6, 0.05, true},
    {"mpt-30b", 30, 0.5},
    {"deepseek-llm-67b", 67, 0.5},
    {"switch-c-1.6t", 1571, 0.5},
    {"grok-1", 314.9, 0.05, true},
};

std::string path_of(const std::string& file) { return "models/zoo/" + file + ".json"; }

class ZooExactCount : public testing::TestWithParam<Exact> {};

TEST_P(ZooExactCount, IsThePublishedOne) {
  const ReadModel read = read_model_file(path_of(GetParam().file));
  ASSERT_FALSE(read.diagnostics.has_errors()) << read.diagnostics.text();
  EXPECT_EQ(parameter_count(read.architecture), GetParam().parameters);
}

class ZooPrintedCount : public testing::TestWithParam<Printed> {};

TEST_P(ZooPrintedCount, IsThePublishedOne) {
  const Printed& printed = GetParam();
  const ReadModel read = read_model_file(path_of(printed.file));
  ASSERT_FALSE(read.diagnostics.has_errors()) << read.diagnostics.text();
  const Architecture& a = read.architecture;
  const std::int64_t copies = printed.besides_embeddings ? (a.tied_embeddings ? 1 : 2) : 0;
  const std::int64_t embeddings = copies * a.vocab * a.hidden;
  EXPECT_NEAR(static_cast<double>(parameter_count(a) - embeddings) * 1e-9, printed.billions,
              printed.half_digit);
}

// gtest names allow letters, digits and '_'.
template <typename Row>
std::string row_name(const testing::TestParamInfo<Row>& info) {
  std::string name = info.param.file;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
}

TEST(Zoo, ActiveParametersAreThePublishedOnes) {
  for (const Exact& row : active_counts)
    EXPECT_EQ(active_parameter_count(read_model_file(path_of(row.file)).architecture), row.parameters) << row.file;
  const auto billions = [](const char* file, std::int64_t embeddings) {
    const Architecture a = read_model_file(path_of(file)).architecture;
    return static_cast<double>(active_parameter_count(a) - embeddings * a.vocab * a.hidden) * 1e-9;
  };
  EXPECT_NEAR(billions("qwen3-30b-a3b", 0), 3.3, 0.06);
  EXPECT_NEAR(billions("qwen3-235b-a22b", 0), 22.2, 0.05);
  EXPECT_NEAR(billions("gpt-oss-20b", 1), 3.61, 0.005);
  EXPECT_NEAR(billions("gpt-oss-120b", 1), 5.13, 0.005);
  EXPECT_NEAR(billions("deepseek-v2", 0), 21.4, 0.05);
  EXPECT_NEAR(billions("deepseek-v2-lite", 1), 2.4, 0.1);
  EXPECT_EQ(active_parameter_count(read_model_file(path_of("qwen3-8b")).architecture), 8'190'735'360);
}

// DeepSeek-V3's README: the prediction module adds 11.5B of its own (14B with the embedding and head that it shares).
TEST(Zoo, PredictionModuleOfDeepSeekV3) {
  const Architecture a = read_model_file(path_of("deepseek-v3")).architecture;
  EXPECT_NEAR(static_cast<double>(prediction_parameter_count(a)) * 1e-9, 11.5, 0.15);
  EXPECT_EQ(expert_layers(a), 58);
  EXPECT_FALSE(is_expert_layer(a, 2));
  EXPECT_TRUE(is_expert_layer(a, 3));
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooExactCount, testing::ValuesIn(exact_counts), row_name<Exact>);
INSTANTIATE_TEST_SUITE_P(Zoo, ZooPrintedCount, testing::ValuesIn(printed_counts), row_name<Printed>);

TEST(Zoo, EveryFileHasACountASourceAndSurvivesWritingAndReading) {
  std::set<std::string> listed;
  for (const Exact& row : exact_counts) listed.insert(row.file);
  for (const Printed& row : printed_counts) listed.insert(row.file);
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("models/zoo")) {
    found.insert(entry.path().stem().string());
    const ReadModel read = read_model_file(entry.path().string());
    ASSERT_TRUE(read.diagnostics.all().empty()) << read.diagnostics.text();
    EXPECT_FALSE(read.architecture.source.empty()) << entry.path();
    const ReadModel again = read_model_text(write_architecture(read.architecture));
    ASSERT_FALSE(again.diagnostics.has_errors()) << again.diagnostics.text();
    EXPECT_EQ(again.architecture, read.architecture) << entry.path();
  }
  EXPECT_EQ(found, listed);
}

// Narayanan et al. 2021, equation (2): P = 12 l h^2 (1 + 13 / (12 h) + (V + s) / (12 l h)); it leaves out the
// last LayerNorm's 2 h.
TEST(Zoo, MegatronModelsFollowTheFormulaOfTheirPaper) {
  for (const char* file : {"megatron-22b", "megatron-76b", "megatron-175b", "megatron-530b", "megatron-1t"}) {
    const Architecture a = read_model_file(path_of(file)).architecture;
    const std::int64_t h = a.hidden;
    const std::int64_t formula = 12 * a.layers * h * h + 13 * a.layers * h + (a.vocab + 2048) * h;
    EXPECT_EQ(parameter_count(a), formula + 2 * h) << file;
  }
}

TEST(Zoo, Gpt70bIsSoManyWithThePaddedVocabularyToo) {
  Architecture a = read_model_file(path_of("gpt-70b")).architecture;
  EXPECT_EQ(parameter_count(a), 69'694'005'248);
  a.vocab = padded_vocab(a.vocab, 128, 8);
  EXPECT_EQ(a.vocab, 51'200);
  EXPECT_EQ(parameter_count(a), 69'701'730'304);
}

}  // namespace
}  // namespace orrery::models
