// SPDX-License-Identifier: Apache-2.0
#include "runs/report/writers.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/numbers.h"
#include "base/sha256.h"
#include "base/text.h"
#include "results/table.h"
#include "runs/report/text.h"

namespace rnnlab::report {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json list_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(readable(text));
  return list;
}

Json axis_json(const Axis& axis) {
  Json json = {
      {"name", readable(axis.name)}, {"unit", readable(axis.unit)}, {"logarithmic", axis.scale == Scale::kLogarithmic}};
  if (!axis.labels.empty()) json["labels"] = list_json(axis.labels);
  return json;
}

// Returns x and both ends of each interval of the curve.
Json intervals_json(const Curve& curve) {
  Json intervals = Json::array();
  for (const Point& point : curve.points)
    if (point.interval)
      intervals.push_back({number(point.x), number(point.interval->low), number(point.interval->high)});
  return intervals;
}

// The points of a band are x, median, lowest and highest value, and a note if there is one.
Json bands_json(const Curves& chart) {
  Json bands = Json::array();
  for (const Band& band : bands_of(chart)) {
    Json points = Json::array();
    for (const BandPoint& point : band.points) {
      points.push_back({number(point.x), number(point.middle), number(point.low), number(point.high)});
      if (!point.note.empty()) points.back().push_back(readable(point.note));
    }
    bands.push_back(
        {{"group", readable(band.group)}, {"style", band.style}, {"runs", band.num_runs}, {"points", points}});
  }
  return bands;
}

Json body_json(const Curves& chart) {
  Json curves = Json::array();
  for (const Curve& curve : chart.curves) {
    Json points = Json::array();
    for (const Point& point : curve.points)
      points.push_back(point.note.empty() ? Json::array({number(point.x), number(point.y)})
                                          : Json::array({number(point.x), number(point.y), readable(point.note)}));
    curves.push_back(
        {{"group", readable(curve.group)}, {"name", readable(curve.name)}, {"style", curve.style}, {"points", points}});
    if (has_intervals(curve)) curves.back()["intervals"] = intervals_json(curve);
    if (curve.intervals == IntervalLook::kBand) curves.back()["isBand"] = true;
  }
  Json json = {{"kind", "curves"}, {"x", axis_json(chart.x)}, {"y", axis_json(chart.y)}, {"curves", curves}};
  if (const Json bands = bands_json(chart); !bands.empty()) json["bands"] = bands;
  return json;
}

