// SPDX-License-Identifier: Apache-2.0
// What people read on a terminal: the properties of an output stream, progress bars, and text tables, which are also
// written as lines of CSV (RFC 4180); also what a signal handler writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rnnlab {

enum class Tty { kNo, kYes };  // the result of isatty(3)

// Holds the properties of an output stream.
struct Terminal {
  bool is_terminal = false;  // supports escape sequences: carriage returns and erasing
  bool has_color = false;
  size_t width = 80;
};

using GetVariable = std::function<std::string(const char* name)>;  // of the environment; "" if it is not set

// `descriptor` is 1 or 2. With TERM=dumb or without TERM the stream is not a terminal; NO_COLOR, set to any value,
// switches colours off (https://no-color.org). The width is that of the terminal, else COLUMNS, else 80.
Terminal inspect_terminal(int descriptor);

// Returns the properties from given values; `columns` is 0 if the terminal does not report its width.
Terminal terminal_from(Tty tty, size_t columns, const GetVariable& variable);

// Draws a progress bar on the terminal's last line: the bar is redrawn at most ten times a second, and erased before a
// log line and at the end of the work. If there is no terminal, the bar writes nothing; the log writes plain lines. A
// pure function makes the text of the bar.
//
// WorkAfter describes the pieces of work that follow the piece of the bar, such as the epochs after this one.
struct WorkAfter {
  double pieces = 0;           // of the size of this piece
  double seconds_between = 0;  // that each of them takes beside its steps, such as for validation
};

struct Progress {
  std::string title;  // "epoch 2/3"
  int64_t done = 0;   // of `total` steps, at least 1
  int64_t total = 1;
  double seconds = 0;  // since the work began
  std::string detail;  // "loss 0.1234"; dropped first if the line is narrow
  WorkAfter after = {};
};

// Returns "epoch 2/3 [#####.....]  50 % 234/469, 0:12 left, 0:47 for all epochs, loss 0.1234", cut to at most `width`
// columns. The second time includes the epochs after this one. It is missing if none follows, or if the line is narrow.
std::string format_progress(const Progress& progress, size_t width);

// Returns "0:07", "12:34", "1:02:03", or "?" if the duration is not known.
std::string format_time_left(double seconds);

class ProgressBar {
 public:
  using Clock = std::function<double()>;  // seconds, steady
  using Write = std::function<void(const std::string&)>;

  // Writes to stderr. Draws nothing if `terminal` is not a terminal; pass Terminal{} for --quiet.
  explicit ProgressBar(const Terminal& terminal);
  ProgressBar(const Terminal& terminal, Clock clock, Write write);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Begins a piece of work of `total` steps; the remaining time is estimated from this moment.
  void start(const std::string& title, int64_t total, const WorkAfter& after = {});

  // This call is cheap if it is too early to draw. `detail` is called only for drawing.
  void update(int64_t done, const std::function<std::string()>& detail);

  // Erases the bar; the next update draws it again.
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

// Returns fields as a line of CSV (RFC 4180, with a plain line end): fields with a comma, a quote or a line end are
// quoted. The tables are often opened in spreadsheets, so a text that begins with = + - @, a tab or a carriage return
// gets a leading ', because a spreadsheet would run it as a formula; numbers stay unchanged. Predictions are data for
// programs, so their texts stay unchanged (runs/use/prediction_files.h).
enum class Formulas { kEscaped, kUnchanged };

std::string csv_line(const std::vector<std::string>& fields, Formulas formulas = Formulas::kEscaped);

// Makes a text table with aligned columns: widths count code points of UTF-8, numbers are aligned right and words left.
enum class Align { kLeft, kRight };

struct TableColumn {
  std::string heading;
  Align align;
};

// The width of an output that is not a terminal.
inline constexpr size_t kAnyWidth = std::numeric_limits<size_t>::max();

struct FittedTable;

class TextTable {
 public:
  void add_column(std::string heading, Align align);

  // The row must have one cell for each column.
  void add_row(std::vector<std::string> cells);

  const std::vector<TableColumn>& columns() const { return columns_; }
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }

  // Returns the table with two spaces between columns, a rule under the headings, no trailing spaces and a line end
  // after each line. Control characters of a cell are shown as on_one_line shows them; rows() has the cells unchanged.
  std::string text() const;

  // Returns the columns of the screen that text() needs.
  size_t width() const;

  // Returns the table with these columns only; `columns` are indexes, in the order of the new table.
  TextTable with_columns(std::span<const size_t> columns) const;

  // Leaves out columns until the table has at most `width` columns of the screen: those of `least_important`, the first
  // one first. Other columns stay, so the table may still be wider.
  FittedTable fitted(size_t width, std::span<const size_t> least_important) const;

  // Returns text() if it fits into `width`, else several tables one below the other. Each has the first `num_repeated`
  // columns, and as many of the others as fit, in groups of `num_together` columns that stay together; at least one
  // group, so a table may still be wider.
  std::string text_in_blocks(size_t width, size_t num_repeated = 1, size_t num_together = 1) const;

 private:
  std::string line(const std::vector<std::string>& cells, const std::vector<size_t>& widths) const;
  std::vector<size_t> widths() const;

  std::vector<TableColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

struct FittedTable {
  TextTable table;
  std::vector<std::string> left_out;  // headings: "p"; "95 % interval of ratio" if several columns have that heading

  // Returns "left out, because the terminal is narrow: p and seeds (compare --csv has them)\n", or "" if no column is
  // left out. `elsewhere` is what has them.
  std::string note(const std::string& elsewhere) const;
};

// Returns `cell` padded with spaces to `width` columns; a longer cell is unchanged.
std::string padded(const std::string& cell, size_t width, Align align);

// Writes the text to standard error, by calls that a signal handler may make (signal-safety(7)). Skips it if a write
// would block: with a reader that has stopped reading, the process could not be ended.
void write_from_signal_handler(std::string_view text);

}  // namespace rnnlab
