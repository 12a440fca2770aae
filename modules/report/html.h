// The report as one HTML file, which needs nothing else.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

#include "report/chart.h"
#include "report/report.h"

namespace rnnlab::report {

// The files that go into every page, compiled into the program: nothing is read or loaded when a page is made or
// opened.

std::string_view page_style();           // page/page.css
std::string_view page_script();          // page/charts.js and page.js
std::string_view chart_library();        // third_party/echarts/echarts.min.js
std::string_view chart_library_terms();  // its NOTICE and LICENSE

// A chart as the JSON that the page's script draws it from. Only for .cpp files: it brings in nlohmann's header.

// What is not finite is null. Texts are readable().
nlohmann::ordered_json chart_json(const Chart& chart);

// As it may stand in a <script> element whatever is in it: no '<' at all.
std::string script_text(const nlohmann::ordered_json& json);

// A report as one HTML file that needs nothing but a browser: charts, with their data as tables and CSV, style, script
// and chart library are in it. A content security policy keeps it from loading anything and from running any script but
// its own two, whatever the texts in it hold.

std::string html_of(const Report& report);

}  // namespace rnnlab::report
