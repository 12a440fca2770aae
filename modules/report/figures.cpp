#include "report/figures.h"

#include <fmt/format.h>

#include "base/error.h"
#include "report/gnuplot.h"
#include "report/gnuplot_script.h"
#include "report/text.h"
#include "results/files.h"
#include "results/run_folder.h"

namespace rnnlab::report {
namespace {

struct Format {
  Terminal terminal;
  const char* ending;    // of the file's name
  std::string_view end;  // of a whole picture
};
constexpr Format kFormats[] = {{Terminal::kSvg, ".svg", "</svg>"}, {Terminal::kPng, ".png", "IEND\xAE\x42\x60\x82"}};

std::vector<const Chart*> charts_of(const Report& report) {
  std::vector<const Chart*> charts;
  for (const Section& section : report.sections)
    for (const Block& block : section.blocks)
      if (const auto* chart = std::get_if<Chart>(&block)) charts.push_back(chart);
  return charts;
}

std::string file_of(const Chart& chart, const std::filesystem::path& folder, const char* ending) {
  return (folder / chart.id).string() + ending;
}

void require_files(const std::vector<const Chart*>& charts, const std::filesystem::path& folder) {
  for (const Chart* chart : charts)
    for (const char* ending : {".svg", ".png", ".csv"}) {
      const std::string file = file_of(*chart, folder, ending);
      refuse_link(file);
      resolve_output_file(file);
    }
}

// gnuplot ends well also where the disk of its standard output is full.
void require_whole(const std::string& picture, const Format& format, const Chart& chart) {
  constexpr size_t kEnoughForTheEnd = 64;
  const size_t from = picture.size() - std::min(picture.size(), kEnoughForTheEnd);
  if (picture.find(format.end, from) != std::string::npos) return;
  throw_error(ExitCode::kDevice, "{}{}: gnuplot's picture is cut off; make room in the folder for temporary files",
              chart.id, format.ending);
}

// Both are drawn before either is written: a chart has both pictures or none.
void write_pictures(const Chart& chart, const std::filesystem::path& folder, Figures& figures) {
  std::vector<std::string> pictures;
  for (const Format& format : kFormats) {
    const GnuplotResult result = run_gnuplot(gnuplot_script(chart, format.terminal));
    if (!result.is_drawn) {
      figures.left_out.push_back({chart.id, result.reason});
      return;
    }
    require_whole(result.picture, format, chart);
    pictures.push_back(result.picture);
  }
  for (size_t i = 0; i < pictures.size(); ++i) {
    figures.files.push_back(file_of(chart, folder, kFormats[i].ending));
    write_output_file(figures.files.back(), pictures[i]);
  }
}

// One chart may hold values that gnuplot cannot draw; if it draws none, gnuplot itself is at fault.
void require_pictures(const std::vector<const Chart*>& charts, const Figures& figures) {
  if (charts.empty() || figures.left_out.size() < charts.size()) return;
  throw_error(ExitCode::kDevice, "--figures: gnuplot drew no chart ({}: {}); their CSV is written",
              figures.left_out[0].id, figures.left_out[0].reason);
}

}  // namespace

Figures write_figures(const Report& report, const std::filesystem::path& folder) {
  check_gnuplot();
  const std::vector<const Chart*> charts = charts_of(report);
  make_folders(folder);
  require_files(charts, folder);
  Figures figures;
  for (const Chart* chart : charts) {
    write_pictures(*chart, folder, figures);
    figures.files.push_back(file_of(*chart, folder, ".csv"));
    write_output_file(figures.files.back(), csv_of(data_of(*chart, Digits::kAll)));
  }
  require_pictures(charts, figures);
  return figures;
}

}  // namespace rnnlab::report
