// SPDX-License-Identifier: Apache-2.0
#include "base/system/terminal.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "base/error.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab {
namespace {

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

namespace {

constexpr const char* kEraseLine = "\r\x1b[K";

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void write_to_stderr(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

// Returns the first `width` code points.
std::string cut(const std::string& text, size_t width) {
  size_t columns = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool starts_code_point = (text[i] & 0xC0) != 0x80;
    if (starts_code_point && columns++ == width) return text.substr(0, i);
  }
  return text;
}

}  // namespace

std::string format_time_left(double seconds) {
  constexpr double kLongestShown = 1e7;
  if (!std::isfinite(seconds) || seconds < 0 || seconds > kLongestShown) return "?";
  const auto whole = static_cast<int64_t>(std::ceil(seconds));
  const int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

namespace {

// Returns the seconds until the piece is done; not finite at its start.
double seconds_left(const Progress& progress, double part) {
  return part > 0 ? progress.seconds * (1 - part) / part : std::numeric_limits<double>::infinity();
}

// Returns "" if nothing follows the piece, or if its pace is not known.
std::string time_of_all_epochs(const Progress& progress, double part) {
  if (progress.after.pieces <= 0 || part <= 0) return "";
  const double after =
      progress.after.pieces * progress.seconds / part + (progress.after.pieces + 1) * progress.after.seconds_between;
  return fmt::format(", {} of all epochs", format_time_left(seconds_left(progress, part) + after));
}

}  // namespace

std::string format_progress(const Progress& progress, size_t width) {
  constexpr size_t kWidestBar = 30, kNarrowestBar = 5, kBrackets = 3;
  const double part = std::clamp(static_cast<double>(progress.done) / static_cast<double>(progress.total), 0.0, 1.0);
  std::string after = fmt::format(" {:3.0f} % {}/{}, {} left", 100 * std::floor(part * 100) / 100, progress.done,
                                  progress.total, format_time_left(seconds_left(progress, part)));
  const auto taken = [&] { return display_width(progress.title) + display_width(after) + kBrackets; };
  const std::string detail = progress.detail.empty() ? "" : ", " + progress.detail;
  for (const std::string& more : {time_of_all_epochs(progress, part), detail})
    if (taken() + kNarrowestBar + display_width(more) <= width) after += more;
  if (taken() + kNarrowestBar > width) return cut(progress.title + after, width);
  const size_t bar = std::min(kWidestBar, width - taken());
  const auto filled = static_cast<size_t>(part * static_cast<double>(bar));
  return fmt::format("{} [{}{}]{}", progress.title, std::string(filled, '#'), std::string(bar - filled, '.'), after);
}

ProgressBar::ProgressBar(const Terminal& terminal) : ProgressBar(terminal, steady_seconds, write_to_stderr) {}

ProgressBar::ProgressBar(const Terminal& terminal, Clock clock, Write write)
    : terminal_(terminal), clock_(std::move(clock)), write_(std::move(write)) {}

void ProgressBar::start(const std::string& title, int64_t total, const WorkAfter& after) {
  clear();
  progress_ = {.title = on_one_line(title),
               .done = 0,
               .total = std::max<int64_t>(total, 1),
               .seconds = 0,
               .detail = "",
               .after = after};
  start_ = clock_();
}

void ProgressBar::update(int64_t done, const std::function<std::string()>& detail) {
  constexpr double kSecondsBetweenDrawings = 0.1;
  if (!terminal_.is_terminal) return;
  const double now = clock_();
  if (is_drawn_ && now - last_drawn_ < kSecondsBetweenDrawings) return;
  progress_.done = done;
  progress_.seconds = now - start_;
  progress_.detail = on_one_line(detail());
  // The last column stays free, because some terminals wrap the line as soon as it is written.
  write_(kEraseLine + format_progress(progress_, terminal_.width - 1));
  last_drawn_ = now;
  is_drawn_ = true;
}

void ProgressBar::clear() {
  if (is_drawn_) write_(kEraseLine);
  is_drawn_ = false;
}

namespace {

bool is_number(const std::string& text) { return parse_double(text) || text == "-inf" || text == "-nan"; }

bool begins_formula(const std::string& text) {
  constexpr std::string_view kBeginnings = "=+-@\t\r";
  return !text.empty() && kBeginnings.find(text[0]) != std::string_view::npos && !is_number(text);
}

std::string csv_field(const std::string& original, Formulas formulas) {
  const bool is_escaped = formulas == Formulas::kEscaped && begins_formula(original);
  std::string text = is_escaped ? "'" + original : original;
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? "\"\"" : std::string(1, c);
  return field + "\"";
}

}  // namespace

std::string csv_line(const std::vector<std::string>& fields, Formulas formulas) {
  std::vector<std::string> cells;
  for (const std::string& field : fields) cells.push_back(csv_field(field, formulas));
  return join(cells, ",") + "\n";
}

std::string padded(const std::string& cell, size_t width, Align align) {
  const size_t taken = display_width(cell);
  const std::string space(width > taken ? width - taken : 0, ' ');
  return align == Align::kRight ? space + cell : cell + space;
}

void TextTable::add_column(std::string heading, Align align) { columns_.push_back({std::move(heading), align}); }

void TextTable::add_row(std::vector<std::string> cells) {
  RNNLAB_INVARIANT(cells.size() == columns_.size(), "a row needs a cell for each column");
  rows_.push_back(std::move(cells));
}

namespace {

constexpr size_t kBetweenColumns = 2;

// A line end in a cell would begin a new row.
std::vector<std::string> on_one_line_each(const std::vector<std::string>& cells) {
  std::vector<std::string> shown;
  for (const std::string& cell : cells) shown.push_back(on_one_line(cell));
  return shown;
}

}  // namespace

std::vector<size_t> TextTable::widths() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t& width = widths.emplace_back(display_width(on_one_line(columns_[i].heading)));
    for (const auto& row : rows_) width = std::max(width, display_width(on_one_line(row[i])));
  }
  return widths;
}

