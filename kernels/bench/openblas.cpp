#include "kernels/bench/openblas.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "kernels/bench/thread_clock.h"

namespace orrery::kernels::bench {
namespace {

// From cblas.h, so that the benchmarks build where it is not installed.
constexpr int kRowMajor = 101, kNoTranspose = 111, kTranspose = 112;
using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float,
                       float*, int);
using SetThreads = void (*)(int);
using CoreName = const char* (*)();
using Name = std::array<char, 64>;

struct Functions {
  Sgemm sgemm = nullptr;
  Name core_name = {};
};

Functions open_library() {
  Functions f;
  void* library = dlopen(ORRERY_OPENBLAS, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return f;
  const auto set_threads = reinterpret_cast<SetThreads>(dlsym(library, "openblas_set_num_threads"));
  const auto core_name = reinterpret_cast<CoreName>(dlsym(library, "openblas_get_corename"));
  const auto sgemm = reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm"));
  if (set_threads == nullptr || core_name == nullptr || sgemm == nullptr) return f;
  set_threads(1);
  std::string(core_name()).copy(f.core_name.data(), f.core_name.size() - 1);
  f.sgemm = sgemm;
  return f;
}

template <typename T>
bool send(int to, const T& value) {
  return write(to, &value, sizeof value) == static_cast<ssize_t>(sizeof value);
}
template <typename T>
bool receive(int from, T& value) {
  return read(from, &value, sizeof value) == static_cast<ssize_t>(sizeof value);
}

// The child: a number for every request, until the parent is gone.
void serve(int requests, int replies) {
  const Functions f = open_library();
  if (!send(replies, f.core_name) || f.sgemm == nullptr) return;
  constexpr int n = 1024;
  const std::vector<float> a(n * n, 0.5F), b(n * n, 0.25F);
  std::vector<float> c(n * n);
  char request = 0;
  while (receive(requests, request)) {
    const double start = thread_seconds();
    f.sgemm(kRowMajor, kNoTranspose, kTranspose, n, n, n, 1.0F, a.data(), n, b.data(), n, 0.0F, c.data(), n);
    const double rate = 2.0 * n * n * n / (thread_seconds() - start);
    if (!send(replies, rate)) return;
  }
}

}  // namespace

OpenBlas::OpenBlas(const std::string& core) {
  if (std::string(ORRERY_OPENBLAS).empty()) return;
  std::array<int, 2> down = {}, up = {};
  if (pipe(down.data()) != 0 || pipe(up.data()) != 0) return;
  child_ = fork();
  if (child_ == 0) {
    close(down[1]);
    close(up[0]);
    if (!core.empty()) setenv("OPENBLAS_CORETYPE", core.c_str(), 1);
    serve(down[0], up[1]);
    _exit(0);
  }
  close(down[0]);
  close(up[1]);
  requests_ = down[1];
  replies_ = up[0];
  Name name = {};
  if (child_ > 0 && receive(replies_, name)) core_name_ = name.data();
}

OpenBlas::~OpenBlas() {
  if (requests_ >= 0) close(requests_);
  if (replies_ >= 0) close(replies_);
  if (child_ > 0) waitpid(child_, nullptr, 0);
}

double OpenBlas::measure_once() {
  double rate = 0.0;
  return found() && send(requests_, 'm') && receive(replies_, rate) ? rate : 0.0;
}

}  // namespace orrery::kernels::bench
