// SPDX-License-Identifier: Apache-2.0
// Tests data of which targets are missing: they are never filled, and samples without a target are left out.
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <limits>

#include "data/batches.h"
#include "data/load_dataset.h"
#include "data_test.h"
#include "golden.h"

namespace rnnlab {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::NanSensitiveFloatEq;

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

class MissingTargetsTest : public DataTest {
 protected:
  DataSettings settings(const std::string& more) const {
    return parse_settings(fmt::format("source: csv\npath: {}\nnormalize: none\n{}", path("a.csv"), more));
  }
  Dataset load(const std::string& more) const { return load_dataset(settings(more)); }
  std::string load_error(const std::string& more) const {
    return error_of(ExitCode::kData, [&] { load(more); });
  }
};

// The rows of a window may lack the column that is also the target: as inputs they are filled, as targets never.
TEST_F(MissingTargetsTest, AreNeverFilledWhateverThePolicy) {
  write("a.csv", "y\n1\n2\nNA\n4\n5\n6\nNA\n8\n9\nNA\n");
  for (const std::string policy : {"previous", "mean", "zero"}) {
    const Dataset data = load("target: [y]\nwindow: 1\nnum_valid: 4\nmissing: " + policy + "\n");
    const float filled = policy == "previous" ? 2 : policy == "mean" ? (1 + 2 + 4 + 5 + 6) / 5.0F : 0;
    EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(2, 4, 5, 6)) << policy << ": rows 1 to 5";
    EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, filled, 4, 5)) << policy;
    EXPECT_THAT(values_of<float>(data.valid.targets), ElementsAre(8, 9)) << policy << ": of rows 6 to 9";
    EXPECT_THAT(data.notes,
                Contains("1 of 5 training targets is missing: losses, metrics and baselines leave them out, "
                         "and 1 sample without a target"))
        << policy;
    EXPECT_THAT(data.notes, Contains("2 of 4 validation targets are missing: losses, metrics and baselines leave them "
                                     "out, and 2 samples without a target"))
        << policy;
    expect_golden(data.notes);
  }
  EXPECT_THAT(load_error("target: [y]\nwindow: 1\nnum_valid: 4\n"), HasSubstr("a.csv:4: column 'y'"));
}

TEST_F(MissingTargetsTest, DoNotHideThatTheDataAreTooFew) {
  const std::string settings = "target: [y]\nwindow: 2\nmissing: drop\n";
  write("a.csv", "y\n1\n2\n3\n4\n5\n6\n");
  EXPECT_EQ(load(settings + "num_valid: 1\nnum_train: 3\n").train.size(), 3);
  expect_golden(load_error(settings + "num_valid: 1\nnum_train: 50\n"));
  write("valid.csv", "y\n1\n2\n3\n4\n");
  expect_golden(load_error(
      settings + fmt::format("train_file: {}\nvalid_file: {}\nnum_valid: 9\n", path("a.csv"), path("valid.csv"))));
  write("a.csv", "y\n1\nNA\n3\n4\n5\n6\n");
  EXPECT_EQ(load(settings + "num_valid: 1\nnum_train: 3\n").train.size(), 1) << "of 3 windows";
  expect_golden(load_error(settings + "num_valid: 1\nnum_train: 4\n"));
}

TEST_F(MissingTargetsTest, HaveNoPartInTheScales) {
  write("a.csv", "x,y\n1,10\n2,\n3,20\n4,30\n5,99\n");
  const Dataset data = load_dataset(parse_settings(
      fmt::format("source: csv\npath: {}\ntarget: [y]\ntask: regression\nsplit: ordered\nnum_valid: 1\nmissing: "
                  "zero\n",
                  path("a.csv"))));
  EXPECT_EQ(data.target_scales.at(0).offset, 20) << "the mean of 10, 20 and 30";
}

