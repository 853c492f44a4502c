// The table, section by section, in the order of the reference.
#include "scenarios/fields.h"

#include <algorithm>

namespace orrery::scenarios {
namespace {

constexpr std::string_view kPolicy =
    "framework";  // the default is the framework's (docs/reference/frameworks.md)

std::vector<Field> whole_fields() {
  return {
      {"name", "text", "the file's name", "What reports call it.", "\"a run\""},
      {"base", "path", "none", "Another scenario that this one is laid on, member by member.",
       "\"scenarios/quickstart.json\""},
      {"model", "path or object", "required",
       "What is trained: a model file, a Hugging Face `config.json`, or such an object, which may have a "
       "`base`.",
       "\"models/zoo/gpt2-124m.json\""},
      {"cluster", "path or object", "required",
       "What it runs on: a cluster file, or such an object, which may have a `base`.",
       "\"hardware/clusters/dgx-a100-80g.json\""},
      {"framework", "`orrery`, `megatron`, `deepspeed`, `ddp`, `fsdp` (or `fsdp2`), `fsdp1`", "`orrery`",
       "Whose policies fill in what is not stated.", "\"megatron\""},
  };
}

std::vector<Field> parallel_fields() {
  return {
      {"parallel.tp", "integer", "1", "Tensor-parallel ways: heads and MLP are cut.", "2"},
      {"parallel.sp", "true, false", "false",
       "Sequence parallelism: between the cut parts, positions are cut.", "false"},
      {"parallel.pp", "integer", "1", "Pipeline stages.", "2"},
      {"parallel.vpp", "integer or `auto`", "1",
       "Chunks (virtual stages) of layers a rank, for the interleaved schedule.", "1"},
      {"parallel.layers_per_virtual_stage", "integer", "from vpp",
       "Megatron's way to say vpp: layers / pp / this.", "6"},
      {"parallel.dp", "integer or `auto`", "`auto`", "Data-parallel ways; `auto`: the GPUs / (tp x cp x pp).",
       "\"auto\""},
      {"parallel.zero", "0, 1, 2, 3", "0; `fsdp`, `fsdp1`: 3",
       "What data-parallel ranks shard: 1 optimizer states, 2 and gradients, 3 and weights.", "1"},
      {"parallel.schedule", "`gpipe`, `1f1b`, `interleaved`, `bfs`, `zb-h1`, `zb-h2`, `zb-1p`, `zb-2p`, `zb-auto`, `zb-v`, `dualpipe`, `dualpipe-v`, `auto`",
       "`1f1b`; `interleaved` if vpp > 1", "Order of the pipeline: [schedules](../models/schedules.md).", "\"1f1b\""},
      {"parallel.in_flight", "integer", "2 pp", "`zb-auto`: microbatches in flight on a rank at most, its memory limit.", "6"},
      {"parallel.layers_per_stage", "`even`, `even_with_embedding`, `balanced`, `balanced_memory`, list", "`even`",
       "Layers of each virtual stage in model order. `even_with_embedding`: embedding and head count as a "
       "layer each. `balanced`: by FLOPs, `balanced_memory`: by memory ([how](../models/schedules.md#uneven-stages)).",
       "\"even\""},
      {"parallel.order", "text", "`tp-cp-ep-dp-pp`",
       "Rank order, fastest-varying first; cp may be left out (it then stands in front of dp), ep decides nothing.",
       "\"tp-pp-dp\""},
      {"parallel.cp", "integer", "1", "Context-parallel ways: the positions of a sequence are cut.", "1"},
      {"parallel.cp_method", "`ring`, `all_gather`, `ulysses`, `hybrid`", kPolicy,
       "How attention sees all positions: keys and values go around a ring, or are gathered; or heads are exchanged for "
       "positions; or that within groups of `ulysses` ranks and the ring among them.",
       "\"ring\""},
      {"parallel.ulysses", "integer", "cp with `ulysses`, else 1", "`hybrid`: of the cp ranks, how many exchange heads.", "1"},
      {"parallel.ep", "integer", "1", "Expert-parallel ways.", "1"},
      {"parallel.etp", "integer", "tp", "Tensor-parallel ways of experts; etp x ep divides tp x cp x dp.", "1"},
  };
}

std::vector<Field> batch_fields() {
  return {
      {"training.global_batch", "integer or `auto`", "solved",
       "Sequences a step. Two of this and the next two suffice.", "64"},
      {"training.micro_batch", "integer or `auto`", "solved", "Sequences a rank computes at once.", "2"},
      {"training.accumulation", "integer or `auto`", "solved",
       "Microbatches a step: global_batch = micro_batch x accumulation x dp.", "\"auto\""},
      {"training.microbatches", "integer or `auto`", "solved", "Another name of accumulation.", "\"auto\""},
      {"training.sequence_length", "integer", "required", "Tokens of a sequence.", "1024"},
      {"training.precision", "`fp32`, `tf32`, `fp16`, `bf16`, `fp8`, `fp4`", "`bf16`",
       "Of matrix products and activations; `fp8`, `fp4`: of the layers' linear products, the rest in bf16.",
       "\"fp16\""},
  };
}

std::vector<Field> training_fields() {
  return {
      {"training.optimizer", "`adamw`, `adam`, `sgd`, `sgd_momentum`", "`adamw`",
       "Decides the optimizer states.", "\"adamw\""},
      {"training.recompute", "`none`, `selective`, `full`", "`none`",
       "What the backward computes again: nothing, core attention, or layers.", "\"full\""},
      {"training.recompute_every", "integer", "1", "With `full`: only every n-th layer's input is kept.",
       "1"},
      {"training.recompute_layers", "integer or list", "all",
       "Full recomputation of the first so many layers of each virtual stage; a list has one number per virtual stage.", "1"},
      {"training.clip_gradient_norm", "number", "1.0", "Gradient clipping; 0: off.", "1.0"},
      {"training.learning_rate", "number", "1e-4", "For the runtime; time does not depend on it.", "1e-4"},
      {"training.weight_decay", "number", "0.1", "For the runtime; time does not depend on it.", "0.1"},
      {"training.beta1", "number", "0.9", "For the runtime; time does not depend on it.", "0.9"},
      {"training.beta2", "number", "0.95", "For the runtime; time does not depend on it.", "0.95"},
      {"training.epsilon", "number", "1e-8", "For the runtime; time does not depend on it.", "1e-8"},
      {"training.dropout", "number", "the model's", "Hidden and attention dropout.", "0.1"},
      {"training.tokens", "integer", "not asked",
       "Reports how many steps and GPU-hours that many tokens take.", "1e9"},
      {"training.vocab_divisible_by", "integer", kPolicy,
       "The vocabulary is padded to a multiple of this x tp.", "128"},
      {"training.attention_flops", "`full`, `causal`", "`full`", "How model FLOPs count attention.",
       "\"causal\""},
      {"training.seed", "integer", "1", "Of every random draw.", "7"},
  };
}

std::vector<Field> recipe_fields() {
  return {
      {"recipe.gradient_bytes", "2, 4", kPolicy, "Bytes of a gradient element (fp32, tf32: 4).", "4"},
      {"recipe.master_weights", "true, false", kPolicy,
       "Whether the optimizer keeps an fp32 copy of 16-bit weights.", "true"},
      {"recipe.fp32_shards", "true, false", kPolicy,
       "ZeRO-3: weights are kept in fp32 shards and gathered in 16 bits (FSDP's mixed-precision policy).", "false"},
      {"recipe.scaling", "`delayed`, `current`, `block`, `mx`, `nvfp4`", "fp8: `delayed`; fp4: `nvfp4`",
       "Of fp8 and fp4 products: which casts, copies and scales they need.", "null"},
      {"recipe.reduce_bytes", "2, 4", kPolicy, "With fp32_shards: bytes of a gradient element on the way.", "4"},
      {"recipe.optimizer_state_bytes", "4, 8", "the optimizer's",
       "Bytes of optimizer states an element; Adam: 8, or 4 (16-bit moments) in fp16 and bf16.", "8"},
  };
}

std::vector<Field> overlap_fields() {
  return {
      {"overlap.gradient_reduce", "true, false", kPolicy, "Gradients travel during the last backward.",
       "true"},
      {"overlap.parameter_gather", "true, false", kPolicy,
       "ZeRO-1, 2: updated weights travel during the next forward.", "true"},
      {"overlap.pipeline", "true, false", kPolicy, "Stage-to-stage messages travel during computation.",
       "true"},
      {"overlap.tensor_backward", "true, false", kPolicy,
       "The input gradient's collective travels during the weight gradient's product.", "true"},
      {"overlap.expert_exchange", "true, false", "false",
       "Tokens travel to experts and back during products of the shared experts and of the experts' weight gradients.", "false"},
      {"overlap.tensor_chunks", "integer", "1",
       "Rows of a GEMM are cut into so many parts, and a tensor-parallel collective of one travels during the product of "
       "another; 1: none does.",
       "4"},
      {"overlap.defer_embedding_gradients", "true, false, integer", "false",
       "Weight gradients of the output layer wait until the pipeline drains: of all microbatches, or of the first so many "
       "(Megatron's defer_embedding_wgrad_compute, wgrad_deferral_limit).",
       "true"},
      {"overlap.bucket_elements", "integer", kPolicy,
       "Gradients of a bucket; 0: one bucket. ZeRO-2 and 3 reduce unit by unit: it only cuts units larger "
       "than it.",
       "40000000"},
      {"overlap.bucket_size", "size", kPolicy, "The same as a size, instead.", "\"25 MiB\""},
      {"overlap.bucket_buffers", "integer", kPolicy,
       "Staging buffers of one bucket each that stay allocated.", "1"},
      {"overlap.prefetch_units", "integer", kPolicy,
       "ZeRO-3: units (layers, or `sharding.unit_layers` of them) whose weights are gathered ahead.", "1"},
      {"overlap.prefetch_backward", "integer", "overlap.prefetch_units", "The same in the backward.", "1"},
  };
}

std::vector<Field> sharding_fields() {
  return {
      {"sharding.strategy", "`full_shard`, `shard_grad_op`, `hybrid_shard`, `hybrid_shard_zero2`, `no_shard`", "`full_shard`",
       "FSDP1's names of `parallel.zero`, `reshard_after_forward` and `group` (hybrid: the GPUs of a node).",
       "null"},
      {"sharding.group", "integer or `all`", "`all`",
       "ZeRO, FSDP: data-parallel neighbours that hold one copy of the states together; the groups replicate it "
       "(HSDP, MiCS).",
       "8"},
      {"sharding.reshard_after_forward", "true, false, integer", kPolicy,
       "ZeRO-3: gathered weights are given back after the forward; a number: so many neighbours keep a part each "
       "for the backward.",
       "true"},
      {"sharding.reshard_after_backward", "true, false", kPolicy,
       "ZeRO-3: false: weights are gathered once a step.", "true"},
      {"sharding.root_reshards", "true, false", kPolicy,
       "ZeRO-3: embedding and head are given back after their forward, too.", "true"},
      {"sharding.secondary_group", "integer", "0",
       "ZeRO-3: neighbours that keep a second copy of all weights together, from which the backward gathers (hpZ).",
       "8"},
      {"sharding.unit_layers", "integer", "1", "ZeRO-3: layers that are gathered together.", "2"},
      {"sharding.reduce", "`microbatch`, `step`", kPolicy,
       "ZeRO-2, 3: gradients are reduced in every backward, or add up whole and are reduced in the last (`no_sync`).",
       "\"step\""},
      {"sharding.reduce_replicas", "`microbatch`, `step`", "`microbatch`; `deepspeed`: `step`",
       "With a group: when the sums of the groups are added up.", "\"step\""},
      {"sharding.max_live_elements", "integer", kPolicy,
       "ZeRO-3: weights stay from forward to backward while no more than this are live (stage3_max_live_parameters).",
       "1000000000"},
      {"sharding.max_reuse_elements", "integer", kPolicy,
       "ZeRO-3: and while they are used again within so many (stage3_max_reuse_distance).", "1000000000"},
      {"sharding.limit_all_gathers", "true, false", kPolicy,
       "ZeRO-3: the host, not the device, waits before more is gathered ahead (FSDP1; there `false` gathers without limit).",
       "true"},
      {"sharding.forward_prefetch", "true, false", kPolicy,
       "ZeRO-3: the host issues the next gather of a forward before the kernels of a unit, not behind them.", "true"},
      {"sharding.backward_prefetch", "`pre`, `post`, `none`", "`pre`",
       "ZeRO-3: a backward gathers the next unit during a unit's kernels; or behind them, before its reduction; or behind "
       "that.",
       "\"pre\""},
  };
}

std::vector<Field> kernel_fields() {
  return {
      {"kernels.fused_attention", "true, false", kPolicy,
       "Flash attention; false: separate products and softmax over s x s scores.", "true"},
      {"kernels.fused_softmax", "true, false", kPolicy,
       "Separate attention: scale, mask and softmax are one kernel.", "true"},
      {"kernels.softmax_fp32_copy", "true, false", kPolicy,
       "Separate attention: the softmax output is kept in fp32, too.", "false"},
      {"kernels.fused_elementwise", "true, false", kPolicy,
       "Bias + activation, and bias + dropout + add, are one kernel each.", "true"},
      {"kernels.fp32_logits", "true, false", kPolicy, "Logits are copied to fp32 for the loss.", "true"},
      {"kernels.stack", "path or object", "none",
       "Whose kernels run, beside those that the GPU's profile was fitted on: [stacks](../models/stacks.md).", "null"},
      {"kernels.cuda_graphs", "true, false", "false",
       "The step is recorded and launched as a CUDA graph: the host issues no op of it.", "false"},
  };
}

std::vector<Field> expert_fields() {
  return {
      {"experts.balance", "`balanced`, `zipf`, `counts`", "`balanced`",
       "How many tokens each expert gets, as a simulation draws it; a run takes what its routers choose.", "\"balanced\""},
      {"experts.zipf_exponent", "number", "1.0",
       "With `zipf`: an expert's share falls as 1 / place^exponent; `training.seed` deals out the places.", "1.0"},
      {"experts.counts", "list of numbers", "none", "With `counts`: tokens of each expert, in proportion.", "[3, 1]"},
      {"experts.capacity_factor", "number", "the model's",
       "An expert takes at most this x tokens x top_k / experts of a rank's; 0: dropless.", "0"},
      {"experts.dispatch", "`pairs`, `by_node`", "`pairs`",
       "Between machines a token travels once for each of its experts, or once for each machine that holds some of them.",
       "\"by_node\""},
  };
}

std::vector<Field> other_fields() {
  return {
      {"offload.optimizer", "`none`, `cpu`", "`none`", "Where optimizer states live and Adam runs.",
       "\"cpu\""},
      {"offload.pinned", "true, false", "true", "Whether the host memory is page-locked.", "true"},
      {"compression.top_k", "number", "0", "Share of gradient elements that is sent; 0: all, uncompressed.",
       "0.01"},
      {"compression.weights", "`none`, `int8`", "`none`",
       "ZeRO-3: weights are gathered as codes of 8 bits with a scale a block (ZeRO++ qwZ).", "\"none\""},
      {"compression.gradients", "`none`, `int8`, `int4`", "`none`",
       "ZeRO-2, 3: gradients are scattered as such codes, in a node and then across nodes (ZeRO++ qgZ).", "\"none\""},
      {"compression.block", "integer", "2048", "Elements that share a scale; even.", "2048"},
      {"compression.node_ranks", "integer", "the node's", "Neighbours that gradients go through first.", "1"},
      {"network.algorithm", "`auto`, `ring`, `tree`, `nvls`, `nvls-tree`", "`auto`",
       "Of collectives; `auto`: as NCCL chooses.", "\"ring\""},
      {"network.protocol", "`auto`, `ll`, `ll128`, `simple`", "`auto`",
       "Of collectives; `auto`: as NCCL chooses.", "\"simple\""},
      {"measured.step_time", "duration", "none", "Somebody's measurement, printed beside the prediction.",
       "\"9.69 s\""},
      {"measured.samples_per_s", "number", "none", "Measured sequences a second.", "211.4"},
      {"measured.tokens_per_s_per_gpu", "number", "none", "Measured.", "721.1"},
      {"measured.tflops_per_gpu", "number", "none", "Measured, in TFLOP/s.", "140"},
      {"measured.peak_memory", "size", "none", "Measured, of the fullest GPU.", "\"18.6 GB\""},
      {"measured.comm_fraction", "number", "none", "Measured share of communication, 0 to 1.", "0.35"},
      {"measured.source", "text", "none", "Who measured it.", "\"a paper\""},
  };
}

std::string section_of(std::string_view path) {
  const std::size_t dot = path.find('.');
  return std::string(dot == std::string_view::npos ? "the scenario" : path.substr(0, dot));
}

}  // namespace

const std::vector<Field>& fields() {
  static const std::vector<Field> all = [] {
    std::vector<Field> table;
    for (const auto& part : {whole_fields(), parallel_fields(), batch_fields(), training_fields(),
                              recipe_fields(), overlap_fields(), sharding_fields(), kernel_fields(), expert_fields(), other_fields()})
      table.insert(table.end(), part.begin(), part.end());
    return table;
  }();
  return all;
}

bool is_field_path(std::string_view path) {
  for (const std::string_view part : {"model.", "cluster."})
    if (path.starts_with(part) && path.size() > part.size()) return true;
  return std::any_of(fields().begin(), fields().end(),
                     [&](const Field& field) { return field.path == path; });
}

std::string render_fields() {
  std::string text, section;
  for (const Field& field : fields()) {
    if (section_of(field.path) != section) {
      section = section_of(field.path);
      text += (text.empty() ? "### " : "\n### ") + section +
              "\n\n| field | type | default | meaning |\n|---|---|---|---|\n";
    }
    text += "| `" + std::string(field.path) + "` | " + std::string(field.type) + " | " +
            std::string(field.fallback) + " | " + std::string(field.help) + " |\n";
  }
  return text;
}

}  // namespace orrery::scenarios
