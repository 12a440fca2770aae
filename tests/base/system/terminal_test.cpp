// SPDX-License-Identifier: Apache-2.0
#include "base/system/terminal.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "golden.h"

namespace rnnlab {
namespace {

GetVariable variables(const std::map<std::string, std::string>& values) {
  return [=](const char* name) { return values.contains(name) ? values.at(name) : std::string(); };
}

TEST(Terminal, HasColorsUnlessNoColorIsSet) {
  EXPECT_TRUE(terminal_from(Tty::kYes, 120, variables({{"TERM", "xterm"}})).has_color);
  const Terminal plain = terminal_from(Tty::kYes, 120, variables({{"TERM", "xterm"}, {"NO_COLOR", "1"}}));
  EXPECT_TRUE(plain.is_terminal);
  EXPECT_FALSE(plain.has_color);
}

TEST(Terminal, IsMissingForAPipeOrADumbOne) {
  for (const Terminal& terminal :
       {terminal_from(Tty::kNo, 0, variables({{"TERM", "xterm"}})),
        terminal_from(Tty::kYes, 80, variables({{"TERM", "dumb"}})), terminal_from(Tty::kYes, 80, variables({}))}) {
    EXPECT_FALSE(terminal.is_terminal);
    EXPECT_FALSE(terminal.has_color);
  }
}

TEST(Terminal, TakesItsWidthFromTheSystemThenColumnsThen80) {
  EXPECT_EQ(terminal_from(Tty::kYes, 120, variables({{"COLUMNS", "50"}})).width, 120u);
  EXPECT_EQ(terminal_from(Tty::kYes, 0, variables({{"COLUMNS", "50"}})).width, 50u);
  EXPECT_EQ(terminal_from(Tty::kYes, 0, variables({{"COLUMNS", "-5"}})).width, 80u);
  EXPECT_EQ(terminal_from(Tty::kYes, 0, variables({{"COLUMNS", "many"}})).width, 80u);
}

}  // namespace
namespace {

const Progress kHalf = {.title = "epoch 2/3", .done = 234, .total = 468, .seconds = 11.5, .detail = "loss 0.1234"};

TEST(FormatProgress, ShowsBarTimeLeftAndDetail) {
  EXPECT_EQ(format_progress(kHalf, 100),
            "epoch 2/3 [###############...............]  50 % 234/468, 0:12 left, loss 0.1234");
}

TEST(FormatProgress, ShrinksWithTheTerminal) {
  EXPECT_EQ(format_progress(kHalf, 60), "epoch 2/3 [#####.....]  50 % 234/468, 0:12 left, loss 0.1234");
  EXPECT_EQ(format_progress(kHalf, 50), "epoch 2/3 [######.......]  50 % 234/468, 0:12 left");
  EXPECT_EQ(format_progress(kHalf, 40), "epoch 2/3  50 % 234/468, 0:12 left");
  EXPECT_EQ(format_progress(kHalf, 12), "epoch 2/3  5");
  EXPECT_EQ(format_progress(kHalf, 0), "");
  for (size_t width = 0; width < 120; ++width) EXPECT_LE(format_progress(kHalf, width).size(), width);
}

TEST(FormatProgress, ShowsTheTimeOfAllEpochsBesideThatOfThisOne) {
  Progress progress = kHalf;
  progress.after = {.pieces = 1, .seconds_between = 2};
  expect_golden(format_progress(progress, 100));
  expect_golden(format_progress(progress, 70));
  progress.done = 0;
  EXPECT_EQ(format_progress(progress, 50), "epoch 2/3 [.....]   0 % 0/468, ? left, loss 0.1234");
}

TEST(FormatProgress, KnowsNoTimeLeftAtTheStart) {
  const Progress start = {.title = "valid", .done = 0, .total = 10, .seconds = 3, .detail = ""};
  EXPECT_EQ(format_progress(start, 60), "valid [..............................]   0 % 0/10, ? left");
}

TEST(FormatProgress, SaysAHundredOnlyAtTheEnd) {
  Progress progress = {.title = "t", .done = 999, .total = 1000, .seconds = 1, .detail = ""};
  EXPECT_EQ(format_progress(progress, 40), "t [#########.]  99 % 999/1000, 0:01 left");
  progress.done = 1000;
  EXPECT_EQ(format_progress(progress, 40), "t [#########] 100 % 1000/1000, 0:00 left");
}

TEST(FormatDuration, ReadsAsAClock) {
  EXPECT_EQ(format_time_left(0), "0:00");
  EXPECT_EQ(format_time_left(6.2), "0:07");
  EXPECT_EQ(format_time_left(754), "12:34");
  EXPECT_EQ(format_time_left(3723), "1:02:03");
  EXPECT_EQ(format_time_left(std::numeric_limits<double>::infinity()), "?");
  EXPECT_EQ(format_time_left(-1), "?");
}

class ProgressBarTest : public ::testing::Test {
 protected:
  ProgressBar make_bar(const Terminal& terminal) {
    return ProgressBar(
        terminal, [this] { return now_; }, [this](const std::string& text) { written_ += text; });
  }
  std::string take() { return std::exchange(written_, ""); }

