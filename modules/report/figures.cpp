#include "report/figures.h"

#include "base/error.h"
#include "base/text.h"
#include "report/gnuplot.h"
#include "report/gnuplot_script.h"
#include "report/text.h"
#include "results/files.h"
#include "results/run_folder.h"

namespace rnnlab::report {
namespace {

std::vector<const Chart*> charts_of(const Report& report) {
  std::vector<const Chart*> charts;
  for (const Section& section : report.sections)
    for (const Block& block : section.blocks)
      if (const auto* chart = std::get_if<Chart>(&block)) charts.push_back(chart);
  return charts;
}

// gnuplot's script is valid UTF-8 without control characters.
void require_nameable(const std::filesystem::path& folder) {
  if (readable(folder.string()) == folder.string()) return;
  throw_error(ExitCode::kUsage,
              "--figures {}: a folder whose name has control characters or is no UTF-8 is not for gnuplot; give "
              "another",
              without_controls(folder.string()));
}

}  // namespace

std::vector<std::string> write_figures(const Report& report, const std::filesystem::path& folder) {
  check_gnuplot();
  const std::filesystem::path whole_folder = std::filesystem::absolute(folder);  // gnuplot gives "|" and "<" a meaning
  require_nameable(whole_folder);
  make_folders(folder);
  std::vector<std::string> written;
  for (const Chart* chart : charts_of(report)) {
    const std::string name = (whole_folder / chart->id).string();
    run_gnuplot(gnuplot_script(*chart, {{Terminal::kSvg, name + ".svg"}, {Terminal::kPng, name + ".png"}}), chart->id);
    write_file_atomically(name + ".csv", csv_of(data_of(*chart, Digits::kAll)));
    for (const char* ending : {".svg", ".png", ".csv"}) written.push_back((folder / chart->id).string() + ending);
  }
  return written;
}

}  // namespace rnnlab::report
