// SPDX-License-Identifier: Apache-2.0
#include "app/program.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "app/served_program.h"
#include "golden.h"

namespace rnnlab::testing {
namespace {

namespace fs = std::filesystem;

void redirect(const fs::path& file, int descriptor) {
  const int opened = ::open(file.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  ::dup2(opened, descriptor);
  ::close(opened);
}

[[noreturn]] void execute(const char* executable, const Words& arguments) {
  for (const int number : {SIGPIPE, SIGXFSZ}) ::signal(number, SIG_DFL);  // and this process may ignore the signals
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(executable, argv.data());
  ::_exit(127);
}

[[noreturn]] void become(const fs::path& folder, const char* executable, const Words& arguments) {
  if (::chdir(folder.c_str()) != 0) ::_exit(126);
  redirect(folder / "stdout.txt", 1);
  redirect(folder / "stderr.txt", 2);
  execute(executable, arguments);
}

// A terminal that changes nothing in what is written to it, such as line ends.
int open_pseudo_terminal() {
  const int control = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  EXPECT_EQ(::grantpt(control), 0);
  EXPECT_EQ(::unlockpt(control), 0);
  termios settings{};
  ::tcgetattr(control, &settings);
  ::cfmakeraw(&settings);
  ::tcsetattr(control, TCSANOW, &settings);
  return control;
}

}  // namespace

bool has_pseudo_terminals() {
  const int control = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  const char* const name = control < 0 ? nullptr : ::ptsname(control);
  const bool has = name != nullptr && ::access(name, R_OK | W_OK) == 0;
  ::close(control);
  return has;
}

bool can_start_slurm() {
  constexpr const char* kFind =
      "for name in slurmctld slurmd srun sbatch; do command -v $name >/dev/null || exit 1; done";
  return ::geteuid() == 0 && std::system(kFind) == 0;
}

namespace {

// COLUMNS of the environment is for terminals that do not report their size.
void set_width(int terminal, unsigned short width) {
  winsize size{};
  size.ws_row = 24;
  size.ws_col = width;
  EXPECT_EQ(::ioctl(terminal, TIOCSWINSZ, &size), 0);
}

// Until the program has closed its end: read(2) fails then.
std::string read_until_closed(int control) {
  std::string text;
  char piece[4096];
  for (ssize_t size; (size = ::read(control, piece, sizeof piece)) > 0;) text.append(piece, static_cast<size_t>(size));
  return text;
}

int exit_code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status); }

ProgramResult expected(ProgramResult result, std::optional<int> exit_code, std::source_location where) {
  const ::testing::ScopedTrace trace(where.file_name(), static_cast<int>(where.line()), "runs the program");
  EXPECT_EQ(result.exit_code, exit_code.value_or(result.exit_code)) << result.errors;
  return result;
}

}  // namespace

int Program::start(const char* executable, const Words& argv) const {
  const int process = ::fork();
  if (process == 0) become(folder(), executable, argv);
  return process;
}

int Program::start_program(const Words& arguments) const {
  const Words argv = with({RNNLAB_PROGRAM}, arguments);
  if (const auto served = start_served(folder(), argv); served) return *served;
  return start(RNNLAB_PROGRAM, argv);
}

ProgramResult Program::finish(int process) const {
  int status = 0;
  if (const auto served = wait_for_served(process); served)
    status = *served;
  else
    ::waitpid(process, &status, 0);
  return {exit_code_of(status), read_text(folder() / "stdout.txt"), read_text(folder() / "stderr.txt")};
}

ProgramResult Program::run(const Words& arguments, std::optional<int> exit_code, std::source_location where) const {
  return expected(finish(start_program(arguments)), exit_code, where);
}

void Program::expect_error(int exit_code, const Words& arguments, std::source_location where) const {
  expect_golden(run(arguments, exit_code, where).errors, where);
}

ProgramResult Program::run_in_shell(const std::string& command, std::optional<int> exit_code,
                                    std::source_location where) const {
  return expected(finish(start("/bin/sh", {"sh", "-c", command, RNNLAB_PROGRAM})), exit_code, where);
}

ProgramResult Program::run_on_terminal(const Words& arguments, const std::string& terminal,
                                       unsigned short width) const {
  const int control = open_pseudo_terminal();
  const int screen = ::open(::ptsname(control), O_RDWR | O_NOCTTY | O_CLOEXEC);
  set_width(screen, width);
  const int process = ::fork();
  if (process == 0) {
    if (::chdir(folder().c_str()) != 0) ::_exit(126);
    ::setenv("TERM", terminal.c_str(), 1);
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(screen, stream);
    execute(RNNLAB_PROGRAM, with({RNNLAB_PROGRAM}, arguments));
  }
  ::close(screen);  // the program's is the only one left
  std::string shown = read_until_closed(control);
  ::close(control);
  int status = 0;
  ::waitpid(process, &status, 0);
  return {exit_code_of(status), std::move(shown), ""};
}

ProgramResult Program::run_and_signal(const Words& arguments, int signal, const std::function<bool()>& ready) const {
  constexpr auto kPause = std::chrono::milliseconds(5);
  constexpr int kMostPauses = 12000;
  const int process = start_program(arguments);
  for (int i = 0; i < kMostPauses && !ready(); ++i) std::this_thread::sleep_for(kPause);
  ::kill(process, signal);
  return finish(process);
}

std::vector<std::string> Program::run_folders(const std::string& experiment) const {
  std::vector<std::string> folders;
  const fs::path parent = folder() / "runs" / experiment;
  if (!fs::exists(parent)) return folders;
  for (const auto& entry : fs::directory_iterator(parent))
    if (!entry.is_symlink()) folders.push_back(entry.path().string());
  std::ranges::sort(folders);
  return folders;
}

}  // namespace rnnlab::testing
