// A chart as a script for gnuplot 5.4 or newer. Texts stand in it as strings that gnuplot does not look into.
#pragma once

#include <string>
#include <vector>

#include "report/chart.h"

namespace rnnlab::report {

enum class Terminal { kSvg, kPng };

struct Picture {
  Terminal terminal;
  std::string file;
};

// Draws the chart once for each picture.
std::string gnuplot_script(const Chart& chart, const std::vector<Picture>& pictures);

}  // namespace rnnlab::report
