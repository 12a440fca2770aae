// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "data/load_dataset.h"
#include "data_test.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::NanSensitiveFloatEq;

class LoadArrays : public DataTest {
 protected:
  DataSettings settings(const std::string& source, const std::string& more = "") const {
    return parse_settings(
        fmt::format("source: {}\npath: {}\ntrain_inputs: x\ntrain_targets: y\n{}", source, folder().string(), more));
  }

  std::string load_error(const DataSettings& wanted, ExitCode exit_code = ExitCode::kData) const {
    return error_of(exit_code, [&] { load_dataset(wanted); });
  }

  // Four training images of 2 x 3 and two to validate on.
  void write_images() const {
    write_idx("x", {4, 2, 3}, std::string(12, '\0') + std::string(12, '\xff'));
    write_idx("y", {4}, std::string("\0\1\2\1", 4));
    write_idx("vx", {2, 2, 3}, std::string(12, '\xcc'));
    write_idx("vy", {2}, std::string("\2\0", 2));
  }

  static constexpr const char* kValid = "valid_inputs: vx\nvalid_targets: vy\n";
};

TEST_F(LoadArrays, ReadsImagesAsRowsOfBytes) {
  write_images();
  const Dataset data = load_dataset(settings("idx", kValid));
  EXPECT_EQ(data.shape.task, Task::kClassification);
  EXPECT_EQ(data.shape.sequence_length, 2);
  EXPECT_EQ(data.shape.input_size, 3);
  EXPECT_EQ(data.shape.num_outputs, 3);
  EXPECT_THAT(values_of<int64_t>(data.train.targets), ElementsAre(0, 1, 2, 1));
  EXPECT_EQ(data.train.inputs[3][1][2].item<float>(), 1);
  EXPECT_EQ(data.valid.inputs[0][0][0].item<float>(), 0xcc / 255.f);
  expect_golden(data.description);
  expect_golden(data.notes);
}

TEST_F(LoadArrays, CutsBothPartsToTheFirstSamples) {
  write_images();
  const Dataset data = load_dataset(settings("idx", std::string(kValid) + "num_train: 3\nnum_valid: 1\n"));
  EXPECT_THAT(values_of<int64_t>(data.train.targets), ElementsAre(0, 1, 2));
  EXPECT_THAT(values_of<int64_t>(data.valid.targets), ElementsAre(2));
  expect_golden(load_error(settings("idx", std::string(kValid) + "num_train: 5")));
}

TEST_F(LoadArrays, SplitsOneFileByFractionInOrderOrAtRandom) {
  write_idx("x", {10, 1}, "012345678\xff");
  write_idx("y", {10}, std::string("\0\1\2\3\4\5\6\7\10\11", 10));
  const Dataset ordered = load_dataset(settings("idx", "split: ordered\nvalid_fraction: 0.3\n"));
  EXPECT_THAT(values_of<int64_t>(ordered.valid.targets), ElementsAre(7, 8, 9));
  const Dataset random = load_dataset(settings("idx", "num_valid: 4\nstratify: false\n"));
  EXPECT_EQ(random.train.size(), 6);
  EXPECT_THAT(values_of<int64_t>(random.train.targets), ElementsAre(0, 8, 1, 4, 2, 3));  // permutation(10, 1, 0)
  const Dataset other_seed = load_dataset(settings("idx", "num_valid: 4\nstratify: false\nseed: 2\n"));
  EXPECT_FALSE(other_seed.train.targets.equal(random.train.targets));
  expect_golden(load_error(settings("idx", "num_valid: 10")));
}

TEST_F(LoadArrays, KeepsNothingForValidationWhereNoneIsWanted) {
  write_images();
  for (const std::string files : {"", kValid}) {
    const Dataset data = load_dataset(settings("idx", files + "num_valid: 0\n"));
    EXPECT_EQ(data.train.size(), 4);
    EXPECT_EQ(data.valid.size(), 0);
  }
}

