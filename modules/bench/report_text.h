// Writes a report as a table for people and as CSV for programs.
#pragma once

#include <string>
#include <vector>

#include "bench/report.h"
#include "system/table.h"

namespace rnnlab {

// The columns of row keys for people: values that all rows share are shown once, and each differing value has a column.
struct KeyColumn {
  const char* heading;                 // "H"
  std::string (*text)(const RowKey&);  // "" for the usual value
  const char* usual = "";              // text for the usual value, where it must be shown
};

// Returns the columns device, mode, precision, cell, cuDNN's algorithm, I, H, B, T, L, D, without the layer. The usual
// values are algorithm auto, I equal to H, and D 1.
const std::vector<KeyColumn>& key_columns();

// Returns the columns in which not all of `rows` are equal.
std::vector<KeyColumn> varying_columns(const std::vector<BenchRow>& rows);

// Returns the values of the columns that do not vary: "cuda graph fp32 lstm H 512 B 64 T 100". "" if there are no rows.
std::string shared_text(const std::vector<BenchRow>& rows);

// Returns "12.81" or "1281" for four digits: whole numbers keep all digits, and there is never an exponent.
std::string significant(double value, int digits);

// Returns "naive" if no column varies, else "naive H 256 B 32".
std::string row_label(const RowKey& key, const std::vector<KeyColumn>& varying);

enum class TableWidth {
  kNarrow,  // times with the half width of their interval, microseconds a layer-step, rates and speed-ups
  kWide,    // and intervals, rates of the total, bytes, bandwidth, memory and the longest kernels
};

// Returns warnings, then the table, then the executed paths row by row, and the reasons for missing rows.
std::string report_text(const BenchReport& report, TableWidth width);

// These functions return the parts of report_text, for reports in different formats.
TextTable report_table(const BenchReport& report, TableWidth width);
std::vector<std::string> report_legend(const BenchReport& report);                   // explains the columns
std::vector<std::string> report_ceilings(const BenchReport& report);                 // highest rates of the devices
std::vector<std::string> report_paths(const BenchReport& report, TableWidth width);  // executed paths
std::vector<Warning> report_doubts(const BenchReport& report);  // reasons for missing rows, and reasons to doubt rows

// Returns one line for each row, without the samples and the environment. Absent values are empty.
std::string report_csv(const BenchReport& report);

}  // namespace rnnlab
