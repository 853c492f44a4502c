// The standard output of a program: results only. A write that fails is never lost: a reader that went away
// (`orrery ... | head`) ends the program quietly, anything else (a full disk) is the world's failure.
#pragma once

#include <cstdio>
#include <exception>
#include <string_view>

#include "base/check.h"

namespace orrery {

// The reader of a pipe is gone: nobody is left to tell. Exit code 3.
struct ReaderGone : std::exception {
  const char* what() const noexcept override { return "the reader of the standard output is gone"; }
};

struct OutputFailed : WorldError {
  using WorldError::WorldError;
};

class Output {
 public:
  explicit Output(std::FILE* stream) : stream_(stream) {}
  void write(std::string_view text);  // throws ReaderGone or OutputFailed
  void line(std::string_view text) {
    write(text);
    write("\n");
  }
  void flush();  // the same

 private:
  [[noreturn]] static void fail(int error);
  std::FILE* stream_;
};

}  // namespace orrery