// A sample is kept if one of its targets is known.
TEST_F(MissingTargetsTest, OfSeveralHorizonsAreLeftOutOneByOne) {
  write("a.csv", "y\n1\n2\n3\nNA\n5\n6\n7\nNA\nNA\n10\n");
  const Dataset data = load("target: [y]\nwindow: 1\nhorizon: [1, 2]\nnum_valid: 3\nmissing: previous\n");
  EXPECT_THAT(values_of<float>(data.valid.targets),
              ElementsAre(7, NanSensitiveFloatEq(kUnknown), NanSensitiveFloatEq(kUnknown), 10));
  EXPECT_THAT(values_of<float>(data.valid.inputs), ElementsAre(6, 7)) << "not the window whose two targets are missing";
  EXPECT_THAT(values_of<int64_t>(target_counts(data.valid)), ElementsAre(1, 1));
  expect_golden(data.notes);
}

TEST_F(MissingTargetsTest, AreClassesOfSeriesToo) {
  write("a.csv", "x,up\n1,no\n2,yes\n3,\n1,no\n5,yes\n2,?\n3,no\n");
  const Dataset data = load("target: [up]\nwindow: 1\ntask: classification\nnum_valid: 3\nmissing: previous\n");
  EXPECT_THAT(data.vocabulary, ElementsAre("no", "yes"));
  EXPECT_THAT(values_of<int64_t>(data.train.targets), ElementsAre(1, 0)) << "of rows 1 to 3";
  EXPECT_THAT(values_of<int64_t>(data.valid.targets), ElementsAre(1, 0)) << "of rows 4 to 6";
  EXPECT_THAT(values_of<int64_t>(data.naive_forecasts.at(0).values), ElementsAre(0, 1))
      << "the last class that is known";
}

TEST_F(MissingTargetsTest, OfStepsAreLeftOutStepByStep) {
  write("a.csv", "g,x,tag\na,1,N\na,2,\nb,5,V\nb,6,N\nc,9,\nc,8,V\n");
  const Dataset data = load("target_per: step\ngroup: g\ntarget: [tag]\nsplit: ordered\nnum_valid: 1\nmissing: zero\n");
  EXPECT_THAT(values_of<int64_t>(data.train.targets), ElementsAre(0, -1, 1, 0));
  EXPECT_THAT(values_of<int64_t>(target_counts(data.train)), ElementsAre(1, 2));
  EXPECT_THAT(values_of<int64_t>(known_classes(data.train)), ElementsAre(0, 1, 0));
  EXPECT_THAT(values_of<int64_t>(data.valid.targets), ElementsAre(-1, 1));
}

TEST_F(MissingTargetsTest, OfStepsCountWithinTheLengths) {
  write("a.csv", "g,x,y\na,1,1\na,2,\na,3,3\nb,4,4\nc,5,\n");
  const Dataset data = load(
      "target_per: step\ngroup: g\ntarget: [y]\ntask: regression\nsplit: ordered\nnum_valid: 0\n"
      "missing: zero\n");
  EXPECT_THAT(values_of<int64_t>(data.train.lengths), ElementsAre(3, 1)) << "c has no target";
  EXPECT_THAT(values_of<int64_t>(target_counts(data.train)), ElementsAre(2, 1));
}

TEST_F(MissingTargetsTest, LeaveTheRowOutWithDrop) {
  write("a.csv", "x,kind\n1,a\n2,\n3,b\n,a\n5,b\n6,a\n");
  const Dataset data = load("target: [kind]\nsplit: ordered\nnum_valid: 1\nmissing: drop\n");
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 3, 5));
  EXPECT_THAT(values_of<int64_t>(data.train.targets), ElementsAre(0, 1, 1));
  expect_golden(data.notes);
  write("a.csv", "x,kind\n1,a\n2,\n3,b\n");
  expect_golden(load_error("target: [kind]\nsplit: ordered\nnum_valid: 1\n"));
}

