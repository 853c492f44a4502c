#include "schedule/compile/program_writer.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/check.h"
#include "schedule/compile/backward_runs.h"
#include "schedule/compile/data_parallel.h"
#include "schedule/compile/deferred_head.h"
#include "schedule/compile/drop_idle_waits.h"
#include "schedule/compile/gathers.h"
#include "schedule/compile/low_precision.h"
#include "schedule/compile/mirrored_gradients.h"
#include "schedule/compile/optimizer_blocks.h"

namespace orrery::schedule {
namespace {

class Writer {
 public:
  explicit Writer(Stage& stage)
      : stage_(stage),
        messages_(stage),
        gathers_(stage, [this](const auto& name, std::uint32_t unit, const auto& write) { call(once(name, write), unit); }),
        calls_(&stage.program.calls) {
    embedding_uses_ = (stage.has_embedding ? 1 : 0) + (stage.tied_here ? 1 : 0);
    write_unit_blocks();
  }

  void begin();
  void step(const StageStep& step, std::uint32_t microbatch_step);
  void both(const StageStep& backward, const StageStep& forward, std::uint32_t microbatch_step);  // F&B
  void end();

 private:
  void write_unit_blocks();
  // A block that is written when first needed.
  BlockId once(const std::string& key, const std::function<BlockId()>& write);
  void call(BlockId block, std::uint32_t unit);
  void call_layer(const std::string& key, std::uint32_t unit, const std::function<BlockId()>& write,
                  const std::function<std::vector<BlockId>()>& write_parts);
  void compute(const StageStep& step);
  void send_and_receive(const std::vector<Message>& messages);

  void forward(std::uint32_t chunk, bool first);
  void backward(std::uint32_t chunk, bool whole, bool last, bool defers = false);
  void head_backward_call(std::uint32_t chunk, bool last, bool defers);
  void weight_gradients(std::uint32_t chunk, bool last);
  void layers_forward(std::uint32_t chunk, bool first);
  void layers_backward(std::uint32_t chunk, bool whole, bool last);
  void recompute(std::uint32_t from, std::uint32_t to);
  void layer_done(std::uint32_t unit, std::uint32_t first_unit, bool last);
  void shard_done(UnitKind kind, std::uint32_t unit, bool last);
  void add_to_bucket(UnitKind kind, std::uint32_t unit, std::uint32_t first_unit);
  void experts_done(std::uint32_t unit, bool last);
  void head_done(bool last);                // its weight gradients, and what follows them
  void end_done(UnitKind kind, bool last);  // the embedding's or head's gradients are there
  void embedding_use_done();                // a last one; with all, its gradient is complete

  void sync_replicated(UnitKind kind, std::uint32_t unit);
  void reduce(UnitKind kind, std::uint32_t unit, std::uint32_t units);
  void reduce_all_late();
  void begin_whole();
  void gather_updated();
  void deferred_gradients();
  void sum_mirrored();
  void update();

  bool is_first(std::uint32_t chunk) const { return stage_.is_first(chunk); }
  bool is_last(std::uint32_t chunk) const { return stage_.is_last(chunk); }
  bool recomputes() const { return stage_.scenario.training.recompute == scenarios::Recompute::full; }
  // Where some layers are recomputed, those that are not have a forward of their own.
  std::string forward_name(UnitKind kind, bool saves) const {
    return std::string(prefix(kind)) + (recomputes() && saves ? ".forward.saving" : ".forward");
  }
  bool data_parallel(UnitKind kind) const { return stage_.replicas(kind) > 1; }
  static std::string backward_key(UnitKind kind, std::uint32_t parity) {
    return std::string(prefix(kind)) + ".backward." + std::to_string(parity);
  }
  static std::string weights_key(UnitKind kind) { return std::string(prefix(kind)) + ".weight_gradients"; }
  static std::string key_of(const std::string& what, UnitKind kind) { return what + "." + std::string(prefix(kind)); }
  // Calls f(unit, kind) for each part of each layer.
  template <typename F>
  void for_layer_parts(F&& f) {
    for (std::uint32_t u = 0; u < static_cast<std::uint32_t>(stage_.layer_units); ++u)
      for (const UnitKind part : stage_.parts_of(u)) f(u, part);
  }
  bool has_embedding_unit() const {
    return stage_.has_embedding || (stage_.has_head && stage_.model().tied_embeddings);
  }
  std::uint32_t unit_of(UnitKind kind) const {
    return kind == UnitKind::head ? stage_.head_unit : stage_.embedding_unit;
  }

