// SPDX-License-Identifier: Apache-2.0
#include "runs/report/writers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/numbers.h"
#include "base/system/files.h"
#include "base/text.h"
#include "results/run_folder.h"
#include "runs/report/report.h"
#include "runs/report/text.h"

namespace rnnlab::report {

// Colours that colour-blind readers can distinguish (after Okabe and Ito, 2008), each with a contrast of at least 3 to
// 1 against white. page/charts.js has the same colours for the page.
inline constexpr std::array<std::string_view, 8> kPalette = {"#0072b2", "#c94f00", "#007a5e", "#a8447f",
                                                             "#7d6608", "#4f46b8", "#555d66", "#b3261e"};
inline constexpr std::string_view kGainColor = "#007a5e";
inline constexpr std::string_view kLossColor = "#b3261e";

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using TemporaryFile = std::unique_ptr<std::FILE, CloseFile>;  // without a name; removed when it is closed

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

// gnuplot repeats the failing command, which may contain a file's whole content. The reason follows the last "line N:".
std::string reason_in(const std::string& errors) {
  const size_t line = errors.rfind(" line ");
  const size_t colon = line == std::string::npos ? line : errors.find(": ", line);
  const std::string reason = colon == std::string::npos ? errors : errors.substr(colon + 2);
  return on_one_line(first_line(trim(reason)));
}

// The option -d ignores the user's own settings.
Outcome run_script(const std::string& script) { return run({"gnuplot", "-d", "-"}, script); }

[[noreturn]] void throw_unusable(const std::string& reason) {
  throw_error(ExitCode::kDevice,
              "--figures: gnuplot, which draws the figures, does not run here ({}); install it (Debian and Ubuntu: "
              "apt-get install gnuplot-nox), or remove --figures: the page and the Markdown do not need gnuplot",
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
                "--figures: gnuplot was ended by signal {}; run the command again, or remove --figures",
                WTERMSIG(outcome.status));
  if (outcome.status != 0) return {.is_drawn = false, .picture = "", .reason = reason_in(outcome.errors)};
  return {.is_drawn = true, .picture = outcome.output, .reason = ""};
}

namespace {

// Strings are in double quotes, because gnuplot 5.4 misreads a single quote at the beginning of a string in single
// quotes. In double quotes gnuplot interprets a quote, a backslash and a backquote (which would run a command), so
// these characters are written as octal numbers.
std::string string_literal(const std::string& text) {
  constexpr std::string_view kActedOn = "\"\\`";
  std::string string = "\"";
  for (const char c : readable(text))
    string += kActedOn.find(c) == std::string_view::npos ? std::string(1, c)
                                                         : fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  return string + "\"";
}

// Cuts a label after a whole character. A percent sign is doubled, because gnuplot reads labels of tics as formats.
std::string tic_label(const std::string& text) {
  constexpr size_t kLongest = 48;
  const std::string whole = readable(text);
  std::string label;
  size_t num_letters = 0;
  for (std::string_view rest = whole; !rest.empty(); ++num_letters) {
    if (num_letters == kLongest) {
      label += "...";
      break;
    }
    const size_t length = utf8_sequence_length(rest);
    label += rest[0] == '%' ? "%%" : rest.substr(0, length);
    rest.remove_prefix(length);
  }
  return string_literal(label);
}

std::string coordinate(double value) { return std::isfinite(value) ? format_shortest(value) : "NaN"; }

std::string axis_lines(const char* axis, const Axis& of) {
  return fmt::format("set {}label {}\n{}", axis, string_literal(label_of(of)),
                     of.scale == Scale::kLogarithmic ? fmt::format("set logscale {}\n", axis) : "");
}

std::string tics(const char* axis, const std::vector<std::string>& labels) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < labels.size(); ++i) parts.push_back(fmt::format("{} {}", tic_label(labels[i]), i));
  return fmt::format("set {}tics ({}) nomirror\n", axis, join(parts, ", "));
}

// The lines of a script, and the height of the picture.
struct Drawing {
  std::string lines;
  int height = 480;
};

// ---- curves ----

std::string block(const std::string& name, const std::vector<Point>& points, const char* only_note) {
  std::string text = "$" + name + " << END\n";
  for (const Point& point : points)
    if (only_note == nullptr || point.note == only_note) text += coordinate(point.x) + " " + coordinate(point.y) + "\n";
  return text + "END\n";
}

