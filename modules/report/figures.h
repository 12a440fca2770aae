// The charts of a report as pictures: SVG and PNG, and the data of each as CSV. Drawn by gnuplot, which must be there
// when this runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/report.h"

namespace rnnlab::report {

// A chart without pictures.
struct ChartLeftOut {
  std::string id;
  std::string reason;  // "y_min should not equal y_max!"
};

struct Figures {
  std::vector<std::string> files;  // that were written
  std::vector<ChartLeftOut> left_out;
};

// Writes <id>.svg, <id>.png and <id>.csv for each chart into `folder`, which is made where it is missing. A chart that
// gnuplot cannot draw, such as one of values near 1e308, gets its CSV alone. UserError kUsage where one of the files
// is a link or cannot be written as a file (resolve_output_file), before anything is drawn; kDevice where gnuplot is
// missing, draws none of the charts, or a file cannot be written.
Figures write_figures(const Report& report, const std::filesystem::path& folder);

}  // namespace rnnlab::report
