// The standard output as a command sees it: results only. A write that fails is never lost: a reader that
// went away
// (`orrery ... | head`) ends the command quietly, anything else (a full disk) is the world's failure.
#pragma once

#include <cstdio>
#include <string_view>

namespace orrery::sim {

// The reader of a pipe is gone: nobody is left to tell.
struct ReaderGone {};

class Output {
 public:
  explicit Output(std::FILE* stream) : stream_(stream) {}
  void write(std::string_view text);  // throws ReaderGone or WorldError
  void line(std::string_view text) {
    write(text);
    write("\n");
  }
  void flush();  // the same

 private:
  [[noreturn]] static void fail(int error);
  std::FILE* stream_;
};

// One message for people, on stderr.
void say(std::string_view message);

}  // namespace orrery::sim
