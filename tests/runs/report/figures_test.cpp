// SPDX-License-Identifier: Apache-2.0
#include "runs/report/writers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <csignal>

#include "base/expect_error.h"
#include "base/system/temporary_folder.h"
#include "runs/bench/sample_report.h"
#include "runs/report/sample_sources.h"
#include "runs/report/text.h"

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

// During its lifetime, only programs in `folder` are found.
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
                        "install it (Debian and Ubuntu: apt-get install gnuplot-nox), or remove --figures: the page "
                        "and the Markdown do not need gnuplot",
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
          AllOf(Field(&SkippedChart::id, "large"), Field(&SkippedChart::reason, "all points y value undefined!")),
          AllOf(Field(&SkippedChart::id, "small"), Field(&SkippedChart::reason, "y_min should not equal y_max!"))));
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

// Replaces gnuplot during its lifetime.
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

// gnuplot repeats the command first, which contains the content of the file.
TEST(Figures, TellWhatGnuplotSaidWithoutItsCommand) {
  const FakeGnuplot failing("printf 'gnuplot> plot \"x\"\\n  ^\\n   line 7: oh no\\n\\n' >&2; exit 1\n");
  EXPECT_EQ(run_gnuplot("plot\n").reason, "oh no");
  testing::expect_error(
      ExitCode::kDevice,
      "--figures: gnuplot, which draws the figures, does not run here (oh no); install it (Debian "
      "and Ubuntu: apt-get install gnuplot-nox), or remove --figures: the page and the Markdown do not need gnuplot",
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

// The program ignores both signals; gnuplot must not inherit this.
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
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Chart bars(const std::string& label) {
  return {.id = "a-b",
          .title = "Times of `it's`",
          .description = "",
          .body = Bars{{.name = "time", .unit = "s"}, {{label, 2, Interval{1, 3}}}}};
}

std::string script_of(const Chart& chart) { return gnuplot_script(chart, Terminal::kSvg); }

TEST(GnuplotScript, LeavesNoTextToGnuplotsEyes) {
  const std::string script = script_of(bars("'50 % `date` \\ \"x\"\n!rm"));
  EXPECT_THAT(script, HasSubstr(R"(set title "Times of \140it's\140")"));
  EXPECT_THAT(script, HasSubstr(R"(set ytics ("'50 %% \140date\140 \134 \042x\042 !rm" 0))"));
  EXPECT_THAT(script, Not(HasSubstr("`")));
  EXPECT_THAT(script, HasSubstr(" noenhanced\n"));
}

TEST(GnuplotScript, CutsLongLabels) {
  EXPECT_THAT(script_of(bars(std::string(100, 'x'))), HasSubstr("\"" + std::string(48, 'x') + "...\" 0"));
}

TEST(GnuplotScript, DrawsGapsWhereALossIsNoNumber) {
  const Chart chart = {.id = "a-b",
                       .title = "Loss",
                       .description = "",
                       .body = Curves{{.name = "epoch", .unit = ""},
                                      {.name = "loss", .unit = "", .scale = Scale::kLogarithmic},
                                      {{"a", "a", {{1, 0.5, "warm-up"}, {2, std::nan("")}}}}}};
  const std::string script = script_of(chart);
  EXPECT_THAT(script, HasSubstr("$curve0 << END\n1 0.5\n2 NaN\nEND\n"));
  EXPECT_THAT(script, HasSubstr("$warmup0 << END\n1 0.5\nEND\n"));
  EXPECT_THAT(script, HasSubstr("set logscale y\n"));
}

TEST(GnuplotScript, DrawsTheIntervalsOfACurve) {
  const Chart chart = {.id = "a-b",
                       .title = "Speed-up",
                       .description = "",
                       .body = Curves{{.name = "devices", .unit = ""},
                                      {.name = "speed-up", .unit = ""},
                                      {{"a", "a", {{1, 1}, {2, 1.5, "", Interval{1.25, 1.75}}}}}}};
  const std::string script = script_of(chart);
  EXPECT_THAT(script, HasSubstr("$interval0 << END\n2 1.5 1.25 1.75\nEND\n"));
  EXPECT_THAT(script, HasSubstr("$interval0 using 1:2:3:4 with yerrorbars "));
}

TEST(GnuplotScript, DrawsSeveralRunsOfAGroupAsAMedianInABand) {
  const Chart chart = {.id = "a-b",
                       .title = "Loss",
                       .description = "",
                       .body = Curves{{.name = "epoch", .unit = ""},
                                      {.name = "loss", .unit = ""},
                                      {{"a", "a, seed 1", {{1, 4}, {2, 1}}}, {"a", "a, seed 2", {{1, 6}, {2, 2}}}}}};
  const std::string script = script_of(chart);
  EXPECT_THAT(script, HasSubstr("$band0 << END\n1 4 6\n2 1 2\nEND\n$curve0 << END\n1 5\n2 1.5\nEND\n"));
  EXPECT_THAT(script, HasSubstr("$band0 using 1:2:3 with filledcurves "));
  EXPECT_THAT(script, Not(HasSubstr("$curve1")));
}

TEST(GnuplotScript, HasTheNumberAtTheEndOfTheBarAboveItsWhisker) {
  const std::string script = script_of(bars("a"));
  EXPECT_THAT(script, HasSubstr("set label \"2.000\" at 2, 0 left offset character 0.7, 0.35 front\n"));
  EXPECT_THAT(script, HasSubstr("$whiskers << END\n2 0.22 1 3\nEND\n"));
}

TEST(GnuplotScript, NamesNoCurveWhereThereAreTooManyToTellApart) {
  Curves curves = {{.name = "epoch", .unit = ""}, {.name = "loss", .unit = ""}, {}};
  for (int i = 0; i < 200; ++i) curves.curves.push_back({"run " + std::to_string(i), "run", {{1, 1}}});
  EXPECT_THAT(script_of({.id = "a", .title = "Loss", .description = "", .body = curves}),
              Not(HasSubstr("title \"run")));
}

}  // namespace
}  // namespace rnnlab::report
