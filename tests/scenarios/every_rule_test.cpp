// Every rule of the tables (docs/reference/rules.md) is fired by a scenario of its own, at the line that is to blame and
// with a way out, and keeps quiet about the legal neighbour, which it did look at. What each says in full is tested by
// kind of rule: legality_test.cpp, framework_rules_test.cpp, sharding_rules_test.cpp and their like.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/inherit.h"
#include "scenarios/reader.h"
#include "scenarios/rules.h"
#include "tests/scenarios/scenario_text.h"

namespace orrery::scenarios {
namespace {

using ::testing::HasSubstr;
using testing::Parts;

struct Case {
  std::string rule;
  Parts fires;
  std::uint32_t line;  // 2: model, 3: cluster, 4: framework, 5: parallel, 6: training, 7: the rest
  std::string hint;    // a part of it: the nearest legal values, or what to do
  Parts legal;
};

const std::string kLlama = "\"models/zoo/llama-2-7b.json\"", kHopper = "\"hardware/clusters/h100-16x8.json\"",
                  kBlackwell = "\"hardware/clusters/b200-16x8.json\"";

// On 32 A100: 64 sequences of 1024 tokens.
std::string batch(int global, int micro, const std::string& more = "", int length = 1024) {
  return "\"global_batch\": " + std::to_string(global) + ", \"micro_batch\": " + std::to_string(micro) +
         ", \"sequence_length\": " + std::to_string(length) + more;
}

Parts plan(const std::string& parallel, const std::string& rest = "", const std::string& framework = "orrery",
           const std::string& training = batch(64, 1)) {
  return {.framework = framework, .parallel = parallel, .training = training, .rest = rest};
}
Parts with_model(Parts parts, const std::string& model) {
  parts.model = model;
  return parts;
}
Parts llama(const std::string& parallel, const std::string& rest = "", const std::string& framework = "orrery",
            const std::string& training = batch(64, 1)) {
  return with_model(plan(parallel, rest, framework, training), kLlama);
}
Parts on(Parts parts, const std::string& cluster) {
  parts.cluster = cluster;
  return parts;
}
Parts on_nodes(Parts parts, int nodes) {
  parts.nodes = nodes;
  return parts;
}
Parts in_fp8(const std::string& rest, const std::string& cluster = kHopper, const std::string& precision = "fp8",
             const std::string& parallel = "") {
  return on(llama(parallel, rest, "megatron", batch(128, 1, ", \"precision\": \"" + precision + "\"")), cluster);
}

std::vector<Case> solved_cases() {
  Parts listed = plan(R"("pp": 4)");
  listed.layers = 30;
  return {
      {"world", plan(R"("tp": 8, "pp": 3)"), 5, "pp 2 or 4", plan(R"("tp": 8, "pp": 4)")},
      {"context", plan(R"("cp": 8, "ulysses": 2)"), 5, "use cp_method \"hybrid\"",
       plan(R"("cp": 8, "ulysses": 2, "cp_method": "hybrid")")},
      {"batch", plan("", "", "orrery", batch(65, 1)), 6, "use global_batch 64 or 96", plan("")},
      {"chunks", plan(R"("vpp": 2)"), 5, "set vpp to 1, or pp to 2 or more", plan(R"("vpp": 2, "pp": 4)")},
      {"stages", listed, 5, "use pp 2", plan(R"("pp": 4)")},
  };
}

std::vector<Case> shape_cases() {
  Parts heads = on_nodes(plan(R"("tp": 3)"), 6), groups = plan(R"("tp": 16)"), narrow = plan(R"("tp": 8)");
  groups.kv_heads = 8;
  narrow.ffn_hidden = 11004;
  const std::string two = R"("overlap": { "tensor_chunks": 2 })", sp = R"("tp": 8, "sp": true)";
  return {
      {"heads", heads, 5, "use 1, 2, 4", on_nodes(plan(R"("tp": 4)"), 4)},
      {"kv_heads", groups, 5, "use 1, 2, 4 or 8", plan(R"("tp": 8)")},
      {"ffn", narrow, 5, "use 1, 2 or 4", plan(R"("tp": 8)")},
      {"sp", plan(R"("sp": true)"), 5, "sp", plan(sp)},
      {"sequence", plan(sp, "", "orrery", batch(64, 1, "", 1022)), 6, "use 1016 or 1024", plan(sp)},
      {"tensor chunks", plan(sp, R"("overlap": { "tensor_chunks": 3 })"), 7, "use 2 or 4", plan(sp, two)},
      {"chunked block", with_model(plan(R"("tp": 8)", two), "\"models/zoo/falcon-40b.json\""), 7, "set tensor_chunks to 1",
       plan(R"("tp": 8)", two)},
      {"chunks in 16 bits", in_fp8(two, kHopper, "fp8", sp), 7, "use precision \"bf16\"", in_fp8(two, kHopper, "bf16", sp)},
      {"positions", plan("", "", "orrery", batch(64, 1, "", 2049)), 6, "2048", plan("", "", "orrery", batch(64, 1, "", 2048))},
  };
}

std::vector<Case> framework_cases() {
  const std::string graphs = R"("kernels": { "cuda_graphs": true })", offload = R"("offload": { "optimizer": "cpu" })";
  const std::string full = R"(, "recompute": "full")";
  const auto trained = [](const std::string& more) { return plan("", "", "orrery", batch(64, 1, more)); };
  return {
      {"deepspeed pipeline", llama(R"("pp": 4, "zero": 2)", "", "deepspeed"), 5, "use zero 0 or 1, or pp 1",
       llama(R"("pp": 4, "zero": 1)", "", "deepspeed")},
      {"ddp", plan(R"("tp": 2)", "", "ddp"), 5, "set it to 1", plan("", "", "ddp")},
      {"tied embedding", plan(R"("pp": 2, "zero": 2)"), 5, "use zero 0 or 1", plan(R"("pp": 2, "zero": 1)")},
      {"precision", on(plan(""), "\"hardware/clusters/dgx-1-v100.json\""), 6, "use fp32 or fp16", plan("")},
      {"algorithm", plan("", R"("network": { "algorithm": "nvls" })"), 7, "use \"auto\"",
       plan("", R"("network": { "algorithm": "ring" })")},
      {"recompute_every", trained(R"(, "recompute_every": 2)"), 6, "recompute_every to 1",
       trained(full + R"(, "recompute_every": 2)")},
      {"recompute_layers", trained(full + R"(, "recompute_layers": 33)"), 6, "use at most 32",
       trained(full + R"(, "recompute_layers": 32)")},
      {"recompute_every range", trained(full + R"(, "recompute_every": 33)"), 6, "use at most 32",
       trained(full + R"(, "recompute_every": 32)")},
      {"graphs", plan("", graphs + ", " + offload), 7, "offload nothing", plan("", graphs)},
      {"graphs of frameworks", plan("", graphs, "deepspeed"), 7, "framework \"megatron\"", plan("", graphs, "megatron")},
      {"offload", plan("", offload, "orrery", batch(64, 1, R"(, "optimizer": "sgd")")), 7, "use optimizer \"adamw\"",
       plan("", offload)},
  };
}

std::vector<Case> pipeline_cases() {
  const std::string waits = R"("overlap": { "pipeline": false })", defers = R"("overlap": { "defer_embedding_gradients": true })";
  const std::string dual = R"("pp": 4, "schedule": "dualpipe")";
  const auto untied = [](const std::string& framework, const std::string& parallel, int global) {
    return llama(parallel, R"("overlap": { "pipeline": true })", framework, batch(global, 1));
  };
  return {
      {"megatron interleaving", plan(R"("pp": 4, "vpp": 2)", "", "megatron", batch(80, 1)), 6, "use global_batch 64 or 96",
       plan(R"("pp": 4, "vpp": 2)", "", "megatron")},
      {"pytorch interleaving", untied("fsdp", R"("pp": 4, "vpp": 2)", 88), 6, "use global_batch 80 or 96",
       untied("fsdp", R"("pp": 4, "vpp": 2)", 80)},
      {"in flight", plan(R"("pp": 4, "in_flight": 6, "schedule": "zb-2p")"), 5, "",
       plan(R"("pp": 4, "in_flight": 6, "schedule": "zb-auto")")},
      {"blocking interleaving", plan(R"("pp": 4, "vpp": 2)", waits, "orrery", batch(80, 1)), 7, "use 8 or 12 microbatches",
       plan(R"("pp": 4, "vpp": 2)", waits)},
      {"messages aside", plan(R"("pp": 4, "schedule": "zb-h1")", waits), 7, "set overlap.pipeline to true",
       plan(R"("pp": 4, "schedule": "zb-h1")")},
      {"split backward gradients", llama(R"("pp": 4, "zero": 2, "schedule": "zb-h1")"), 5, "use zero 0 or 1",
       llama(R"("pp": 4, "zero": 1, "schedule": "zb-h1")")},
      {"deferral", plan("", defers), 7, "use pp 2 or more", plan(R"("pp": 4)", defers)},
      {"deferral of frameworks", llama(R"("pp": 4, "zero": 0)", defers, "fsdp"), 7, "use framework \"megatron\"",
       llama(R"("pp": 4)", defers, "megatron")},
      {"dual microbatches", plan(dual, "", "orrery", batch(32, 1)), 6, "use global_batch 64 or more", plan(dual)},
      {"two streams", plan(dual, "", "orrery", batch(72, 1)), 6, "use global_batch 64 or 80", plan(dual)},
  };
}

std::vector<Case> context_cases() {
  Parts few = plan(R"("cp": 8, "cp_method": "ulysses")");
  few.kv_heads = 4;
  return {
      {"context order", plan(R"("cp": 2, "pp": 2, "order": "tp-cp-pp-dp")"), 5, "name cp right before dp",
       plan(R"("cp": 2, "pp": 2, "order": "tp-pp-cp-dp")")},
      {"context sequence", plan(R"("cp": 4)", "", "orrery", batch(64, 1, "", 1020)), 6, "use 1016 or 1024", plan(R"("cp": 4)")},
      {"context heads", few, 5, "use cp 4", plan(R"("cp": 8, "cp_method": "ulysses")")},
      {"context kernels", plan(R"("cp": 2)", R"("kernels": { "fused_attention": false })"), 7,
       "set kernels.fused_attention to true", plan(R"("cp": 2)")},
      {"deepspeed context", plan(R"("cp": 2, "cp_method": "ring")", "", "deepspeed"), 5, "use cp_method \"ulysses\"",
       plan(R"("cp": 2)", "", "deepspeed")},
  };
}

// Eight experts of 4096 columns in each of 32 layers; `more` joins the experts, `model` the model.
std::string sparse(const std::string& more = "", const std::string& model = "") {
  return R"({ "layers": 32, "heads": 32, "hidden": 4096, "ffn_hidden": 16384, "vocab": 51200, "max_positions": 2048, "mlp_bias": false, )" +
         model + R"("experts": { "count": 8, "top_k": 2, "ffn_hidden": 4096)" + more + " } }";
}

std::vector<Case> expert_cases() {
  const auto e = [](const std::string& parallel, const std::string& rest = "", const std::string& model = sparse()) {
    return with_model(plan(parallel, rest), model);
  };
  const std::string sp = R"("tp": 2, "sp": true)", shared = R"(, "shared_ffn_hidden": )";
  Parts odd = on_nodes(e(R"("etp": 3)"), 3), low = on(e(""), kHopper), wide = low;
  odd.training = batch(48, 1);
  low.training = batch(128, 1, R"(, "precision": "fp8")");
  wide.training = batch(128, 1);
  return {
      {"expert grid", plan(R"("ep": 2)"), 5, "use ep 1", e(R"("ep": 2)")},
      {"ep", e(R"("ep": 16)"), 5, "use ep 8", e(R"("ep": 8)")},
      {"etp", odd, 5, "use etp 2 or 4", e(R"("etp": 2)")},
      {"shared experts", e(sp, "", sparse(shared + "1023")), 5, "use tp 1 or 3", e(sp, "", sparse(shared + "1024"))},
      {"experts and tp", e(R"("tp": 2)"), 5, "set sp to true", e(sp)},
      {"expert order", e(sp + R"(, "pp": 2, "order": "tp-pp-dp")"), 5, "put pp last", e(sp + R"(, "pp": 2)")},
      {"expert counts", e("", R"("experts": { "balance": "counts", "counts": [1, 2] })"), 7, "one for each expert",
       e("", R"("experts": { "balance": "counts", "counts": [1, 2, 3, 4, 4, 3, 2, 1] })")},
      {"parts", e("", "", sparse("", R"("attention_sinks": true, )")), 2, "another model", e("")},
      {"experts at home", e("", R"("offload": { "optimizer": "cpu" })"), 7, "use \"none\"", e("")},
      {"prediction", e("", "", sparse("", R"("prediction_layers": 1, )")), 2, "prediction_layers to 0", e("")},
      {"experts in 16 bits", low, 6, "use \"bf16\"", wide},
      {"shards of experts", e(R"("zero": 3)", R"("sharding": { "unit_layers": 2 })"), 7, "use 1", e(R"("zero": 3)")},
  };
}

std::vector<Case> megatron_cases() {
  const auto m = [](const std::string& parallel, const std::string& rest, const std::string& more = "") {
    return llama(parallel, rest, "megatron", batch(64, 1, more));
  };
  const std::string gather = R"("overlap": { "parameter_gather": true, "gradient_reduce": true })",
                    alone = R"("overlap": { "parameter_gather": true })", offload = R"("offload": { "optimizer": "cpu" })",
                    moments = R"("recipe": { "optimizer_state_bytes": 4 })",
                    waits = R"("overlap": { "pipeline": false })", group = R"("sharding": { "group": 8 })",
                    chunks = R"("overlap": { "tensor_chunks": 2 })";
  const std::string full = R"(, "recompute": "full", "recompute_every": )";
  Parts dropped = plan("", R"("kernels": { "fused_attention": false, "fused_softmax": false })", "megatron",
                       batch(64, 1, R"(, "recompute": "selective", "dropout": 0.1)"));
  Parts fused = dropped;
  fused.rest = R"("kernels": { "fused_attention": false })";
  return {
      {"megatron gather", m("", gather), 7, "set zero to 1", m(R"("zero": 1)", gather)},
      {"megatron gather and reduce", m(R"("zero": 1)", alone), 7, "set gradient_reduce to true", m(R"("zero": 1)", gather)},
      {"megatron two stages", m(R"("pp": 2, "vpp": 2)", waits), 7, "or pp to 4", m(R"("pp": 4, "vpp": 2)", waits)},
      {"megatron offload", m("", offload), 7, "set zero to 1", m(R"("zero": 1)", offload)},
      {"megatron moments", m("", moments), 7, "set zero to 1", m(R"("zero": 1)", moments)},
      {"megatron main parameters", m("", R"("recipe": { "master_weights": false })"), 7, "set master_weights to true", m("", "")},
      {"megatron compression", m("", R"("compression": { "top_k": 0.01 })"), 7, "framework \"orrery\"", m("", "")},
      {"megatron instances", m(R"("zero": 3)", group), 7, "use zero 1", m(R"("zero": 1)", group)},
      {"megatron secondary", m(R"("zero": 3)", R"("sharding": { "secondary_group": 8 })"), 7, "leave it out", m(R"("zero": 3)", "")},
      {"megatron recompute", m(R"("pp": 4, "vpp": 4)", "", full + "4"), 6, "use at most 2", m(R"("pp": 4, "vpp": 4)", "", full + "2")},
      {"megatron chunks", m(R"("tp": 8)", chunks), 7, "set sp to true", m(R"("tp": 8, "sp": true)", chunks)},
      {"megatron softmax", dropped, 6, "fused_softmax true", fused},
  };
}

std::vector<Case> deepspeed_cases() {
  const auto d = [](const std::string& parallel, const std::string& rest, const std::string& more = "") {
    return llama(parallel, rest, "deepspeed", batch(64, 1, more));
  };
  const std::string offload = R"("offload": { "optimizer": "cpu" })", sgd = R"(, "optimizer": "sgd")";
  return {
      {"deepspeed offload", d("", offload), 7, "use zero 1, 2 or 3", d(R"("zero": 1)", offload)},
      {"deepspeed gather", d(R"("zero": 2)", R"("overlap": { "parameter_gather": true })"), 7, "set parameter_gather to false",
       d(R"("zero": 2)", "")},
      {"deepspeed messages", d(R"("pp": 4)", R"("overlap": { "pipeline": true })"), 7, "set pipeline to false", d(R"("pp": 4)", "")},
      {"deepspeed sp", d(R"("zero": 3, "tp": 2, "sp": true)", ""), 5, "zero to 0 or 1", d(R"("zero": 1, "tp": 2, "sp": true)", "")},
      {"deepspeed optimizer", d(R"("zero": 1)", "", sgd), 6, "adamw", d("", "", sgd)},
      {"deepspeed bucket", d(R"("zero": 2)", R"("overlap": { "bucket_elements": 0 })"), 7, "use 500000000", d(R"("zero": 2)", "")},
      {"deepspeed resident", d(R"("zero": 3)", R"("sharding": { "reshard_after_forward": false })"), 7, "max_live_elements",
       d(R"("zero": 3)", "")},
      {"deepspeed units", d(R"("zero": 3)", R"("sharding": { "unit_layers": 2 })"), 7, "overlap.prefetch_units", d(R"("zero": 3)", "")},
  };
}

std::vector<Case> torch_cases() {
  const auto in = [](const std::string& framework, const std::string& parallel = "", const std::string& rest = "",
                     int length = 1024) { return llama(parallel, rest, framework, batch(64, 1, "", length)); };
  const std::string offload = R"("offload": { "optimizer": "cpu" })", top_k = R"("compression": { "top_k": 0.01 })",
                    moments = R"("recipe": { "optimizer_state_bytes": 4 })",
                    post = R"("sharding": { "backward_prefetch": "post" })",
                    ahead = R"(, "overlap": { "prefetch_backward": 1 })", strategy = R"("sharding": { "strategy": "full_shard" })",
                    stays = R"("sharding": { "reshard_after_backward": false, "reshard_after_forward": false)";
  Parts tied = plan(R"("pp": 4, "zero": 0)", "", "fsdp");
  return {
      {"torchtitan sequence", in("fsdp", R"("tp": 8)", "", 1001), 6, "use 1000 or 1008", in("fsdp", R"("tp": 8)")},
      {"torchtitan sp", in("fsdp", R"("tp": 8)"), 5, "set sp to true", in("fsdp", R"("tp": 8, "sp": true)")},
      {"torch tied embedding", tied, 5, "use pp 1", in("fsdp", R"("pp": 4, "zero": 0)")},
      {"fsdp reduction", in("fsdp", "", R"("overlap": { "gradient_reduce": false })"), 7, "set it to true", in("fsdp")},
      {"fsdp offload", in("fsdp1", "", offload), 7, "framework \"deepspeed\"", in("fsdp1")},
      {"fsdp compression", in("fsdp", R"("zero": 0)", top_k), 7, "framework \"ddp\"", in("ddp", "", top_k)},
      {"fsdp buckets", in("fsdp1", "", R"("overlap": { "bucket_elements": 50000000 })"), 7, "sharding.unit_layers", in("fsdp1")},
      {"fsdp1 pipeline", in("fsdp1", R"("pp": 4)"), 5, "use pp 1", in("fsdp", R"("pp": 4)")},
      {"fsdp1 words", in("fsdp", "", strategy), 7, "use framework \"fsdp1\"", in("fsdp1", "", strategy)},
      {"fsdp1 strategy", in("fsdp1", R"("zero": 3)", R"("sharding": { "strategy": "no_shard" })"), 5, "or use 0",
       in("fsdp1", R"("zero": 0)", R"("sharding": { "strategy": "no_shard" })")},
      {"backward prefetch", in("fsdp1", "", post + ahead), 7, "use 0", in("fsdp1", "", post)},
      {"fsdp1 reshards", in("fsdp1", "", stays + " }"), 7, "reduce to \"step\"", in("fsdp1", "", stays + R"(, "reduce": "step" })")},
      {"torch moments", in("fsdp", "", moments), 7, "set optimizer_state_bytes to 8", in("fsdp")},
      {"ddp offload", in("ddp", "", offload), 7, "offload nothing", in("ddp")},
      {"ddp cp", in("ddp", R"("cp": 2)"), 5, "set it to 1", in("ddp")},
      {"ddp gather", in("ddp", R"("zero": 1)", R"("overlap": { "parameter_gather": true })"), 7, "set parameter_gather to false",
       in("ddp", R"("zero": 1)")},
      {"ddp gradients", in("ddp", "", R"("recipe": { "gradient_bytes": 2 })"), 7, "set gradient_bytes to 4", in("ddp")},
  };
}

std::vector<Case> precision_cases() {
  const auto scaled = [](const std::string& scaling) { return R"("recipe": { "scaling": ")" + scaling + "\" }"; };
  Parts odd = in_fp8("");
  odd.model.clear();
  odd.ffn_hidden = 16392;
  Parts foreign = in_fp8("");
  foreign.framework = "deepspeed";
  return {
      {"scaling", in_fp8(scaled("nvfp4")), 7, "use \"delayed\"", in_fp8(scaled("delayed"))},
      {"scaling in hardware", in_fp8(scaled("mx")), 7, "\"block\"", in_fp8(scaled("mx"), kBlackwell)},
      {"low shapes", odd, 6, "use \"bf16\"", in_fp8("")},
      {"low framework", foreign, 6, "framework \"megatron\"", in_fp8("")},
  };
}

std::vector<Case> sharding_cases() {
  const auto s = [](const std::string& sharding, const std::string& framework = "orrery", int zero = 3) {
    return llama("\"zero\": " + std::to_string(zero), "\"sharding\": { " + sharding + " }", framework);
  };
  const auto c = [](const std::string& compression, const std::string& framework = "orrery", int zero = 3) {
    return llama("\"zero\": " + std::to_string(zero), "\"compression\": { " + compression + " }", framework);
  };
  const std::string second = R"("secondary_group": 8)", kept = R"("reshard_after_forward": false)",
                    step = R"("reshard_after_backward": false)", int8 = R"("weights": "int8")", int4 = R"("gradients": "int4")";
  Parts in_flight = s(kept);
  in_flight.parallel += R"(, "pp": 4)";
  Parts top_k = s(R"("group": 8)", "orrery", 2);
  top_k.rest += R"(, "compression": { "top_k": 0.1 })";
  return {
      {"shard group", s(R"("group": 12)"), 7, "use 8 or 16", s(R"("group": 8)")},
      {"reshard group", s(R"("reshard_after_forward": 32)"), 7, "use 16", s(R"("reshard_after_forward": 16)")},
      {"secondary group", s(R"("secondary_group": 5)"), 7, "use 4 or 8", s(second)},
      {"one secondary", s(second + ", " + kept), 7, "set reshard_after_forward to true", s(second)},
      {"kept for the step", s(step), 7, "set reshard_after_forward to false", s(step + ", " + kept)},
      {"kept for a microbatch", in_flight, 7, "set reshard_after_forward to true", s(kept)},
      {"units", s(R"("unit_layers": 40)"), 7, "use at most 32", s(R"("unit_layers": 4)")},
      {"fsdp stages", s(R"("group": 8)", "fsdp1", 2), 5, "use zero 3", s(R"("group": 8)", "fsdp1")},
      {"framework groups", s(R"("group": 8)", "deepspeed", 1), 7, "use zero 3", s(R"("group": 8)", "deepspeed")},
      {"framework secondary", s(second, "fsdp1"), 7, "strategy \"full_shard\"", s(second, "deepspeed")},
      {"deepspeed no_sync", s(R"("reduce": "step")", "deepspeed"), 7, "use \"microbatch\"", s(R"("reduce": "step")", "fsdp")},
      {"quantised traffic", c(int8, "orrery", 2), 7, "use zero 3", c(int8)},
      {"quantised blocks", c(int8 + R"(, "block": 255)"), 7, "use 254 or 256", c(int8 + R"(, "block": 256)")},
      {"quantised hops", c(int4 + R"(, "node_ranks": 3)"), 7, "use 2 or 4", c(int4 + R"(, "node_ranks": 4)")},
      {"quantised framework", c(int8, "fsdp"), 7, "framework \"deepspeed\"", c(int8, "deepspeed")},
      {"one compression", c(int4 + R"(, "top_k": 0.1)"), 7, "leave one", c(int4)},
      {"top_k groups", top_k, 7, "group \"all\"", c(R"("top_k": 0.1)", "orrery", 2)},
  };
}

std::vector<Case> size_and_advice_cases() {
  const auto many = [](int nodes) { return on_nodes(plan("", "", "orrery", R"("micro_batch": 1, "accumulation": 1, "sequence_length": 128)"), nodes); };
  const auto buckets = [](const char* n) { return plan("", std::string(R"("overlap": { "bucket_elements": )") + n + " }"); };
  const std::string steps = R"("accumulation": 1000000, "micro_batch": 1, "sequence_length": 1)";
  Parts deep = on_nodes(plan(R"("pp": 64)", "", "orrery", steps), 8);
  deep.layers = 64;
  const std::string selective = batch(64, 1, R"(, "recompute": "selective")");
  return {
      {"ranks", many(131'073), 3, "fewer nodes", many(131'072)},
      {"activations", llama("", "", "orrery", R"("micro_batch": 1000000, "accumulation": 1, "sequence_length": 100000)"), 6,
       "lower micro_batch", llama("")},
      {"clock", llama("", "", "orrery", R"("micro_batch": 64, "global_batch": 320000000, "sequence_length": 4096)"), 6,
       "lower global_batch", llama("")},
      {"pipeline", deep, 6, "raise micro_batch", plan(R"("pp": 4)")},
      {"buckets", buckets("1"), 7, "use at least 104858 elements", buckets("104858")},
      {"tp in node", plan(R"("tp": 16)"), 5, "keep tp within a node", plan(R"("tp": 8)")},
      {"zero needs dp", on_nodes(plan(R"("pp": 8, "zero": 1)"), 1), 5, "more data-parallel ranks", plan(R"("pp": 8, "zero": 1)")},
      {"bubble", plan(R"("pp": 4)", "", "orrery", batch(8, 1)), 6, "4 microbatches or more", plan(R"("pp": 4)")},
      {"selective", plan("", "", "orrery", selective), 6, "use \"none\" or \"full\"",
       plan("", R"("kernels": { "fused_attention": false })", "orrery", selective)},
      {"zero in pipeline", llama(R"("pp": 4, "zero": 2)"), 5, "zero 1", llama(R"("pp": 4, "zero": 1)")},
      {"schedule", plan(R"("pp": 4, "schedule": "gpipe")", "", "megatron"), 5, "use \"1f1b\"", plan(R"("pp": 4)", "", "megatron")},
      {"megatron sharding", plan(R"("zero": 3)", "", "megatron"), 5, "zero 1", plan(R"("zero": 1)", "", "megatron")},
      {"compressed copies", llama(R"("tp": 4)", R"("compression": { "top_k": 0.01 })"), 7, "orrery-rt refuses",
       llama("", R"("compression": { "top_k": 0.01 })")},
      {"idle settings", plan("", R"("overlap": { "pipeline": true })"), 7, "", plan(R"("pp": 4)", R"("overlap": { "pipeline": true })")},
  };
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto& part : {solved_cases(), shape_cases(), framework_cases(), pipeline_cases(), context_cases(), expert_cases(),
                           megatron_cases(), deepspeed_cases(), torch_cases(), precision_cases(), sharding_cases(), size_and_advice_cases()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

// What each rule that had all it needs said, in the order in which a scenario goes through them (scenarios/resolve.cpp).
std::map<std::string, Diagnostics> said_by_rules(const Parts& parts) {
  Diagnostics reading;
  Draft draft = read_draft(inherit(testing::parse(compose(parts), reading), reading), reading);
  std::map<std::string, Diagnostics> said;
  const auto go = [&](const std::vector<Rule>& rules) {
    for (const Rule& rule : rules) {
      if (!draft.knows(rule.needs)) continue;
      Diagnostics& found = said[std::string(rule.name)];
      rule.check(draft, found);
      if (!found.has_errors()) draft.known |= rule.gives;
    }
  };
  go(solving_rules());
  read_policy_parts(draft, reading);
  for (const RuleTable& table : rule_tables())
    if (&table.rules != &solving_rules()) go(table.rules);
  EXPECT_FALSE(reading.has_errors()) << reading.text();
  return said;
}

class EveryRule : public ::testing::TestWithParam<Case> {};

TEST_P(EveryRule, FiresAtTheLineWithAWayOutAndNotBesideIt) {
  const Case& c = GetParam();
  const auto fired = said_by_rules(c.fires);
  ASSERT_TRUE(fired.count(c.rule) != 0) << "not reached";
  const std::vector<Diagnostic>& said = fired.at(c.rule).all();
  ASSERT_FALSE(said.empty()) << "silent";
  EXPECT_EQ(said.front().place.line, c.line) << print(said.front());
  EXPECT_FALSE(said.front().message.empty());
  EXPECT_THAT(said.front().hint, HasSubstr(c.hint));
  EXPECT_TRUE(said.front().severity == Severity::warning || !said.front().hint.empty()) << said.front().message;
  const auto quiet = said_by_rules(c.legal);
  ASSERT_TRUE(quiet.count(c.rule) != 0) << "the neighbour was not looked at";
  EXPECT_EQ(quiet.at(c.rule).text(), "");
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  std::string name = info.param.rule;
  for (char& letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(Rules, EveryRule, ::testing::ValuesIn(all_cases()), name_of);

// No rule without a case, no case without a rule, and no two rules of one name.
TEST(EveryRule, HasACase) {
  std::map<std::string, int> cases;
  for (const Case& c : all_cases()) ++cases[c.rule];
  for (const RuleTable& table : rule_tables())
    for (const Rule& rule : table.rules) EXPECT_EQ(cases[std::string(rule.name)]--, 1) << rule.name;
  for (const auto& [name, left] : cases) EXPECT_EQ(left, 0) << name;
}

}  // namespace
}  // namespace orrery::scenarios
