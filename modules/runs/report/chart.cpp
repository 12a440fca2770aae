// SPDX-License-Identifier: Apache-2.0
#include "runs/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "base/numbers.h"
#include "base/statistics.h"

namespace rnnlab::report {
namespace {

class CellText {
 public:
  explicit CellText(Digits digits) : digits_(digits) {}
  std::string operator()(double value) const {
    return digits_ == Digits::kAll ? format_shortest(value) : fmt::format("{:.6g}", value);
  }
  std::string operator()(const std::optional<double>& value) const { return value ? (*this)(*value) : ""; }

 private:
  Digits digits_;
};

// Returns whether one of the curves contains every x of the chart, as in charts by epoch.
bool share_x(const Curves& chart) {
  std::set<double> all;
  size_t most = 0;
  for (const Curve& curve : chart.curves) {
    most = std::max(most, curve.points.size());
    for (const Point& point : curve.points) all.insert(point.x);
  }
  return all.size() == most;
}

std::optional<double> end_of(const Point& point, double Interval::*end) {
  return point.interval ? std::optional((*point.interval).*end) : std::nullopt;
}

// Returns the columns of a curve: its values, then the ends of the intervals if it has intervals.
std::vector<std::string> columns_of(const Curve& curve) {
  if (!has_intervals(curve)) return {curve.name};
  return {curve.name, curve.name + ": low", curve.name + ": high"};
}

std::vector<std::string> cells_of(const Point& point, const CellText& text) {
  return {text(point.y), text(end_of(point, &Interval::low)), text(end_of(point, &Interval::high))};
}

TextTable one_column_a_curve(const Curves& chart, const CellText& text) {
  TextTable table;
  table.add_column(label_of(chart.x), Align::kRight);
  size_t num_columns = 0;
  for (const Curve& curve : chart.curves) num_columns += columns_of(curve).size();
  std::map<double, std::vector<std::string>> rows;
  size_t first = 0;
  for (const Curve& curve : chart.curves) {
    const std::vector<std::string> columns = columns_of(curve);
    for (const std::string& column : columns) table.add_column(column, Align::kRight);
    for (const Point& point : curve.points) {
      std::vector<std::string>& cells = rows.try_emplace(point.x, num_columns).first->second;
      const std::vector<std::string> own = cells_of(point, text);
      for (size_t i = 0; i < columns.size(); ++i) cells[first + i] = own[i];
    }
    first += columns.size();
  }
  for (auto& [x, cells] : rows) {
    cells.insert(cells.begin(), label_at(chart.x, x).value_or(text(x)));
    table.add_row(cells);
  }
  return table;
}

TextTable one_row_a_point(const Curves& chart, const CellText& text) {
  TextTable table;
  table.add_column("run", Align::kLeft);
  table.add_column(label_of(chart.x), Align::kRight);
  table.add_column(label_of(chart.y), Align::kRight);
  const bool have_intervals = std::ranges::any_of(chart.curves, has_intervals);
  if (have_intervals)
    for (const char* end : {"low", "high"}) table.add_column(end, Align::kRight);
  for (const Curve& curve : chart.curves)
    for (const Point& point : curve.points) {
      std::vector<std::string> cells = cells_of(point, text);
      cells.resize(have_intervals ? 3 : 1);
      cells.insert(cells.begin(), {curve.name, label_at(chart.x, point.x).value_or(text(point.x))});
      table.add_row(cells);
    }
  return table;
}

TextTable data_of(const Curves& chart, const CellText& text) {
  return share_x(chart) ? one_column_a_curve(chart, text) : one_row_a_point(chart, text);
}

TextTable data_of(const Bars& chart, const CellText& text) {
  TextTable table;
  table.add_column("run", Align::kLeft);
  table.add_column(label_of(chart.value), Align::kRight);
  for (const char* end : {"low", "high"}) table.add_column(end, Align::kRight);
  for (const Bar& bar : chart.bars) {
    const std::string low = bar.interval ? text(bar.interval->low) : "";
    const std::string high = bar.interval ? text(bar.interval->high) : "";
    table.add_row({bar.label, text(bar.value), low, high});
  }
  return table;
}

TextTable data_of(const Waterfall& chart, const CellText& text) {
  TextTable table;
  table.add_column("step", Align::kLeft);
  table.add_column(label_of(chart.value), Align::kRight);
  table.add_column("change", Align::kRight);
  for (const WaterfallStep& step : chart.steps)
    table.add_row({step.label, text(step.to), step.kind == StepKind::kWhole ? "" : text(step.to - step.from)});
  return table;
}

TextTable data_of(const HeatMap& chart, const CellText& text) {
  TextTable table;
  table.add_column(fmt::format("{} / {}", chart.y.name, chart.x.name), Align::kLeft);
  for (const std::string& column : chart.columns) table.add_column(column, Align::kRight);
  for (size_t i = 0; i < chart.rows.size(); ++i) {
    std::vector<std::string> cells = {chart.rows[i]};
    for (const auto& cell : chart.cells[i]) cells.push_back(text(cell));
    table.add_row(cells);
  }
  return table;
}

size_t position(const std::vector<std::string>& list, const std::string& item) {
  const auto found = std::ranges::find(list, item);
  RNNLAB_INVARIANT(found != list.end(), "the heat map does not have the row or column of a cell");
  return static_cast<size_t>(found - list.begin());
}

struct HasNumber {
  bool operator()(const Curves& chart) const { return std::ranges::any_of(chart.curves, in_curve); }
  bool operator()(const Bars& chart) const { return !chart.bars.empty(); }
  bool operator()(const Waterfall& chart) const { return !chart.steps.empty(); }
  bool operator()(const HeatMap& chart) const { return std::ranges::any_of(chart.cells, in_row); }

