// Architectures small enough to be computed in doubles by plain loops, one for each family of real models.
#pragma once

#include "models/architecture.h"

namespace orrery::interpreter {

models::Architecture tiny_gpt();     // learned positions, LayerNorm, biases, GELU, tied
models::Architecture tiny_llama();   // rotary, RMSNorm, SwiGLU, GQA, no biases, untied
models::Architecture tiny_bloom();   // ALiBi, a norm behind the embedding, tied
models::Architecture tiny_falcon();  // parallel block on one norm, rotary, no biases
models::Architecture tiny_neox();    // parallel block on two norms, squared ReLU, a bias on the head
models::Architecture tiny_gemma();   // query / key norms, norms behind the blocks, GeGLU, explicit head_dim, tied
models::Architecture tiny_gated_biases();  // SwiGLU with biases on gate, up and down
models::Architecture tiny_mixtral();   // softmax, two of four experts in every layer
models::Architecture tiny_deepseek();  // a dense layer first, sigmoid, groups, shared experts

}  // namespace orrery::interpreter
