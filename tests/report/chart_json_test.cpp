#include "report/chart_json.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rnnlab::report {
namespace {

TEST(ChartJson, LeavesAGapWhereALossIsNoNumber) {
  const Chart chart = {.id = "a-b",
                       .title = "Loss",
                       .description = "",
                       .body = Curves{{.name = "epoch", .unit = ""},
                                      {.name = "loss", .unit = "", .scale = Scale::kLogarithmic},
                                      {{"a", "a, seed 1", {{1, 0.5, "warm-up"}, {2, std::nan("")}, {3, INFINITY}}}}}};
  EXPECT_EQ(chart_json(chart).dump(),
            R"({"kind":"curves","x":{"name":"epoch","unit":"","logarithmic":false},)"
            R"("y":{"name":"loss","unit":"","logarithmic":true},)"
            R"("curves":[{"group":"a","name":"a, seed 1","points":[[1.0,0.5,"warm-up"],[2.0,null],[3.0,null]]}],)"
            R"("title":"Loss"})");
}

TEST(ChartJson, HasTheIntervalsOfCurvesThatHaveAny) {
  const Chart chart = {
      .id = "a-b",
      .title = "Speed-up",
      .description = "",
      .body = Curves{{.name = "devices", .unit = ""},
                     {.name = "speed-up", .unit = ""},
                     {{"a", "a", {{1, 1}, {2, 1.5, "", Interval{1.25, 1.75}}}}, {"b", "b", {{1, 1}}}}}};
  const auto json = chart_json(chart);
  EXPECT_EQ(json["curves"][0]["points"].dump(), "[[1.0,1.0],[2.0,1.5]]");
  EXPECT_EQ(json["curves"][0]["intervals"].dump(), "[[2.0,1.25,1.75]]");
  EXPECT_FALSE(json["curves"][1].contains("intervals"));
}

TEST(ChartJson, MayStandInAScriptWhateverItHolds) {
  EXPECT_EQ(script_text("</script><!--\xFF"), "\"\\u003c/script>\\u003c!--\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace rnnlab::report
