// What standard error is, and the bar that shows the progress of an epoch on a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace rnnlab {

// What may be written to an output stream: whether it is a terminal, how wide, whether in colour.

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

// A progress bar on the terminal's last line: redrawn at most ten times a second, gone when a log line comes or the
// work ends. Where there is no terminal it writes nothing; plain lines are the log's business. What it shows is made by
// a pure function.

struct Progress {
  std::string title;  // "epoch 2/3"
  int64_t done = 0;   // of `total` steps, at least 1
  int64_t total = 1;
  double seconds = 0;  // since the work began
  std::string detail;  // "loss 0.1234"; the first to go where the line is narrow
};

// "epoch 2/3 [#####.....]  50 % 234/469, 0:12 left, loss 0.1234", at most `width` columns; as much as fits.
std::string format_progress(const Progress& progress, size_t width);

// "0:07", "12:34", "1:02:03", "?" when it is not known.
std::string format_duration(double seconds);

class ProgressBar {
 public:
  using Clock = std::function<double()>;  // seconds, steady
  using Write = std::function<void(const std::string&)>;

  // Writes to stderr. Draws nothing when `terminal` is none: give it Terminal{} for --quiet.
  explicit ProgressBar(const Terminal& terminal);
  ProgressBar(const Terminal& terminal, Clock clock, Write write);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Begins a piece of work of `total` steps; the time left is reckoned from here.
  void start(const std::string& title, int64_t total);

  // Cheap when it is not yet time to draw. `detail` is called only for drawing.
  void update(int64_t done, const std::function<std::string()>& detail);

  // Takes the bar off the screen; the next update draws it again.
  void clear();

 private:
  Terminal terminal_;
  Clock clock_;
  Write write_;
  Progress progress_;
  double start_ = 0;
  double last_drawn_ = 0;
  bool is_drawn_ = false;
};

}  // namespace rnnlab
