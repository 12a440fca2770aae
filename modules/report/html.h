// A report as one HTML file that needs nothing but a browser: charts, with their data as tables and CSV, style, script
// and chart library are in it. A content security policy keeps it from loading anything and from running any script but
// its own two, whatever the texts in it hold.
#pragma once

#include <string>

#include "report/report.h"

namespace rnnlab::report {

std::string html_of(const Report& report);

}  // namespace rnnlab::report
