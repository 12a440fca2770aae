// Writes a report as Markdown (GitHub's dialect): notices, sentences and tables, and short charts as tables.
#pragma once

#include <string>

#include "report/report.h"

namespace rnnlab::report {

std::string markdown_of(const Report& report);

}  // namespace rnnlab::report
