// SPDX-License-Identifier: Apache-2.0
// Writes a report as one HTML file, as Markdown, and as figures: SVG and PNG files with their data as CSV files.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runs/report/report.h"

namespace rnnlab::report {

// ---- one HTML file (html.cpp) ----

// The files that every page contains. They are compiled into the program, so no file is read.

std::string_view page_style();           // page/page.css
std::string_view page_script();          // page/charts.js and page.js
std::string_view chart_library();        // third_party/echarts/echarts.min.js
std::string_view chart_library_terms();  // NOTICE and LICENSE of ECharts

// Returns the JSON from which the page's script draws a chart. Numbers that are not finite are null. Texts are
// readable().
nlohmann::ordered_json chart_json(const Chart& chart);

// Returns JSON text that is safe inside a <script> element: it has no '<'.
std::string script_text(const nlohmann::ordered_json& json);

// Returns a report as one HTML file that needs only a browser: it contains the charts, their data as tables and CSV,
// style, script and chart library. A content security policy prevents the page from loading files and from running
// every script except its own two, independent of the texts in the report.
std::string html_of(const Report& report);

// ---- Markdown (markdown.cpp) ----

// Returns a report in GitHub's dialect of Markdown: notices, sentences and tables, and short charts as tables.
std::string markdown_of(const Report& report);

// ---- figures (figures.cpp) ----

// Throws UserError kDevice, with the command that installs gnuplot, if gnuplot cannot run or lacks a required terminal.
void check_gnuplot();

struct GnuplotResult {
  bool is_drawn = false;
  std::string picture;  // standard output of gnuplot
  std::string reason;   // why gnuplot drew no picture, in one line: "y_min should not equal y_max!"
};

// Runs `script` with gnuplot. Throws UserError kDevice if gnuplot cannot be started or is ended by a signal, or if its
// temporary files cannot be written.
GnuplotResult run_gnuplot(const std::string& script);

// Returns a script for gnuplot 5.4 or newer, which writes the picture of a chart to its standard output. Texts in the
// script are string literals without characters that gnuplot or a shell would interpret.

enum class Terminal { kSvg, kPng };

std::string gnuplot_script(const Chart& chart, Terminal terminal);

// A chart without pictures.
struct SkippedChart {
  std::string id;
  std::string reason;  // "y_min should not equal y_max!"
};

struct Figures {
  std::vector<std::string> files;  // files that were written
  std::vector<SkippedChart> left_out;
};

// Writes <id>.svg, <id>.png and <id>.csv for each chart of the report into `folder`, which is created if it is missing.
// For a chart that gnuplot cannot draw, such as a chart of values near 1e308, only the CSV is written. Throws UserError
// kUsage, before drawing, if a file is a link or cannot be written as a file (resolve_output_file); kDevice if gnuplot
// is missing or draws none of the charts, or if a file cannot be written.
Figures write_figures(const Report& report, const std::filesystem::path& folder);

}  // namespace rnnlab::report
