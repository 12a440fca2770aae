// A report as the table that people read, and as CSV for programs.
#pragma once

#include <string>
#include <vector>

#include "bench/report.h"
#include "system/table.h"

namespace rnnlab {

// The parts of a row's key as people read them: what all rows share is said once, what differs makes a column.

struct KeyColumn {
  const char* heading;                 // "H"
  std::string (*text)(const RowKey&);  // "" for what is usual
  const char* usual = "";              // that, where it has to be said
};

// device, mode, precision, cell, cuDNN's algorithm, I, H, B, T, L, D; the layer is not among them. Usual are the
// algorithm auto, I where it is H, and D 1.
const std::vector<KeyColumn>& key_columns();

// The columns in which not all of `rows` are equal.
std::vector<KeyColumn> varying_columns(const std::vector<BenchRow>& rows);

// "cuda graph fp32 lstm H 512 B 64 T 100": of the columns that do not vary. "" where there are no rows.
std::string shared_text(const std::vector<BenchRow>& rows);

// "12.81" or "1281" for four digits: all digits of whole numbers, and never an exponent.
std::string significant(double value, int digits);

// "naive" where no column varies, else "naive H 256 B 32".
std::string row_label(const RowKey& key, const std::vector<KeyColumn>& varying);

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
