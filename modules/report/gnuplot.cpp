#include "report/gnuplot.h"

#include <fcntl.h>
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

struct Outcome {
  int spawn_error = 0;  // an errno
  int status = 0;
  std::string words;  // what it wrote, to either stream
};

Outcome run(const std::vector<const char*>& arguments, const std::string& input) {
  const TemporaryFile in = make_temporary_file(), out = make_temporary_file();
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
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_adddup2(&actions, ::fileno(out.get()), stream);
  pid_t process = 0;
  Outcome outcome;
  outcome.spawn_error = ::posix_spawnp(&process, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (outcome.spawn_error != 0) return outcome;
  while (::waitpid(process, &outcome.status, 0) < 0 && errno == EINTR) {
  }
  ::lseek(::fileno(out.get()), 0, SEEK_SET);
  char piece[4096];
  for (ssize_t size; (size = ::read(::fileno(out.get()), piece, sizeof piece)) > 0;)
    outcome.words.append(piece, static_cast<size_t>(size));
  return outcome;
}

}  // namespace

void check_gnuplot() {
  const Outcome outcome = run({"gnuplot", "--version"}, "");
  if (outcome.spawn_error == 0 && outcome.status == 0) return;
  throw_error(
      ExitCode::kDevice,
      "--figures: gnuplot, which draws the figures, does not run here ({}); install it (Debian and Ubuntu: apt-get "
      "install gnuplot-nox), or leave --figures out: the page and the Markdown need nothing",
      outcome.spawn_error != 0 ? std::generic_category().message(outcome.spawn_error)
                               : first_line(without_controls(outcome.words)));
}

void run_gnuplot(const std::string& script, const std::string& purpose) {
  // -d: without the user's own settings.
  const Outcome outcome = run({"gnuplot", "-d", "-"}, script);
  if (outcome.spawn_error == 0 && outcome.status == 0) return;
  throw_error(ExitCode::kDevice, "{}: gnuplot did not draw it: {}", purpose,
              outcome.spawn_error != 0 ? std::generic_category().message(outcome.spawn_error)
                                       : trim(without_controls(outcome.words)));
}

}  // namespace rnnlab::report
