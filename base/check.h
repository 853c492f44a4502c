// CHECK(condition, values...): our own mistakes, on in release. It throws InternalError with the condition, the
// place and the values, so that a library user loses one computation and `main` prints one message (exit 3).
// Wrong user input is never a CHECK: see base/diagnostics.h. DCHECK is for inner loops, debug builds only.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace orrery {

struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

// The surroundings failed (disk, MPI, ...): the failing call and its reason. Caught once in main, exit 3.
struct WorldError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] void check_failed(std::string_view condition, const char* file, int line, const std::string& values);

namespace detail {
inline std::string join_values() { return {}; }
template <typename First, typename... Rest>
std::string join_values(const First& first, const Rest&... rest) {
  std::string text = fmt::format("{}", first);
  ((text += fmt::format(", {}", rest)), ...);
  return text;
}
}  // namespace detail
}  // namespace orrery

#define CHECK(condition, ...)                                                    \
  do {                                                                           \
    if (!(condition)) [[unlikely]]                                               \
      ::orrery::check_failed(#condition, __FILE__, __LINE__,                     \
                             ::orrery::detail::join_values(__VA_ARGS__));        \
  } while (false)

#ifdef NDEBUG
#define DCHECK(condition, ...) static_cast<void>(0)
#else
#define DCHECK(condition, ...) CHECK(condition, __VA_ARGS__)
#endif