  Stage& stage_;
  MessageBlocks messages_;
  Gathers gathers_;
  std::map<std::string, BlockId> blocks_;
  std::map<std::string, std::vector<BlockId>> parts_;  // of layers in F&B blocks
  std::vector<Call>* calls_ = nullptr;                 // where calls go
  bool interleaves_ = false;                           // an F&B block is being written
  std::uint32_t microbatch_ = 0, microbatch_step_ = 0;
  std::uint32_t layers_in_bucket_ = 0;
  int embedding_uses_ = 0;  // still to come, where input and weight gradients are apart
};

BlockId Writer::once(const std::string& key, const std::function<BlockId()>& write) {
  const auto known = blocks_.find(key);
  if (known != blocks_.end()) return known->second;
  const BlockId id = write();
  blocks_.emplace(key, id);
  return id;
}

void Writer::call(BlockId block, std::uint32_t unit) {
  calls_->push_back({block, unit, microbatch_, microbatch_step_});
}

// A layer's block or, in an F&B block, its parts.
void Writer::call_layer(const std::string& key, std::uint32_t unit, const std::function<BlockId()>& write,
                        const std::function<std::vector<BlockId>()>& write_parts) {
  if (!interleaves_) return call(once(key, write), unit);
  auto known = parts_.find(key);
  if (known == parts_.end()) known = parts_.emplace(key, write_parts()).first;
  for (const BlockId part : known->second) call(part, unit);
}

// The blocks of units come first: they declare the buffers that gathers and messages refer to.
void Writer::write_unit_blocks() {
  if (stage_.has_embedding) once("embedding.forward", [&] { return embedding_forward(stage_); });
  if (stage_.layer_units > 0) {
    const bool saves = stage_.recomputed_layers(0) == 0;
    for (const UnitKind kind : {UnitKind::layer, UnitKind::expert_layer}) {
      if (stage_.unit_count(kind) == 0) continue;
      const ForwardMode mode{.name = forward_name(kind, saves), .kind = kind, .saves = saves};
      once(mode.name, [&] { return layer_forward(stage_, mode); });
      for (const std::uint32_t parity : stage_.parity_of_chunk) {
        stage_.gradient_parity = parity;
        once(backward_key(kind, parity), [&] { return layer_backward(stage_, kind, 1); });
      }
      if (stage_.splits_backward) once(weights_key(kind), [&] { return layer_weight_gradients(stage_, kind); });
    }
  }
  if (stage_.has_head) {
    stage_.gradient_parity = stage_.parity_of_chunk[stage_.head_chunk];
    once("head.forward", [&] { return head_forward(stage_); });
    once("head.backward", [&] { return head_backward(stage_, false); });
    if (stage_.splits_backward || stage_.deferred > 0) once("head.weight_gradients", [&] { return head_weight_gradients(stage_); });
  }
  stage_.gradient_parity = stage_.parity_of_chunk[stage_.embedding_chunk];
  if (stage_.has_embedding) once("embedding.backward", [&] { return embedding_backward(stage_, false); });
  stage_.gradient_parity = 0;
}

void Writer::send_and_receive(const std::vector<Message>& messages) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const bool grouped = !stage_.overlaps_pipe() && i + 1 < messages.size();
    // Messages carry their own microbatch; inside a Repeat all of them advance alike.
    stage_.program.calls.push_back({messages_.block(messages[i], grouped),
                                    stage_.first_unit_of_chunk[messages[i].chunk], messages[i].microbatch,
                                    microbatch_step_});
  }
}

void Writer::step(const StageStep& step, std::uint32_t microbatch_step) {
  microbatch_step_ = microbatch_step;
  send_and_receive(step.before);
  compute(step);
  send_and_receive(step.after);
}

