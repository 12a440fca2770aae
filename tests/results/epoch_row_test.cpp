// SPDX-License-Identifier: Apache-2.0
#include "results/epoch_row.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <limits>

#include "base/expect_error.h"
#include "golden.h"
#include "results/sample_runs.h"

namespace rnnlab::testing {
namespace {

constexpr const char* kHeader =
    "epoch,train_loss,train_accuracy,valid_loss,valid_accuracy,learning_rate,gradient_norm,train_seconds,valid_seconds,"
    "data_seconds,samples_per_second,peak_memory_bytes,warmup,train_perplexity,valid_perplexity,valid_bits_per_"
    "character,"
    "train_mae,valid_mae,train_rmse,valid_rmse,skipped_steps,device_seconds,cpu_seconds,boot_seconds,"
    "steal_seconds,throttled_seconds,voluntary_switches,forced_switches,gpu_joules,cpu_joules,"
    "exchange_seconds,slowest_process_seconds,fastest_process_seconds\n";
constexpr const char* kLine = "1,0.5,0.75,0.25,0.875,0.001,1.5,2,0.125,0.0625,60000,1610612736,0,,,,,,,,,,,,,,,,,,,,\n";

TEST(EpochCsv, HasTheseColumnsInThisOrder) { EXPECT_EQ(epoch_csv_header(), kHeader); }

TEST(EpochCsv, LeavesAbsentFieldsEmpty) { EXPECT_EQ(epoch_csv_line(sample_row(1, 2)), kLine); }

TEST(EpochJsonl, WritesAbsentAsNullAndItsSchemaVersion) { expect_golden(epoch_jsonl_line(sample_row(1, 2))); }

TEST(EpochJsonl, StaysJsonWhenTheLossIsNot) {
  EpochRow row = sample_row(1, 2);
  row.train_loss = std::numeric_limits<double>::quiet_NaN();
  row.valid_loss = -std::numeric_limits<double>::infinity();
  const auto json = nlohmann::json::parse(epoch_jsonl_line(row));
  EXPECT_EQ(json["train_loss"], "nan");
  EXPECT_EQ(json["valid_loss"], "-inf");
}

TEST(ParseEpochsCsv, ReadsBackEveryColumn) {
  EpochRow row = {.epoch = 7,
                  .train_loss = 0.1,
                  .valid_loss = std::numeric_limits<double>::infinity(),
                  .metrics = {{"train_accuracy", 1.0 / 3}, {"valid_perplexity", 3.25}, {"valid_rmse", 5e-324}},
                  .learning_rate = 1e-300,
                  .train_seconds = 12345.678,
                  .warmup = true};
  const std::string text = epoch_csv_header() + epoch_csv_line(row);
  const std::vector<EpochRow> rows = parse_epochs_csv(text, "epochs.csv");
  ASSERT_EQ(rows.size(), 1u);
  for (const EpochColumn& column : epoch_columns())
    EXPECT_EQ(number_in(rows[0], column), number_in(row, column)) << column.name;
}

TEST(ParseEpochsCsv, TakesAHeaderWithoutRows) { EXPECT_TRUE(parse_epochs_csv(kHeader, "epochs.csv").empty()); }

// A time that grows with the square of the number of columns would be minutes.
TEST(ParseEpochsCsv, ReadsManyColumnsInTimeThatTheirNumberLimits) {
  std::string header = kHeader;
  header.pop_back();
  for (int i = 0; i < 300'000; ++i) header += fmt::format(",c{}", i);
  EXPECT_THAT(parse_epochs_csv(header + "\n", "epochs.csv"), ::testing::IsEmpty());
}

TEST(ParseEpochsCsv, NamesTheLineThatIsWrong) {
  const std::string header = kHeader, line = kLine;
  std::string bad_flag = line;
  bad_flag.replace(bad_flag.find(",0,,"), 4, ",yes,,");
  std::vector<std::string> messages;
  for (const std::string& text :
       {std::string(), header + line + "2,0.5,0.7", std::string("epoch,loss\n"),
        header.substr(0, header.size() - 1) + ",epoch\n", header + "1,2,3\n", header + "one" + line.substr(1),
        header + "1,low" + line.substr(5), header + "1," + line.substr(5),
        header + "1,0.5,,,,0.001,,nan,,0,0,,0,,,,,,,,,,,,,,,,,,,,\n",
        header + "1,0.5,,,,0.001,,0,,0,0,,0,,,,,,,,,,,,,,,,,,,,\n", header + line + line, header + bad_flag,
        header + std::string("\0\x1b[31m\n", 7)})
    messages.push_back(message_of_error(ExitCode::kData, [&] { parse_epochs_csv(text, "epochs.csv"); }));
  expect_golden(messages);
}

TEST(ParseEpochsCsv, ReadsColumnsByTheirNames) {
  const std::string text =
      "samples_per_second,epoch,learning_rate,train_loss,train_seconds,data_seconds,warmup\n"
      "100,1,0.01,0.5,2,0,1\n";
  const std::vector<EpochRow> rows = parse_epochs_csv(text, "epochs.csv");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].train_seconds, 2);
  EXPECT_EQ(rows[0].samples_per_second, 100);
  EXPECT_TRUE(rows[0].warmup);
  EXPECT_EQ(rows[0].valid_loss, std::nullopt) << "a column that came later is absent";
}

TEST(ParseEpochsCsv, KeepsColumnsThatItDoesNotKnow) {
  const std::string header = std::string(kHeader).substr(0, std::string(kHeader).size() - 1) + ",room_temperature\n";
  const std::string line = std::string(kLine).substr(0, std::string(kLine).size() - 1) + ",21.5\n";
  const std::vector<EpochRow> rows = parse_epochs_csv(header + line, "epochs.csv");
  ASSERT_EQ(rows.size(), 1u);
  const std::vector<std::string> columns = epoch_csv_columns(rows);
  EXPECT_EQ(epoch_csv_header(columns) + epoch_csv_line(rows[0], columns), header + line);
  EXPECT_THAT(epoch_jsonl_line(rows[0]), ::testing::HasSubstr("\"room_temperature\":\"21.5\"}"));
}

}  // namespace
}  // namespace rnnlab::testing
