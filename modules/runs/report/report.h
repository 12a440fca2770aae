// SPDX-License-Identifier: Apache-2.0
// The content of a report, independent of its presentation: sections of notices, sentences, tables and charts. Texts
// from files are untrusted, and the writers (writers.h) must escape them.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/statistics.h"
#include "base/system/terminal.h"

namespace rnnlab::report {

// ---- charts (chart.cpp) ----

// The charts of a report as plain values: their content and units, without drawing. Each chart is also available as a
// table, for programs and for people who cannot see it.

enum class Scale { kLinear, kLogarithmic };

struct Axis {
  std::string name;       // "training time of an epoch"
  std::string unit = {};  // "s", or "" for a count or a ratio
  Scale scale = Scale::kLinear;
  std::vector<std::string> labels =
      {};  // of the positions 0, 1, 2 ...: dates; empty if the numbers themselves are shown
};

// Returns the label of a position; nothing if the axis has no labels.
std::optional<std::string> label_at(const Axis& axis, double position);

// Returns a text such as "training time of an epoch (s)".
std::string label_of(const Axis& axis);

struct Point {
  double x = 0;
  double y = 0;           // not finite: a gap
  std::string note = {};  // "warm-up"
  std::optional<Interval> interval = std::nullopt;
};

enum class IntervalLook { kWhiskers, kBand };  // a band: every point has an interval

struct Curve {
  std::string group;  // curves of one group have the same style and are shown and hidden together
  std::string name;   // unique
  std::vector<Point> points = {};
  size_t style = 0;  // chooses colour and dashes: the position of the group among all groups of its section
  IntervalLook intervals = IntervalLook::kWhiskers;
};

struct Curves {
  Axis x, y;
  std::vector<Curve> curves = {};
};

struct Bar {
  std::string label;
  double value = 0;
  std::optional<Interval> interval = std::nullopt;
  size_t style = 0;  // chooses the colour, which is that of the curves with the same style
};

struct Bars {
  Axis value;
  std::vector<Bar> bars = {};
};

enum class StepKind {
  kWhole,  // a whole value, from zero
  kGain,   // a smaller value than the previous step, which is better
  kLoss,   // a larger value than the previous step, which is worse
};

struct WaterfallStep {
  std::string label;
  double from = 0;
  double to = 0;
  StepKind kind = StepKind::kWhole;
};

struct Waterfall {
  Axis value;
  std::vector<WaterfallStep> steps;
};

struct HeatMap {
  Axis x, y, value;
  std::vector<std::string> columns = {}, rows = {};
  std::vector<std::vector<std::optional<double>>> cells = {};  // by row
};

// A value of a map, or nothing, with the labels of its row and its column.
struct MapValue {
  std::string row, column;
  std::optional<double> value;
};

// Returns the map `axes` with these values; rows and columns are in the order of their first labels. Returns nothing if
// a cell would have two values.
std::optional<HeatMap> with_values(HeatMap axes, const std::vector<MapValue>& values);

// Long content that is rarely read is folded on a page and left out of Markdown.
enum class Prominence { kOpen, kFolded };

struct Chart {
  std::string id;                         // file name and anchor, of letters, digits, '-' and '_'; unique in a report
  std::string title;                      // "Epoch time by epoch"
  std::string description = {};           // one or two sentences: what the chart shows and how to read it
  Prominence data = Prominence::kFolded;  // of the table below the chart
  std::variant<Curves, Bars, Waterfall, HeatMap> body;
};

bool has_intervals(const Curve& curve);

// The runs of one group as one line with a band around it.
struct BandPoint {
  double x = 0;
  double middle = 0, low = 0, high = 0;  // median, smallest and largest value; NaN if one of the values is NaN
  std::string note = {};                 // of one of the points
};

struct Band {
  std::string group;
  size_t style = 0;
  size_t num_runs = 0;
  std::vector<BandPoint> points;
};

// Returns a band for each group of several curves, in the order of the groups; nothing if a curve has intervals. Points
// with the same x are joined. If the curves do not share their values of x, as by wall time, their first points are
// joined at the median of their x, then their second points, and so on.
std::vector<Band> bands_of(const Curves& chart);

// Removes charts without a finite number, such as the loss of a run that diverged in its first epoch.
std::vector<Chart> without_empty_charts(std::vector<Chart> charts);

enum class Digits {
  kAll,  // the shortest text that reads back to the same number
  kFew,  // six significant digits, for people
};

// Returns a table with a row for each value. If curves share their values of x, it has a row for each x and a column
// for each curve. Absent values are empty cells.
TextTable data_of(const Chart& chart, Digits digits);

// Returns kLogarithmic if all finite values are above 0 and the largest exceeds 20 times the smallest; else kLinear.
Scale scale_for(const std::vector<double>& values);

// Pools the curves of each group into one curve, for a table with one column a group. Charts keep one curve a run.
struct PooledCurves {
  Curves curves;  // "cpu fused (5 runs)" for several runs; a single curve, and curves with intervals, are unchanged
  std::string rule = {};  // "of several runs the geometric mean"; "" if nothing was pooled
};

// Pools the values at each x over the runs that have a value there: seconds by geometric mean, as in the comparison's
// table, all other quantities by median. The result is NaN if one of the values is NaN.
PooledCurves pooled_by_group(const Curves& chart);

// ---- blocks and sections ----

enum class Severity {
  kRefusal,  // the numbers must not be used as a comparison
  kWarning,  // the numbers are doubtful
  kNote,
};

struct Notice {
  Severity severity = Severity::kNote;
  std::string title;
  std::vector<std::string> lines;
};

// What a reader came for, in one sentence, and where and when it was measured, in one line.
struct Answer {
  std::string sentence;    // "cpu fused is 3.4 times as fast as cpu naive (95 % interval 3.1 to 3.8)."
  std::string conditions;  // "AMD EPYC, 2 threads; 2026-11-21; data: digits, 4000 training samples"
};

struct Sentences {
  std::vector<std::string> lines;
};

struct Heading {
  std::string text;
};

struct NamedTable {
  std::string id;  // of letters, digits, '-' and '_'; like a chart's
  std::string title;
  TextTable table;
  Prominence prominence = Prominence::kOpen;
};

using Block = std::variant<Answer, Notice, Sentences, Heading, NamedTable, Chart>;

struct Section {
  std::string id;
  std::string heading;
  std::vector<Block> blocks = {};
};

struct Report {
  std::string title;
  std::vector<Block> opening = {};  // before everything else
  std::vector<Section> sections = {};
};

}  // namespace rnnlab::report
