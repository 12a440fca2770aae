// SPDX-License-Identifier: Apache-2.0
#include "results/epoch_log.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/expect_error.h"
#include "base/system/small_disk.h"
#include "base/system/temporary_folder.h"
#include "results/epoch_row.h"
#include "results/quality.h"
#include "results/sample_runs.h"

namespace rnnlab::testing {
namespace {

TEST(EpochLog, WritesEveryRowAsItComes) {
  const TemporaryFolder folder;
  EpochLog log(folder.path());
  log.append(sample_row(1, 2));
  EXPECT_EQ(read_text(folder.path() / "epochs.csv"), epoch_csv_header() + epoch_csv_line(sample_row(1, 2)));
  EXPECT_EQ(read_text(folder.path() / "epochs.jsonl"), epoch_jsonl_line(sample_row(1, 2)));
  log.append(sample_row(2, 3));
  log.sync();
  EXPECT_EQ(read_epochs(folder.path()).back().train_seconds, 3);
}

TEST(EpochLog, GoesOnWithoutASecondHeader) {
  const TemporaryFolder folder;
  EpochLog(folder.path()).append(sample_row(1, 2));
  EpochLog(folder.path()).append(sample_row(2, 3));
  EXPECT_EQ(read_epochs(folder.path()).size(), 2u);
}

TEST(EpochLog, FailsOnAFullDiskAndKeepsWholeRows) {
  const SmallDisk disk;
  EpochLog log(disk.path());
  int64_t num_appended = 0;
  EXPECT_THROW(
      while (true) {
        log.append(sample_row(num_appended + 1, 2));
        ++num_appended;
      },
      UserError);
  const auto num_read = static_cast<int64_t>(read_epochs(disk.path()).size());
  EXPECT_GT(num_read, 0);
  EXPECT_GE(num_read, num_appended);  // the CSV may hold the row that the JSONL had no room for
  EXPECT_LE(num_read, num_appended + 1);
}

TEST(EpochLog, NamesTheFileThatCannotBeWritten) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("/dev/full", folder.path() / "epochs.csv");
  expect_error(ExitCode::kDevice, [&] { EpochLog log(folder.path()); });
}

class KeepEpochs : public ::testing::Test {
 protected:
  KeepEpochs() {
    EpochLog log(run());
    for (int64_t epoch = 1; epoch <= 3; ++epoch) log.append(sample_row(epoch, 2));
  }

  // Checks that both files contain exactly the rows of epochs 1 to `last`, and that the next row can be appended.
  void expect_epochs_to(int64_t last) const {
    std::string csv = epoch_csv_header();
    std::string jsonl;
    for (int64_t epoch = 1; epoch <= last; ++epoch) {
      csv += epoch_csv_line(sample_row(epoch, 2));
      jsonl += epoch_jsonl_line(sample_row(epoch, 2));
    }
    EXPECT_EQ(read_text(run() / "epochs.csv"), csv);
    EXPECT_EQ(read_text(run() / "epochs.jsonl"), jsonl);
    EpochLog(run()).append(sample_row(last + 1, 2));
    EXPECT_EQ(std::ssize(read_epochs(run())), last + 1);
  }

  std::vector<EpochRow> keep(int64_t last) const {
    auto rows = read_first_epochs(run(), last);
    rewrite_epochs(run(), rows);
    return rows;
  }

  const std::filesystem::path& run() const { return folder_.path(); }
  std::string csv_name() const { return folder_.name("epochs.csv"); }

 private:
  TemporaryFolder folder_;
};

TEST_F(KeepEpochs, TakesBackWhatCameAfter) {
  const auto rows = keep(2);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows.back().epoch, 2);
  expect_epochs_to(2);
}

TEST_F(KeepEpochs, MayKeepAllOrNone) {
  EXPECT_EQ(keep(3).size(), 3U);
  EXPECT_EQ(keep(0).size(), 0U);
  expect_epochs_to(0);
}

