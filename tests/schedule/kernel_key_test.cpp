// Names and sizes under which kernels are measured: by hand for some, and over many compiled plans that a key says enough:
// equal keys mean equal work.
#include "schedule/kernel_key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "schedule/compile.h"
#include "tests/schedule/small_program.h"
#include "tests/schedule/small_scenarios.h"

namespace orrery::schedule {
namespace {

std::vector<std::int64_t> dims_of(const KernelKey& key) {
  return {key.dims.begin(), key.dims.begin() + static_cast<std::ptrdiff_t>(key.dim_count)};
}

struct OneOp {
  SmallProgram p;
  explicit OneOp(std::initializer_list<Buffer> buffers) {
    for (const Buffer& b : buffers) p.buffer(b);
    p.block("b", {{BufferId(0)}, {BufferId(1)}, {BufferId(2)}, {BufferId(3)}});
  }
  KernelKey key(const KernelShape& shape) const {
    return kernel_key(p.program, p.program.ops.back(), shape);
  }
};

OneOp four_buffers() {
  return OneOp({{.name = "a", .type = DataType::bf16, .elements = 64},
                {.name = "b", .type = DataType::bf16, .elements = 32},
                {.name = "c", .type = DataType::fp32, .elements = 128},
                {.name = "d", .type = DataType::byte, .elements = 64}});
}

TEST(KernelKey, ProductNamesLayoutBiasAccumulationAndTypes) {
  OneOp one = four_buffers();
  one.p.op(OpKind::gemm, Phase::forward,
           {{.formal = 0, .role = Role::x},
            {.formal = 1, .role = Role::w},
            {.columns = 8, .formal = 1, .role = Role::bias},
            {.formal = 2, .role = Role::y, .access = Access::write}});
  const KernelKey forward = one.key({.m = 16, .n = 8, .k = 4});
  EXPECT_EQ(forward.name, "gemm_tn.bias.bf16-fp32-bf16");  // x, y, w, bias: the order of Role
  EXPECT_EQ(dims_of(forward), (std::vector<std::int64_t>{16, 8, 4}));
  EXPECT_EQ(forward.flops, 2 * 16 * 8 * 4);
  EXPECT_EQ(forward.bytes, (64 + 32 + 8) * 2 + 128 * 4);

  one.p.op(OpKind::gemm, Phase::backward,
           {{.formal = 0, .role = Role::dy},
            {.formal = 1, .role = Role::x},
            {.formal = 2, .role = Role::dw, .access = Access::update}});
  EXPECT_EQ(one.key({.m = 16, .n = 8, .k = 4, .layout = Layout::nt}).name, "gemm_nt.accumulate.bf16-fp32");
}

TEST(KernelKey, RowKernelsAreMeasuredByWhatTheyGive) {
  OneOp one = four_buffers();
  one.p.op(OpKind::activation_forward, Phase::forward,
           {{.rows = 4, .columns = 16, .formal = 0, .role = Role::x},
            {.rows = 4, .columns = 8, .formal = 1, .role = Role::y, .access = Access::write}});
  const KernelKey key = one.key({.activation = Activation::swiglu});
  EXPECT_EQ(key.name, "activation_forward.swiglu.bf16");
  EXPECT_EQ(dims_of(key), (std::vector<std::int64_t>{4, 8}));
}

TEST(KernelKey, MasksAndTokensAreNoType) {
  OneOp one = four_buffers();
  one.p.op(OpKind::bias_dropout_add_forward, Phase::forward,
           {{.formal = 0, .role = Role::x},
            {.formal = 0, .role = Role::y, .access = Access::write},
            {.formal = 3, .role = Role::mask, .access = Access::write}});
  EXPECT_EQ(one.key({.dropout = 0.1}).name, "bias_dropout_add_forward.dropout.bf16");
}

TEST(KernelKey, CopiesAreBytes) {
  OneOp one = four_buffers();
  one.p.op(OpKind::copy_to_host, Phase::optimizer,
           {{.formal = 0, .role = Role::x}, {.formal = 1, .role = Role::y, .access = Access::write}});
  const KernelKey key = one.key({});
  EXPECT_EQ(key.name, "copy_to_host.bytes");
  EXPECT_EQ(dims_of(key), (std::vector<std::int64_t>{128}));
  EXPECT_EQ(key.bytes, 128.0);
}

TEST(KernelKey, KindsAndNamesBelongTogether) {
  EXPECT_EQ(kind_of_kernel("gemm_nt.accumulate.fp32"), OpKind::gemm);
  EXPECT_EQ(kind_of_kernel("norm_forward.rms_norm.fp32"), OpKind::norm_forward);
  EXPECT_EQ(kind_of_kernel("gemm.fp32"), std::nullopt);
  EXPECT_EQ(kind_of_kernel("all_reduce"), std::nullopt);
  for (std::size_t k = 0; k < kOpKinds; ++k) {
    const auto kind = static_cast<OpKind>(k);
    EXPECT_EQ(has_kernel_key(kind), !is_communication(kind) && kind != OpKind::host_wait) << name(kind);
    EXPECT_EQ(dimension_names(kind).empty(), !has_kernel_key(kind)) << name(kind);
  }
}

// Keys of compiled plans, with the work that each stands for.
class Keys {
 public:
  void add(const Schedule& s) {
    for (const Program& program : s.programs)
      for (const Op& op : program.ops)
        if (has_kernel_key(op.kind)) add(kernel_key(program, op, s.shapes[op.shape]), op.kind);
  }
  std::size_t size() const { return work_.size(); }

 private:
  void add(const KernelKey& key, OpKind kind) {
    EXPECT_EQ(kind_of_kernel(key.name), kind) << key.name;
    EXPECT_EQ(key.dim_count, dimension_names(kind).size()) << key.name;
    EXPECT_TRUE(std::all_of(key.dims.begin(), key.dims.begin() + static_cast<std::ptrdiff_t>(key.dim_count),
                            [](std::int64_t d) { return d >= 1; }))
        << key.name;
    EXPECT_GT(key.bytes, 0.0) << key.name;
    const auto [at, fresh] = work_.try_emplace({key.name, key.dims}, key.flops, key.bytes);
    EXPECT_EQ(at->second, std::pair(key.flops, key.bytes)) << key.name;
  }
  std::map<std::pair<std::string, std::array<std::int64_t, kMaxKernelDims>>, std::pair<double, double>> work_;
};

TEST(KernelKey, EqualKeysMeanEqualWork) {
  Keys keys;
  for (const bool llama : {false, true})
    for (const Plan& plan : {Plan{}, Plan{.tp = 2, .sequence_parallel = true}, Plan{.pp = 2, .microbatches = 4},
                             Plan{.dp = 2, .zero = 1}, Plan{.dp = 2, .zero = 3}})
      for (const bool fused : {false, true})
        for (const bool compressed : {false, true}) {
          scenarios::Scenario s = small_scenario(llama ? llama_style(4) : gpt_style(4), plan);
          if (compressed && (plan.dp == 1 || plan.zero > 0)) continue;
          s.kernels.fused_attention = s.kernels.fused_elementwise = fused;
          if (compressed) s.compression.top_k = 0.1;
          keys.add(compile(s));
        }
  EXPECT_GT(keys.size(), 60U);
}

}  // namespace
}  // namespace orrery::schedule