TEST_F(LoadArrays, ReadsRealNumbersWithSeveralTargets) {
  write_npy<float>("x", "<f4", "3, 2, 1", {1, 2, 3, 4, 5, 6});
  write_npy<double>("y", "<f8", "3, 2", {.5, 1, 1.5, 2, 2.5, 3});
  const Dataset data = load_dataset(settings("npy", "split: ordered\nnum_valid: 1"));
  EXPECT_EQ(data.shape.task, Task::kRegression);
  EXPECT_EQ(data.shape.num_outputs, 2);
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(values_of<float>(data.valid.targets), ElementsAre(2.5, 3));
  EXPECT_TRUE(data.notes.empty());
}

TEST_F(LoadArrays, ReadsBinaryTargetsFromZeroToOne) {
  write_npy<float>("x", "<f4", "3, 2", {1, 2, 3, 4, 5, 6});
  write_npy<uint8_t>("y", "|b1", "3,", {0, 1, 1});
  const Dataset data = load_dataset(settings("npy", "split: ordered\nnum_valid: 1\ntask: binary"));
  EXPECT_EQ(data.shape.task, Task::kBinary);
  EXPECT_EQ(data.train.targets.sizes(), at::IntArrayRef({2, 1}));
  write_npy<int32_t>("y", "<i4", "3,", {0, 1, 2});
  expect_golden(load_error(settings("npy", "task: binary")));
}

TEST_F(LoadArrays, ReadsLengths) {
  write_npy<float>("x", "<f4", "3, 2, 1", {1, 2, 3, 4, 5, 6});
  write_npy<int64_t>("y", "<i8", "3,", {0, 1, 1});
  write_npy<int32_t>("n", "<i4", "3,", {1, 2, 2});
  const Dataset data = load_dataset(settings("npy", "train_lengths: n\nsplit: ordered\nnum_valid: 1"));
  EXPECT_TRUE(data.shape.has_lengths);
  EXPECT_THAT(values_of<int64_t>(data.train.lengths), ElementsAre(1, 2));
  write_npy<int32_t>("n", "<i4", "3,", {1, 3, 0});
  expect_golden(load_error(settings("npy", "train_lengths: n")));
  write_npy<int32_t>("n", "<i4", "2,", {1, 2});
  expect_golden(load_error(settings("npy", "train_lengths: n")));
}

TEST_F(LoadArrays, RefusesPartsThatDoNotFit) {
  const std::string valid = kValid;
  write_images();
  expect_golden(load_error(settings("idx", valid + "num_classes: 2")));
  write_idx("vy", {2}, std::string("\0\7", 2));
  expect_golden(load_error(settings("idx", valid)));
  write_idx("vx", {2, 3, 2}, std::string(12, '\0'));
  expect_golden(load_error(settings("idx", valid)));
  write_idx("y", {3}, std::string("\0\1\2", 3));
  expect_golden(load_error(settings("idx", valid)));
  write_npy<float>("x", "<f4", "2,", {0, 1});
  write_npy<int64_t>("y", "<i8", "2,", {0, 1});
  expect_golden(load_error(settings("npy")));
  write_npy<float>("x", "<f4", "2, 1", {0, 1});
  expect_golden(load_error(settings("npy", "normalize: unit")));
}

TEST_F(LoadArrays, RefusesLabelsThatAreNoClasses) {
  write_npy<float>("x", "<f4", "2, 1", {1, 2});
  write_npy<int64_t>("y", "<i8", "2,", {0, -1});
  expect_golden(load_error(settings("npy")));
  write_npy<float>("y", "<f4", "2,", {0, 0.5});
  expect_golden(load_error(settings("npy", "task: classification")));
  write_npy<int64_t>("y", "<i8", "2,", {0, 1'000'000'000'000});
  expect_golden(load_error(settings("npy")));
  write_npy<int64_t>("y", "<i8", "2, 3", {0, 1, 0, 1, 0, 1});
  expect_golden(load_error(settings("npy", "task: classification")));
}

