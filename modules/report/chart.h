// The charts of a report as plain values: what is drawn, in which units, and nothing of how. Each can be read as a
// table too, for those who cannot see it and for programs.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/statistics.h"
#include "system/table.h"

namespace rnnlab::report {

enum class Scale { kLinear, kLogarithmic };

struct Axis {
  std::string name;  // "training time of an epoch"
  std::string unit;  // "s", or "" for a count or a ratio
  Scale scale = Scale::kLinear;
};

// "training time of an epoch (s)".
std::string label_of(const Axis& axis);

struct Point {
  double x = 0;
  double y = 0;           // not finite: a gap
  std::string note = {};  // "warm-up"
  std::optional<Interval> interval = std::nullopt;
};

struct Curve {
  std::string group;  // curves of one group look alike and are switched on and off together
  std::string name;   // unique
  std::vector<Point> points;
};

struct Curves {
  Axis x, y;
  std::vector<Curve> curves;
};

struct Bar {
  std::string label;
  double value = 0;
  std::optional<Interval> interval = std::nullopt;
};

struct Bars {
  Axis value;
  std::vector<Bar> bars;
};

enum class StepKind {
  kWhole,  // from nothing
  kGain,   // from the one before, for the better: less
  kLoss,   // for the worse
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
  std::vector<std::string> columns, rows;
  std::vector<std::vector<std::optional<double>>> cells;  // by row
};

// Of a row and a column that the map has.
std::optional<double>& cell_of(HeatMap& map, const std::string& row, const std::string& column);

// What is long and seldom read is folded away on a page and left out of Markdown.
enum class Prominence { kOpen, kFolded };

struct Chart {
  std::string id;           // a file's name and an anchor: of letters, digits, '-' and '_'; unique in a report
  std::string title;        // "Epoch time by epoch"
  std::string description;  // a sentence or two: what it shows and how to read it
  Prominence data = Prominence::kFolded;  // of the table behind it
  std::variant<Curves, Bars, Waterfall, HeatMap> body;
};

bool has_intervals(const Curve& curve);

// Without those that hold no finite number: of a run that diverged at once, say.
std::vector<Chart> with_something_to_draw(std::vector<Chart> charts);

enum class Digits {
  kAll,  // the shortest text that reads back to the same number
  kFew,  // six significant ones, for people
};

// A row for each value, or, where curves share their values of x, for each x, with a column for each curve. What is
// absent is an empty cell.
TextTable data_of(const Chart& chart, Digits digits);

// Which scale shows some values best.

// Logarithmic where all finite values are above 0 and the largest is more than 20 times the least.
Scale scale_for(const std::vector<double>& values);

// Curves of one group as one curve, for a table that has room for a column a group. Charts keep a curve for each run.

struct PooledCurves {
  Curves curves;     // of several runs "cpu fused (5 runs)"; a single one, and one with intervals, as it was
  std::string rule;  // "of several runs the geometric mean"; "" where nothing was pooled
};

// At each x the geometric mean of seconds, as in the comparison's table, and the median of any other quantity, over the
// runs that have a value there. Not a number where one of these diverged.
PooledCurves pooled_by_group(const Curves& chart);

}  // namespace rnnlab::report