std::string interval_block(const std::string& name, const Curve& curve) {
  std::string text = "$" + name + " << END\n";
  for (const Point& point : curve.points)
    if (point.interval)
      text += fmt::format("{} {} {} {}\n", coordinate(point.x), coordinate(point.y), coordinate(point.interval->low),
                          coordinate(point.interval->high));
  return text + "END\n";
}

// The style of the curves of one group.
struct CurveStyle {
  std::string color;
  int dash_type = 1;
};

CurveStyle style_of(size_t style) {
  return {std::string(kPalette[style % kPalette.size()]), 1 + static_cast<int>(style / kPalette.size()) % 4};
}

std::vector<std::string> groups_of(const Curves& chart) {
  std::vector<std::string> groups;
  for (const Curve& curve : chart.curves)
    if (std::ranges::find(groups, curve.group) == groups.end()) groups.push_back(curve.group);
  return groups;
}

bool has_warmup(const Curve& curve) {
  return std::ranges::any_of(curve.points, [](const Point& point) { return !point.note.empty(); });
}

constexpr size_t kMostInKey = 24;

// Returns whether the points of the curve are drawn, with a different mark for warm-up.
bool is_marked(const Curve& curve, const Curves& chart) {
  constexpr size_t kMostPoints = 60, kMostCurves = 24;
  return curve.points.size() <= kMostPoints && chart.curves.size() <= kMostCurves;
}

// Marks about six positions with their labels, of which the last has room.
std::string tics_with_labels(const Axis& x) {
  constexpr size_t kMost = 6;
  const size_t step = (x.labels.size() + kMost - 1) / kMost;
  std::vector<std::string> parts;
  for (size_t i = 0; i < x.labels.size(); i += step) parts.push_back(fmt::format("{} {}", tic_label(x.labels[i]), i));
  return fmt::format("set xtics ({})\n", join(parts, ", "));
}

// For few epochs gnuplot would also mark halves.
std::string whole_tics(const Curves& chart) {
  if (!chart.x.labels.empty()) return tics_with_labels(chart.x);
  constexpr double kFew = 12;
  double most = 0;
  for (const Curve& curve : chart.curves)
    for (const Point& point : curve.points) {
      if (point.x != std::floor(point.x)) return "";
      most = std::max(most, point.x);
    }
  return most <= kFew ? "set xtics 1\n" : "";
}

// Leaves room at both sides for the ends of whiskers.
std::string room_for_intervals(const Curves& chart) {
  return std::ranges::any_of(chart.curves, has_intervals) ? "set offsets graph 0.02, graph 0.02, 0, 0\n" : "";
}

// The data blocks of curves, and the elements of the plot command that draw the blocks.
struct CurveLines {
  std::string blocks;
  std::vector<std::string> plots;
};

// `number` is the position of the curve in the chart; `title` is the option of gnuplot that names it in the key, or
// not.
void add_curve(CurveLines& lines, const Curves& chart, size_t number, const CurveStyle& style,
               const std::string& title) {
  const Curve& curve = chart.curves[number];
  const bool has_marks = is_marked(curve, chart);
  lines.blocks += block(fmt::format("curve{}", number), curve.points, nullptr);
  lines.plots.push_back(fmt::format(
      "$curve{} using 1:2 with {} linecolor rgb '{}' dashtype {} linewidth 1.6 pointtype 7 pointsize 0.5 {}", number,
      has_marks ? "linespoints" : "lines", style.color, style.dash_type, title));
  if (has_intervals(curve)) {
    lines.blocks += interval_block(fmt::format("interval{}", number), curve);
    lines.plots.push_back(
        fmt::format("$interval{} using 1:2:3:4 with yerrorbars linecolor rgb '{}' pointtype 7 pointsize 0.5 notitle",
                    number, style.color));
  }
  if (!has_warmup(curve) || !has_marks) return;
  lines.blocks += block(fmt::format("warmup{}", number), curve.points, "warm-up");
  lines.plots.push_back(fmt::format(
      "$warmup{} using 1:2 with points linecolor rgb '{}' pointtype 6 pointsize 1.1 notitle", number, style.color));
}

void add_band(CurveLines& lines, const Band& band, size_t number) {
  lines.blocks += fmt::format("$band{} << END\n", number);
  for (const BandPoint& point : band.points)
    lines.blocks += fmt::format("{} {} {}\n", coordinate(point.x), coordinate(point.low), coordinate(point.high));
  lines.blocks += "END\n";
  lines.plots.push_back(
      fmt::format("$band{} using 1:2:3 with filledcurves fillcolor rgb '{}' fillstyle transparent solid 0.2 noborder "
                  "notitle",
                  number, style_of(band.style).color));
}