// One block of two: their calls in turn, so that each computes while the other's collectives are on their way.
void Writer::both(const StageStep& backward, const StageStep& forward, std::uint32_t microbatch_step) {
  microbatch_step_ = microbatch_step;
  for (const StageStep* step : {&backward, &forward}) send_and_receive(step->before);
  std::vector<Call> of_backward, of_forward;
  interleaves_ = true;
  calls_ = &of_backward;
  compute(backward);
  calls_ = &of_forward;
  compute(forward);
  calls_ = &stage_.program.calls;
  std::size_t forwards = 0;  // spread evenly between the others
  for (std::size_t i = 0; i < of_backward.size(); ++i) {
    calls_->push_back(of_backward[i]);
    const std::size_t due = (i + 1) * of_forward.size() / of_backward.size();
    for (; forwards < due; ++forwards) calls_->push_back(of_forward[forwards]);
  }
  calls_->insert(calls_->end(), of_forward.begin() + static_cast<std::ptrdiff_t>(forwards), of_forward.end());
  interleaves_ = false;
  for (const StageStep* step : {&backward, &forward}) send_and_receive(step->after);
}

void Writer::compute(const StageStep& step) {
  microbatch_ = step.action.microbatch;
  switch (step.action.kind) {
    case ActionKind::forward:
      forward(step.action.chunk, step.first_of_chunk);
      break;
    case ActionKind::backward:
      backward(step.action.chunk, true, step.last_of_chunk, step.defers);
      break;
    case ActionKind::backward_input:
      backward(step.action.chunk, false, step.last_of_chunk);
      break;
    case ActionKind::backward_weight:
      weight_gradients(step.action.chunk, step.last_of_chunk);
      break;
  }
}

// --- forward
// ------------------------------------------------------------------------------------------------------

void Writer::forward(std::uint32_t chunk, bool first) {
  if (is_first(chunk)) {
    const bool labels = is_last(chunk);
    call(once("input.tokens", [&] { return input_block(stage_, true, labels); }), stage_.embedding_unit);
    gathers_.embedding(false, first);
    call(blocks_.at("embedding.forward"), stage_.embedding_unit);
  }
  layers_forward(chunk, first);
  if (is_last(chunk)) {
    if (!is_first(chunk))
      call(once("input.labels", [&] { return input_block(stage_, false, true); }), stage_.head_unit);
    gathers_.head(false, first);
    call(blocks_.at("head.forward"), stage_.head_unit);
  }
}

void Writer::layers_forward(std::uint32_t chunk, bool first_of_chunk) {
  const std::uint32_t first = stage_.first_unit_of_chunk[chunk];
  const auto layers = static_cast<std::uint32_t>(stage_.layers_of_chunk[chunk]);
  std::vector<std::uint32_t> uses(layers);
  for (std::uint32_t l = 0; l < layers; ++l) uses[l] = first + l;
  gathers_.begin(uses, first, false, first_of_chunk);
  const auto every = static_cast<std::uint32_t>(stage_.scenario.training.recompute_every);
  for (std::uint32_t l = 0; l < layers; ++l) {
    gathers_.until(l);
    if (first_of_chunk && keeps_low_weights(stage_))
      call(once("cast_weights", [&] { return cast_weights(stage_); }), uses[l]);
    const bool saves = l >= stage_.recomputed_layers(chunk);
    const UnitKind kind = stage_.kind_of(uses[l]);
    ForwardMode mode{.name = forward_name(kind, saves), .kind = kind, .saves = saves};
    mode.frees_input = !saves && l % every != 0;
    mode.sends_output = stage_.chunks > 1 && l + 1 == layers &&
                        stage_.placement.next(stage_.index, chunk).kind == Hop::Kind::message;
    mode.releases = gathers_.released_by(uses[l], false, false);
    if (mode.releases > 0) mode.spares = gathers_.spared_by(uses[l]);
    mode.name += std::string(mode.frees_input ? ".dropping" : "") + (mode.sends_output ? ".outgoing" : "");
    if (mode.releases != 1) mode.name += mode.releases == 0 ? ".keeping" : ".releasing" + std::to_string(mode.releases);
    if (mode.spares > 0) mode.name += ".sparing" + std::to_string(mode.spares);
    call_layer(mode.name, uses[l], [&] { return layer_forward(stage_, mode); },
               [&] { return layer_forward_parts(stage_, mode); });
    gathers_.behind(l);
  }
}

