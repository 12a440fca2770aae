#include "report/pooled_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "results/geometric_mean.h"

namespace rnnlab::report {
namespace {

using Pool = double (*)(std::span<const double> values);

Curve pooled(const std::vector<const Curve*>& runs, Pool pool) {
  if (runs.size() == 1) return *runs[0];
  std::map<double, std::pair<std::vector<double>, std::string>> values;
  for (const Curve* run : runs)
    for (const Point& point : run->points) {
      auto& [at_x, note] = values[point.x];
      at_x.push_back(point.y);
      if (!point.note.empty()) note = point.note;
    }
  Curve curve = {runs[0]->group, fmt::format("{} ({} runs)", runs[0]->group, runs.size()), {}};
  for (const auto& [x, at_x] : values) curve.points.push_back({x, pool(at_x.first), at_x.second});
  return curve;
}

}  // namespace

PooledCurves pooled_by_group(const Curves& chart) {
  PooledCurves all = {.curves = {chart.x, chart.y, {}}, .rule = ""};
  if (std::ranges::any_of(chart.curves, has_intervals)) return {.curves = chart, .rule = ""};
  const bool is_time = chart.y.unit == "s";
  for (const Curve& first : chart.curves) {
    const auto is_here = [&](const Curve& curve) { return curve.group == first.group; };
    if (std::ranges::any_of(all.curves.curves, is_here)) continue;
    std::vector<const Curve*> runs;
    for (const Curve& curve : chart.curves)
      if (is_here(curve)) runs.push_back(&curve);
    all.curves.curves.push_back(pooled(runs, is_time ? pooled_seconds : pooled_metric));
  }
  if (all.curves.curves.size() < chart.curves.size())
    all.rule = is_time ? "of several runs the geometric mean" : "of several runs the median";
  return all;
}

}  // namespace rnnlab::report
