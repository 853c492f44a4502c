// The parent blocks the signals that it forwards, and SIGCHLD, and reads them from a signalfd, so that one
// poll() waits for signals, the child's end and its outputs, without handlers or global state. Where exec
// fails, the child reports errno through a pipe that exec would have closed.
#include "base/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "base/check.h"

namespace orrery {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const char* call) {
  throw WorldError(fmt::format("{}: {}", call, std::strerror(errno)));
}

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read, write;
  static Pipe open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe2");
    return {Descriptor(ends[0]), Descriptor(ends[1])};
  }
};

// Signals that are forwarded, and the child's end, as a file to read them from; the mask as it was comes back
// at the end.
class SignalFile {
 public:
  SignalFile() {
    sigset_t mask;
    ::sigemptyset(&mask);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) ::sigaddset(&mask, signal);
    if (::sigprocmask(SIG_BLOCK, &mask, &before_) != 0) fail("sigprocmask");
    file_ = Descriptor(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!file_.is_open()) fail("signalfd");
  }
  ~SignalFile() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  SignalFile(const SignalFile&) = delete;
  SignalFile& operator=(const SignalFile&) = delete;

  int get() const { return file_.get(); }
  const sigset_t& before() const { return before_; }
  // The next signal; 0: none is pending.
  int next() const {
    signalfd_siginfo info{};
    return ::read(file_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
  }

 private:
  sigset_t before_{};
  Descriptor file_;
};

struct Ends {
  int out = -1, err = -1, report = -1;  // -1: our own
};

