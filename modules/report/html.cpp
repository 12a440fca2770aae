// SPDX-License-Identifier: Apache-2.0
#include "report/writers.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

#include "base/error.h"
#include "base/sha256.h"
#include "base/text.h"
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

// Returns x and both ends of each interval of the curve.
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

namespace {

// ---- tables ----

const char* align_class(Align align) { return align == Align::kRight ? " class=\"n\"" : ""; }

std::string table_html(const TextTable& table, const std::string& caption) {
  std::string html = fmt::format("<table>\n<caption>{}</caption>\n<thead><tr>", html_escaped(caption));
  for (const TableColumn& column : table.columns())
    html += fmt::format("<th scope=\"col\"{}>{}</th>", align_class(column.align), html_escaped(column.heading));
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows()) {
    html += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string_view kind = i == 0 ? "th" : "td";
      html += fmt::format("<{0}{1}{2}>{3}</{0}>", kind, i == 0 ? " scope=\"row\"" : "",
                          align_class(table.columns()[i].align), html_escaped(row[i]));
    }
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table>\n";
}

// Wide tables have their own scroll bar, also for the keyboard.
std::string scrolling(const std::string& html, const std::string& name) {
  return fmt::format("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n{}</div>\n",
                     html_escaped(name), html);
}

std::string folded(const std::string& summary, const std::string& html) {
  return fmt::format("<details>\n<summary>{}</summary>\n{}</details>\n", html_escaped(summary), html);
}

std::string csv_link(const TextTable& table, const std::string& id, const std::string& name) {
  return fmt::format(
      "<a class=\"csv\" download=\"{}.csv\" href=\"data:text/csv;charset=utf-8;base64,{}\">CSV<span class=\"unseen\"> "
      "of "
      "{}</span></a>\n",
      id, base64(csv_of(table)), html_escaped(name));
}

// ---- blocks ----

std::string list_html(const std::vector<std::string>& lines) {
  std::string html = "<ul>\n";
  for (const std::string& line : lines) html += "<li>" + html_escaped(line) + "</li>\n";
  return html + "</ul>\n";
}

struct NoticeStyle {
  const char* css_class;
  const char* word;
};

NoticeStyle style_of(Severity severity) {
  switch (severity) {
    case Severity::kRefusal:
      return {"refusal", "Refused"};
    case Severity::kWarning:
      return {"warning", "Warning"};
    case Severity::kNote:
      return {"note", "Note"};
  }
  RNNLAB_INVARIANT(false, "the HTML writer does not handle this severity");
  return {};
}

// Returns the table below a chart. If the table is so large that it would slow the page down, the region is empty, and
// the page's script creates the table from the CSV when it is opened.
std::string data_html(const Chart& chart) {
  constexpr size_t kMostCells = 1500;
  const TextTable table = data_of(chart, Digits::kFew);
  const size_t num_cells = table.rows().size() * table.columns().size();
  const std::string content = num_cells <= kMostCells ? table_html(table, chart.title) : "";
  const std::string summary =
      fmt::format("The numbers of this chart, {} by {}", table.rows().size(), table.columns().size());
  return csv_link(data_of(chart, Digits::kAll), chart.id, chart.title) +
         folded(summary, scrolling(content, "The numbers of " + chart.title));
}

// Only notes may be folded.
std::string notice_lines(const Notice& notice) {
  constexpr size_t kMostOpen = 8;
  const std::string lines = list_html(notice.lines);
  if (notice.severity != Severity::kNote || notice.lines.size() <= kMostOpen) return lines;
  return folded(fmt::format("All {}", notice.lines.size()), lines);
}

struct BlockHtml {
  std::string operator()(const Notice& notice) const {
    const NoticeStyle look = style_of(notice.severity);
    return fmt::format("<div class=\"notice {}\" role=\"note\">\n<p><strong>{}: {}</strong></p>\n{}</div>\n",
                       look.css_class, look.word, html_escaped(notice.title), notice_lines(notice));
  }
  std::string operator()(const Sentences& sentences) const {
    std::string html;
    for (const std::string& line : sentences.lines) html += "<p>" + html_escaped(line) + "</p>\n";
    return html;
  }
  std::string operator()(const Heading& heading) const { return "<h3>" + html_escaped(heading.text) + "</h3>\n"; }
  std::string operator()(const NamedTable& table) const {
    const std::string shown = scrolling(table_html(table.table, table.title), table.title);
    const std::string html = shown + csv_link(table.table, table.id, table.title);
    const bool is_folded = table.prominence == Prominence::kFolded;
    return fmt::format("<div class=\"data\" id=\"{}\">\n{}</div>\n", table.id,
                       is_folded ? folded(table.title, html) : html);
  }
  std::string operator()(const Chart& chart) const {
    return fmt::format(
        "<figure class=\"chart\" id=\"{}\">\n<figcaption><h4>{}</h4><p>{}</p></figcaption>\n"
        "<script type=\"application/json\">{}</script>\n<div class=\"tools\"></div>\n"
        "<div class=\"plot\" role=\"img\" aria-label=\"{} (a chart; its numbers are in the table "
        "below)\"></div>\n{}</figure>\n",
        chart.id, html_escaped(chart.title), html_escaped(chart.description), script_text(chart_json(chart)),
        html_escaped(chart.title), data_html(chart));
  }
};

std::string blocks_html(const std::vector<Block>& blocks) {
  std::string html;
  for (const Block& block : blocks) html += std::visit(BlockHtml{}, block);
  return html;
}

// ---- the page ----

std::string navigation(const Report& report) {
  std::string html = "<nav aria-label=\"Sections\">\n<ul>\n";
  for (const Section& section : report.sections)
    html += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", section.id, html_escaped(section.heading));
  return html + "</ul>\n</nav>\n";
}

std::string script_hash(std::string_view script) {
  Sha256 sum;
  sum.update(script);
  const auto digest = from_hex(sum.hex()).value();
  return fmt::format("'sha256-{}'", base64({reinterpret_cast<const char*>(digest.data()), digest.size()}));
}

std::string head(const Report& report) {
  return fmt::format(
      "<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "script-src {} {}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>{}</style>\n</head>\n",
      script_hash(chart_library()), script_hash(page_script()), html_escaped(report.title), page_style());
}

std::string terms_html() {
  std::string html = "<pre>";
  for (const std::string& line : split(chart_library_terms(), '\n')) html += html_escaped(line) + "\n";
  return html + "</pre>\n";
}

std::string footer() {
  return "<footer>\n<p>Made by rnnlab. The charts are drawn by Apache ECharts, which is in this file.</p>\n" +
         folded("Terms of Apache ECharts", terms_html()) + "</footer>\n";
}

}  // namespace

std::string html_of(const Report& report) {
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\">\n" + head(report) +
                     "<body>\n<a class=\"skip\" href=\"#content\">Skip to the report</a>\n<header>\n<h1>" +
                     html_escaped(report.title) + "</h1>\n";
  html += "</header>\n<main id=\"content\">\n" + blocks_html(report.opening);
  if (report.sections.size() > 1) html += navigation(report);
  for (const Section& section : report.sections)
    html += fmt::format(
        "<section id=\"{0}\" aria-labelledby=\"{0}-heading\">\n<h2 id=\"{0}-heading\">{1}</h2>\n{2}</section>\n",
        section.id, html_escaped(section.heading), blocks_html(section.blocks));
  html += "</main>\n" + footer();
  html += fmt::format("<script>{}</script>\n<script>{}</script>\n</body>\n</html>\n", chart_library(), page_script());
  return html;
}

}  // namespace rnnlab::report