// Returns the chart with the median of each group of several runs in place of its runs.
Curves with_medians(const Curves& chart, const std::vector<Band>& bands) {
  Curves made = {chart.x, chart.y, {}};
  for (const Curve& curve : chart.curves) {
    const auto band = std::ranges::find(bands, curve.group, &Band::group);
    if (band == bands.end()) {
      made.curves.push_back(curve);
      continue;
    }
    if (std::ranges::find(made.curves, curve.group, &Curve::group) != made.curves.end()) continue;
    Curve& median = made.curves.emplace_back(Curve{band->group, band->group, {}, band->style});
    for (const BandPoint& point : band->points) median.points.push_back({point.x, point.middle, point.note});
  }
  return made;
}

// A time begins at 0, as on the page, unless the scale is logarithmic.
std::string from_zero(const Axis& y) { return y.unit == "s" && y.scale == Scale::kLinear ? "set yrange [0:*]\n" : ""; }

// The key below the picture; short names stand side by side.
struct Key {
  std::string line;
  int height = 0;
};

Key key_of(const std::vector<std::string>& groups) {
  constexpr size_t kShort = 24, kColumns = 3;
  if (groups.size() > kMostInKey) return {"set key off\n", 0};
  const bool are_short = std::ranges::all_of(groups, [](const auto& group) { return group.size() <= kShort; });
  const size_t columns = are_short ? kColumns : 1;
  return {fmt::format("set key bmargin left Left reverse maxcols {} samplen 3\n", columns),
          20 * static_cast<int>((groups.size() + columns - 1) / columns)};
}

// The legend lists each group once; it is empty if there are too many groups.
Drawing draw(const Curves& whole) {
  const std::vector<Band> bands = bands_of(whole);
  const Curves chart = with_medians(whole, bands);
  const Key key = key_of(groups_of(chart));
  CurveLines lines;
  for (size_t i = 0; i < bands.size(); ++i) add_band(lines, bands[i], i);
  std::string last_group;
  for (size_t i = 0; i < chart.curves.size(); ++i) {
    const Curve& curve = chart.curves[i];
    const bool is_named = (i == 0 || curve.group != last_group) && key.height > 0;
    last_group = curve.group;
    add_curve(lines, chart, i, style_of(curve.style), is_named ? "title " + string_literal(curve.group) : "notitle");
  }
  return {.lines = lines.blocks + axis_lines("x", chart.x) + axis_lines("y", chart.y) + whole_tics(chart) +
                   from_zero(chart.y) + room_for_intervals(chart) + key.line + "set grid\nplot " +
                   join(lines.plots, ", \\\n  ") + "\n",
          .height = 420 + key.height};
}

// ---- bars and waterfalls ----

// A horizontal bar.
struct HorizontalBar {
  double from = 0, to = 0;
  std::string color, label;
  bool has_whisker = false;  // its label is above the whisker, both at the end of the bar
};

std::string box_block(const std::vector<HorizontalBar>& bars, const std::string& color) {
  std::string text;
  for (size_t i = 0; i < bars.size(); ++i) {
    if (bars[i].color != color) continue;
    const auto y = static_cast<double>(i);
    text += fmt::format("{0} {1} {0} {2} {3} {4}\n", coordinate(bars[i].from), coordinate(y), coordinate(bars[i].to),
                        coordinate(y - 0.36), coordinate(y + 0.36));
  }
  return text;
}

std::string labels_of(const std::vector<HorizontalBar>& bars) {
  std::string lines;
  for (size_t i = 0; i < bars.size(); ++i)
    lines += fmt::format("set label {} at {}, {} left offset character 0.7, {} front\n", string_literal(bars[i].label),
                         coordinate(std::max(bars[i].from, bars[i].to)), i, bars[i].has_whisker ? "0.35" : "0");
  return lines;
}

