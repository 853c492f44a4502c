#include "base/output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace orrery {

void Output::fail(int error) {
  if (error == EPIPE) throw ReaderGone{};
  throw OutputFailed(fmt::format("the standard output cannot be written: {}", std::strerror(error)));
}

void Output::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stream_) != text.size()) fail(errno);
}

void Output::flush() {
  if (std::fflush(stream_) != 0) fail(errno);
}

}  // namespace orrery
