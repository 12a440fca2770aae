#include "results/row_seal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "results/epoch_text.h"
#include "results/sample_rows.h"

namespace rnnlab::testing {
namespace {

using ::testing::Optional;

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
    std::visit([&](auto member) { other[1].*member = {}; }, column.member);
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
  EXPECT_THAT(disagreement(halved, jsonl_of(rows)),
              Optional(std::string("epoch 1, train_seconds: 4.5 in epochs.csv, 9.0 in epochs.jsonl")));
  std::vector<EpochRow> shorter = rows;
  shorter.pop_back();
  EXPECT_THAT(disagreement(rows, jsonl_of(shorter)), Optional(std::string("3 rows in epochs.csv, 2 in epochs.jsonl")));
  EXPECT_THAT(disagreement(rows, "{}\nnonsense\n"),
              Optional(std::string("epoch 1, epoch: 1 in epochs.csv, absent in epochs.jsonl")));
  EXPECT_THAT(disagreement(rows, "nonsense\n"), Optional(std::string("line 1 of epochs.jsonl is no JSON object")));
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