TEST_F(KeepEpochs, MendsTheEndsOfBothFiles) {
  write_text(run() / "epochs.csv", read_text(run() / "epochs.csv") + "4,0.");
  write_text(run() / "epochs.jsonl", epoch_jsonl_line(sample_row(1, 2)) + "{\"epo");
  keep(3);
  expect_epochs_to(3);
}

TEST_F(KeepEpochs, NeedsNoFilesWhereNothingIsKept) {
  std::filesystem::remove(run() / "epochs.csv");
  std::filesystem::remove(run() / "epochs.jsonl");
  keep(0);
  expect_epochs_to(0);
}

TEST_F(KeepEpochs, RefusesAFileThatLacksSome) {
  expect_error(ExitCode::kData, [&] { keep(4); });
  write_text(run() / "epochs.csv", epoch_csv_header() + "1,");
  expect_error(ExitCode::kData, [&] { keep(1); });
}

TEST_F(KeepEpochs, ReplacesALinkAndLeavesAloneWhatItPointsAt) {
  const TemporaryFolder elsewhere;
  const std::string rows = read_text(run() / "epochs.csv");
  std::filesystem::rename(run() / "epochs.csv", elsewhere.path() / "epochs.csv");
  std::filesystem::create_symlink(elsewhere.path() / "epochs.csv", run() / "epochs.csv");
  keep(1);
  EXPECT_EQ(read_text(elsewhere.path() / "epochs.csv"), rows);
  expect_epochs_to(1);
}

