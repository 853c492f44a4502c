#include "schedule/compile/quantised.h"

#include "base/check.h"
#include "schedule/kernel_work.h"

namespace orrery::schedule {
namespace {

// From `sent`, [n * rows x payload] with row r * rows + i for member r, to what the members' parts add up to.
void exchange(Stage& s, BlockBuilder& b, const std::string& name, Tensor sent, Tensor sum, std::uint8_t group,
              Stream stream) {
  const KernelShape shape = quantised_gradients(s);
  const Tensor received = codes(s, b, name + ".received", sent.rows, sum.columns, shape);
  b.add(OpKind::all_to_all, {in(Role::x, sent), out(Role::y, received)}).on(stream).group(group);
  b.add(OpKind::dequantise, {in(Role::x, received), out(Role::y, sum)}, shape).on(stream);
}

}  // namespace

KernelShape quantised_weights(const Stage& s) {
  return {.n = s.scenario.compression.weight_bits, .k = s.scenario.compression.block};
}
KernelShape quantised_gradients(const Stage& s) {
  return {.n = s.scenario.compression.gradient_bits, .k = s.scenario.compression.block};
}

Tensor codes(Stage& s, BlockBuilder& b, const std::string& name, std::int64_t rows, std::int64_t columns,
             const KernelShape& shape) {
  return workspace(s, b, name, DataType::byte, rows, payload_bytes(columns, shape));
}

void scatter_quantised(Stage& s, BlockBuilder& b, const ScatterMode& mode, Tensor full, Tensor target) {
  const UnitKind kind = mode.kind;
  const Stream stream = mode.stream;
  const std::string name = std::string(prefix(kind)) + ".gradient_codes";
  const KernelShape shape = quantised_gradients(s);
  const std::int64_t node = s.shard.node, nodes = s.shard.nodes, columns = target.columns;
  CHECK(node * nodes == s.shard.shards, node, nodes);
  const Tensor sent = codes(s, b, name, s.shard.shards, columns, shape);
  std::vector<Operand> pairs;
  for (std::int64_t local = 0; local < node; ++local) {
    Tensor rows = full;
    rows.offset += local * columns;
    rows.rows = nodes;
    rows.columns = columns;
    rows.row_stride = node * columns;
    Tensor packed = sent;
    packed.offset += local * nodes * sent.columns;
    packed.rows = nodes;
    pairs.push_back(in(Role::x, rows));
    pairs.push_back(out(Role::y, packed));
  }
  b.add(OpKind::quantise, pairs, shape).on(stream);
  if (mode.reads_unit) b.wait(done(s, b, kind)).record(full.formal);
  if (nodes == 1) return exchange(s, b, name, sent, target, s.shard.node_group, stream);
  const Tensor sums =
      workspace(s, b, std::string(prefix(kind)) + ".gradient_sums", s.reduce_type, nodes, columns);
  exchange(s, b, name, sent, sums, s.shard.node_group, stream);
  const Tensor again = codes(s, b, name + ".across", nodes, columns, shape);
  b.add(OpKind::quantise, {in(Role::x, sums), out(Role::y, again)}, shape).on(stream);
  exchange(s, b, name + ".across", again, target, s.shard.across_group, stream);
}

}  // namespace orrery::schedule