// In the child, after fork: only async-signal-safe calls.
[[noreturn]] void become(const std::vector<char*>& words, const std::vector<char*>& environment, const Ends& ends,
                         const sigset_t& mask, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);  // it died before the line above
  const int in = ::open("/dev/null", O_RDONLY);
  if (in >= 0) ::dup2(in, 0);
  if (ends.out >= 0) ::dup2(ends.out, 1);
  if (ends.err >= 0) ::dup2(ends.err, 2);
  ::signal(SIGPIPE, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execve(words.front(), words.data(), environment.data());
  const int error = errno;
  if (::write(ends.report, &error, sizeof error) < 0) ::_exit(126);
  ::_exit(127);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

// The processes whose parent we are: after the child's end those that it abandoned.
std::vector<pid_t> own_children() {
  std::vector<pid_t> children;
  std::error_code unreadable;
  using std::filesystem::directory_iterator;
  for (directory_iterator at("/proc", unreadable), end; !unreadable && at != end; at.increment(unreadable)) {
    const std::string name = at->path().filename().string();
    pid_t process = 0;
    if (const auto [behind, error] = std::from_chars(name.data(), name.data() + name.size(), process);
        error != std::errc() || behind != name.data() + name.size())
      continue;
    std::ifstream file(at->path() / "stat");
    std::string stat;
    std::getline(file, stat);
    const std::size_t behind_name = stat.rfind(')');  // "12 (a name) S parent ..."
    if (behind_name == std::string::npos || behind_name + 4 >= stat.size()) continue;
    if (std::strtol(stat.c_str() + behind_name + 4, nullptr, 10) == ::getpid()) children.push_back(process);
  }
  return children;
}

class Child {
 public:
  explicit Child(const ChildProcess& asked) : asked_(asked) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    already_ours_ = own_children();
    start();
  }

  ~Child() {
    if (!ended_) {  // a callback threw
      ::kill(-process_, SIGKILL);
      wait();
    }
    kill_left_over();
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  ChildEnd run() {
    if (!has_begun()) deadline_ = Clock::now() + asked_.begin_within;
    while (!ended_) {
      std::array<pollfd, 3> files = {pollfd{signals_.get(), POLLIN, 0}, pollfd{out_.read.get(), POLLIN, 0},
                                     pollfd{err_.read.get(), POLLIN, 0}};
      if (::poll(files.data(), files.size(), milliseconds_left()) < 0 && errno != EINTR) fail("poll");
      if (files[1].revents != 0) forward(out_.read, asked_.on_output);
      if (files[2].revents != 0) forward(err_.read, asked_.on_error);
      if (begins_ && has_begun()) {
        begins_ = false;
        if (end_.forwarded == 0) deadline_.reset();
      }
      for (int signal = signals_.next(); signal != 0; signal = signals_.next()) take(signal);
      if (milliseconds_left() == 0) end_by_force();
    }
    kill_left_over();  // they may hold the outputs open
    drain(out_.read, asked_.on_output);
    drain(err_.read, asked_.on_error);
    return end_;
  }

 private:
  void start() {
    const std::string path = find_program(asked_.program);
    std::vector<std::string> texts = asked_.arguments;
    texts.insert(texts.begin(), path.empty() ? asked_.program : path);
    std::vector<char*> words = pointers(texts);
    std::vector<std::string> variables = asked_.environment;
    for (char** variable = ::environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
    const std::vector<char*> environment = pointers(variables);
    if (asked_.on_output) out_ = Pipe::open();
    if (asked_.on_error) err_ = Pipe::open();
    Pipe report = Pipe::open();
    const pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ < 0) {
      ended_ = true;
      fail("fork");
    }
    if (process_ == 0)
      become(words, environment, {out_.write.get(), err_.write.get(), report.write.get()}, signals_.before(), parent);
    ::setpgid(process_, process_);  // whoever of the two comes first
    out_.write.close();
    err_.write.close();
    report.write.close();
    int error = 0;
    if (::read(report.read.get(), &error, sizeof error) == sizeof error) {
      wait();
      throw WorldError(fmt::format("{}: cannot be started: {}", asked_.program, std::strerror(error)));
    }
  }

  void forward(Descriptor& file, const std::function<void(std::string_view)>& take_text) {
    std::array<char, 1 << 16> buffer;
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got > 0)
      take_text({buffer.data(), static_cast<std::size_t>(got)});
    else if (got == 0 || errno != EINTR)
      file.close();
  }

  // What is there; nobody writes any more.
  void drain(Descriptor& file, const std::function<void(std::string_view)>& take_text) {
    if (!file.is_open()) return;
    ::fcntl(file.get(), F_SETFL, O_NONBLOCK);
    while (file.is_open()) forward(file, take_text);
  }

  void take(int signal) {
    if (signal == SIGCHLD) {
      reap();
      return;
    }
    const bool is_first = end_.forwarded == 0;
    if (begins_)
      ::kill(-process_, SIGTERM);
    else
      ::kill(-process_, is_first && asked_.first_signal != 0 ? asked_.first_signal : signal);
    if (is_first) end_.forwarded = signal;
    if (is_first ? begins_ : !deadline_.has_value()) deadline_ = Clock::now() + asked_.patience;
  }

  bool has_begun() const { return !asked_.has_begun || asked_.has_begun(); }

  // It does not end.
  void end_by_force() {
    if (begins_ && end_.forwarded == 0) end_.too_late = true;
    ::kill(-process_, SIGKILL);
    deadline_ = Clock::now() + asked_.patience;
  }

  int milliseconds_left() const {
    if (!deadline_) return -1;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(*deadline_ - Clock::now()).count();
    return left > 0 ? static_cast<int>(left) + 1 : 0;
  }

  // Signals of several children are merged into one, so each is asked for.
  void reap() {
    int status = 0;
    for (pid_t who = ::waitpid(-1, &status, WNOHANG); who > 0; who = ::waitpid(-1, &status, WNOHANG))
      if (who == process_) note_end(status);
  }

  void wait() {
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    note_end(status);
  }

  void note_end(int status) {
    ended_ = true;
    if (WIFEXITED(status)) end_.code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) end_.signal = WTERMSIG(status);
  }

  // Killing one may hand us its children, so until none is left; a process that cannot die is left after some
  // rounds.
  void kill_left_over() {
    ::kill(-process_, SIGKILL);
    for (int round = 0; round < 100; ++round) {
      bool none = true;
      for (const pid_t child : own_children()) {
        if (std::find(already_ours_.begin(), already_ours_.end(), child) != already_ours_.end()) continue;
        none = false;
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, round < 50 ? 0 : WNOHANG);
      }
      if (none) return;
    }
  }

  const ChildProcess& asked_;
  SignalFile signals_;
  std::vector<pid_t> already_ours_;
  Pipe out_, err_;
  pid_t process_ = -1;
  bool ended_ = false, begins_ = asked_.has_begun != nullptr;
  std::optional<Clock::time_point> deadline_;
  ChildEnd end_;
};

}  // namespace

ChildEnd run_child(const ChildProcess& child) { return Child(child).run(); }

std::string find_program(const std::string& name) {
  const auto is_program = [](const std::string& path) {
    struct stat status {};
    return ::access(path.c_str(), X_OK) == 0 && ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  };
  if (name.find('/') != std::string::npos) return is_program(name) ? name : std::string();
  const char* path = std::getenv("PATH");
  const std::string folders = path == nullptr ? "/usr/bin:/bin" : path;
  for (std::size_t at = 0; at <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', at), folders.size());
    const std::string folder = end == at ? "." : folders.substr(at, end - at);
    if (const std::string whole = folder + "/" + name; is_program(whole)) return whole;
    at = end + 1;
  }
  return {};
}

std::string own_program() {
  std::error_code unknown;
  return std::filesystem::read_symlink("/proc/self/exe", unknown).string();
}

}  // namespace orrery
