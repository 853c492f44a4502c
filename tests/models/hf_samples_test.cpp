// Published configurations of ../shared/files/hf, where that collection is present: those of families that are known give the
// published count, all others an error that names the key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/models/read_model.h"

namespace orrery::models {
namespace {

const std::filesystem::path samples = "../shared/files/hf";

struct Sample {
  const char* file;
  std::int64_t parameters;  // 0: refused
  const char* refused_at = "";
};

constexpr Sample expectations[] = {
    {"mlc_gpt2", 124'439'808},
    {"mlc_gpt2_medium", 354'823'168},
    {"mlc_gpt_bigcode", 1'124'886'528},
    {"mlc_llama2_7b", 6'738'415'616},
    {"mlc_llama2_70b", 68'976'648'192},
    {"meta-llama--Meta-Llama-3.1-8B", 8'030'261'248},
    {"meta-llama--Meta-Llama-3.1-405B", 405'853'388'800},
    {"mlc_llama3_2_1b", 1'235'814'400},
    {"mlc_mistral_7b", 7'241'732'096},
    {"mlc_gemma_2b", 2'506'172'416},
    {"mlc_gemma2_9b", 9'241'705'984},
    {"mlc_gemma2_27b", 27'227'128'320},
    {"Qwen--Qwen3-8B", 8'190'735'360},
    {"Qwen--Qwen3-32B", 32'762'123'264},
    {"Qwen--Qwen3-VL-8B-Instruct", 8'190'735'360},
    {"mlc_phi-2", 2'779'683'840},
    {"mlc_phi-3_5-vision", 3'821'079'552},
    {"mlc_phi-4", 3'836'021'760},
    {"mlc_redpajama_3b_v1", 2'775'864'320},
    {"mlc_aya-23", 8'028'033'024},
    {"mlc_chatglm", 6'243'584'000},
    {"mlc_llava", 6'738'939'904},
    {"fragment_bloomz-560m_keys", 559'214'592},
    {"fragment_falcon-40b_RefinedWeb", 41'303'293'952},
    {"MiniMaxAI--MiniMax-M2.5", 0, "\"num_local_experts\""},
    {"Qwen--Qwen3-235B-A22B", 235'093'634'560},
    {"Qwen--Qwen3.5-397B-A17B", 0, "\"layer_types\""},
    {"deepseek-ai--DeepSeek-V3", 671'026'419'200},
    {"deepseek-ai--DeepSeek-V4-Pro", 0, "\"n_routed_experts\""},
    {"fragment_dbrx-instruct", 0, "\"moe_num_experts\""},
    {"google--gemma-4-26B-A4B", 0, "\"num_experts\""},
    {"mistralai--Mixtral-8x22B-v0.1", 140'620'634'112},
    {"mlc_minicpm-moe-8x2b", 0, "\"num_experts\""},
    {"mlc_qwen2moe", 14'315'784'192},
    {"moonshotai--Kimi-K2.5", 1'026'408'232'448},
    {"nvidia--Llama-3_3-Nemotron-Super-49B-v1", 0, "\"block_configs\""},
    {"openai--gpt-oss-120b", 116'829'156'672},
    {"openai--gpt-oss-20b", 20'914'757'184},
    {"stepfun-ai--Step-3.7-Flash", 0, "\"num_experts\""},
    {"zai-org--GLM-5", 0, "\"kv_lora_rank\""},
};

class HfSample : public testing::TestWithParam<Sample> {};

TEST_P(HfSample, IsCountedExactlyOrRefusedByName) {
  const std::filesystem::path path = samples / (std::string(GetParam().file) + ".json");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
  const ReadModel read = read_model_file(path.string());
  if (GetParam().parameters == 0) {
    EXPECT_TRUE(read.diagnostics.has_errors());
    EXPECT_THAT(read.diagnostics.text(), testing::HasSubstr(GetParam().refused_at));
    return;
  }
  ASSERT_FALSE(read.diagnostics.has_errors()) << read.diagnostics.text();
  EXPECT_EQ(parameter_count(read.architecture), GetParam().parameters);
}

std::string sample_name(const testing::TestParamInfo<Sample>& info) {
  std::string name;
  for (const char c : std::string(info.param.file))
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Samples, HfSample, testing::ValuesIn(expectations), sample_name);

// Whatever else is there is read or refused, and never crashes.
TEST(HfSamples, EveryFileIsDiagnosedOrRead) {
  if (!std::filesystem::exists(samples)) GTEST_SKIP() << samples << " is not here";
  for (const auto& entry : std::filesystem::directory_iterator(samples)) {
    const ReadModel read = read_model_file(entry.path().string());
    if (!read.diagnostics.has_errors()) {
      EXPECT_GT(parameter_count(read.architecture), 0) << entry.path();
    }
  }
}

}  // namespace
}  // namespace orrery::models