// --- backward
// -----------------------------------------------------------------------------------------------------

// A whole backward where the stage can split it is both parts of each unit in turn.
void Writer::backward(std::uint32_t chunk, bool whole, bool last, bool defers) {
  const bool split = stage_.splits_backward;
  if (is_last(chunk)) {
    gathers_.head(true, false);
    head_backward_call(chunk, last, defers);
    if (whole && stage_.deferred == 0) head_done(last);
  }
  layers_backward(chunk, whole, last);
  if (is_first(chunk)) {
    if (stage_.model().embedding_norm) gathers_.embedding(true, false);
    call(once(stage_.step_ends("embedding.backward", UnitKind::embedding, last),
              [&] {
                stage_.gradient_parity = stage_.parity_of_chunk[chunk];
                return embedding_backward(stage_, last);
              }),
         stage_.embedding_unit);
    if (!split)
      end_done(UnitKind::embedding, last);
    else if (last)
      embedding_use_done();
  }
}

void Writer::head_backward_call(std::uint32_t chunk, bool last, bool defers) {
  const std::string name = defers ? "head.backward.deferring" : "head.backward";
  call(once(stage_.step_ends(name, UnitKind::head, last),
            [&] {
              stage_.gradient_parity = stage_.parity_of_chunk[chunk];
              return head_backward(stage_, last, defers);
            }),
       stage_.head_unit);
}

// Behind the last backward: what was put off until the pipeline drains.
void Writer::deferred_gradients() {
  if (stage_.deferred == 0) return;
  append_deferred(stage_, blocks_.at("head.weight_gradients"));
  end_done(UnitKind::head, true);
}

void Writer::head_done(bool last) {
  if (stage_.splits_backward) call(blocks_.at("head.weight_gradients"), stage_.head_unit);
  end_done(UnitKind::head, last);
  if (stage_.splits_backward && last && stage_.tied_here) embedding_use_done();
}

// The part of a chunk's backward that no other stage waits for.
void Writer::weight_gradients(std::uint32_t chunk, bool last) {
  if (is_last(chunk)) head_done(last);
  const std::uint32_t first = stage_.first_unit_of_chunk[chunk];
  layers_in_bucket_ = 0;
  for (auto l = static_cast<std::uint32_t>(stage_.layers_of_chunk[chunk]); l > 0; --l) {
    call(blocks_.at(weights_key(stage_.kind_of(first + l - 1))), first + l - 1);
    layer_done(first + l - 1, first, last);
  }
  if (last && is_first(chunk)) embedding_use_done();
}

void Writer::embedding_use_done() {
  if (--embedding_uses_ == 0) end_done(UnitKind::embedding, true);
}

void Writer::recompute(std::uint32_t from, std::uint32_t to) {
  for (std::uint32_t unit = from; unit < to; ++unit) {
    const bool keeps = unit + 1 < to;
    const UnitKind kind = stage_.kind_of(unit);
    const std::string name = std::string(prefix(kind)) + (keeps ? ".recompute" : ".recompute.last");
    const ForwardMode mode{.name = name, .kind = kind, .phase = Phase::recompute, .keeps_output = keeps, .releases = 0};
    call_layer(name, unit, [&] { return layer_forward(stage_, mode); }, [&] { return layer_forward_parts(stage_, mode); });
  }
}

