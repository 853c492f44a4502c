#include "runtime/comm/mpi_check.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "base/check.h"

namespace orrery::runtime {

void mpi_failed(const char* call, int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  const std::string_view whole(call);
  throw WorldError(fmt::format("{}: {}", whole.substr(0, whole.find('(')),
                               std::string_view(text.data(), static_cast<std::size_t>(length))));
}

}  // namespace orrery::runtime
