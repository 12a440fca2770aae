#include "results/epoch_matrices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "results/comparison_files.h"
#include "results/sample_runs.h"
#include "system/temporary_folder.h"

namespace rnnlab::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class Matrices : public ::testing::Test {
 protected:
  void add(const std::string& layer, const std::vector<double>& train_seconds) {
    const auto folder = folder_.path() / fmt::format("{}{}", layer, runs_.size());
    sample_run("cpu", layer, 1, train_seconds).write(folder);
    runs_.push_back(load_run(folder));
  }
  std::string text() const { return epoch_matrices_text(epoch_matrices(runs_), compare(runs_, {})); }
  std::string csv() const { return epoch_matrices_csv(epoch_matrices(runs_), compare(runs_, {})); }

  TemporaryFolder folder_;
  std::vector<RunRecord> runs_;
};

TEST_F(Matrices, HaveARowForEachEpochAndAColumnForEachSide) {
  add("naive", {9, 2, 2.5});
  add("fused", {8, 1, 1.5});
  EXPECT_EQ(text(),
            "Training seconds by epoch:\n"
            "epoch  cpu naive  cpu fused\n"
            "-----  ---------  ---------\n"
            "    1     9.000*     8.000*\n"
            "    2     2.000      1.000\n"
            "    3     2.500      1.500\n"
            "\n"
            "Train loss by epoch:\n"
            "epoch  cpu naive  cpu fused\n"
            "-----  ---------  ---------\n"
            "    1   0.500000   0.500000\n"
            "    2   0.500000   0.500000\n"
            "    3   0.500000   0.500000\n"
            "\n"
            "* warm-up, which does not count for s/epoch\n");
}

TEST_F(Matrices, OfSeveralProcessesHaveTheGeometricMeanAsTheComparisonHas) {
  for (const double seconds : {1.0, 16.0, 4.0}) add("naive", {9, seconds});
  EXPECT_DOUBLE_EQ(*epoch_matrices(runs_).train_seconds[1][0], 4.0);
  EXPECT_THAT(text(), EndsWith("cpu naive: times are the geometric mean, losses the median of 3 runs\n"));
}

TEST_F(Matrices, HaveAGapWhereARunWasShorter) {
  add("naive", {9, 2, 2});
  add("fused", {8, 1});
  EXPECT_EQ(epoch_matrices(runs_).train_seconds[2][1], std::nullopt);
  EXPECT_THAT(text(), HasSubstr("    3     2.000          -\n"));
  EXPECT_THAT(text(), EndsWith("- no run finished this epoch\n"));
}

TEST_F(Matrices, SayFromWhereOnFewerRunsStandForACell) {
  add("naive", {9, 2, 2});
  add("naive", {9, 4});
  EXPECT_EQ(epoch_matrices(runs_).train_seconds[2][0], 2.0);
  EXPECT_THAT(
      text(),
      EndsWith("cpu naive: times are the geometric mean, losses the median of 2 runs, from epoch 3 on of fewer\n"));
}

TEST_F(Matrices, HaveNoNumberWhereARunDiverged) {
  add("naive", {9, 2});
  add("naive", {9, 2});
  runs_[1].rows[1].train_loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(text(), HasSubstr("    2        nan\n"));
}

TEST_F(Matrices, AreALineForEachCellAsCsv) {
  add("naive", {9, 2});
  add("fused", {8});
  EXPECT_THAT(csv(), ::testing::StartsWith("label,epoch,num_runs,is_warmup,train_seconds,train_loss,forced,warnings,"
                                           "differences\n"
                                           "cpu naive,1,1,1,9,0.5,"));
  EXPECT_THAT(csv(), HasSubstr("\ncpu naive,2,1,0,2,0.5,"));
  EXPECT_THAT(csv(), Not(HasSubstr("\ncpu fused,2,")));
}

TEST_F(Matrices, AreAFieldOfAComparisonsJson) {
  add("naive", {9, 2});
  add("fused", {8});
  const auto json =
      nlohmann::json::parse(comparison_json(compare(runs_, {}), {.epoch_matrices = epoch_matrices(runs_)}));
  EXPECT_EQ(json["epoch_matrices"]["labels"], nlohmann::json({"cpu naive", "cpu fused"}));
  EXPECT_EQ(json["epoch_matrices"]["epochs"], nlohmann::json({1, 2}));
  EXPECT_EQ(json["epoch_matrices"]["train_seconds"], nlohmann::json({{9.0, 8.0}, {2.0, nullptr}}));
  EXPECT_EQ(json["epoch_matrices"]["is_warmup"], nlohmann::json({{true, true}, {false, false}}));
}

}  // namespace
}  // namespace rnnlab::testing
