#include "tests/cli/program.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace orrery::cli {
namespace {

struct Redirect {
  std::string directory = ".", out, err;  // err empty: where out goes
};

[[noreturn]] void become(const std::vector<std::string>& command, const Redirect& to) {
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND;
  const int out = ::open(to.out.c_str(), to.out.starts_with("/dev/") ? O_WRONLY : flags, 0600);
  const int err = to.err.empty() ? out : ::open(to.err.c_str(), flags, 0600);
  const int in = ::open("/dev/null", O_RDONLY);
  if (out < 0 || err < 0 || ::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0) ::_exit(126);
  if (::chdir(to.directory.c_str()) != 0) ::_exit(126);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execv(words.front(), words.data());
  ::_exit(127);
}

int spawn(const std::vector<std::string>& command, const Redirect& to) {
  const int process = ::fork();
  if (process == 0) become(command, to);
  return process;
}

std::vector<std::string> with_program(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {ORRERY_PROGRAM};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

}  // namespace

Ran run(const std::vector<std::string>& arguments, const RunIn& in) {
  const Scratch scratch;
  const std::string out = in.out.empty() ? scratch.path("out") : in.out;
  Ran ran;
  ran.code = wait_for(spawn(with_program(arguments), {in.directory, out, scratch.path("err")}));
  if (in.out.empty()) ran.out = slurp(out);
  ran.err = slurp(scratch.path("err"));
  return ran;
}

Ran run_shell(const std::string& command, const std::string& directory) {
  const Scratch scratch;
  const std::string path = std::filesystem::path(ORRERY_PROGRAM).parent_path().string();
  const std::string whole = "PATH='" + path + "':$PATH; export PATH\n" + command;
  Ran ran;
  ran.code = wait_for(spawn({"/bin/sh", "-c", whole}, {directory, scratch.path("out"), ""}));
  ran.out = slurp(scratch.path("out"));
  return ran;
}

int start(const std::vector<std::string>& arguments) {
  return spawn(with_program(arguments), {".", "/dev/null", ""});
}

int wait_for(int process) {
  int status = 0;
  ::waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void kill_and_wait(int process) {
  ::kill(process, SIGKILL);
  wait_for(process);
}

Scratch::Scratch() {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "orrery-test-").string() + std::string(6, 'X');
  if (::mkdtemp(pattern.data()) == nullptr)
    throw std::filesystem::filesystem_error("mkdtemp", std::error_code(errno, std::generic_category()));
  path_ = pattern;
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Scratch::file(const std::string& name, const std::string& text) const {
  std::ofstream(path(name), std::ios::binary) << text;
  return path(name);
}

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace orrery::cli