void Writer::layers_backward(std::uint32_t chunk, bool whole, bool last) {
  const std::uint32_t first = stage_.first_unit_of_chunk[chunk];
  const std::vector<BackwardRun> runs = backward_runs(stage_, chunk);
  std::vector<std::uint32_t> uses;
  for (const BackwardRun& run : runs)
    for (std::uint32_t l = run.begin; l < run.end; ++l) uses.push_back(first + l);
  gathers_.begin(uses, first, true, false);
  layers_in_bucket_ = 0;
  std::size_t position = 0, gone = 0;
  for (const BackwardRun& run : runs) {
    position += run.end - run.begin;
    gathers_.until(position - 1);
    if (run.again) recompute(first + run.begin, first + run.end);
    for (std::uint32_t l = run.end; l > run.begin; --l) {
      const std::uint32_t releases = gathers_.released_by(first + l - 1, true, last);
      const UnitKind kind = stage_.kind_of(first + l - 1);
      std::string key = backward_key(kind, stage_.parity_of_chunk[chunk]);
      if (releases != 1) key += ".releases" + std::to_string(releases);
      const auto whole_block = [&] {
        stage_.gradient_parity = stage_.parity_of_chunk[chunk];
        return layer_backward(stage_, kind, releases);
      };
      call_layer(key, first + l - 1, whole_block, [&] {
        stage_.gradient_parity = stage_.parity_of_chunk[chunk];
        return layer_backward_parts(stage_, kind, releases);
      });
      gathers_.behind(gone++);
      if (!whole) continue;
      if (stage_.splits_backward) call(blocks_.at(weights_key(kind)), first + l - 1);
      layer_done(first + l - 1, first, last);
    }
  }
}

// A layer's backward is over: complete gradients go to their bucket.
void Writer::layer_done(std::uint32_t unit, std::uint32_t first_unit, bool last) {
  const UnitKind kind = stage_.kind_of(unit);
  if (stage_.zero(kind) >= 2) {
    shard_done(kind, unit, last);
  } else if (last) {
    sync_replicated(kind, unit);
    if (data_parallel(kind) && stage_.scenario.overlap.gradient_reduce) add_to_bucket(kind, unit, first_unit);
  }
  if (kind == UnitKind::expert_layer) experts_done(unit, last);
}

// Whole layers of one kind, the last to be ready first in the bucket.
void Writer::add_to_bucket(UnitKind kind, std::uint32_t unit, std::uint32_t first_unit) {
  ++layers_in_bucket_;
  const bool goes_on = unit != first_unit && stage_.kind_of(unit - 1) == kind;
  if (layers_in_bucket_ < layers_per_bucket(stage_, kind) && goes_on) return;
  reduce(kind, unit, layers_in_bucket_);
  layers_in_bucket_ = 0;
}

void Writer::experts_done(std::uint32_t unit, bool last) {
  if (stage_.zero(UnitKind::experts) >= 2) return shard_done(UnitKind::experts, unit, last);
  if (last && data_parallel(UnitKind::experts) && stage_.scenario.overlap.gradient_reduce)
    reduce(UnitKind::experts, unit, 1);
}

// ZeRO-2 and 3: the gradient goes to its shards, after every microbatch or after the last.
void Writer::shard_done(UnitKind kind, std::uint32_t unit, bool last) {
  if (stage_.accumulates_whole() && !last) return;
  sync_replicated(kind, unit);
  reduce(kind, unit, 1);
  const bool apart = !stage_.accumulates_whole() && stage_.schedule.microbatches > 1 &&
                     !stage_.scenario.sharding.replicas_every_microbatch;
  if (last && apart && stage_.shard.replicas > 1)
    call(once("replicas." + std::to_string(static_cast<int>(kind)), [&] { return reduce_replicas(stage_, kind); }), unit);
}

void Writer::end_done(UnitKind kind, bool last) {
  if (stage_.zero() >= 2) return shard_done(kind, unit_of(kind), last);
  if (!last) return;
  sync_replicated(kind, unit_of(kind));
  const bool late = kind == UnitKind::embedding && stage_.tied_across;
  if (data_parallel(kind) && stage_.scenario.overlap.gradient_reduce && !late)
    reduce(kind, unit_of(kind), 1);
}

void Writer::sync_replicated(UnitKind kind, std::uint32_t unit) {
  const std::string key = "sync." + std::to_string(static_cast<int>(kind));
  auto known = blocks_.find(key);
  if (known == blocks_.end()) {
    BlockId id(~std::uint32_t{0});
    sync_replicated_block(stage_, kind, id);
    known = blocks_.emplace(key, id).first;
  }
  if (known->second != BlockId(~std::uint32_t{0})) call(known->second, unit);
}

