#include "report/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>

#include "bench/sample_report.h"
#include "report/gnuplot.h"
#include "report/sample_sources.h"
#include "report/text.h"
#include "results/expect_error.h"
#include "results/temporary_folder.h"

namespace rnnlab::report {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
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
  const Figures figures = write_figures(report, folder.path() / "new" / "folder");
  EXPECT_EQ(figures.files.size(), 3 * charts.size());
  EXPECT_THAT(figures.left_out, IsEmpty());
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

Report report_with(const std::vector<Chart>& charts) {
  Report report;
  report.sections.emplace_back();
  for (const Chart& chart : charts) report.sections.back().blocks.emplace_back(chart);
  return report;
}

Chart curve_of(const std::string& id, const std::string& name, double value) {
  const Axis axis = {.name = name, .unit = ""};
  return {
      .id = id, .title = name, .description = "", .body = Curves{axis, axis, {{name, name, {{1, value}, {2, value}}}}}};
}

TEST(Figures, DrawTextsThatGnuplotWouldActOn) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot here";
  const TemporaryFolder folder;
  const std::string touch = "touch " + folder.name("made");
  const std::vector<std::string> texts = {"'x",
                                          std::string(3, '\''),
                                          "\"x",
                                          "\\",
                                          "`" + touch + "`",
                                          "$(" + touch + ")",
                                          "\"; system(\"" + touch + "\") #",
                                          "{[(",
                                          "@m",
                                          "%d %n",
                                          "a\\\n!" + touch};
  std::vector<Chart> charts;
  for (const std::string& text : texts) charts.push_back(curve_of("chart" + std::to_string(charts.size()), text, 0.5));
  const Figures figures = write_figures(report_with(charts), folder.path() / "'\"`it`");
  EXPECT_THAT(figures.left_out, IsEmpty());
  EXPECT_EQ(figures.files.size(), 3 * charts.size());
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "made")) << "a command ran";
  EXPECT_THAT(testing::read_text(figures.files.front()), HasSubstr(">'x</text>"));
}

TEST(Figures, LeaveOutWhatCannotBeDrawn) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot here";
  const TemporaryFolder folder;
  const Figures figures = write_figures(
      report_with({curve_of("large", "a", 1e308), curve_of("small", "b", 5e-324), curve_of("usual", "c", 1)}),
      folder.path());
  EXPECT_THAT(
      figures.left_out,
      ElementsAre(
          AllOf(Field(&ChartLeftOut::id, "large"), Field(&ChartLeftOut::reason, "all points y value undefined!")),
          AllOf(Field(&ChartLeftOut::id, "small"), Field(&ChartLeftOut::reason, "y_min should not equal y_max!"))));
  EXPECT_THAT(figures.files, ElementsAre(folder.name("large.csv"), folder.name("small.csv"), folder.name("usual.svg"),
                                         folder.name("usual.png"), folder.name("usual.csv")));
}

TEST(Figures, RefuseWhatIsNoFileBeforeTheyAreDrawn) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot here";
  const TemporaryFolder folder;
  ::mkfifo(folder.name("b.png").c_str(), 0600);
  const Report report = report_with({curve_of("a", "a", 1), curve_of("b", "b", 1)});
  testing::expect_error(ExitCode::kUsage,
                        folder.name("b.png") + ": is a pipe, expected a file to write; name an ordinary file",
                        [&] { write_figures(report, folder.path()); });
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "a.svg"));
}

// Stands in the place of gnuplot while it lives.
class FakeGnuplot {
 public:
  explicit FakeGnuplot(const std::string& script) : path_(folder_.path()) {
    testing::write_text(folder_.path() / "gnuplot", "#!/bin/sh\n" + script);
    std::filesystem::permissions(folder_.path() / "gnuplot", std::filesystem::perms::owner_all);
  }

 private:
  TemporaryFolder folder_;
  PathOf path_;
};

// It repeats the command first, which holds all that a file holds.
TEST(Figures, TellWhatGnuplotSaidWithoutItsCommand) {
  const FakeGnuplot failing("printf 'gnuplot> plot \"x\"\\n  ^\\n   line 7: oh no\\n\\n' >&2; exit 1\n");
  EXPECT_EQ(run_gnuplot("plot\n").reason, "oh no");
  testing::expect_error(ExitCode::kDevice,
                        "--figures: gnuplot, which draws the figures, does not run here (oh no); install it (Debian "
                        "and Ubuntu: apt-get install gnuplot-nox), or leave --figures out: the page and the Markdown "
                        "need nothing",
                        [] { check_gnuplot(); });
}

TEST(Figures, AreNotWrittenWhereGnuplotCutsThemOff) {
  const FakeGnuplot cutting("echo '<svg>'\n");
  const TemporaryFolder folder;
  testing::expect_error(ExitCode::kDevice,
                        "a.svg: gnuplot's picture is cut off; make room in the folder for temporary files",
                        [&] { write_figures(report_with({curve_of("a", "a", 1)}), folder.path()); });
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Figures, HaveBothPicturesOrNone) {
  const FakeGnuplot without_png(
      "script=$(/bin/cat)\n"
      "case $script in *svg*pngcairo*) exit 0;; *pngcairo*) echo ' line 1: no PNG' >&2; exit 1;; esac\n"
      "echo '<svg></svg>'\n");
  const TemporaryFolder folder;
  testing::expect_error(ExitCode::kDevice, "--figures: gnuplot drew no chart (a: no PNG); their CSV is written",
                        [&] { write_figures(report_with({curve_of("a", "a", 1)}), folder.path()); });
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "a.svg"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "a.csv"));
}

// The program ignores both signals; gnuplot must not inherit that.
TEST(Figures, AreDrawnWithTheSystemsOwnSignals) {
  const FakeGnuplot telling(
      "ignored=0x$(/bin/sed -n 's/SigIgn:\t//p' /proc/self/status)\n"
      "echo ignored: $((ignored & 0x1001000)) >&2; exit 1\n");  // SIGPIPE and SIGXFSZ
  const auto pipe = std::signal(SIGPIPE, SIG_IGN);
  const auto size = std::signal(SIGXFSZ, SIG_IGN);
  EXPECT_EQ(run_gnuplot("plot\n").reason, "ignored: 0");
  std::signal(SIGPIPE, pipe);
  std::signal(SIGXFSZ, size);
}

}  // namespace
}  // namespace rnnlab::report
