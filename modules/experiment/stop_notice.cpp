#include "experiment/stop_notice.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>

namespace rnnlab {
namespace {

constexpr int kStopSignals[] = {SIGINT, SIGTERM};

// What the handler reads, set before it is installed.
std::string_view notice_text;
struct sigaction guarded[2];

struct sigaction& guarded_action(int signal_number) {
  return guarded[signal_number == SIGINT ? 0 : 1];
}

void write_to_stderr(std::string_view text) {
  [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, text.data(), text.size());
}

// Calls nothing but what a signal handler may call (signal-safety(7)).
extern "C" void announce_stop(int signal_number) {
  const int saved_errno = errno;
  if (::isatty(STDERR_FILENO) != 0) write_to_stderr("\n");  // behind ^C or a progress bar
  write_to_stderr("rnnlab: ");
  write_to_stderr(notice_text);
  write_to_stderr("; a second signal ends it at once\n");
  errno = saved_errno;
  guarded_action(signal_number).sa_handler(signal_number);
}

bool is_function(const struct sigaction& action) {
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

}  // namespace

StopNotice::StopNotice(const char* what) {
  notice_text = what;
  for (const int signal_number : kStopSignals) {
    struct sigaction& action = guarded_action(signal_number);
    sigaction(signal_number, nullptr, &action);
    if (!is_function(action)) continue;
    struct sigaction announcing = action;  // with its stack and flags
    announcing.sa_handler = announce_stop;
    sigaction(signal_number, &announcing, nullptr);
  }
}

StopNotice::~StopNotice() {
  for (const int signal_number : kStopSignals) {
    struct sigaction now = {};
    sigaction(signal_number, nullptr, &now);
    if (now.sa_handler == announce_stop) sigaction(signal_number, &guarded_action(signal_number), nullptr);
  }
}

}  // namespace rnnlab