  const Terminal terminal_{.is_terminal = true, .has_color = false, .width = 43};
  const std::function<std::string()> no_detail_ = [] { return std::string(); };
  double now_ = 100;
  std::string written_;
};

TEST_F(ProgressBarTest, RedrawsAtMostTenTimesASecond) {
  ProgressBar bar = make_bar(terminal_);
  bar.start("epoch 1/1", 10);
  now_ += 1;
  bar.update(5, no_detail_);
  EXPECT_EQ(take(), "\r\x1b[Kepoch 1/1 [####....]  50 % 5/10, 0:01 left");
  now_ += 0.05;
  bar.update(6, no_detail_);
  EXPECT_EQ(take(), "");
  now_ += 0.06;
  bar.update(7, no_detail_);
  EXPECT_EQ(take(), "\r\x1b[Kepoch 1/1 [#####...]  70 % 7/10, 0:01 left");
}

TEST_F(ProgressBarTest, MakesWayAndComesBack) {
  ProgressBar bar = make_bar(terminal_);
  bar.start("epoch 1/1", 10);
  bar.clear();
  EXPECT_EQ(take(), "");
  bar.update(5, no_detail_);
  take();
  bar.clear();
  EXPECT_EQ(take(), "\r\x1b[K");
  bar.update(5, no_detail_);
  EXPECT_NE(take(), "");
}

TEST_F(ProgressBarTest, IsGoneWhenItEnds) {
  {
    ProgressBar bar = make_bar(terminal_);
    bar.start("epoch 1/1", 10);
    bar.update(5, no_detail_);
    take();
  }
  EXPECT_EQ(take(), "\r\x1b[K");
}

TEST_F(ProgressBarTest, IsSilentWithoutATerminal) {
  {
    ProgressBar bar = make_bar(Terminal{});
    bar.start("epoch 1/1", 10);
    bar.update(5, [] {
      ADD_FAILURE() << "asked for a detail that nobody sees";
      return std::string();
    });
  }
  EXPECT_EQ(take(), "");
}

TEST(Table, AlignsWordsLeftAndNumbersRight) {
  TextTable table;
  table.add_column("run", Align::kLeft);
  table.add_column("s", Align::kRight);
  table.add_column("note", Align::kLeft);
  table.add_row({"cpu naive", "12.5", ""});
  table.add_row({"\u00e9t\u00e9", "3", "\u00b1 1"});
  EXPECT_EQ(table.text(),
            "run           s  note\n"
            "---------  ----  ----\n"
            "cpu naive  12.5\n"
            "\u00e9t\u00e9           3  \u00b1 1\n");
}

TEST(Table, ShowsACellOnOneLine) {
  TextTable table;
  table.add_column("run", Align::kLeft);
  table.add_column("s", Align::kRight);
  table.add_row({"a\nb\x1b", "1"});
  EXPECT_EQ(table.text(),
            "run         s\n"
            "----------  -\n"
            "a\\x0ab\\x1b  1\n");
  EXPECT_EQ(table.rows().front().front(), "a\nb\x1b");
}

TextTable table_of_times() {
  TextTable table;
  table.add_column("run", Align::kLeft);
  for (const char* heading : {"s/epoch", "interval", "ratio", "interval"}) table.add_column(heading, Align::kRight);
  table.add_row({"naive", "2.25", "2 .. 3", "1", "-"});
  table.add_row({"fused", "1.25", "1 .. 2", "0.56", "0.5 .. 1"});
  return table;
}

TEST(Table, LeavesOutItsLeastImportantColumnsUntilItFits) {
  const TextTable table = table_of_times();
  EXPECT_EQ(table.width(), 41u);
  const std::vector<size_t> least_important = {2, 4, 1};
  EXPECT_EQ(table.fitted(41, least_important).table.text(), table.text());
  EXPECT_EQ(table.fitted(41, least_important).note("--csv"), "");
  const FittedTable narrow = table.fitted(30, least_important);
  expect_golden(narrow.table.text());
  expect_golden(narrow.note("--csv"));
  EXPECT_EQ(table.fitted(1, least_important).table.width(), 12u) << "run and ratio always stay";
}

TEST(Table, IsDividedIntoBlocksThatFit) {
  const TextTable table = table_of_times();
  EXPECT_EQ(table.text_in_blocks(41), table.text());
  expect_golden(table.text_in_blocks(30, 1, 2));
}

TEST(Table, OfRepeatedColumnsOnlyIsNotDivided) {
  EXPECT_EQ(table_of_times().text_in_blocks(1, 5), table_of_times().text());
}

TEST(Table, OfNoRowsIsItsHeadings) {
  TextTable table;
  table.add_column("run", Align::kLeft);
  EXPECT_EQ(table.text(), "run\n---\n");
}

}  // namespace
}  // namespace rnnlab