TEST_F(MissingTargetsTest, AreRefusedByDefault) {
  write("a.csv", "x,y\n1,2\n2,\n3,4\n");
  expect_golden(load_error("target: [y]\ntask: regression\nnum_valid: 1\n"));
}

TEST_F(MissingTargetsTest, OfNoRowAtAllAreRefused) {
  write("a.csv", "x,y\n1,\n,2\n");
  expect_golden(load_error("target: [y]\ntask: regression\nnum_valid: 1\nmissing: drop\n"));
}

// The first differences of a series have an empty cell at the beginning.
TEST_F(MissingTargetsTest, DropTheWindowsWithAMissingInput) {
  write("a.csv", "d,y\n,1\n2,2\n3,3\n4,4\nNA,5\n6,6\n7,7\n8,8\n9,9\n");
  const Dataset data = load("target: [y]\nfeatures: [d]\nwindow: 2\nnum_valid: 1\nmissing: drop\n");
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(2, 3, 3, 4, 6, 7));
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(4, 5, 8)) << "no window has a gap";
  expect_golden(data.notes);
  const Dataset last = load("target: [y]\nfeatures: [d]\nwindow: 2\nnum_valid: 4\nmissing: drop\n");
  EXPECT_THAT(values_of<float>(last.valid.targets), ElementsAre(8, 9)) << "of rows 5 to 8; two windows have row 4";
  expect_golden(load_error("target: [y]\nfeatures: [d]\nwindow: 5\nnum_valid: 1\nmissing: drop\n"));
}

TEST_F(MissingTargetsTest, EndSequencesOfStepsWithDrop) {
  write("a.csv", "x,y\n,1\n2,2\n3,3\n,4\n5,5\n6,6\n");
  const Dataset data =
      load("target_per: step\nwindow: 9\ntarget: [y]\ntask: regression\nsplit: ordered\nnum_valid: 1\nmissing: drop\n");
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(2, 3));
  EXPECT_THAT(values_of<float>(data.valid.inputs), ElementsAre(5, 6));
}

TEST_F(MissingTargetsTest, SayWhichRowsOfAFileHaveNoWindow) {
  write("a.csv", "d,y\n,1\n2,2\n3,3\n4,4\n5,5\n6,6\n");
  const std::string more = "target: [y]\nfeatures: [d]\nwindow: 2\nnum_valid: 1\nmissing: drop\n";
  const InferenceData all = load_for_inference(settings(more), load(more), DataPart::kAll, Targets::kIfPresent);
  std::vector<std::string> reasons;
  for (const FileRow& row : all.rows.rows) reasons.push_back(row.reason);
  expect_golden(reasons);
}

TEST_F(MissingTargetsTest, OfAWholePartAreRefused) {
  write("a.csv", "y\n1\n2\n3\n4\n5\nNA\nNA\n");
  expect_golden(load_error("target: [y]\nwindow: 1\nnum_valid: 2\nmissing: previous\n"));
  write("a.csv", "x,y,z\n1,1,\n2,2,\n3,3,5\n");
  expect_golden(load_error("target: [y, z]\ntask: regression\nsplit: ordered\nnum_valid: 1\nmissing: zero\n"));
}

// The last value before row 6 that is known is that of row 4.
TEST_F(MissingTargetsTest, AreNotTheLastValueOfANaiveForecast) {
  write("a.csv", "y\n1\n2\n3\n4\n5\nNA\n7\n8\n");
  const Dataset data = load("target: [y]\nwindow: 1\nnum_valid: 3\nseason: 2\nmissing: zero\n");
  EXPECT_THAT(values_of<float>(data.valid.targets), ElementsAre(7, 8));
  EXPECT_THAT(values_of<float>(data.naive_forecasts.at(0).values), ElementsAre(5, 7));
  EXPECT_THAT(values_of<float>(data.naive_forecasts.at(1).values), ElementsAre(5, 4)) << "two seasons before";
}