TEST(ReadEpochs, NamesTheFileAndTheLine) {
  const TemporaryFolder folder;
  write_text(folder.path() / "epochs.csv", epoch_csv_header() + "1,");
  expect_error(ExitCode::kData, [&] { read_epochs(folder.path()); });
}

}  // namespace
namespace {

std::string jsonl_of(const std::vector<EpochRow>& rows) {
  std::string text;
  for (const EpochRow& row : rows) text += epoch_jsonl_line(row);
  return text;
}

std::string csv_of(const std::vector<EpochRow>& rows) {
  const auto columns = epoch_csv_columns(rows);
  std::string text = epoch_csv_header(columns);
  for (const EpochRow& row : rows) text += epoch_csv_line(row, columns);
  return text;
}

EpochRow row_of_macro_f1(int64_t epoch, double value) {
  EpochRow row = sample_row(epoch, 2);
  row.metrics["valid_macro_f1"] = value;
  return row;
}

TEST(EpochLog, HasAColumnOfAMetricThatTheRunAsksFor) {
  const TemporaryFolder folder;
  EpochRow undefined = sample_row(2, 2);
  undefined.undefined["valid_macro_f1"] = "a reason";
  {
    EpochLog log(folder.path(), {"valid_macro_f1"});
    log.append(row_of_macro_f1(1, 0.25));
    log.append(undefined);
  }
  const std::string csv = read_text(folder.path() / "epochs.csv"), jsonl = read_text(folder.path() / "epochs.jsonl");
  EXPECT_EQ(columns_in_header(csv).back(), "valid_macro_f1");
  const std::vector<EpochRow> rows = read_epochs(folder.path());
  EXPECT_EQ(metric_in(rows[0], "valid_macro_f1"), 0.25);
  EXPECT_EQ(metric_in(rows[1], "valid_macro_f1"), std::nullopt);
  EXPECT_THAT(jsonl, ::testing::HasSubstr("\"valid_macro_f1\":null"));
  EXPECT_EQ(disagreement(rows, jsonl), std::nullopt);
}

TEST(EpochLog, HasNoColumnOfAMetricThatTheRunDoesNotAskFor) {
  const TemporaryFolder folder;
  EpochLog(folder.path()).append(sample_row(1, 2));
  for (const char* file : {"epochs.csv", "epochs.jsonl"})
    EXPECT_THAT(read_text(folder.path() / file), ::testing::Not(::testing::HasSubstr("macro_f1"))) << file;
}

// A run that is resumed before its first row, or whose rows lack the value, keeps the column.
TEST(RewriteEpochs, KeepsTheColumns) {
  const TemporaryFolder folder;
  { EpochLog log(folder.path(), {"valid_macro_f1"}); }
  rewrite_epochs(folder.path(), {});
  EpochLog(folder.path()).append(row_of_macro_f1(1, 0.5));
  EXPECT_EQ(metric_in(read_epochs(folder.path()).at(0), "valid_macro_f1"), 0.5);
}

TEST(RowsSha256, IsThatOfWhatIsReadBack) {
  std::vector<EpochRow> rows = sample_rows({9, 1.0 / 3, 2});
  rows[0].warmup = true;
  rows[2].train_loss = -std::nan("");
  rows[2].gradient_norm = INFINITY;
  rows[1].other_columns = {{"a_later_column", "7"}};
  EXPECT_EQ(rows_sha256(parse_epochs_csv(csv_of(rows), "epochs.csv")), rows_sha256(rows));
  EXPECT_EQ(rows_sha256({}), "");
}

TEST(RowsSha256, IsOfEveryValueAndTheOrder) {
  const std::vector<EpochRow> rows = sample_rows({9, 1, 2});
  for (const EpochColumn& column : epoch_columns()) {
    std::vector<EpochRow> other = rows;
    other[1].metrics.erase(column.name);
    if (column.member) std::visit([&](auto member) { other[1].*member = {}; }, *column.member);
    const bool is_changed = epoch_csv_line(other[1]) != epoch_csv_line(rows[1]);
    EXPECT_EQ(rows_sha256(other) != rows_sha256(rows), is_changed) << column.name;
  }
  EXPECT_NE(rows_sha256(std::vector{rows[0], rows[2], rows[1]}), rows_sha256(rows));
  EXPECT_NE(rows_sha256(std::span(rows).first(2)), rows_sha256(rows));
}

TEST(RowsSha256, KeepsItsValueFromVersionToVersion) {
  std::vector<EpochRow> rows = {{.epoch = 1, .train_loss = 0.5, .train_seconds = 2}};
  const std::string now = rows_sha256(rows);
  rows[0].other_columns["later"] = "";
  EXPECT_EQ(rows_sha256(rows), now) << "a column that has no value here";
}

TEST(Disagreement, IsNoneOfRowsAsTheyAreWritten) {
  std::vector<EpochRow> rows = sample_rows({9, 1.0 / 3, 2});
  rows[0].warmup = true;
  rows[1].train_loss = std::nan("");
  rows[1].other_columns = {{"later", "7"}};
  EXPECT_EQ(disagreement(rows, jsonl_of(rows)), std::nullopt);
  EXPECT_EQ(disagreement({}, ""), std::nullopt);
}

TEST(Disagreement, NamesTheFirstEpochAndColumn) {
  const std::vector<EpochRow> rows = sample_rows({9, 1, 2});
  std::vector<EpochRow> halved = rows;
  for (EpochRow& row : halved) row.train_seconds /= 2;
  std::vector<EpochRow> shorter = rows;
  shorter.pop_back();
  std::string many = "{";
  for (int i = 0; i < 5000; ++i) many += fmt::format("\"k{}\": 1, ", i);
  expect_golden(disagreement(halved, jsonl_of(rows)));
  expect_golden(disagreement(rows, jsonl_of(shorter)));
  expect_golden(disagreement(rows, "{}\nnonsense\n"));
  expect_golden(disagreement(rows, "nonsense\n"));
  expect_golden(disagreement(rows, many + "\"last\": 1}\n"));  // objects of more keys take too long to read
}

// An earlier version did not have all columns.
TEST(Disagreement, TakesAMissingColumnForAnAbsentValue) {
  const std::vector<EpochRow> rows = {{.epoch = 1, .train_loss = 0.5, .train_seconds = 2}};
  EXPECT_EQ(disagreement(rows, R"({"epoch":1,"train_loss":0.5,"learning_rate":0.0,"train_seconds":2.0,)"
                               R"("data_seconds":0.0,"samples_per_second":0.0,"warmup":false})"
                               "\n"),
            std::nullopt);
}

}  // namespace
}  // namespace rnnlab::testing
