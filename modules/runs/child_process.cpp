// SPDX-License-Identifier: Apache-2.0
#include "runs/child_process.h"

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
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/file_handles.h"
#include "base/system/files.h"
#include "train/loop/stop_signal.h"

extern char** environ;

namespace rnnlab {
namespace {

struct Pipe {
  FileDescriptor read_end, write_end;
};

const char* remedy_of(int error) {
  if (is_limit_on_handles(error)) return kMoreHandles;
  if (error == EAGAIN) return "raise the limit on processes (ulimit -u, or that of a container)";
  if (error == ENOENT) return "check that /proc and /dev are mounted";
  return error == ENOMEM ? "free some memory" : "check the limits of this user";
}

[[noreturn]] void throw_not_started(int error) {
  throw_error(ExitCode::kDevice, "a process for this run cannot be started: {}: {}", std::strerror(error),
              remedy_of(error));
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

// Returns the environment of this process after the assignments of `more`; the first assignment of a name counts.
std::vector<char*> environment_with(std::vector<std::string>& more) {
  std::vector<char*> all;
  for (std::string& assignment : more) all.push_back(assignment.data());
  for (char** one = environ; *one != nullptr; ++one) all.push_back(*one);
  all.push_back(nullptr);
  return all;
}

pid_t start(const std::string& program, const std::vector<std::string>& arguments, std::vector<std::string> environment,
            int stdout_of_child) {
  FileActions actions;
  ::posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(actions.get(), stdout_of_child, STDOUT_FILENO);
  std::vector<std::string> texts = {"rnnlab"};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, program.c_str(), actions.get(), nullptr, pointers.data(),
                                  environment_with(environment).data());
  if (error != 0) throw_not_started(error);
  return child;
}

// Calls `on_line` with each complete line.
class LineReader {
 public:
  LineReader(int descriptor, const OnLine& on_line) : descriptor_(descriptor), on_line_(on_line) {}

