// OpenBLAS's sgemm on one thread, as the ceiling of our products. OpenBLAS settles which kernels it uses when
// it is loaded, by the CPU or by OPENBLAS_CORETYPE, so each choice lives in a child process of its own, which
// loads the library and times a product whenever it is asked; so both can be timed in turns with ours.
#pragma once

#include <sys/types.h>

#include <string>

namespace orrery::kernels::bench {

class OpenBlas {
 public:
  // core: "Haswell" (AVX2), ...; empty for what OpenBLAS picks itself, or OPENBLAS_CORETYPE says.
  explicit OpenBlas(const std::string& core);
  ~OpenBlas();
  OpenBlas(const OpenBlas&) = delete;
  OpenBlas& operator=(const OpenBlas&) = delete;

  bool found() const { return !core_name_.empty(); }
  const std::string& core_name() const { return core_name_; }  // as OpenBLAS calls it

  // Floating-point operations a second of one 1024 x 1024 x 1024 product.
  double measure_once();

 private:
  pid_t child_ = -1;
  int requests_ = -1, replies_ = -1;
  std::string core_name_;
};

}  // namespace orrery::kernels::bench
