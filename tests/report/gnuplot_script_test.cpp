#include "report/gnuplot_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace rnnlab::report {
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

TEST(GnuplotScript, NamesNoCurveWhereThereAreTooManyToTellApart) {
  Curves curves = {{.name = "epoch", .unit = ""}, {.name = "loss", .unit = ""}, {}};
  for (int i = 0; i < 200; ++i) curves.curves.push_back({"run " + std::to_string(i), "run", {{1, 1}}});
  EXPECT_THAT(script_of({.id = "a", .title = "Loss", .description = "", .body = curves}),
              Not(HasSubstr("title \"run")));
}

}  // namespace
}  // namespace rnnlab::report
