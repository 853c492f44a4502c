// The blocks that a stage's program calls: one forward and one backward of each kind of unit. Each function
// writes one block into the program and returns it. What a layer saves for its backward, and what it costs,
// is visible here and nowhere else; docs/models/memory.md derives the sums.
#pragma once

#include <string>

#include "schedule/compile/expert_blocks.h"
#include "schedule/compile/latent_attention.h"
#include "schedule/compile/stage.h"

namespace orrery::schedule {

struct ForwardMode {
  std::string name = "layer.forward";
  UnitKind kind = UnitKind::layer;  // or expert_layer
  Phase phase = Phase::forward;
  bool saves = true;             // activations are kept for the backward; else they die with the block
  bool frees_input = false;      // full recomputation: only every n-th layer's input is kept
  bool keeps_output = true;      // the last layer of a recomputed run need not
  bool sends_output = false;     // the output leaves the rank while it holds further chunks
  // ZeRO-3: gathered weights that die with the block: of this layer and those before, but for the last `spares` of them.
  std::uint32_t releases = 1, spares = 0;
};
BlockId layer_forward(Stage& s, const ForwardMode& mode);
// The whole, or where the stage splits it what the input's gradient takes. `releases`: gathered weights that die with it, of
// this layer and those behind it.
BlockId layer_backward(Stage& s, UnitKind kind, std::uint32_t releases);
// The same cut behind its collectives, to run together with another block (F&B).
std::vector<BlockId> layer_forward_parts(Stage& s, const ForwardMode& mode);
std::vector<BlockId> layer_backward_parts(Stage& s, UnitKind kind, std::uint32_t releases);
BlockId layer_weight_gradients(Stage& s, UnitKind kind);  // the rest
// Marks so in a block; `ahead`: those of later layers, else of earlier ones.
void release_layers(Stage& s, BlockBuilder& b, std::uint32_t releases, bool ahead, std::uint32_t spares = 0);

BlockId input_block(Stage& s, bool tokens, bool labels);  // host to device, one microbatch
BlockId embedding_forward(Stage& s);
BlockId head_forward(Stage& s);
// `last`: of the step; weights gathered for the whole step die.
BlockId embedding_backward(Stage& s, bool last);
BlockId head_backward(Stage& s, bool last, bool deferred = false);  // split as the layer's, or where deferred
BlockId head_weight_gradients(Stage& s);
// ZeRO-3: how long the gathered weights of embedding or head live, seen from a block of theirs.
Life end_weights_life(const Stage& s, UnitKind kind, bool backward, bool last);

// ZeRO-2 and 3: does the head's backward begin the embedding's gradient (tied, both here)?
bool head_begins_embedding_gradient(const Stage& s);

// A unit's gradients of replicated weights are partial sums on the tensor ranks (sequence parallelism, norms
// of heads): adds them up. Returns false, and writes nothing, where there are none.
bool sync_replicated_block(Stage& s, UnitKind kind, BlockId& block);

// Site numbers of random draws.
enum DropoutSite : int {
  kEmbeddingDropout = 0,
  kAttentionDropout = 1,
  kAttentionOutDropout = 2,
  kMlpDropout = 3
};

// --- shared by layer_forward.cpp and layer_backward.cpp
// -------------------------------------------------------------

// What a layer's forward leaves for its backward. Tensors that the architecture or the kernels do without do
// not exist.
struct LayerTensors {
  Tensor norm1, qkv, normed_qk, out, lse, probabilities, probability_mask, dropped, branch1, mask1;
  Tensor exchanged, exchanged_out;  // q, k, v and the output of this rank's heads (ulysses)
  Tensor middle, norm2, up, activated, branch2, mask2;
  ExpertTensors experts;
  LatentTensors latent;
};
LayerTensors layer_tensors(Stage& s, BlockBuilder& b, Life life, Life linear_inputs_life);
inline LayerTensors layer_tensors(Stage& s, BlockBuilder& b, Life life) { return layer_tensors(s, b, life, life); }

// Those of them that the linear layers' weight gradients read. Without norm2, norm1 is the MLP's input too.
struct LinearInputs {
  Tensor norm1, out, norm2, activated;
};
LinearInputs linear_inputs(Stage& s, BlockBuilder& b, Life life);
// Where the MLP, or the shared experts, keep what they leave.
std::string mlp_name(const Stage& s);

// The gradient of a linear layer's output: kept for the weight gradient where that is another block. The weight gradient.
Tensor output_gradient(Stage& s, BlockBuilder& b, const std::string& name, std::int64_t rows, std::int64_t columns, Life life);
void weight_gradient(BlockBuilder& b, Tensor dy, Tensor x, Tensor dw);

// q, k and v as attention reads them: views into the fused projection.
struct QueryKeyValue {
  Tensor q, k, v;
};
QueryKeyValue split(const Stage& s, Tensor qkv);
KernelShape attention_shape(const Stage& s);
KernelShape norm_shape(const Stage& s);
KernelShape dropout_shape(const Stage& s);
KernelShape activation_shape(const Stage& s);

// Backward of a column-parallel GEMM with input `x`, rows of the residual stream; returns the gradient of x.
Tensor column_parallel_backward(Stage& s, BlockBuilder& b, const std::string& name, Tensor dy, Tensor x, Tensor w,
                                Tensor dw);

// Scores, softmax and dropout of separate attention kernels; selective recomputation runs them again.
void write_probabilities(Stage& s, BlockBuilder& b, const LayerTensors& t);
void write_fused_attention(Stage& s, BlockBuilder& b, const LayerTensors& t, Tensor out);
QueryKeyValue attention_inputs(const Stage& s, const LayerTensors& t);

}  // namespace orrery::schedule
