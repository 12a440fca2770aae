// What may be written to an output stream: whether it is a terminal, how wide, whether in colour.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace rnnlab {

enum class Tty { kNo, kYes };  // what isatty(3) says

struct Terminal {
  bool is_terminal = false;  // that understands escape sequences: carriage returns and erasing work
  bool has_color = false;
  size_t width = 80;
};

using GetVariable = std::function<std::string(const char* name)>;  // of the environment, "" when it is not set

// `descriptor` is 1 or 2. TERM=dumb or none is no terminal; NO_COLOR, when set to anything, takes the colours
// (https://no-color.org). The width comes from the terminal, else from COLUMNS, else it is 80.
Terminal inspect_terminal(int descriptor);

// The same from its ingredients; `columns` is 0 when the terminal does not know.
Terminal terminal_from(Tty tty, size_t columns, const GetVariable& variable);

}  // namespace rnnlab
