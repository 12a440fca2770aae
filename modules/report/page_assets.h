// The files that go into every page, compiled into the program: nothing is read or loaded when a page is made or
// opened.
#pragma once

#include <string_view>

namespace rnnlab::report {

std::string_view page_style();           // page/page.css
std::string_view page_script();          // page/charts.js and page.js
std::string_view chart_library();        // third_party/echarts/echarts.min.js
std::string_view chart_library_terms();  // its NOTICE and LICENSE

}  // namespace rnnlab::report
