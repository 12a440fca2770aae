#include "report/html.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/hex.h"
#include "base/sha256.h"
#include "base/text.h"
#include "report/chart_json.h"
#include "report/page_assets.h"
#include "report/text.h"

namespace rnnlab::report {
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

// Wide tables scroll by themselves, by keyboard too.
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

struct NoticeLook {
  const char* css_class;
  const char* word;
};

NoticeLook look_of(Severity severity) {
  switch (severity) {
    case Severity::kRefusal:
      return {"refusal", "Refused"};
    case Severity::kWarning:
      return {"warning", "Warning"};
    case Severity::kNote:
      return {"note", "Note"};
  }
  RNNLAB_INVARIANT(false, "a severity that the page does not know");
  return {};
}

// The table behind a chart, or, where it is so large that it would slow the page down, a place where the page's script
// makes it from the CSV once somebody wants to see it.
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

// Only notes may be folded away.
std::string notice_lines(const Notice& notice) {
  constexpr size_t kMostOpen = 8;
  const std::string lines = list_html(notice.lines);
  if (notice.severity != Severity::kNote || notice.lines.size() <= kMostOpen) return lines;
  return folded(fmt::format("All {}", notice.lines.size()), lines);
}

struct BlockHtml {
  std::string operator()(const Notice& notice) const {
    const NoticeLook look = look_of(notice.severity);
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