TEST_F(MissingTargetsTest, LeaveANaiveForecastOutIfNothingIsKnownBefore) {
  write("a.csv", "g,x,y\na,1,1\na,2,2\na,3,3\na,4,4\nb,1,\nb,2,5\nb,3,NA\nb,4,7\n");
  const Dataset data = load("target: [y]\nfeatures: [x]\ngroup: g\nwindow: 1\nnum_valid: 2\nmissing: zero\n");
  EXPECT_THAT(data.notes, testing::Not(Contains(HasSubstr("the baseline"))));
  write("a.csv", "g,x,y\na,1,1\na,2,2\na,3,3\na,4,4\nb,1,\nb,2,\nb,3,NA\nb,4,7\n");
  const Dataset lacks = load("target: [y]\nfeatures: [x]\ngroup: g\nwindow: 1\nnum_valid: 2\nmissing: zero\n");
  expect_golden(lacks.notes);
}

TEST_F(MissingTargetsTest, StayUnknownInPredictions) {
  write("a.csv", "y\n1\n2\n3\n4\n5\n6\nNA\n8\n");
  const std::string more = "target: [y]\nwindow: 1\nnum_valid: 3\nmissing: previous\n";
  const Dataset data = load(more);
  const InferenceData used = load_for_inference(settings(more), data, DataPart::kValid, Targets::kIfPresent);
  EXPECT_THAT(values_of<float>(used.samples.targets), ElementsAre(6, NanSensitiveFloatEq(kUnknown), 8));
  EXPECT_THAT(values_of<float>(used.samples.inputs), ElementsAre(5, 6, 6)) << "inputs are filled";
  const InferenceData evaluated = load_for_inference(settings(more), data, DataPart::kValid, Targets::kRequired);
  EXPECT_THAT(values_of<float>(evaluated.samples.targets), ElementsAre(6, 8));
  EXPECT_THAT(values_of<float>(evaluated.naive_forecasts.at(0).values), ElementsAre(5, 6));
  expect_golden(evaluated.notes);
}

// ---- arrays and series ----

TEST_F(MissingTargetsTest, OfArraysNeedDrop) {
  write_npy("x.npy", "<f4", "4, 1", std::vector<float>{1, 2, 3, 4});
  write_npy("y.npy", "<f4", "4, 2", std::vector<float>{1, kUnknown, kUnknown, kUnknown, 3, 4, 5, 6});
  const std::string arrays =
      fmt::format("source: npy\npath: {}\ntrain_inputs: x.npy\ntrain_targets: y.npy\nsplit: ordered\nnum_valid: 1\n",
                  folder().string());
  expect_golden(error_of(ExitCode::kDiverged, [&] { load_dataset(parse_settings(arrays)); }));
  const Dataset data = load_dataset(parse_settings(arrays + "missing: drop\n"));
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 3));
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(1, NanSensitiveFloatEq(kUnknown), 3, 4));
  expect_golden(error_of(ExitCode::kUsage, [&] { parse_settings(arrays + "missing: zero\n"); }));
}

TEST_F(MissingTargetsTest, OfArraysMayBeClasses) {
  write_npy("x.npy", "<f4", "5, 1", std::vector<float>{1, 2, 3, 4, 5});
  const std::string arrays = fmt::format(
      "source: npy\npath: {}\ntrain_inputs: x.npy\ntrain_targets: y.npy\nsplit: ordered\nnum_valid: 1\nmissing: drop\n",
      folder().string());
  write_npy("y.npy", "<i8", "5,", std::vector<int64_t>{0, -1, 1, 0, 1});
  EXPECT_THAT(values_of<float>(load_dataset(parse_settings(arrays)).train.inputs), ElementsAre(1, 3, 4));
  write_npy("y.npy", "<f4", "5,", std::vector<float>{0, kUnknown, 1, 0, 1});
  EXPECT_THAT(values_of<float>(load_dataset(parse_settings(arrays + "task: classification\n")).train.inputs),
              ElementsAre(1, 3, 4));
  write_npy("y.npy", "<i8", "5,", std::vector<int64_t>{0, -2, 1, 0, 1});
  EXPECT_THAT(error_of(ExitCode::kData, [&] { load_dataset(parse_settings(arrays)); }), HasSubstr("has class -2"));
}

