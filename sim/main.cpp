// The `orrery` command. Everything that can go wrong ends here, in one message and an exit code: 0 fine, 1
// the answer is no, 2 the input is wrong, 3 the surroundings or Orrery itself failed.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "base/check.h"
#include "base/diagnostics.h"
#include "sim/commands/command.h"

namespace {

// The last words. Where they cannot be written either, the exit code has to do.
void say(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

int main(int argc, char** argv) {
  namespace sim = orrery::sim;
  std::signal(SIGPIPE,
              SIG_IGN);  // a reader that goes away is an error of write(), not a death without a word
  std::signal(SIGXFSZ, SIG_IGN);  // and so is a file that may not grow
  orrery::Output out(stdout);
  try {
    const int code = sim::run_program(argc, argv, out);
    out.flush();
    return code;
  } catch (const orrery::ReaderGone&) {
    return sim::kWorldFailed;
  } catch (const orrery::InputError& error) {
    say(error.what());
    return sim::kWrongInput;
  } catch (const orrery::WorldError& error) {
    say(fmt::format("error: {}\n", error.what()));
  } catch (const std::bad_alloc&) {
    say("error: out of memory\n");
  } catch (const std::exception& error) {
    say(fmt::format("error: Orrery itself failed; please report this with the command and its files\n  {}\n",
                    error.what()));
  }
  return sim::kWorldFailed;
}
