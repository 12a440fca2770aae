// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "data/load_dataset.h"
#include "data_test.h"
#include "golden.h"

namespace rnnlab {
namespace {

using testing::ElementsAre;

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

TEST_F(LoadArrays, RefusesImagesAndLabelsOfDifferentCounts) {
  write_images();
  write_idx("y", {3}, std::string("\0\1\2", 3));
  expect_golden(load_error(settings("idx", kValid)));
}

TEST_F(LoadArrays, RefusesALabelBeyondTheClasses) {
  write_images();
  expect_golden(load_error(settings("idx", std::string(kValid) + "num_classes: 2")));
  write_idx("vy", {2}, std::string("\0\7", 2));
  expect_golden(load_error(settings("idx", kValid)));
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

TEST_F(LoadArrays, RefusesPartsThatAreNotAlike) {
  write_images();
  write_idx("vx", {2, 3, 2}, std::string(12, '\0'));
  expect_golden(load_error(settings("idx", kValid)));
}

TEST_F(LoadArrays, RefusesInputsWithoutSteps) {
  write_npy<float>("x", "<f4", "2,", {0, 1});
  write_npy<int64_t>("y", "<i8", "2,", {0, 1});
  expect_golden(load_error(settings("npy")));
}

TEST_F(LoadArrays, RefusesToDivideRealNumbersBy255) {
  write_npy<float>("x", "<f4", "2, 1", {0, 1});
  write_npy<int64_t>("y", "<i8", "2,", {0, 1});
  expect_golden(load_error(settings("npy", "normalize: unit")));
}

TEST_F(LoadArrays, MissesAFileOfMnistBesideTheOthers) {
  write_idx("train-images-idx3-ubyte", {1, 1, 1}, "0");
  expect_golden(load_error(parse_settings("source: mnist\npath: " + folder().string())));
}

TEST_F(LoadArrays, SaysHowToFetchMnist) {
  const std::string message = load_error(parse_settings("source: mnist\npath: " + path("nowhere")));
  expect_golden(message);
  expect_golden(message);
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

}  // namespace
}  // namespace rnnlab
