// Where a rank's training state lies: for every tensor of the model, which rectangle of it this rank holds, in which
// buffer, and who of several holders writes it into a checkpoint. Checkpoints, initial values and comparisons between
// plans all walk these runs and know nothing of tensor slices, ZeRO shards, pipeline stages or tied copies.
//
// A run is contiguous in the rank's memory and a rectangle of the global tensor (row-major). A slice cut by a shard's
// border gives up to three: a part of a row, whole rows, a part of a row. Moments and residuals are found where the
// optimizer's and the compression's ops name them. Cost: a few dozen bytes a run, a few runs a tensor.
//
// Owners. Of the ranks that hold an element, one owns it: the lowest tensor index; of a tied embedding's two copies
// the first stage's; under ZeRO the data-parallel rank that updates it, of several replicas' the first (ZeRO-1 and 2 hold whole weights, but where
// their gather overlaps the next forward, only the updated shard is of this step), else data index 0. Every element
// of every tensor has exactly one owner.
//
// A residual (what top-k compression has not sent yet) belongs to one rank. Its tensor is the unit's flat vector,
// named by unit and data and tensor index, so it moves with its layer between pipeline plans, and means nothing under
// another data or tensor parallelism.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/architecture.h"
#include "schedule/ir.h"

namespace orrery::runtime {

enum class StateKind : std::uint8_t { weight, master, moment1, moment2, gradient, residual };
std::string_view name(StateKind kind);

struct StateTensor {
  std::string name;  // "layer3.mlp.up", "embedding.token", "layer3.residual.data1.tensor0"
  std::int64_t rows = 0, columns = 1;
  models::Initial initial = models::Initial::zeros;
  bool vocabulary = false;  // a row a token: plans may pad the rows differently
};

struct StateRun {
  std::uint32_t tensor = 0;  // index into StateLayout::tensors
  StateKind kind = StateKind::weight;
  std::int64_t row = 0, column = 0, rows = 0, columns = 0;  // of the global tensor
  schedule::BufferRef buffer;
  std::int64_t offset = 0;  // elements into the instance; the rows follow each other without gaps
  bool owned = false;
  // Owned, and needed to go on: not the gradients, nor weights that are rounded master weights.
  bool saved = false;
  std::int64_t count() const { return rows * columns; }
};

// A whole buffer instance that holds weights, master weights, moments or a residual, padding included.
struct StateBuffer {
  schedule::BufferRef ref;
  std::int64_t elements = 0;
};

struct StateLayout {
  std::vector<StateTensor> tensors;
  std::vector<StateRun> runs;  // unit by unit; master runs only where the master weights are not the weights
  std::vector<StateBuffer> buffers;
};

StateLayout state_layout(const schedule::Schedule& schedule, std::int64_t rank);

// What the layout's optimizer keeps: "adam", "sgd with momentum" or "sgd".
std::string_view optimizer_word(const StateLayout& layout);

}  // namespace orrery::runtime