TEST_F(LoadArrays, NamesTheFirstNumberThatIsNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  write_npy<float>("x", "<f4", "2, 3, 2", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, nan});
  write_npy<int64_t>("y", "<i8", "2,", {0, 1});
  expect_golden(load_error(settings("npy"), ExitCode::kDiverged));
  write_npy<double>("x", "<f8", "2, 1", {0, 1e300});
  expect_golden(load_error(settings("npy"), ExitCode::kDiverged));
  write_npy<float>("x", "<f4", "2, 1", {0, 1});
  write_npy<float>("y", "<f4", "2, 2", {0, 1, -INFINITY, 0});
  expect_golden(load_error(settings("npy"), ExitCode::kDiverged));
}

TEST_F(LoadArrays, MissesAFileOfMnistBesideTheOthers) {
  write_idx("train-images-idx3-ubyte", {1, 1, 1}, "0");
  expect_golden(load_error(parse_settings("source: mnist\npath: " + folder().string())));
}

TEST_F(LoadArrays, SaysHowToFetchMnist) {
  expect_golden(load_error(parse_settings("source: mnist\npath: " + path("nowhere"))));
}

TEST_F(LoadArrays, FingerprintsTellDataApart) {
  write_images();
  const Dataset data = load_dataset(settings("idx", kValid));
  EXPECT_EQ(data.fingerprint.size(), 64u);
  EXPECT_EQ(load_dataset(settings("idx", kValid)).fingerprint, data.fingerprint);
  EXPECT_NE(load_dataset(settings("idx", std::string(kValid) + "normalize: none")).fingerprint, data.fingerprint);
  write_idx("vy", {2}, std::string("\2\1", 2));
  EXPECT_NE(load_dataset(settings("idx", kValid)).fingerprint, data.fingerprint);
}

TEST_F(LoadArrays, KeepsSamplesOfTheTrainingFilesForTests) {
  write_images();
  const Dataset ordered = load_dataset(settings("idx", "split: ordered\nnum_valid: 1\nnum_test: 1\n"));
  EXPECT_THAT(values_of<int64_t>(ordered.train.targets), ElementsAre(0, 1));
  EXPECT_THAT(values_of<int64_t>(ordered.valid.targets), ElementsAre(2));
  const Dataset beside_files = load_dataset(settings("idx", std::string(kValid) + "split: ordered\nnum_test: 1\n"));
  EXPECT_EQ(beside_files.train.size(), 3);
  EXPECT_EQ(beside_files.valid.size(), 2);
}

TEST_F(LoadArrays, DoesNotReadFilesForTests) {
  write_images();
  const Dataset data = load_dataset(settings("idx", "test_inputs: missing\n"));
  expect_golden(data.notes.back());
}

