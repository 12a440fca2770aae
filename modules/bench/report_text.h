// A report as the table that people read, and as CSV for programs.
#pragma once

#include <string>
#include <vector>

#include "bench/report.h"
#include "results/table.h"

namespace rnnlab {

enum class TableWidth {
  kNarrow,  // times with the half width of their interval, microseconds a layer-step, rates and speed-ups
  kWide,    // and intervals, rates of the total, bytes, bandwidth, memory and the longest kernels
};

// Warnings first, then the table, then what ran, row by row, and why rows are missing.
std::string report_text(const BenchReport& report, TableWidth width);

// What report_text is made of, for others who show a report.
TextTable report_table(const BenchReport& report, TableWidth width);
std::vector<std::string> report_legend(const BenchReport& report);    // what the columns mean
std::vector<std::string> report_ceilings(const BenchReport& report);  // what the devices do at their best
std::vector<std::string> report_paths(const BenchReport& report, TableWidth width);  // what ran
std::vector<Warning> report_doubts(const BenchReport& report);  // why rows are missing, and what makes others doubtful

// One line a row, everything but the samples and the environment. What is absent is empty.
std::string report_csv(const BenchReport& report);

}  // namespace rnnlab
