// Measured times of collectives and messages, as `orrery calibrate` writes them: for each operation, number
// of ranks and placement a curve of seconds over bytes, kept as it was measured however it bends. Plain data;
// sim/network/ measured_network.h looks times up and interpolates. docs/reference/transfer-table.md describes
// the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/json.h"
#include "hardware/provenance.h"

namespace orrery::hardware {

enum class TransferOperation : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  broadcast,
  send_recv
};
inline constexpr std::size_t kTransferOperations = 6;
std::string_view name(TransferOperation operation);

// Whether the ranks were all on one node, or as spread as the machine allows: on as many nodes as possible.
enum class TransferPlacement : std::uint8_t { one_node, across_nodes };
std::string_view name(TransferPlacement placement);

// `bytes` as schedule::message_bytes counts them (all_gather, reduce_scatter: the full, gathered size),
// seconds from the moment all ranks are ready to the end on all, both sides otherwise idle.
struct TransferPoint {
  std::int64_t bytes = 0;
  double seconds = 0.0;         // median
  double p10 = 0.0, p90 = 0.0;  // of the samples, p10 <= seconds <= p90
  std::int64_t samples = 0;
  std::int64_t outliers = 0;  // of the samples: left out as disturbed
  bool operator==(const TransferPoint&) const = default;
};

struct TransferCurve {
  TransferOperation operation = TransferOperation::all_reduce;
  std::int64_t ranks = 2;  // of the group; send_recv: 2
  TransferPlacement placement = TransferPlacement::one_node;
  double cores = 0.0;  // of a core, how much each rank that takes part keeps busy while the transfer runs
  std::vector<TransferPoint> points;  // bytes ascending, at least one
  bool operator==(const TransferCurve&) const = default;
};

struct TransferTable {
  Provenance provenance;
  std::vector<TransferCurve> curves;  // operation, ranks and placement differ
  bool operator==(const TransferTable&) const = default;
};

// Reports what is missing, out of range, unknown, out of order or given twice, each at its place.
TransferTable read_transfer_table(const Json& json, Diagnostics& diagnostics);

// The file: one line a point. Reading it back gives the same table.
std::string transfer_table_json(const TransferTable& table);

}  // namespace orrery::hardware
