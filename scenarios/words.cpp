// The tables themselves. The first word of a value is the one that is printed.
#include "scenarios/words.h"

namespace orrery::scenarios {

const Words<Framework>& framework_words() {
  static const Words<Framework> words = {{"orrery", Framework::orrery},
                                         {"megatron", Framework::megatron},
                                         {"deepspeed", Framework::deepspeed},
                                         {"ddp", Framework::ddp},
                                         {"fsdp", Framework::fsdp},
                                         {"fsdp2", Framework::fsdp},
                                         {"fsdp1", Framework::fsdp1}};
  return words;
}

const Words<PipelineSchedule>& schedule_words() {
  static const Words<PipelineSchedule> words = {{"gpipe", PipelineSchedule::gpipe},
                                                {"1f1b", PipelineSchedule::one_f_one_b},
                                                {"interleaved", PipelineSchedule::interleaved},
                                                {"bfs", PipelineSchedule::breadth_first},
                                                {"zb-h1", PipelineSchedule::zero_bubble_h1},
                                                {"zb-h2", PipelineSchedule::zero_bubble_h2},
                                                {"zb-1p", PipelineSchedule::zero_bubble_1p},
                                                {"zb-2p", PipelineSchedule::zero_bubble_2p},
                                                {"zb-auto", PipelineSchedule::zero_bubble_auto},
                                                {"zb-v", PipelineSchedule::zero_bubble_v},
                                                {"dualpipe", PipelineSchedule::dual_pipe},
                                                {"dualpipe-v", PipelineSchedule::dual_pipe_v}};
  return words;
}

const Words<Recompute>& recompute_words() {
  static const Words<Recompute> words = {
      {"none", Recompute::none}, {"selective", Recompute::selective}, {"full", Recompute::full}};
  return words;
}

const Words<Balance>& balance_words() {
  static const Words<Balance> words = {
      {"balanced", Balance::balanced}, {"zipf", Balance::zipf}, {"counts", Balance::counts}};
  return words;
}

const Words<Dispatch>& dispatch_words() {
  static const Words<Dispatch> words = {{"pairs", Dispatch::pairs}, {"by_node", Dispatch::by_node}};
  return words;
}

const Words<Optimizer>& optimizer_words() {
  static const Words<Optimizer> words = {{"adamw", Optimizer::adam},
                                         {"adam", Optimizer::adam},
                                         {"sgd", Optimizer::sgd},
                                         {"sgd_momentum", Optimizer::sgd_momentum}};
  return words;
}

const Words<hardware::Precision>& precision_words() {
  static const Words<hardware::Precision> words = {{"fp32", hardware::Precision::fp32},
                                                   {"tf32", hardware::Precision::tf32},
                                                   {"fp16", hardware::Precision::fp16},
                                                   {"bf16", hardware::Precision::bf16},
                                                   {"fp8", hardware::Precision::fp8},
                                                   {"fp4", hardware::Precision::fp4}};
  return words;
}

const Words<Scaling>& scaling_words() {
  static const Words<Scaling> words = {{"delayed", Scaling::delayed}, {"current", Scaling::current},
                                       {"block", Scaling::block},     {"mx", Scaling::mx},
                                       {"nvfp4", Scaling::nvfp4},     {"none", Scaling::none}};
  return words;
}

const Words<ContextMethod>& context_words() {
  static const Words<ContextMethod> words = {{"ring", ContextMethod::ring},
                                             {"all_gather", ContextMethod::all_gather},
                                             {"ulysses", ContextMethod::ulysses},
                                             {"hybrid", ContextMethod::hybrid}};
  return words;
}

const Words<OffloadTarget>& offload_words() {
  static const Words<OffloadTarget> words = {{"none", OffloadTarget::none}, {"cpu", OffloadTarget::cpu}};
  return words;
}

const Words<Algorithm>& algorithm_words() {
  static const Words<Algorithm> words = {{"auto", Algorithm::automatic},
                                         {"ring", Algorithm::ring},
                                         {"tree", Algorithm::tree},
                                         {"nvls", Algorithm::nvls},
                                         {"nvls-tree", Algorithm::nvls_tree}};
  return words;
}

const Words<Protocol>& protocol_words() {
  static const Words<Protocol> words = {{"auto", Protocol::automatic},
                                        {"ll", Protocol::ll},
                                        {"ll128", Protocol::ll128},
                                        {"simple", Protocol::simple}};
  return words;
}

std::string alternatives(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

std::string alternatives(const std::vector<std::int64_t>& values) {
  std::vector<std::string> words;
  words.reserve(values.size());
  for (const std::int64_t value : values) words.push_back(std::to_string(value));
  return alternatives(words);
}

}  // namespace orrery::scenarios