void Writer::reduce(UnitKind kind, std::uint32_t unit, std::uint32_t units) {
  const bool accumulates = stage_.schedule.microbatches > 1 && !stage_.accumulates_whole();
  const std::string key = "reduce." + std::to_string(static_cast<int>(kind)) + "." + std::to_string(units);
  if (stage_.scenario.compression.top_k > 0.0) {
    for (std::uint32_t u = units; u > 0; --u)
      call(once("compressed." + std::to_string(static_cast<int>(kind)),
                [&] { return reduce_compressed(stage_, kind); }),
           unit + u - 1);
    return;
  }
  call(once(key, [&] { return reduce_gradients(stage_, kind, units, accumulates); }), unit);
}

// --- before and behind the microbatches
// ---------------------------------------------------------------------------

void Writer::begin() {
  microbatch_ = microbatch_step_ = 0;
  for_layer_parts([&](std::uint32_t u, UnitKind part) {
    call(once(key_of("zero", part), [&] { return zero_gradients(stage_, part); }), u);
  });
  if (has_embedding_unit())
    call(once("zero.embedding", [&] { return zero_gradients(stage_, UnitKind::embedding); }),
         stage_.embedding_unit);
  if (stage_.has_head)
    call(once("zero.head", [&] { return zero_gradients(stage_, UnitKind::head); }), stage_.head_unit);
  if (stage_.accumulates_whole()) begin_whole();
  // Behind the gradients: where states are on the host, those waited for the updates that read the norm.
  call(once("begin_step", [&] { return begin_step(stage_); }), 0);
  if (stage_.scenario.overlap.parameter_gather) gather_updated();
}

void Writer::begin_whole() {
  const auto begin = [&](UnitKind kind, std::uint32_t unit) {
    if (stage_.zero(kind) >= 2)
      call(once("whole." + std::to_string(static_cast<int>(kind)), [&] { return begin_whole_gradients(stage_, kind); }), unit);
  };
  for_layer_parts([&](std::uint32_t u, UnitKind part) { begin(part, u); });
  if (has_embedding_unit()) begin(UnitKind::embedding, stage_.embedding_unit);
  if (stage_.has_head) begin(UnitKind::head, stage_.head_unit);
}

// ZeRO-1 and 2. Overlapped, at the start of the step: each unit's own message, in the order of the
// forward.
void Writer::gather_updated() {
  if (stage_.zero() != 1 && stage_.zero() != 2) return;
  const auto end = [&](UnitKind kind) {
    call(once("gather_updated." + std::to_string(static_cast<int>(kind)),
              [&] { return gather_updated_weights(stage_, kind, 1); }),
         unit_of(kind));
  };
  if (has_embedding_unit()) end(UnitKind::embedding);
  const bool overlaps = stage_.scenario.overlap.parameter_gather;
  const auto layers = static_cast<std::uint32_t>(stage_.layer_units);
  for (std::uint32_t u = 0, units = 0; u < layers; u += units) {
    const UnitKind kind = stage_.kind_of(u);
    units = stage_.same_kind(u, overlaps ? 1 : layers_per_bucket(stage_, kind));
    call(once(key_of("gather_updated", kind) + "." + std::to_string(units),
              [&] { return gather_updated_weights(stage_, kind, units); }),
         u);
    for (std::uint32_t l = u; kind == UnitKind::expert_layer && l < u + units; ++l)
      if (stage_.zero(UnitKind::experts) > 0)
        call(once("gather_updated.experts", [&] { return gather_updated_weights(stage_, UnitKind::experts, 1); }), l);
  }
  if (stage_.has_head) end(UnitKind::head);
}