std::string TextTable::line(const std::vector<std::string>& cells, const std::vector<size_t>& widths) const {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line.append(kBetweenColumns, ' ');
    line += padded(cells[i], widths[i], columns_[i].align);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string TextTable::text() const {
  const std::vector<size_t> all_widths = widths();
  std::vector<std::string> headings, rules;
  for (size_t i = 0; i < columns_.size(); ++i) {
    headings.push_back(on_one_line(columns_[i].heading));
    rules.emplace_back(all_widths[i], '-');
  }
  std::string text = line(headings, all_widths) + line(rules, all_widths);
  for (const auto& row : rows_) text += line(on_one_line_each(row), all_widths);
  return text;
}

namespace {

size_t width_of(std::span<const size_t> widths) {
  size_t sum = 0;
  for (const size_t width : widths) sum += width;
  return widths.empty() ? 0 : sum + kBetweenColumns * (widths.size() - 1);
}

// Returns the heading with that of the column before it, if other columns have the same heading.
std::string unique_heading(const std::vector<TableColumn>& columns, size_t index) {
  const std::string& heading = columns[index].heading;
  const bool is_unique = std::ranges::count(columns, heading, &TableColumn::heading) == 1;
  return is_unique || index == 0 ? heading : heading + " of " + columns[index - 1].heading;
}

}  // namespace

size_t TextTable::width() const { return width_of(widths()); }

TextTable TextTable::with_columns(std::span<const size_t> columns) const {
  TextTable table;
  for (const size_t column : columns) table.columns_.push_back(columns_[column]);
  for (const auto& row : rows_) {
    std::vector<std::string>& cells = table.rows_.emplace_back();
    for (const size_t column : columns) cells.push_back(row[column]);
  }
  return table;
}

FittedTable TextTable::fitted(size_t width, std::span<const size_t> least_important) const {
  const std::vector<size_t> all_widths = widths();
  size_t taken = width_of(all_widths);
  std::vector<bool> is_left_out(columns_.size(), false);
  for (const size_t column : least_important) {
    if (taken <= width) break;
    is_left_out[column] = true;
    taken -= all_widths[column] + kBetweenColumns;
  }
  std::vector<size_t> kept;
  std::vector<std::string> left_out;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (is_left_out[i])
      left_out.push_back(unique_heading(columns_, i));
    else
      kept.push_back(i);
  }
  return {with_columns(kept), std::move(left_out)};
}

std::string TextTable::text_in_blocks(size_t width, size_t num_repeated, size_t num_together) const {
  const std::vector<size_t> all_widths = widths();
  if (width_of(all_widths) <= width || columns_.size() <= num_repeated) return text();
  std::string blocks;
  for (size_t next = num_repeated; next < columns_.size();) {
    std::vector<size_t> shown(num_repeated);
    std::iota(shown.begin(), shown.end(), size_t{0});
    size_t taken = width_of(std::span(all_widths).first(num_repeated));
    for (bool is_first = true; next < columns_.size(); is_first = false) {
      const size_t count = std::min(num_together, columns_.size() - next);
      const size_t more = width_of(std::span(all_widths).subspan(next, count)) + kBetweenColumns;
      if (!is_first && taken + more > width) break;
      for (size_t i = 0; i < count; ++i) shown.push_back(next++);
      taken += more;
    }
    blocks += (blocks.empty() ? "" : "\n") + with_columns(shown).text();
  }
  return blocks;
}

std::string FittedTable::note(const std::string& elsewhere) const {
  if (left_out.empty()) return "";
  return fmt::format("left out, because the terminal is narrow: {} ({} has them)\n", join_with_and(left_out),
                     elsewhere);
}

void write_from_signal_handler(std::string_view text) {
  pollfd waiting = {.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (::poll(&waiting, 1, 0) != 1 || (waiting.revents & POLLOUT) == 0) return;
  [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace rnnlab
