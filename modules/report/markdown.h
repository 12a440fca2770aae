// A report as Markdown for a README: notices, sentences and tables, and of the charts the short ones as tables.
// GitHub's flavour.
#pragma once

#include <string>

#include "report/report.h"

namespace rnnlab::report {

std::string markdown_of(const Report& report);

}  // namespace rnnlab::report