// `most` is the largest value, of the bars and their whiskers.
Drawing draw_horizontal_bars(const std::vector<HorizontalBar>& bars, const std::vector<std::string>& names,
                             const Axis& value, const std::string& whiskers, double most) {
  std::vector<std::string> colors, plots;
  for (const HorizontalBar& bar : bars) add_once(colors, bar.color);
  std::string blocks;
  for (size_t i = 0; i < colors.size(); ++i) {
    blocks += fmt::format("$boxes{} << END\n{}END\n", i, box_block(bars, colors[i]));
    plots.push_back(
        fmt::format("$boxes{} using 1:2:3:4:5:6 with boxxyerror fillcolor rgb '{}' linecolor rgb '{}' "
                    "fillstyle solid 0.85 notitle",
                    i, colors[i], colors[i]));
  }
  if (!whiskers.empty()) {
    blocks += "$whiskers << END\n" + whiskers + "END\n";
    plots.emplace_back("$whiskers using 1:2:3:4 with xerrorbars linecolor rgb '#222222' pointtype -1 notitle");
  }
  const std::string range =
      fmt::format("set yrange [{}:-0.6]\nset xrange [0:{}]\n", coordinate(static_cast<double>(bars.size()) - 0.4),
                  coordinate(most > 0 ? 1.18 * most : 1));
  return {.lines = blocks + labels_of(bars) + tics("y", names) + range + axis_lines("x", {value.name, value.unit}) +
                   "set grid xtics\nplot " + join(plots, ", \\\n  ") + "\n",
          .height = 130 + 26 * static_cast<int>(bars.size())};
}

Drawing draw(const Bars& chart) {
  const int digits = chart.value.unit.empty() ? 3 : 4;
  std::vector<HorizontalBar> bars;
  std::vector<std::string> names;
  std::string whiskers;
  double most = 0;
  for (size_t i = 0; i < chart.bars.size(); ++i) {
    const Bar& bar = chart.bars[i];
    names.push_back(bar.label);
    most = std::max({most, bar.value, bar.interval ? bar.interval->high : 0});
    bars.push_back({0, bar.value, style_of(bar.style).color, fmt::format("{:#.{}g}", bar.value, digits),
                    bar.interval.has_value()});
    if (bar.interval)
      whiskers += fmt::format("{} {} {} {}\n", coordinate(bar.value), coordinate(static_cast<double>(i) + 0.22),
                              coordinate(bar.interval->low), coordinate(bar.interval->high));
  }
  return draw_horizontal_bars(bars, names, chart.value, whiskers, most);
}

std::string_view color_of(StepKind kind) {
  if (kind == StepKind::kWhole) return kPalette[0];
  return kind == StepKind::kGain ? kGainColor : kLossColor;
}

Drawing draw(const Waterfall& chart) {
  std::vector<HorizontalBar> bars;
  std::vector<std::string> names;
  double most = 0;
  for (const WaterfallStep& step : chart.steps) {
    most = std::max({most, step.from, step.to});
    names.push_back(step.label);
    const std::string change =
        step.kind == StepKind::kWhole ? "" : fmt::format(" ({:+.0f} %)", 100 * (step.to - step.from) / step.from);
    bars.push_back({step.from, step.to, std::string(color_of(step.kind)), fmt::format("{:#.4g}{}", step.to, change)});
  }
  return draw_horizontal_bars(bars, names, chart.value, "", most);
}

// ---- heat maps ----

std::vector<double> values_of(const HeatMap& chart) {
  std::vector<double> values;
  for (const auto& row : chart.cells)
    for (const auto& cell : row)
      if (cell) values.push_back(*cell);
  return values;
}

Drawing draw(const HeatMap& chart) {
  constexpr int kLeastHeight = 360;  // for the name of the scale next to the map
  std::string blocks = "$cells << END\n";
  std::string labels;
  for (size_t i = 0; i < chart.rows.size(); ++i)
    for (size_t j = 0; j < chart.columns.size(); ++j) {
      const auto& cell = chart.cells[i][j];
      blocks += fmt::format("{} {} {}\n", j, i, cell ? coordinate(*cell) : "NaN");
      if (cell) labels += fmt::format("set label '{:#.3g}' at {}, {} center front\n", *cell, j, i);
    }
  const bool is_wide = scale_for(values_of(chart)) == Scale::kLogarithmic;
  return {.lines = blocks + "END\n" + labels + tics("x", chart.columns) + tics("y", chart.rows) +
                   axis_lines("x", chart.x) + axis_lines("y", chart.y) + axis_lines("cb", chart.value) +
                   (is_wide ? "set logscale cb\n" : "") +
                   fmt::format("set yrange [{}:-0.5]\nset xrange [-0.5:{}]\n",
                               coordinate(static_cast<double>(chart.rows.size()) - 0.5),
                               coordinate(static_cast<double>(chart.columns.size()) - 0.5)) +
                   "set palette defined (0 '#f4f1e4', 0.5 '#9fcdb6', 1 '#3c9ab2')\nunset key\n"
                   "plot $cells using 1:2:3 with image pixels\n",
          .height = std::max(kLeastHeight, 160 + 30 * static_cast<int>(chart.rows.size()))};
}

