#include "output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <system_error>

#include "base/error.h"
#include "base/text.h"

namespace rnnlab::app {

void open_missing_descriptors() {
  // open(2) uses the lowest free number. A closed stdout is opened for reading only, so that writing a result to it is
  // an error.
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(number, F_GETFD) < 0) ::open("/dev/null", number == STDERR_FILENO ? O_WRONLY : O_RDONLY);
}

void ignore_signals_of_writing() {
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
}

namespace {

void print_unchanged(std::string_view text) {
  const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (is_written && std::fflush(stdout) == 0) return;
  if (errno == EPIPE) throw_error(ExitCode::kBrokenPipe, "standard output: its reader has closed it");
  throw_error(ExitCode::kDevice,
              "standard output: {}; what was printed is not complete: free some space or send it elsewhere",
              std::generic_category().message(errno));
}

}  // namespace

void print_text(std::string_view text) { print_unchanged(without_controls(text)); }

void print_data(std::string_view data) {
  if (::isatty(STDOUT_FILENO) != 0) return print_text(data);
  print_unchanged(data);
}

StandardOutput::StandardOutput() : number_(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)) {}

StandardOutput::~StandardOutput() {
  if (number_ >= 0) ::close(number_);
}

void StandardOutput::restore() const {
  if (number_ >= 0) ::dup2(number_, STDOUT_FILENO);
}

void print_notice(std::string_view text) {
  const std::string shown = for_people(text);
  std::fwrite(shown.data(), 1, shown.size(), stderr);
}

}  // namespace rnnlab::app
