// Runs the built `orrery` as a user does: a process of its own, its two outputs apart, an exit code.
#pragma once

#include <string>
#include <vector>

namespace orrery::cli {

struct Ran {
  int code = -1;  // exit code; 128 + signal where it was killed
  std::string out, err;
};

struct RunIn {
  std::string directory = ".";  // where it runs
  std::string out;              // a path to write its output to, instead of keeping it
};

Ran run(const std::vector<std::string>& arguments, const RunIn& in = {});
// The same through /bin/sh -c, with `orrery` on the path and both outputs in `out`, in their order.
Ran run_shell(const std::string& command, const std::string& directory);

// Starts it and comes back at once; end it with kill_and_wait.
int start(const std::vector<std::string>& arguments);
int wait_for(int process);        // its exit code, as Ran::code
void kill_and_wait(int process);  // SIGKILL

// A fresh directory, removed with all that is in it.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string path(const std::string& name = "") const { return name.empty() ? path_ : path_ + "/" + name; }
  std::string file(const std::string& name, const std::string& text) const;  // written; its path

 private:
  std::string path_;
};

std::string slurp(const std::string& path);

}  // namespace orrery::cli