// ---- the script ----

std::string terminal_line(Terminal terminal, int height) {
  constexpr int kWidth = 900;
  if (terminal == Terminal::kSvg)
    return fmt::format(
        "set terminal svg size {},{} dynamic font 'DejaVu Sans,Arial,sans-serif' fontscale 1.1 background "
        "'white' noenhanced\n",
        kWidth, height);
  return fmt::format(
      "set terminal pngcairo size {},{} font 'DejaVu Sans,12' fontscale 1.5 linewidth 1.5 pointscale 1.5 "
      "background '#ffffff' noenhanced\n",
      kWidth * 3 / 2, height * 3 / 2);
}

}  // namespace

std::string gnuplot_script(const Chart& chart, Terminal terminal) {
  const Drawing drawing = std::visit([](const auto& body) { return draw(body); }, chart.body);
  return "set encoding utf8\nset border 3 linecolor rgb '#555555'\nset xtics nomirror\nset ytics nomirror\nset title " +
         string_literal(chart.title) + "\n" + terminal_line(terminal, drawing.height) + drawing.lines;
}

namespace {

struct Format {
  Terminal terminal;
  const char* ending;    // ending of the file's name
  std::string_view end;  // last bytes of a complete picture
};
constexpr Format kFormats[] = {{Terminal::kSvg, ".svg", "</svg>"}, {Terminal::kPng, ".png", "IEND\xAE\x42\x60\x82"}};

std::vector<const Chart*> charts_of(const Report& report) {
  std::vector<const Chart*> charts;
  for (const Section& section : report.sections)
    for (const Block& block : section.blocks)
      if (const auto* chart = std::get_if<Chart>(&block)) charts.push_back(chart);
  return charts;
}

std::string file_of(const Chart& chart, const std::filesystem::path& folder, const char* ending) {
  return (folder / chart.id).string() + ending;
}

void require_files(const std::vector<const Chart*>& charts, const std::filesystem::path& folder) {
  for (const Chart* chart : charts)
    for (const char* ending : {".svg", ".png", ".csv"}) {
      const std::string file = file_of(*chart, folder, ending);
      refuse_link(file);
      resolve_output_file(file);
    }
}

// gnuplot's exit status is 0 even if the disk of its standard output is full.
void require_complete_picture(const std::string& picture, const Format& format, const Chart& chart) {
  constexpr size_t kEnoughForTheEnd = 64;
  const size_t from = picture.size() - std::min(picture.size(), kEnoughForTheEnd);
  if (picture.find(format.end, from) != std::string::npos) return;
  throw_error(ExitCode::kDevice, "{}{}: gnuplot's picture is cut off; make room in the folder for temporary files",
              chart.id, format.ending);
}

// Both pictures are drawn before the first is written, so that a chart has both pictures or none.
void write_pictures(const Chart& chart, const std::filesystem::path& folder, Figures& figures) {
  std::vector<std::string> pictures;
  for (const Format& format : kFormats) {
    const GnuplotResult result = run_gnuplot(gnuplot_script(chart, format.terminal));
    if (!result.is_drawn) {
      figures.left_out.push_back({chart.id, result.reason});
      return;
    }
    require_complete_picture(result.picture, format, chart);
    pictures.push_back(result.picture);
  }
  for (size_t i = 0; i < pictures.size(); ++i) {
    figures.files.push_back(file_of(chart, folder, kFormats[i].ending));
    write_output_file(figures.files.back(), pictures[i]);
  }
}

// A single chart may hold values that gnuplot cannot draw. If no chart is drawn, gnuplot itself is the cause.
void require_pictures(const std::vector<const Chart*>& charts, const Figures& figures) {
  if (charts.empty() || figures.left_out.size() < charts.size()) return;
  throw_error(ExitCode::kDevice, "--figures: gnuplot drew no chart ({}: {}); their CSV is written",
              figures.left_out[0].id, figures.left_out[0].reason);
}

}  // namespace

Figures write_figures(const Report& report, const std::filesystem::path& folder) {
  check_gnuplot();
  const std::vector<const Chart*> charts = charts_of(report);
  make_folders(folder, "--figures");
  require_files(charts, folder);
  Figures figures;
  for (const Chart* chart : charts) {
    write_pictures(*chart, folder, figures);
    figures.files.push_back(file_of(*chart, folder, ".csv"));
    write_output_file(figures.files.back(), csv_of(data_of(*chart, Digits::kAll)));
  }
  require_pictures(charts, figures);
  return figures;
}

}  // namespace rnnlab::report