TEST_F(LoadArrays, NeedDropForMissingTargets) {
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

TEST_F(LoadArrays, MayMissClasses) {
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
  EXPECT_THAT(error_of(ExitCode::kData, [&] { load_dataset(parse_settings(arrays)); }), HasSubstr("class -2"));
}

// ---- bytes that are not from 0 to 255: data.byte_maximum ----

class ByteRange : public DataTest {
 protected:
  void write_bytes(uint8_t largest) const {
    write_npy<uint8_t>("x.npy", "|u1", "2, 2", {0, largest, 8, 4});
    write_npy<int64_t>("y.npy", "<i8", "2,", {0, 1});
  }
  DataSettings settings(const std::string& more) const {
    return parse_settings(
        fmt::format("source: npy\npath: {}\ntrain_inputs: x.npy\ntrain_targets: y.npy\nnum_valid: 0\n"
                    "split: ordered\n{}",
                    folder().string(), more));
  }
  std::vector<float> inputs(const std::string& more) const {
    return values_of<float>(load_dataset(settings(more)).train.inputs);
  }
};

TEST_F(ByteRange, IsRefusedWhereItIsNotThatOfImages) {
  write_bytes(16);
  for (const char* memory : {"resident", "mapped"})
    expect_golden(error_of(ExitCode::kData, [&] { inputs(fmt::format("memory: {}\n", memory)); }));
}

TEST_F(ByteRange, IsSetByAKey) {
  write_bytes(16);
  EXPECT_THAT(inputs("byte_maximum: 16\n"), ElementsAre(0, 1, .5, .25));
  EXPECT_THAT(inputs("normalize: none\n"), ElementsAre(0, 16, 8, 4));
  EXPECT_THAT(inputs("normalize: unit\n"), ElementsAre(0, 16.f / 255, 8.f / 255, 4.f / 255));
  EXPECT_THAT(inputs("byte_maximum: 255\n"), ElementsAre(0, 16.f / 255, 8.f / 255, 4.f / 255));
  EXPECT_THAT(load_dataset(settings("byte_maximum: 16\n")).notes, Contains("inputs divided by 16"));
  expect_golden(error_of(ExitCode::kData, [&] { inputs("byte_maximum: 15\n"); }));
}

TEST_F(ByteRange, OfImagesStaysAsItIs) {
  write_bytes(200);
  EXPECT_THAT(inputs(""), ElementsAre(0, 200.f / 255, 8.f / 255, 4.f / 255));
}

TEST_F(ByteRange, IsThatOfTrainingForOtherFiles) {
  write_bytes(16);
  const Dataset trained = load_dataset(settings("byte_maximum: 16\n"));
  write_bytes(12);
  const auto used = load_for_inference(settings("byte_maximum: 16\n"), trained, DataPart::kAll, Targets::kIfPresent);
  EXPECT_THAT(values_of<float>(used.samples.inputs), ElementsAre(0, .75, .5, .25));
  write_bytes(200);
  expect_golden(error_of(ExitCode::kData, [&] {
    load_for_inference(settings("byte_maximum: 16\n"), trained, DataPart::kAll, Targets::kIfPresent);
  }));
}

TEST_F(ByteRange, IsForBytesThatAreDivided) {
  write_npy<float>("x.npy", "<f4", "2, 2", {0, 1, 2, 3});
  write_npy<int64_t>("y.npy", "<i8", "2,", {0, 1});
  expect_golden(error_of(ExitCode::kData, [&] { inputs("byte_maximum: 16\n"); }));
  expect_golden(error_of(ExitCode::kUsage, [&] { settings("byte_maximum: 16\nnormalize: none\n"); }));
  expect_golden(
      error_of(ExitCode::kUsage, [&] { parse_settings("source: mnist\nbyte_maximum: 16\nnormalize: standard\n"); }));
}

// ---- steps with a target each: data.target_per: step ----

class ArraysOfSteps : public DataTest {
 protected:
  DataSettings settings(const std::string& more) const {
    return parse_settings(
        fmt::format("source: npy\npath: {}\ntrain_inputs: x.npy\ntrain_targets: y.npy\ntarget_per: step\nsplit: "
                    "ordered\nnum_valid: 1\n{}",
                    folder().string(), more));
  }

  std::string load_error(const std::string& more = "") const {
    return error_of(ExitCode::kData, [&] { load_dataset(settings(more)); });
  }
};

TEST_F(ArraysOfSteps, HaveClassesOfEachStep) {
  write_npy<float>("x.npy", "<f4", "2, 3", {1, 2, 3, 4, 5, 6});
  write_npy<int64_t>("y.npy", "<i8", "2, 3", {0, 2, 1, 1, 0, -1});
  write_npy<int64_t>("n.npy", "<i8", "2,", {3, 2});
  const Dataset data = load_dataset(settings("train_lengths: n.npy\n"));
  EXPECT_TRUE(data.shape.target_per_step);
  EXPECT_EQ(data.shape.num_outputs, 3);
  EXPECT_THAT(values_of<int64_t>(data.train.targets), ElementsAre(0, 2, 1));
  EXPECT_THAT(values_of<int64_t>(data.valid.targets), ElementsAre(1, 0, 0)) << "padding may have any class";
  expect_golden(load_error());
}

TEST_F(ArraysOfSteps, HaveNumbersOfEachStep) {
  write_npy<float>("x.npy", "<f4", "2, 2", {1, 2, 3, 4});
  write_npy<float>("y.npy", "<f4", "2, 2, 2", {1, 2, 3, 4, 5, 6, 7, 8});
  const Dataset data = load_dataset(settings(""));
  EXPECT_EQ(data.shape.task, Task::kRegression);
  EXPECT_EQ(data.shape.num_outputs, 2);
  EXPECT_THAT(data.train.targets.sizes(), ElementsAre(1, 2, 2));
}

TEST_F(ArraysOfSteps, MayHaveNanInTheirPaddingOnly) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  write_npy<float>("x.npy", "<f4", "3, 2, 1", {1, 2, 3, kNan, 5, 6});
  write_npy<float>("y.npy", "<f4", "3, 2", {.1F, .2F, .3F, kNan, .5F, .6F});
  write_npy<int64_t>("n.npy", "<i8", "3,", {2, 1, 2});
  for (const char* task : {"regression", "binary"}) {
    const Dataset data = load_dataset(settings(fmt::format("train_lengths: n.npy\ntask: {}\n", task)));
    EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 2, 3, 0)) << task;
    EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(.1F, .2F, .3F, 0)) << task;
  }
  const auto diverged = [&](const std::string& more) {
    return error_of(ExitCode::kDiverged, [&] { load_dataset(settings(more)); });
  };
  expect_golden(diverged(""));
  write_npy<int64_t>("n.npy", "<i8", "3,", {2, 2, 2});
  write_npy<float>("x.npy", "<f4", "3, 2, 1", {1, 2, 3, 4, 5, 6});
  expect_golden(diverged("train_lengths: n.npy\n"));
}

