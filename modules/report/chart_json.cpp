#include "report/chart_json.h"

#include <cmath>

#include "report/text.h"

namespace rnnlab::report {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json axis_json(const Axis& axis) {
  return {
      {"name", readable(axis.name)}, {"unit", readable(axis.unit)}, {"logarithmic", axis.scale == Scale::kLogarithmic}};
}

Json list_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(readable(text));
  return list;
}

// Those of a curve that has any: the place, and both ends.
Json intervals_json(const Curve& curve) {
  Json intervals = Json::array();
  for (const Point& point : curve.points)
    if (point.interval)
      intervals.push_back({number(point.x), number(point.interval->low), number(point.interval->high)});
  return intervals;
}

Json body_json(const Curves& chart) {
  Json curves = Json::array();
  for (const Curve& curve : chart.curves) {
    Json points = Json::array();
    for (const Point& point : curve.points)
      points.push_back(point.note.empty() ? Json::array({number(point.x), number(point.y)})
                                          : Json::array({number(point.x), number(point.y), readable(point.note)}));
    curves.push_back({{"group", readable(curve.group)}, {"name", readable(curve.name)}, {"points", points}});
    if (has_intervals(curve)) curves.back()["intervals"] = intervals_json(curve);
  }
  return {{"kind", "curves"}, {"x", axis_json(chart.x)}, {"y", axis_json(chart.y)}, {"curves", curves}};
}

Json body_json(const Bars& chart) {
  Json bars = Json::array();
  for (const Bar& bar : chart.bars) {
    const Json interval =
        bar.interval ? Json::array({number(bar.interval->low), number(bar.interval->high)}) : Json(nullptr);
    bars.push_back({{"label", readable(bar.label)}, {"value", number(bar.value)}, {"interval", interval}});
  }
  return {{"kind", "bars"}, {"value", axis_json(chart.value)}, {"bars", bars}};
}

const char* kind_name(StepKind kind) {
  if (kind == StepKind::kWhole) return "whole";
  return kind == StepKind::kGain ? "gain" : "loss";
}

Json body_json(const Waterfall& chart) {
  Json steps = Json::array();
  for (const WaterfallStep& step : chart.steps)
    steps.push_back({{"label", readable(step.label)},
                     {"from", number(step.from)},
                     {"to", number(step.to)},
                     {"kind", kind_name(step.kind)}});
  return {{"kind", "waterfall"}, {"value", axis_json(chart.value)}, {"steps", steps}};
}

Json body_json(const HeatMap& chart) {
  Json rows = Json::array();
  for (const auto& row : chart.cells) {
    Json cells = Json::array();
    for (const auto& cell : row) cells.push_back(cell ? number(*cell) : Json(nullptr));
    rows.push_back(cells);
  }
  return {{"kind", "heat map"},
          {"x", axis_json(chart.x)},
          {"y", axis_json(chart.y)},
          {"value", axis_json(chart.value)},
          {"columns", list_json(chart.columns)},
          {"rows", list_json(chart.rows)},
          {"cells", rows}};
}

}  // namespace

Json chart_json(const Chart& chart) {
  Json json = std::visit([](const auto& body) { return body_json(body); }, chart.body);
  json["title"] = readable(chart.title);
  return json;
}

std::string script_text(const Json& json) {
  std::string text;
  for (const char c : json.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

}  // namespace rnnlab::report
