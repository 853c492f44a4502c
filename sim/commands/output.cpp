#include "sim/commands/output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace orrery::sim {

void Output::fail(int error) {
  if (error == EPIPE) throw ReaderGone{};
  throw WorldError(fmt::format("the standard output cannot be written: {}", std::strerror(error)));
}

void Output::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stream_) != text.size()) fail(errno);
}

void Output::flush() {
  if (std::fflush(stream_) != 0) fail(errno);
}

void say(std::string_view message) { fmt::print(stderr, "{}\n", message); }

}  // namespace orrery::sim
