#include "results/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "base/numbers.h"

namespace rnnlab {
namespace {

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

size_t columns_of(int descriptor) {
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

Terminal inspect_terminal(int descriptor) {
  return terminal_from(::isatty(descriptor) == 1 ? Tty::kYes : Tty::kNo, columns_of(descriptor), environment_variable);
}

Terminal terminal_from(Tty tty, size_t columns, const GetVariable& variable) {
  constexpr int64_t kUsualWidth = 80;
  const std::string kind = variable("TERM");
  Terminal terminal;
  terminal.is_terminal = tty == Tty::kYes && !kind.empty() && kind != "dumb";
  terminal.has_color = terminal.is_terminal && variable("NO_COLOR").empty();
  const int64_t wanted = parse_int64(variable("COLUMNS")).value_or(kUsualWidth);
  terminal.width = columns > 0 ? columns : static_cast<size_t>(wanted > 0 ? wanted : kUsualWidth);
  return terminal;
}

}  // namespace rnnlab
