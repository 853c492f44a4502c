// The model families of Hugging Face transformers that are read: what each one's code does that its
// config.json does not say (norms, biases, gates, whether the output is tied by default).
#pragma once

#include <string>
#include <string_view>

#include "models/architecture.h"
#include "models/hf_config.h"
#include "models/hf_keys.h"

namespace orrery::models {

struct HfFamily {
  std::string_view name;  // "llama"
  void (*read)(HfConfig& config, Architecture& a);
  HfParts parts = {};
};

// Families with experts (models/hf_experts.cpp).
void read_mixtral(HfConfig& config, Architecture& a);
void read_qwen2_moe(HfConfig& config, Architecture& a);
void read_qwen3_moe(HfConfig& config, Architecture& a);
void read_deepseek(HfConfig& config, Architecture& a);
void read_gpt_oss(HfConfig& config, Architecture& a);
void read_grok(HfConfig& config, Architecture& a);

// By "model_type" or by the name of the class in "architectures"; null when neither is known.
const HfFamily* find_family(std::string_view model_type, std::string_view class_name);

std::string known_families();  // "llama, mistral, ...", for messages

}  // namespace orrery::models
