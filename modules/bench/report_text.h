// A report as the table that people read, and as CSV for programs.
#pragma once

#include <string>

#include "bench/report.h"

namespace rnnlab {

enum class TableWidth {
  kNarrow,  // times with the half width of their interval, microseconds a layer-step, rates and speed-ups
  kWide,    // and intervals, rates of the total, bytes, bandwidth, memory and the longest kernels
};

// Warnings first, then the table, then what ran, row by row, and why rows are missing.
std::string report_text(const BenchReport& report, TableWidth width);

// One line a row, everything but the samples and the environment. What is absent is empty.
std::string report_csv(const BenchReport& report);

}  // namespace rnnlab
