// ZeRO-3 and FSDP: weights are gathered before they are used and given back afterwards (Rajbhandari et al.
// 2020, section 7.2.2; Zhao et al. 2023, sections 3.1 and 3.3). Layers form units of `unit_layers` that are
// gathered as one grouped call; at most prefetch + 1 units are held at once, and a gather waits for the one
// that lies so far back, on the device or, where the scenario says so, with the host (FSDP's
// limit_all_gathers, section 3.4).
//
// One gather is up to three blocks: `prepare` (the shard in the type that travels), `gather`, and `keep` (a
// part of it for the backward). The class decides when; docs/models/sharding.md has the table.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schedule/compile/stage.h"

namespace orrery::schedule {

class Gathers {
 public:
  // Calls the block of that name for a unit; it is written when first needed.
  using Emit =
      std::function<void(const std::string& name, std::uint32_t unit, const std::function<BlockId()>& write)>;
  Gathers(Stage& stage, Emit emit) : stage_(stage), emit_(std::move(emit)) {}

  // `order`: a chunk's layers, as its forward or its backward uses them. `first`: the step's first forward of
  // it.
  void begin(const std::vector<std::uint32_t>& order, std::uint32_t first_layer, bool backward, bool first);
  void until(
      std::size_t position);  // the weights that order[.. position] need, and what is prefetched behind it
  // Behind the kernels of order[position], where what is ahead is asked for then: FSDP's implicit prefetch in the forward,
  // its BACKWARD_POST in the backward.
  void behind(std::size_t position);
  // How many layers' weights end with this layer: those of its unit, where it is the last of them. In a forward that
  // gathers behind its kernels they end a unit later: the next gather cannot have their memory, which kernels not yet run
  // still read (recordStream in FSDP1). `spared_by`: of what is released, the layers of its own unit that stay.
  std::uint32_t released_by(std::uint32_t layer, bool backward, bool last) const;
  std::uint32_t spared_by(std::uint32_t layer) const;

  void embedding(bool backward, bool first);  // before the embedding's own blocks
  void head(bool backward, bool first);       // before the head's; with a tied embedding that, too

 private:
  struct Run {  // the layers of one unit
    std::uint32_t first = 0, count = 1;
  };
  Run run_of(std::uint32_t layer) const;
  bool gathers(UnitKind kind, bool backward, bool first) const;
  bool stays_live(Run run) const;  // from its forward to its backward, though others do not
  bool ends_late(bool backward) const;
  int freed_late(Run run) const;  // by which layer of the next unit, from the unit's first on; 0: with its own
  void gather_until(std::size_t end);
  void gather(Run run);
  void gather_part(Run run, UnitKind kind, int behind);  // the layers', or their experts'
  void gather_end(UnitKind kind, bool backward);

  Stage& stage_;
  Emit emit_;
  std::uint32_t first_layer_ = 0, layers_ = 0;
  bool backward_ = false, active_ = false;
  std::vector<Run> runs_;            // in the order of use
  std::vector<std::size_t> run_at_;  // of each position of the order
  std::size_t gathered_ = 0;         // runs that were asked for
};

}  // namespace orrery::schedule