// Reductions that could not, or were not to, overlap the backward.
void Writer::reduce_all_late() {
  if (stage_.tied_across)
    call(once("tied", [&] { return reduce_tied_embedding(stage_); }), stage_.embedding_unit);
  const auto is_late = [&](UnitKind kind) { return data_parallel(kind) && stage_.zero(kind) < 2; };
  if (is_late(UnitKind::embedding) && stage_.tied_across) reduce(UnitKind::embedding, stage_.embedding_unit, 1);
  if (stage_.scenario.overlap.gradient_reduce) return;
  if (is_late(UnitKind::head) && stage_.has_head) reduce(UnitKind::head, stage_.head_unit, 1);
  layers_in_bucket_ = 0;
  for (auto left = static_cast<std::uint32_t>(stage_.layer_units); left > 0; --left) {
    const std::uint32_t unit = left - 1;
    if (is_late(stage_.kind_of(unit))) add_to_bucket(stage_.kind_of(unit), unit, 0);
    if (stage_.kind_of(unit) == UnitKind::expert_layer && is_late(UnitKind::experts)) reduce(UnitKind::experts, unit, 1);
  }
  if (is_late(UnitKind::embedding) && stage_.has_embedding && !stage_.tied_across)
    reduce(UnitKind::embedding, stage_.embedding_unit, 1);
}

void Writer::sum_mirrored() {
  if (stage_.placement.kind != scenarios::PlacementKind::mirrored) return;
  for (const MirroredUnit& u : mirrored_units(stage_))
    call(once("mirrored." + std::to_string(static_cast<int>(u.kind)),
              [&] { return sum_mirrored_gradients(stage_, u.kind); }),
         u.unit);
}

void Writer::update() {
  const bool on_host = stage_.scenario.offload.optimizer == scenarios::OffloadTarget::cpu;
  const auto each = [&](const std::string& name, bool copies, BlockId (*write)(Stage&, UnitKind)) {
    // A second copy, of a tied embedding or of a mirrored stage, is updated like the first, and counts once in the norm.
    const auto one = [&](UnitKind kind, std::uint32_t unit) {
      if (copies || !stage_.program.units[unit].tied_copy)
        call(once(key_of(name, kind), [&] { return write(stage_, kind); }), unit);
    };
    for_layer_parts([&](std::uint32_t u, UnitKind part) { one(part, stage_.unit_of_part(u, part)); });
    if (has_embedding_unit()) one(UnitKind::embedding, stage_.embedding_unit);
    if (stage_.has_head) one(UnitKind::head, stage_.head_unit);
  };
  if (stage_.needs_norm()) {
    each("norm", false, &gradient_norm);
    call(once("finish_norm", [&] { return finish_norm(stage_); }), 0);
  }
  each("update", true, on_host ? &update_on_host : &update_weights);
}

void Writer::end() {
  microbatch_ = microbatch_step_ = 0;
  deferred_gradients();
  reduce_all_late();
  sum_mirrored();
  update();
  if (!stage_.scenario.overlap.parameter_gather) gather_updated();
}

}  // namespace

void write_program(Stage& s, const Order& order) {
  s.splits_backward = scenarios::traits(s.scenario.parallel.schedule).splits_backward;
  CHECK(!s.splits_backward || s.zero() < 2, "whole gradients of one microbatch at a time under ZeRO-2 and 3");
  const std::vector<StageStep> steps = plan_messages(s, order);
  const std::vector<Stretch> stretches = find_stretches(steps);
  Writer writer(s);
  writer.begin();
  std::size_t next = 0;
  const auto write_until = [&](std::size_t end, std::uint32_t microbatch_step) {
    while (next < end) {
      const bool joined = steps[next].action.joined == Joined::begins && next + 1 < end;
      if (joined)
        writer.both(steps[next], steps[next + 1], microbatch_step);
      else
        writer.step(steps[next], microbatch_step);
      next += joined ? 2 : 1;
    }
  };
  for (const Stretch& stretch : stretches) {
    write_until(stretch.first, 0);
    const auto first_call = static_cast<std::uint32_t>(s.program.calls.size());
    write_until(stretch.first + stretch.actions, stretch.microbatches);
    const auto end_call = static_cast<std::uint32_t>(s.program.calls.size());
    s.program.repeats.push_back({first_call, end_call - first_call, stretch.count});
    next = stretch.first + stretch.actions * stretch.count;
  }
  write_until(steps.size(), 0);
  writer.end();
  drop_idle_waits(s.program);
}

}  // namespace orrery::schedule
