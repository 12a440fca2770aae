#include "report/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>

#include "bench/sample_report.h"
#include "report/gnuplot.h"
#include "report/sample_sources.h"
#include "report/text.h"
#include "results/expect_error.h"
#include "results/temporary_folder.h"

namespace rnnlab::report {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::TemporaryFolder;

bool has_gnuplot() {
  try {
    check_gnuplot();
    return true;
  } catch (const UserError&) {
    return false;
  }
}

// Only programs in `folder` are found while it lives.
class PathOf {
 public:
  explicit PathOf(const std::filesystem::path& folder) : before_(::getenv("PATH")) {
    ::setenv("PATH", folder.c_str(), 1);
  }
  ~PathOf() { ::setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_;
};

TEST(Figures, AreDrawnAsSvgAndPngWithTheirDataAsCsv) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot here";
  BenchReport bench = testing::sample_report();
  bench.rows[2] = testing::measured_row(LayerKind::kHoisted, 0.3, 0.7, 0.9);
  auto runs = testing::naive_and_fused();
  for (auto& run : runs) run.summary.name = "it's <b> & `date`";
  const Report report = make_report({.runs = testing::read_back(runs), .benchmarks = {{"ladder.json", bench}}});
  const auto charts = testing::charts_in(report);
  const TemporaryFolder folder;
  const auto files = write_figures(report, folder.path() / "new" / "folder");
  EXPECT_EQ(files.size(), 3 * charts.size());
  for (const Chart& chart : charts) {
    const std::string name = (folder.path() / "new" / "folder" / chart.id).string();
    EXPECT_THAT(testing::read_text(name + ".svg"), HasSubstr("</svg>")) << name;
    EXPECT_THAT(testing::read_text(name + ".png"), StartsWith("\x89PNG\r\n")) << name;
    EXPECT_EQ(testing::read_text(name + ".csv"), csv_of(data_of(chart, Digits::kAll))) << name;
  }
}

TEST(Figures, SayHowToGetGnuplotWhereItIsMissing) {
  const TemporaryFolder folder;
  const PathOf nothing(folder.path());
  testing::expect_error(ExitCode::kDevice,
                        "--figures: gnuplot, which draws the figures, does not run here (No such file or directory); "
                        "install it (Debian and Ubuntu: apt-get install gnuplot-nox), or leave --figures out: the page "
                        "and the Markdown need nothing",
                        [&] { write_figures({}, folder.path() / "figures"); });
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "figures"));
}

TEST(Figures, TellWhatGnuplotSaidWhereItFails) {
  const TemporaryFolder folder;
  testing::write_text(folder.path() / "gnuplot",
                      "#!/bin/sh\n[ \"$1\" = --version ] || { echo line 7: oh no >&2; exit 1; }\n");
  std::filesystem::permissions(folder.path() / "gnuplot", std::filesystem::perms::owner_all);
  const PathOf failing(folder.path());
  testing::expect_error(ExitCode::kDevice, "rows-epoch-time: gnuplot did not draw it: line 7: oh no",
                        [] { run_gnuplot("plot\n", "rows-epoch-time"); });
}

}  // namespace
}  // namespace rnnlab::report
