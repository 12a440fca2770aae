#include "experiment/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "results/file_descriptor.h"
#include "training/stop_signal.h"

extern char** environ;

namespace rnnlab {
namespace {

struct Pipe {
  FileDescriptor read_end, write_end;
};

[[noreturn]] void throw_not_started(int error) {
  throw_error(ExitCode::kDevice, "a process for this run cannot be started: {}", std::strerror(error));
}

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_not_started(errno);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

pid_t start(const std::string& program, const std::vector<std::string>& arguments, int stdout_of_child) {
  FileActions actions;
  ::posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(actions.get(), stdout_of_child, STDOUT_FILENO);
  std::vector<std::string> texts = {"rnnlab"};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, program.c_str(), actions.get(), nullptr, pointers.data(), environ);
  if (error != 0) throw_not_started(error);
  return child;
}

// Hands each whole line to `on_line`.
class LineReader {
 public:
  LineReader(int descriptor, const std::function<void(const std::string&)>& on_line)
      : descriptor_(descriptor), on_line_(on_line) {}

  // False at the end.
  bool read_some() {
    std::array<char, 4096> bytes;
    const ssize_t count = uninterrupted([&] { return ::read(descriptor_, bytes.data(), bytes.size()); });
    if (count <= 0) return false;
    text_.append(bytes.data(), static_cast<size_t>(count));
    for (size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
      on_line_(text_.substr(0, end));
      text_.erase(0, end + 1);
    }
    return true;
  }

 private:
  int descriptor_;
  const std::function<void(const std::string&)>& on_line_;
  std::string text_;
};

// A signal may have been meant for this process alone.
class StopForwarder {
 public:
  explicit StopForwarder(pid_t child) : child_(child) {}

  void forward() {
    const auto stop = pending_stop();
    if (!stop || is_done_) return;
    ::kill(child_, static_cast<int>(stop->exit_code) - static_cast<int>(exit_code_of_signal(0)));
    is_done_ = true;
  }

 private:
  pid_t child_;
  bool is_done_ = false;
};

// Before a child catches signals, and after its work, the signal that stops this command ends it.
bool is_the_stop(int signal) {
  const auto stop = pending_stop();
  return stop && stop->exit_code == exit_code_of_signal(signal);
}

void read_until_end(int descriptor, pid_t child, const std::function<void(const std::string&)>& on_line) {
  constexpr int kMilliseconds = 100;
  LineReader lines(descriptor, on_line);
  StopForwarder stop(child);
  for (;;) {
    pollfd waiting = {.fd = descriptor, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waiting, 1, kMilliseconds);
    stop.forward();
    if (ready > 0 && !lines.read_some()) return;
  }
}

ExitCode wait_for(pid_t child) {
  int status = 0;
  if (uninterrupted([&] { return ::waitpid(child, &status, 0); }) != child) throw_not_started(errno);
  if (WIFEXITED(status)) return static_cast<ExitCode>(WEXITSTATUS(status));
  if (is_the_stop(WTERMSIG(status))) return exit_code_of_signal(WTERMSIG(status));
  throw_error(ExitCode::kDevice, "the process of this run was ended by signal {} ({})", WTERMSIG(status),
              ::strsignal(WTERMSIG(status)));
}

}  // namespace

ExitCode run_child(const std::string& program, const std::vector<std::string>& arguments,
                   const std::function<void(const std::string&)>& on_line) {
  Pipe pipe = make_pipe();
  const pid_t child = start(program, arguments, pipe.write_end.number());
  pipe.write_end = FileDescriptor();
  try {
    read_until_end(pipe.read_end.number(), child, on_line);
  } catch (...) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    throw;
  }
  return wait_for(child);
}

void end_with_parent(int parent_reads) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have ended before.
  pollfd pipe = {.fd = parent_reads, .events = 0, .revents = 0};
  if (::poll(&pipe, 1, 0) == 1 && (pipe.revents & POLLERR) != 0) ::raise(SIGKILL);
}

}  // namespace rnnlab