TEST_F(ArraysOfSteps, OfZeroToOneAreCheckedWithinTheirLengths) {
  write_npy<float>("x.npy", "<f4", "2, 2, 1", {1, 2, 3, 4});
  write_npy<float>("y.npy", "<f4", "2, 2", {0, 1, 1, 9});
  write_npy<int64_t>("n.npy", "<i8", "2,", {2, 1});
  EXPECT_NO_THROW(load_dataset(settings("train_lengths: n.npy\ntask: binary\n")));
  expect_golden(load_error("task: binary\n"));
}

TEST_F(ArraysOfSteps, NeedATargetForEachStep) {
  write_npy<float>("x.npy", "<f4", "2, 2", {1, 2, 3, 4});
  write_npy<int64_t>("y.npy", "<i8", "2, 3", {0, 1, 0, 1, 0, 1});
  expect_golden(load_error());
  write_npy<int64_t>("y.npy", "<i8", "2,", {0, 1});
  expect_golden(load_error("task: classification\n"));
  write_npy<int64_t>("y.npy", "<i8", "2, 2, 1", {0, 1, 0, 1});
  expect_golden(load_error("task: classification\n"));
}

TEST_F(ArraysOfSteps, ArePredictedWithTheirSampleAndStep) {
  write_npy<float>("x.npy", "<f4", "2, 2", {1, 2, 3, 4});
  write_npy<int64_t>("y.npy", "<i8", "2, 2", {0, 1, 1, 0});
  write_npy<int64_t>("n.npy", "<i8", "2,", {2, 1});
  const DataSettings of_steps = settings("train_lengths: n.npy\n");
  const InferenceData all = load_for_inference(of_steps, load_dataset(of_steps), DataPart::kAll, Targets::kIfPresent);
  EXPECT_FALSE(all.rows.are_numbered);
  ASSERT_EQ(all.rows.rows.size(), 3u);
  EXPECT_THAT(all.rows.rows[2].id, ElementsAre("1", "0"));
  const InferenceData valid =
      load_for_inference(of_steps, load_dataset(of_steps), DataPart::kValid, Targets::kIfPresent);
  ASSERT_EQ(valid.rows.rows.size(), 1u);
  EXPECT_THAT(valid.rows.rows[0].id, ElementsAre("1", "0")) << "as in the file";
}

}  // namespace
}  // namespace rnnlab
