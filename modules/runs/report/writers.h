// SPDX-License-Identifier: Apache-2.0
// Writes a report as one HTML file, and as Markdown.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

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

}  // namespace rnnlab::report
