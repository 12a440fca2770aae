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
#include <chrono>
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

// Of this process, with `more` in front, which so hold instead of earlier values.
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

// Before a child catches signals, and after its work, the signal that stops this command ends it.
bool is_the_stop(int signal) {
  const auto stop = pending_stop();
  return stop && stop->exit_code == exit_code_of_signal(signal);
}

struct Ending {
  ExitCode exit_code = ExitCode::kDone;
  std::string text;  // of a signal that nobody asked for
};

Ending ending_of(int status) {
  if (WIFEXITED(status)) return {static_cast<ExitCode>(WEXITSTATUS(status)), ""};
  const int signal = WTERMSIG(status);
  if (is_the_stop(signal)) return {exit_code_of_signal(signal), ""};
  return {ExitCode::kDevice,
          fmt::format("the process of this run was ended by signal {} ({})", signal, ::strsignal(signal))};
}

// Children that work together: the first one is read, and when one of them fails the others get a while to end.
class Children {
 public:
  explicit Children(const ChildrenRequest& request) : request_(request) {
    Pipe pipe = make_pipe();
    const FileDescriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    for (const auto& environment : request.environments)
      running_.push_back(start(request.program, request.arguments, environment,
                               running_.empty() ? pipe.write_end.number() : nowhere.number()));
    read_end_ = std::move(pipe.read_end);
  }
  ~Children() {
    for (const pid_t child : running_) {
      if (child == kEnded) continue;
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  Ending run() {
    constexpr int kMilliseconds = 100;
    LineReader lines(read_end_.number(), request_.on_line);
    bool is_open = true;
    while (is_open || is_any_running()) {
      pollfd waiting = {.fd = is_open ? read_end_.number() : -1, .events = POLLIN, .revents = 0};
      const int ready = ::poll(&waiting, 1, is_any_running() ? kMilliseconds : 0);
      forward_stop();
      if (ready > 0) is_open = lines.read_some();
      if (ready == 0 && !is_any_running()) is_open = false;  // a grandchild may hold it
      reap();
      end_those_left();
    }
    return failure_.value_or(Ending{});
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr pid_t kEnded = 0;
  static constexpr std::chrono::seconds kWhile{5};

  bool is_any_running() const {
    return std::ranges::any_of(running_, [](pid_t child) { return child != kEnded; });
  }

  void signal_all(int signal) {
    for (const pid_t child : running_)
      if (child != kEnded) ::kill(child, signal);
  }

  // A signal may have been meant for this process alone.
  void forward_stop() {
    const auto stop = pending_stop();
    if (!stop || is_forwarded_) return;
    signal_all(static_cast<int>(stop->exit_code) - static_cast<int>(exit_code_of_signal(0)));
    is_forwarded_ = true;
  }

  void reap() {
    for (size_t i = 0; i < running_.size(); ++i) {
      int status = 0;
      if (running_[i] == kEnded || ::waitpid(running_[i], &status, WNOHANG) != running_[i]) continue;
      running_[i] = kEnded;
      const Ending ending = ending_of(status);
      if (ending.exit_code != ExitCode::kDone) take_failure(i, ending);
    }
  }

  void take_failure(size_t index, const Ending& ending) {
    if (failure_) return;
    failure_ = ending;
    failed_at_ = Clock::now();
    if (request_.on_failure) request_.on_failure(index, ending.exit_code, ending.text);
  }

  void end_those_left() {
    if (!failure_ || Clock::now() < failed_at_ + kWhile) return;
    signal_all(Clock::now() < failed_at_ + 2 * kWhile ? SIGTERM : SIGKILL);
  }

  const ChildrenRequest& request_;
  FileDescriptor read_end_;
  std::vector<pid_t> running_;  // kEnded once one has ended
  bool is_forwarded_ = false;
  std::optional<Ending> failure_;  // the first
  Clock::time_point failed_at_;
};

}  // namespace

ExitCode run_children(const ChildrenRequest& request) {
  const Ending ending = Children(request).run();
  if (!ending.text.empty()) throw_error(ending.exit_code, "{}", ending.text);
  return ending.exit_code;
}

ExitCode run_child(const std::string& program, const std::vector<std::string>& arguments,
                   const std::function<void(const std::string&)>& on_line) {
  return run_children({.program = program, .arguments = arguments, .environments = {{}}, .on_line = on_line});
}

void end_with_parent(int parent_reads) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have ended before.
  pollfd pipe = {.fd = parent_reads, .events = 0, .revents = 0};
  if (::poll(&pipe, 1, 0) == 1 && (pipe.revents & POLLERR) != 0) ::raise(SIGKILL);
}

}  // namespace rnnlab
