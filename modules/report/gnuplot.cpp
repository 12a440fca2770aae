#include "report/gnuplot.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace rnnlab::report {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using TemporaryFile = std::unique_ptr<std::FILE, CloseFile>;  // without a name, gone when it is closed

TemporaryFile make_temporary_file() {
  TemporaryFile file(std::tmpfile());
  if (!file)
    throw_error(ExitCode::kDevice, "no temporary file for gnuplot: {}", std::generic_category().message(errno));
  return file;
}

// Child processes get the default actions of signals that this program ignores (ignore_signals_of_writing in
// app/output.h).
class DefaultSignals {
 public:
  DefaultSignals() {
    ::posix_spawnattr_init(&attributes_);
    sigset_t ignored_here;
    sigemptyset(&ignored_here);
    for (const int number : {SIGPIPE, SIGXFSZ}) sigaddset(&ignored_here, number);
    ::posix_spawnattr_setsigdefault(&attributes_, &ignored_here);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF);
  }
  ~DefaultSignals() { ::posix_spawnattr_destroy(&attributes_); }
  DefaultSignals(const DefaultSignals&) = delete;
  DefaultSignals& operator=(const DefaultSignals&) = delete;

  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

struct Outcome {
  int spawn_error = 0;  // an errno
  int status = 0;
  std::string output, errors;  // the two streams
};

std::string read_from_start(std::FILE* file) {
  ::lseek(::fileno(file), 0, SEEK_SET);
  std::string text;
  char piece[4096];
  for (ssize_t size; (size = ::read(::fileno(file), piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<size_t>(size));
  return text;
}

Outcome run(const std::vector<const char*>& arguments, const std::string& input) {
  const TemporaryFile in = make_temporary_file(), out = make_temporary_file(), errors = make_temporary_file();
  const bool is_written = std::fwrite(input.data(), 1, input.size(), in.get()) == input.size();
  if (!is_written || std::fflush(in.get()) != 0)
    throw_error(ExitCode::kDevice, "a temporary file for gnuplot: {}; make room in the folder for such files",
                std::generic_category().message(errno));
  ::lseek(::fileno(in.get()), 0, SEEK_SET);
  std::vector<char*> argv;
  for (const char* argument : arguments) argv.push_back(const_cast<char*>(argument));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ::fileno(in.get()), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ::fileno(out.get()), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ::fileno(errors.get()), STDERR_FILENO);
  const DefaultSignals signals;
  pid_t process = 0;
  Outcome outcome;
  outcome.spawn_error = ::posix_spawnp(&process, argv[0], &actions, signals.attributes(), argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (outcome.spawn_error != 0) return outcome;
  while (::waitpid(process, &outcome.status, 0) < 0 && errno == EINTR) {
  }
  outcome.output = read_from_start(out.get());
  outcome.errors = read_from_start(errors.get());
  return outcome;
}

// gnuplot repeats the command in which it fails, which holds everything that a file holds. What it says about it stands
// behind the last "line N:".
std::string reason_in(const std::string& errors) {
  const size_t line = errors.rfind(" line ");
  const size_t colon = line == std::string::npos ? line : errors.find(": ", line);
  const std::string reason = colon == std::string::npos ? errors : errors.substr(colon + 2);
  return on_one_line(first_line(trim(reason)));
}

// -d: without the user's own settings.
Outcome run_script(const std::string& script) { return run({"gnuplot", "-d", "-"}, script); }

[[noreturn]] void throw_unusable(const std::string& reason) {
  throw_error(ExitCode::kDevice,
              "--figures: gnuplot, which draws the figures, does not run here ({}); install it (Debian and Ubuntu: "
              "apt-get install gnuplot-nox), or leave --figures out: the page and the Markdown need nothing",
              reason);
}

}  // namespace

void check_gnuplot() {
  const Outcome outcome = run_script("set terminal svg\nset terminal pngcairo\n");
  if (outcome.spawn_error != 0) throw_unusable(std::generic_category().message(outcome.spawn_error));
  if (outcome.status != 0) throw_unusable(reason_in(outcome.errors));
}

GnuplotResult run_gnuplot(const std::string& script) {
  const Outcome outcome = run_script(script);
  if (outcome.spawn_error != 0) throw_unusable(std::generic_category().message(outcome.spawn_error));
  if (WIFSIGNALED(outcome.status))
    throw_error(ExitCode::kDevice,
                "--figures: gnuplot was ended by signal {}; run the command again, or leave --figures out",
                WTERMSIG(outcome.status));
  if (outcome.status != 0) return {.is_drawn = false, .picture = "", .reason = reason_in(outcome.errors)};
  return {.is_drawn = true, .picture = outcome.output, .reason = ""};
}

}  // namespace rnnlab::report