Json body_json(const Bars& chart) {
  Json bars = Json::array();
  for (const Bar& bar : chart.bars) {
    const Json interval =
        bar.interval ? Json::array({number(bar.interval->low), number(bar.interval->high)}) : Json(nullptr);
    bars.push_back(
        {{"label", readable(bar.label)}, {"value", number(bar.value)}, {"interval", interval}, {"style", bar.style}});
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

std::string cell_class(Align align, const std::string& cell) {
  const std::string classes = std::string(align == Align::kRight ? "n" : "") + (cell == kNothing ? " none" : "");
  return classes.empty() ? "" : fmt::format(" class=\"{}\"", trim(classes));
}

// Returns the table without the columns that have no value in any row.
TextTable without_empty_columns(const TextTable& table) {
  std::vector<size_t> kept;
  for (size_t i = 0; i < table.columns().size(); ++i) {
    const bool is_empty = std::ranges::all_of(table.rows(), [&](const auto& row) { return row[i] == kNothing; });
    if (!is_empty || table.rows().empty()) kept.push_back(i);
  }
  return table.with_columns(kept);
}

// kCards: on a narrow screen each row becomes a list of its cells with their headings. The roles keep it a table for a
// screen reader, which takes the roles from the layout otherwise.
enum class Layout { kTable, kCards };

std::string role_of(Layout layout, const char* role) {
  return layout == Layout::kCards ? fmt::format(" role=\"{}\"", role) : "";
}

std::string first_cell(const TextTable& table, const std::string& cell, Layout layout) {
  const TableColumn& column = table.columns()[0];
  const bool needs_heading = column.heading != "run" && column.heading != "layer";  // such as the size 16
  const bool has_heading = layout == Layout::kCards && needs_heading;
  return fmt::format("<th scope=\"row\"{}{}{}>{}</th>", role_of(layout, "rowheader"),
                     has_heading ? fmt::format(" data-heading=\"{} \"", html_escaped(column.heading)) : "",
                     align_class(column.align), html_escaped(cell));
}

std::string cell_html(const TableColumn& column, const std::string& cell, Layout layout) {
  if (layout == Layout::kTable) return fmt::format("<td{}>{}</td>", align_class(column.align), html_escaped(cell));
  return fmt::format("<td role=\"cell\" data-heading=\"{}\"{}>{}</td>", html_escaped(column.heading),
                     cell_class(column.align, cell), html_escaped(cell));
}

std::string table_html(const TextTable& table, const std::string& caption, Layout layout = Layout::kTable) {
  const std::string row_role = role_of(layout, "row");
  std::string html = fmt::format("<table{}{}>\n<caption>{}</caption>\n<thead><tr{}>",
                                 layout == Layout::kCards ? " class=\"cards\"" : "", role_of(layout, "table"),
                                 html_escaped(caption), row_role);
  for (const TableColumn& column : table.columns())
    html += fmt::format("<th scope=\"col\"{}{}>{}</th>", role_of(layout, "columnheader"), align_class(column.align),
                        html_escaped(column.heading));
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows()) {
    html += fmt::format("<tr{}>{}", row_role, first_cell(table, row[0], layout));
    for (size_t i = 1; i < row.size(); ++i) html += cell_html(table.columns()[i], row[i], layout);
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

// A percent sign is not parted from its number at the end of a line.
std::string prose(const std::string& text) {
  std::string html = html_escaped(text);
  for (size_t at = html.find(" %"); at != std::string::npos; at = html.find(" %", at)) html.replace(at, 1, "&nbsp;");
  return html;
}

std::string list_html(const std::vector<std::string>& lines) {
  std::string html = "<ul>\n";
  for (const std::string& line : lines) html += "<li>" + prose(line) + "</li>\n";
  return html + "</ul>\n";
}

struct NoticeStyle {
  const char* css_class;
  const char* word;
};

NoticeStyle style_of(Severity severity) {
  switch (severity) {
    case Severity::kRefusal:
      return {"refusal", "Refused: "};
    case Severity::kWarning:
      return {"warning", "Warning: "};
    case Severity::kNote:
      return {"note", ""};
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
      fmt::format("The numbers of this chart ({})", counted(static_cast<int64_t>(table.rows().size()), "row"));
  return csv_link(data_of(chart, Digits::kAll), chart.id, chart.title) +
         folded(summary, scrolling(content, "The numbers of " + chart.title));
}

// Only notes may be folded.
std::string notice_lines(const Notice& notice) {
  constexpr size_t kMostOpen = 8;
  std::string lines = list_html(notice.lines);
  if (notice.severity != Severity::kNote || notice.lines.size() <= kMostOpen) return lines;
  return folded(fmt::format("All {}", notice.lines.size()), lines);
}

std::string named_table_html(const NamedTable& named) {
  constexpr size_t kMostCards = 24, kFewColumns = 3;
  const TextTable table = without_empty_columns(named.table);
  const bool has_cards = table.rows().size() <= kMostCards && table.columns().size() >= kFewColumns;
  return scrolling(table_html(table, named.title, has_cards ? Layout::kCards : Layout::kTable), named.title) +
         csv_link(named.table, named.id, named.title);
}

struct BlockHtml {
  std::string operator()(const Answer& answer) const {
    return fmt::format("<p class=\"answer\">{}</p>\n<p class=\"conditions\">{}</p>\n", prose(answer.sentence),
                       html_escaped(answer.conditions));
  }
  std::string operator()(const Notice& notice) const {
    const NoticeStyle look = style_of(notice.severity);
    return fmt::format("<div class=\"notice {}\" role=\"note\">\n<p><strong>{}{}</strong></p>\n{}</div>\n",
                       look.css_class, look.word, html_escaped(notice.title), notice_lines(notice));
  }
  std::string operator()(const Sentences& sentences) const {
    std::string html;
    for (const std::string& line : sentences.lines) html += "<p>" + prose(line) + "</p>\n";
    return html;
  }
  std::string operator()(const Heading& heading) const { return "<h3>" + html_escaped(heading.text) + "</h3>\n"; }
  std::string operator()(const NamedTable& table) const {
    const std::string html = named_table_html(table);
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
        chart.id, html_escaped(chart.title), prose(chart.description), script_text(chart_json(chart)),
        html_escaped(chart.title), data_html(chart));
  }
};

std::string blocks_html(const std::vector<Block>& blocks) {
  std::string html;
  bool is_in_charts = false;  // charts in a row stand side by side where there is room
  for (const Block& block : blocks) {
    const bool is_chart = std::holds_alternative<Chart>(block);
    if (is_chart != is_in_charts) html += is_chart ? "<div class=\"charts\">\n" : "</div>\n";
    is_in_charts = is_chart;
    html += std::visit(BlockHtml{}, block);
  }
  return is_in_charts ? html + "</div>\n" : html;
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
  const bool is_only = report.sections.size() == 1;  // its heading would repeat the title
  for (const Section& section : report.sections)
    html += fmt::format(
        "<section id=\"{0}\" aria-labelledby=\"{0}-heading\">\n<h2 id=\"{0}-heading\"{1}>{2}</h2>\n{3}</section>\n",
        section.id, is_only ? " class=\"unseen\"" : "", html_escaped(section.heading), blocks_html(section.blocks));
  html += "</main>\n" + footer();
  html += fmt::format("<script>{}</script>\n<script>{}</script>\n</body>\n</html>\n", chart_library(), page_script());
  return html;
}

}  // namespace rnnlab::report
