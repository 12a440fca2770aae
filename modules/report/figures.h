// Charts as PDF and PNG files, drawn by gnuplot.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/chart.h"
#include "report/report.h"

namespace rnnlab::report {

// The program gnuplot, as far as figures need it.

// UserError kDevice, saying how to get it, where gnuplot does not run here or lacks a terminal that figures need.
void check_gnuplot();

struct GnuplotResult {
  bool is_drawn = false;
  std::string picture;  // what it wrote to standard output
  std::string reason;   // why it drew nothing, in a line: "y_min should not equal y_max!"
};

// Has it run `script`. UserError kDevice where it cannot be started, is ended by a signal, or nothing can be written
// for it.
GnuplotResult run_gnuplot(const std::string& script);

// A chart as a script for gnuplot 5.4 or newer, which writes the picture to its standard output. Texts in the script
// are strings without anything that gnuplot or a shell would act on.

enum class Terminal { kSvg, kPng };

std::string gnuplot_script(const Chart& chart, Terminal terminal);

// The charts of a report as pictures: SVG and PNG, and the data of each as CSV. Drawn by gnuplot, which must be there
// when this runs.

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