TEST_F(MissingTargetsTest, OfSeriesInTsAreLeftOut) {
  write("a.ts", "@univariate true\n@targetLabel true\n@data\n1,2:5\n3,?:?\n5,6:7\n7,8:9\n");
  const std::string ts =
      fmt::format("source: ts\npath: {}/a.ts\nnormalize: none\nsplit: ordered\nnum_valid: 1\n", folder().string());
  EXPECT_THAT(error_of(ExitCode::kData, [&] { load_dataset(parse_settings(ts)); }), HasSubstr("a.ts:5"));
  const Dataset data = load_dataset(parse_settings(ts + "missing: previous\n"));
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(5, 7));
  write("a.ts", "@univariate true\n@classLabel true a b\n@data\n1,2:a\n3,4:?\n5,6:b\n7,8:a\n");
  expect_golden(error_of(ExitCode::kData, [&] { load_dataset(parse_settings(ts)); }));
  EXPECT_THAT(values_of<int64_t>(load_dataset(parse_settings(ts + "missing: zero\n")).train.targets),
              ElementsAre(0, 1));
}

// ---- batches ----

Samples with_missing_targets() {
  Samples samples;
  samples.inputs = at::arange(5, at::kFloat).view({5, 1, 1});
  samples.targets = at::tensor({0.F, kUnknown, 2.F, 3.F, kUnknown, 5.F, 6.F, 7.F, 8.F, kUnknown}).view({5, 2});
  return samples;
}

TEST(BatchesOfMissingTargets, CountTheKnownOnes) {
  for (const Placement placement : {Placement::kDevice, Placement::kHost}) {
    Batches batches(with_missing_targets(), {.batch_size = 2, .order = Order::kSequential, .placement = placement},
                    c10::Device(c10::kCPU));
    batches.start_epoch(0);
    std::vector<int64_t> counts, whole;
    while (const auto batch = batches.next()) {
      counts.push_back(batch->num_targets());
      whole.push_back(batch->whole_targets);
    }
    EXPECT_THAT(counts, ElementsAre(3, 3, 1));
    EXPECT_THAT(whole, ElementsAre(3, 3, 1));
    EXPECT_FALSE(batches.has_selections());
  }
}

TEST(BatchesOfMissingTargets, OfSeveralProcessesCountTheirOwnAndAll) {
  for (int64_t rank = 0; rank < 2; ++rank) {
    Batches batches(with_missing_targets(),
                    {.batch_size = 4,
                     .order = Order::kSequential,
                     .share = {.kind = BatchShare::Kind::kPartOfEach, .index = rank, .count = 2}},
                    c10::Device(c10::kCPU));
    batches.start_epoch(0);
    const auto first = batches.next();
    EXPECT_EQ(first->num_targets(), 3) << rank;
    EXPECT_EQ(first->whole_targets, 6) << rank;
    const auto last = batches.next();
    EXPECT_EQ(last->num_targets(), rank == 0 ? 0 : 1);
    EXPECT_EQ(last->whole_targets, 1);
  }
}

TEST(BatchesOfMissingTargets, FollowTheOrderOfTheEpoch) {
  Batches batches(with_missing_targets(), {.batch_size = 2, .seed = 3}, c10::Device(c10::kCPU));
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    batches.start_epoch(epoch);
    while (const auto batch = batches.next())
      EXPECT_EQ(batch->num_targets(), are_known(batch->targets).sum().item<int64_t>());
  }
}

}  // namespace
}  // namespace rnnlab
