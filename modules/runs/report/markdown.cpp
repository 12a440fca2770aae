// SPDX-License-Identifier: Apache-2.0
#include "runs/report/writers.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "runs/report/report.h"
#include "runs/report/text.h"

namespace rnnlab::report {
namespace {

std::string row_text(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += " " + markdown_escaped(cell) + " |";
  return text + "\n";
}

std::string table_text(const TextTable& table) {
  std::vector<std::string> headings;
  std::string rule = "|";
  for (const TableColumn& column : table.columns()) {
    headings.push_back(column.heading);
    rule += column.align == Align::kRight ? "---:|" : "---|";
  }
  std::string text = row_text(headings) + rule + "\n";
  for (const auto& row : table.rows()) text += row_text(row);
  return text + "\n";
}

std::string bold(const std::string& text) { return "**" + markdown_escaped(text) + "**"; }

std::string severity_word(Severity severity) {
  switch (severity) {
    case Severity::kRefusal:
      return "REFUSED: ";
    case Severity::kWarning:
      return "WARNING: ";
    case Severity::kNote:
      return "";
  }
  RNNLAB_INVARIANT(false, "the Markdown writer does not handle this severity");
  return "";
}

// Returns the text of a block; "" if Markdown leaves the block out.
struct BlockText {
  std::string operator()(const Answer& answer) const {
    return bold(answer.sentence) + "\n\n" + markdown_escaped(answer.conditions) + "\n\n";
  }
  std::string operator()(const Notice& notice) const {
    std::string text = bold(severity_word(notice.severity) + notice.title) + "\n\n";
    for (const std::string& line : notice.lines) text += "- " + markdown_escaped(line) + "\n";
    return text + "\n";
  }
  std::string operator()(const Sentences& sentences) const {
    std::string text;
    for (const std::string& line : sentences.lines) text += markdown_escaped(line) + "\n\n";
    return text;
  }
  std::string operator()(const Heading&) const { return ""; }  // Most blocks under headings are left out.
  std::string operator()(const NamedTable& table) const {
    if (table.prominence == Prominence::kFolded) return "";
    return bold(table.title) + "\n\n" + limited(table.table, "of the page");
  }
  std::string operator()(const Chart& chart) const {
    if (chart.data == Prominence::kFolded) return "";
    if (const auto* curves = std::get_if<Curves>(&chart.body)) return curves_text(chart, *curves);
    return chart_text(chart, "");
  }

 private:
  static std::string curves_text(Chart chart, const Curves& curves) {
    PooledCurves pooled = pooled_by_group(curves);
    std::vector<std::string> details;
    add_once(details, curves.y.unit);
    add_once(details, pooled.rule);
    chart.body = std::move(pooled.curves);
    return chart_text(chart, details.empty() ? "" : fmt::format(" ({})", join(details, "; ")));
  }
  static std::string chart_text(const Chart& chart, const std::string& details) {
    return bold(chart.title + details) + "\n\n" + limited(data_of(chart, Digits::kFew), "of the page");
  }
  static std::string limited(const TextTable& table, const char* elsewhere) {
    constexpr size_t kMostColumns = 16;
    constexpr size_t kMostRows = 200;
    if (table.columns().size() <= kMostColumns && table.rows().size() <= kMostRows) return table_text(table);
    return fmt::format("{} by {}, too many for Markdown: the CSV {} contains them.\n\n",
                       counted(static_cast<int64_t>(table.rows().size()), "row"),
                       counted(static_cast<int64_t>(table.columns().size()), "column"), elsewhere);
  }
};

std::string blocks_text(const std::vector<Block>& blocks) {
  std::string text;
  for (const Block& block : blocks) text += std::visit(BlockText{}, block);
  return text;
}

}  // namespace

std::string markdown_of(const Report& report) {
  std::string text = "# " + markdown_escaped(report.title) + "\n\n" + blocks_text(report.opening);
  for (const Section& section : report.sections)
    text += "## " + markdown_escaped(section.heading) + "\n\n" + blocks_text(section.blocks);
  text.pop_back();  // a blank line at the end
  return text;
}

}  // namespace rnnlab::report
