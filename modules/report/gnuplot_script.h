// A chart as a script for gnuplot 5.4 or newer, which writes the picture to its standard output. Texts in the script
// are strings without anything that gnuplot or a shell would act on.
#pragma once

#include <string>

#include "report/chart.h"

namespace rnnlab::report {

enum class Terminal { kSvg, kPng };

std::string gnuplot_script(const Chart& chart, Terminal terminal);

}  // namespace rnnlab::report
