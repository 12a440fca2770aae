#include "experiment/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
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

// A process with the end of its stdout that this process reads.
class Child {
 public:
  Child(const std::string& program, const std::vector<std::string>& arguments,
        const std::function<void(const std::string&)>& on_line)
      : Child(make_pipe(), program, arguments, on_line) {}

  int descriptor() const { return read_end_.number(); }
  bool is_open() const { return is_open_; }
  void forward_stop() { stop_.forward(); }
  void read_some() { is_open_ = lines_.read_some(); }
  void kill() const { ::kill(pid_, SIGKILL); }
  void kill_and_reap() const {
    kill();
    ::waitpid(pid_, nullptr, 0);
  }
  ExitCode wait() const;

 private:
  Child(Pipe pipe, const std::string& program, const std::vector<std::string>& arguments,
        const std::function<void(const std::string&)>& on_line)
      : pid_(start(program, arguments, pipe.write_end.number())),
        read_end_(std::move(pipe.read_end)),
        lines_(read_end_.number(), on_line),
        stop_(pid_) {}

  pid_t pid_;
  FileDescriptor read_end_;
  LineReader lines_;
  StopForwarder stop_;
  bool is_open_ = true;
};

ExitCode Child::wait() const {
  int status = 0;
  if (uninterrupted([&] { return ::waitpid(pid_, &status, 0); }) != pid_) throw_not_started(errno);
  if (WIFEXITED(status)) return static_cast<ExitCode>(WEXITSTATUS(status));
  if (is_the_stop(WTERMSIG(status))) return exit_code_of_signal(WTERMSIG(status));
  throw_error(ExitCode::kDevice, "the process of this run was ended by signal {} ({})", WTERMSIG(status),
              ::strsignal(WTERMSIG(status)));
}

constexpr int kMillisecondsBetweenLooks = 100;

void read_until_end(Child& child, const std::function<bool()>& must_end) {
  while (child.is_open()) {
    pollfd waiting = {.fd = child.descriptor(), .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waiting, 1, kMillisecondsBetweenLooks);
    child.forward_stop();
    if (must_end && must_end()) child.kill();
    if (ready > 0) child.read_some();
  }
}

// One that is closed is passed over by poll(2) if its descriptor is negative.
void read_some_of(std::vector<std::unique_ptr<Child>>& children) {
  std::vector<pollfd> waiting;
  for (const auto& child : children)
    waiting.push_back({.fd = child->is_open() ? child->descriptor() : -1, .events = POLLIN, .revents = 0});
  ::poll(waiting.data(), waiting.size(), kMillisecondsBetweenLooks);
  for (size_t i = 0; i < children.size(); ++i) {
    children[i]->forward_stop();
    if (waiting[i].revents != 0) children[i]->read_some();
  }
}

bool any_is_open(const std::vector<std::unique_ptr<Child>>& children) {
  return std::ranges::any_of(children, [](const auto& child) { return child->is_open(); });
}

ExitCode exit_code_of(const Child& child) {
  try {
    return child.wait();
  } catch (const UserError& error) {
    return error.exit_code();
  }
}

}  // namespace

ExitCode run_child(const std::string& program, const std::vector<std::string>& arguments,
                   const std::function<void(const std::string&)>& on_line, const std::function<bool()>& must_end) {
  Child child(program, arguments, on_line);
  try {
    read_until_end(child, must_end);
  } catch (...) {
    child.kill_and_reap();
    throw;
  }
  return child.wait();
}

std::vector<ExitCode> run_children(const std::string& program, const std::vector<std::vector<std::string>>& arguments,
                                   const std::function<void(const std::string&)>& on_line) {
  std::vector<std::unique_ptr<Child>> children;
  try {
    for (const auto& words : arguments) children.push_back(std::make_unique<Child>(program, words, on_line));
    while (any_is_open(children)) read_some_of(children);
  } catch (...) {
    for (const auto& child : children) child->kill_and_reap();
    throw;
  }
  std::vector<ExitCode> exit_codes;
  for (const auto& child : children) exit_codes.push_back(exit_code_of(*child));
  return exit_codes;
}

void end_with_parent(int parent_reads) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have ended before.
  pollfd pipe = {.fd = parent_reads, .events = 0, .revents = 0};
  if (::poll(&pipe, 1, 0) == 1 && (pipe.revents & POLLERR) != 0) ::raise(SIGKILL);
}

}  // namespace rnnlab
