// The second call of a shape takes nothing from the heap, in products and in norms; and threads have scratch
// of their own.
#include <thread>

#include "kernels/cpu/linear/gemm.h"
#include "kernels/cpu/norm/norm.h"
#include "tests/kernels/attention/allocations.h"
#include "tests/kernels/linear/strided.h"

namespace orrery::kernels {
namespace {

struct Layer {
  explicit Layer(unsigned seed)
      : random(seed),
        x(uniform<bf16>(70, 300, random)),
        w(uniform<bf16>(40, 300, random)),
        bias(uniform<bf16>(1, 300, random)),
        y(70, 40),
        dx(70, 300),
        dw(40, 300),
        dbias(1, 300) {}

  void run() {
    gemm_tn<bf16>(x.in(), w.in(), {bias.elements.data(), 1, 40, 40}, y.write());
    gemm_nn<bf16>(y.in(), w.in(), dx.write());
    gemm_nt<bf16, bf16>(y.in(), x.in(), dw.write());
    norm_forward<bf16>(Norm::layer_norm, dx.in(), bias.in(), bias.in(), dx.write());
    norm_backward<bf16, bf16>(Norm::layer_norm, dx.in(), x.in(), bias.in(),
                              {dx.write(), {{dw.elements.data(), 1, 300, 300}}, dbias.write()});
    bias_backward<bf16, bf16>(dx.in(), dbias.update());
  }

  std::mt19937 random;
  Strided<bf16> x, w, bias, y, dx, dw, dbias;
};

TEST(Scratch, NothingIsAllocatedInTheSteadyState) {
  Layer layer(1);
  const std::int64_t before = allocations();
  layer.run();
  const std::int64_t first = allocations() - before;
  layer.run();
  EXPECT_GT(first, 0);
  EXPECT_EQ(allocations() - before - first, 0);
}

TEST(Scratch, ThreadsComputeWhatOneDoes) {
  Layer alone(2), first(2), second(2);
  alone.run();
  std::thread other([&] { second.run(); });
  first.run();
  other.join();
  for (const Layer* layer : {&first, &second}) {
    EXPECT_TRUE(same_bits(layer->y, alone.y));
    EXPECT_TRUE(same_bits(layer->dx, alone.dx));
    EXPECT_TRUE(same_bits(layer->dbias, alone.dbias));
  }
}

}  // namespace
}  // namespace orrery::kernels
