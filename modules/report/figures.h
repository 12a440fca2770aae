// The charts of a report as pictures: SVG and PNG, and the data of each as CSV. Drawn by gnuplot, which must be there
// when this runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/report.h"

namespace rnnlab::report {

// Writes <id>.svg, <id>.png and <id>.csv for each chart into `folder`, which is made where it is missing, and gives the
// names of the files. UserError kDevice where gnuplot is missing or fails, or a file cannot be written.
std::vector<std::string> write_figures(const Report& report, const std::filesystem::path& folder);

}  // namespace rnnlab::report
