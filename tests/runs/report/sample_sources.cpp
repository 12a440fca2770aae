// SPDX-License-Identifier: Apache-2.0
#include "runs/report/sample_sources.h"

#include "base/system/temporary_folder.h"

namespace rnnlab::testing {

std::vector<RunRecord> read_back(const std::vector<SampleRun>& runs) {
  const TemporaryFolder folder;
  std::vector<RunRecord> records;
  for (size_t i = 0; i < runs.size(); ++i) {
    const std::filesystem::path place = folder.path() / ("run" + std::to_string(i));
    runs[i].write(place);
    records.push_back(load_run(place));
    records.back().folder = place.filename();
  }
  return records;
}

std::vector<SampleRun> naive_and_fused() {
  return {sample_run("cpu", "naive", 1, {9, 2, 2, 2, 2, 2, 2}), sample_run("cpu", "fused", 1, {4, 1, 1, 1, 1, 1, 1})};
}

report::Report report_of(const std::vector<SampleRun>& runs) { return report::make_report({.runs = read_back(runs)}); }

std::vector<report::Chart> charts_in(const report::Report& report) {
  std::vector<report::Chart> charts;
  for (const report::Section& section : report.sections)
    for (const report::Block& block : section.blocks)
      if (const auto* chart = std::get_if<report::Chart>(&block)) charts.push_back(*chart);
  return charts;
}

std::vector<std::string> ids(const std::vector<report::Chart>& charts) {
  std::vector<std::string> all;
  for (const report::Chart& chart : charts) all.push_back(chart.id);
  return all;
}

std::vector<report::Notice> opening_notices(const report::Report& report) {
  std::vector<report::Notice> notices;
  for (const report::Block& block : report.opening)
    if (const auto* notice = std::get_if<report::Notice>(&block)) notices.push_back(*notice);
  return notices;
}

}  // namespace rnnlab::testing