 private:
  static bool in_curve(const Curve& curve) {
    return std::ranges::any_of(curve.points, [](const Point& point) { return std::isfinite(point.y); });
  }
  static bool in_row(const std::vector<std::optional<double>>& cells) {
    return std::ranges::any_of(cells, [](const auto& cell) { return cell && std::isfinite(*cell); });
  }
};

}  // namespace

std::optional<std::string> label_at(const Axis& axis, double position) {
  const bool is_place = position >= 0 && position < static_cast<double>(axis.labels.size());
  return is_place ? std::optional(axis.labels[static_cast<size_t>(position)]) : std::nullopt;
}

std::string label_of(const Axis& axis) {
  return axis.unit.empty() ? axis.name : fmt::format("{} ({})", axis.name, axis.unit);
}

bool has_intervals(const Curve& curve) {
  return std::ranges::any_of(curve.points, [](const Point& point) { return point.interval.has_value(); });
}

std::optional<HeatMap> with_values(HeatMap axes, const std::vector<MapValue>& values) {
  for (const MapValue& one : values) {
    add_once(axes.rows, one.row);
    add_once(axes.columns, one.column);
  }
  axes.cells.assign(axes.rows.size(), std::vector<std::optional<double>>(axes.columns.size()));
  for (const MapValue& one : values) {
    std::optional<double>& cell = axes.cells[position(axes.rows, one.row)][position(axes.columns, one.column)];
    if (cell && one.value) return std::nullopt;
    if (one.value) cell = one.value;
  }
  return axes;
}

std::vector<Chart> without_empty_charts(std::vector<Chart> charts) {
  std::erase_if(charts, [](const Chart& chart) { return !std::visit(HasNumber{}, chart.body); });
  return charts;
}

TextTable data_of(const Chart& chart, Digits digits) {
  const CellText text(digits);
  return std::visit([&](const auto& body) { return data_of(body, text); }, chart.body);
}

Scale scale_for(const std::vector<double>& values) {
  constexpr double kWide = 20;
  std::vector<double> finite;
  std::ranges::copy_if(values, std::back_inserter(finite), [](double value) { return std::isfinite(value); });
  if (finite.empty()) return Scale::kLinear;
  const auto [least, most] = std::ranges::minmax(finite);
  return least > 0 && most > kWide * least ? Scale::kLogarithmic : Scale::kLinear;
}

namespace {

// Returns the curves of each group, in the order of the groups.
std::vector<std::vector<const Curve*>> curves_by_group(const Curves& chart) {
  std::vector<std::vector<const Curve*>> groups;
  for (const Curve& curve : chart.curves) {
    const auto is_its = [&](const auto& curves) { return curves[0]->group == curve.group; };
    const auto found = std::ranges::find_if(groups, is_its);
    (found == groups.end() ? groups.emplace_back() : *found).push_back(&curve);
  }
  return groups;
}

// Points that become one point of a curve or a band.
using PointsAtOnePlace = std::vector<const Point*>;

std::vector<PointsAtOnePlace> by_x(const std::vector<const Curve*>& runs) {
  std::map<double, PointsAtOnePlace> places;
  for (const Curve* run : runs)
    for (const Point& point : run->points) places[point.x].push_back(&point);
  std::vector<PointsAtOnePlace> all;
  for (auto& [x, points] : places) all.push_back(std::move(points));
  return all;
}

std::vector<double> members_of(const PointsAtOnePlace& points, double Point::*member) {
  std::vector<double> values;
  for (const Point* point : points) values.push_back(point->*member);
  return values;
}

std::string note_of(const PointsAtOnePlace& points) {
  std::string note;
  for (const Point* point : points)
    if (!point->note.empty()) note = point->note;
  return note;
}

using Pool = double (*)(std::span<const double> values);

Curve pooled(const std::vector<const Curve*>& runs, Pool pool) {
  if (runs.size() == 1) return *runs[0];
  Curve curve = {runs[0]->group, fmt::format("{} ({} runs)", runs[0]->group, runs.size()), {}, runs[0]->style};
  for (const PointsAtOnePlace& points : by_x(runs))
    curve.points.push_back({points[0]->x, pool(members_of(points, &Point::y)), note_of(points)});
  return curve;
}

}  // namespace

PooledCurves pooled_by_group(const Curves& chart) {
  PooledCurves all = {.curves = {chart.x, chart.y, {}}};
  if (std::ranges::any_of(chart.curves, has_intervals)) return {.curves = chart};
  const bool is_time = chart.y.unit == "s";
  for (const auto& runs : curves_by_group(chart))
    all.curves.curves.push_back(pooled(runs, is_time ? pooled_seconds : pooled_metric));
  if (all.curves.curves.size() < chart.curves.size())
    all.rule = is_time ? "of several runs the geometric mean" : "of several runs the median";
  return all;
}

namespace {

std::vector<PointsAtOnePlace> by_position(const std::vector<const Curve*>& runs) {
  std::vector<PointsAtOnePlace> all;
  for (const Curve* run : runs)
    for (size_t i = 0; i < run->points.size(); ++i) {
      if (i == all.size()) all.emplace_back();
      all[i].push_back(&run->points[i]);
    }
  return all;
}

BandPoint band_point(const PointsAtOnePlace& points) {
  const std::vector<double> y = members_of(points, &Point::y);
  BandPoint made{.x = median(members_of(points, &Point::x)), .middle = pooled_metric(y), .note = note_of(points)};
  const auto [low, high] = std::isnan(made.middle) ? std::pair(made.middle, made.middle)
                                                   : std::pair(std::ranges::min(y), std::ranges::max(y));
  made.low = low;
  made.high = high;
  return made;
}

}  // namespace

std::vector<Band> bands_of(const Curves& chart) {
  if (std::ranges::any_of(chart.curves, has_intervals)) return {};
  const bool have_same_x = share_x(chart);
  std::vector<Band> bands;
  for (const auto& runs : curves_by_group(chart)) {
    if (runs.size() < 2) continue;
    Band& band = bands.emplace_back(Band{runs[0]->group, runs[0]->style, runs.size(), {}});
    for (const PointsAtOnePlace& points : have_same_x ? by_x(runs) : by_position(runs))
      band.points.push_back(band_point(points));
  }
  return bands;
}

}  // namespace rnnlab::report