  // Returns false at the end of the input.
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
  const OnLine& on_line_;
  std::string text_;
};

// The signal that stops this command also ends a child that does not catch signals yet, or not any more.
bool is_pending_stop_signal(int signal) {
  const auto stop = pending_stop();
  return stop && stop->exit_code == exit_code_of_signal(signal);
}

struct Ending {
  ExitCode exit_code = ExitCode::kDone;
  std::string text;  // what the signal was, if no stop request was sent; else ""
};

Ending ending_of(int status) {
  if (WIFEXITED(status)) return {static_cast<ExitCode>(WEXITSTATUS(status)), ""};
  const int signal = WTERMSIG(status);
  if (is_pending_stop_signal(signal)) return {exit_code_of_signal(signal), ""};
  return {ExitCode::kDevice,
          fmt::format("the process of this run was ended by signal {} ({})", signal, ::strsignal(signal))};
}

// Owns a process, and the read end of its stdout.
class Child {
 public:
  Child(const std::string& program, const ChildRequest& request, const OnLine& on_line)
      : Child(make_pipe(), program, request, on_line) {}
  // Kills the process if it still runs.
  ~Child() {
    if (!is_running()) return;
    signal(SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool is_running() const { return !ending_; }
  bool is_open() const { return is_open_; }
  int descriptor() const { return is_open_ ? read_end_.number() : -1; }  // poll(2) ignores a negative one
  const Ending& ending() const { return *ending_; }

  void signal(int number) const {
    if (is_running()) ::kill(pid_, number);
  }
  void read_some() { is_open_ = is_open_ && lines_.read_some(); }
  void close() { is_open_ = false; }

  // Returns true at the one call that detects the end of the process.
  bool has_just_ended() {
    int status = 0;
    if (!is_running() || ::waitpid(pid_, &status, WNOHANG) != pid_) return false;
    ending_ = ending_of(status);
    return true;
  }

 private:
  Child(Pipe pipe, const std::string& program, const ChildRequest& request, const OnLine& on_line)
      : pid_(start(program, request.arguments, request.environment, pipe.write_end.number())),
        read_end_(std::move(pipe.read_end)),
        lines_(read_end_.number(), on_line) {}

  pid_t pid_;
  FileDescriptor read_end_;
  LineReader lines_;
  bool is_open_ = true;
  std::optional<Ending> ending_;
};

class Children {
 public:
  Children(const std::string& program, const std::vector<ChildRequest>& requests, const OnLine& on_line) {
    for (const ChildRequest& request : requests)
      children_.push_back(std::make_unique<Child>(program, request, on_line));
  }

  // Calls `on_end` for each child that has ended, and `on_turn` at least ten times a second.
  void run(const std::function<void(size_t)>& on_end, const std::function<void()>& on_turn) {
    while (is_any_open() || is_any_running()) {
      read_some();
      forward_stop();
      for (size_t i = 0; i < children_.size(); ++i)
        if (children_[i]->has_just_ended()) on_end(i);
      on_turn();
    }
  }

  const Ending& ending(size_t index) const { return children_[index]->ending(); }
  size_t size() const { return children_.size(); }

  void signal_all(int number) const {
    for (const auto& child : children_) child->signal(number);
  }

 private:
  bool is_any_open() const {
    return std::ranges::any_of(children_, [](const auto& child) { return child->is_open(); });
  }
  bool is_any_running() const {
    return std::ranges::any_of(children_, [](const auto& child) { return child->is_running(); });
  }

  // A process that a child has started may keep the child's pipe open, so the end of the pipe is not awaited.
  void read_some() {
    constexpr int kPollMilliseconds = 100;
    std::vector<pollfd> waiting;
    for (const auto& child : children_) waiting.push_back({.fd = child->descriptor(), .events = POLLIN, .revents = 0});
    const bool is_last_poll = !is_any_running();
    ::poll(waiting.data(), waiting.size(), is_last_poll ? 0 : kPollMilliseconds);
    for (size_t i = 0; i < children_.size(); ++i) {
      if (waiting[i].revents != 0)
        children_[i]->read_some();
      else if (is_last_poll)
        children_[i]->close();
    }
  }

  // The signal may have been sent to this process alone, so it is sent to the children too.
  void forward_stop() {
    const auto stop = pending_stop();
    if (!stop || is_forwarded_) return;
    signal_all(static_cast<int>(stop->exit_code) - static_cast<int>(exit_code_of_signal(0)));
    is_forwarded_ = true;
  }

  std::vector<std::unique_ptr<Child>> children_;
  bool is_forwarded_ = false;
};

// Gives the other children some time to end after the first failure, and then ends them.
class FailureShutdown {
 public:
  FailureShutdown(const Children& children, const OnFailure& on_failure)
      : children_(children), on_failure_(on_failure) {}

  void record_end(size_t index) {
    const Ending& ending = children_.ending(index);
    if (ending.exit_code == ExitCode::kDone) return;
    if (!first_) first_ = ending;
    // A child that was asked to stop is not a failure: the other children get time to save.
    if (failed_at_ || is_stop_exit_code(ending.exit_code)) return;
    failed_at_ = Clock::now();
    on_failure_(index, ending.exit_code, ending.text);
  }

  void end_remaining() const {
    if (!failed_at_ || Clock::now() < *failed_at_ + kGracePeriod) return;
    children_.signal_all(Clock::now() < *failed_at_ + 2 * kGracePeriod ? SIGTERM : SIGKILL);
  }

  const std::optional<Ending>& first() const { return first_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kGracePeriod{5};

  const Children& children_;
  const OnFailure& on_failure_;
  std::optional<Ending> first_;
  std::optional<Clock::time_point> failed_at_;
};

void kill_if(const MustEnd& must_end, const Children& children) {
  if (must_end && must_end()) children.signal_all(SIGKILL);
}

// Returns whether every child was ended by a signal.
bool are_all_ended_by_signals(const Children& children) {
  for (size_t i = 0; i < children.size(); ++i)
    if (children.ending(i).text.empty()) return false;
  return true;
}

}  // namespace

ExitCode run_child(const std::string& program, const std::vector<std::string>& arguments, const OnLine& on_line,
                   const MustEnd& must_end) {
  const EndOfChildren end = run_together(
      program, {{arguments}}, on_line, [](size_t, ExitCode, const std::string&) {}, must_end);
  if (!end.reason.empty()) throw_error(end.exit_code, "{}", end.reason);
  return end.exit_code;
}

std::vector<ExitCode> run_children(const std::string& program, const std::vector<ChildRequest>& requests,
                                   const OnLine& on_line) {
  Children children(program, requests, on_line);
  children.run([](size_t) {}, [] {});
  std::vector<ExitCode> exit_codes;
  for (size_t i = 0; i < children.size(); ++i) exit_codes.push_back(children.ending(i).exit_code);
  return exit_codes;
}

EndOfChildren run_together(const std::string& program, const std::vector<ChildRequest>& requests, const OnLine& on_line,
                           const OnFailure& on_failure, const MustEnd& must_end) {
  Children children(program, requests, on_line);
  FailureShutdown end(children, on_failure);
  children.run([&](size_t index) { end.record_end(index); },
               [&] {
                 end.end_remaining();
                 kill_if(must_end, children);
               });
  if (!end.first()) return {};
  return {end.first()->exit_code, are_all_ended_by_signals(children) ? end.first()->text : ""};
}

bool is_stop_exit_code(ExitCode exit_code) {
  return exit_code > exit_code_of_signal(0) && exit_code != ExitCode::kBrokenPipe;
}

void end_with_parent(int parent_reads) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have ended before the call above.
  pollfd pipe = {.fd = parent_reads, .events = 0, .revents = 0};
  if (::poll(&pipe, 1, 0) == 1 && (pipe.revents & POLLERR) != 0) ::raise(SIGKILL);
}

}  // namespace rnnlab
