// SPDX-License-Identifier: Apache-2.0
// Mapped inputs are held to the same inputs in memory: each test loads a data set both ways.
#include "data/mapped_inputs.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <c10/util/Half.h>

#include <array>
#include <chrono>
#include <limits>
#include <thread>
#include <type_traits>

#include "data/batches.h"
#include "data/inspect.h"
#include "data/load_dataset.h"
#include "data_test.h"
#include "golden.h"

namespace rnnlab {
namespace {

constexpr int64_t kSamples = 11, kSteps = 6, kFeatures = 3;
constexpr const char* kShape = "11, 6, 3";

// Numbers without a pattern, of which some are negative if the type has negative numbers.
template <class T>
std::vector<T> numbers(double factor = 1) {
  std::vector<T> values;
  for (int64_t i = 0; i < kSamples * kSteps * kFeatures; ++i) {
    const auto number = static_cast<double>(i * 37 % 101 - (std::numeric_limits<T>::is_signed ? 50 : 0));
    values.push_back(
        static_cast<T>(static_cast<std::conditional_t<std::is_same_v<T, c10::Half>, float, double>>(number * factor)));
  }
  return values;
}

class MappedInputsTest : public DataTest {
 protected:
  MappedInputsTest() {
    write_npy<int64_t>("y.npy", "<i8", "11,", {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1});
    write_npy<int32_t>("n.npy", "<i4", "11,", {6, 1, 3, 2, 6, 5, 4, 1, 2, 3, 6});
    write_npy<float>("x.npy", "<f4", kShape, numbers<float>(0.37));
  }

  DataSettings settings(const std::string& memory, const std::string& more) const {
    return parse_settings(
        fmt::format("source: npy\npath: {}\ntrain_inputs: x.npy\ntrain_targets: y.npy\nmemory: {}\n{}\n",
                    folder().string(), memory, more));
  }

  static std::vector<Batch> batches_of(const Samples& samples, Order order, Placement placement, c10::Device device) {
    Batches batches(samples, {.batch_size = 4, .order = order, .seed = 5, .placement = placement}, device);
    std::vector<Batch> all;
    for (const int64_t epoch : {0, 1}) {
      batches.start_epoch(epoch);
      while (std::optional<Batch> batch = batches.next()) all.push_back(std::move(*batch));
    }
    return all;
  }

  static void expect_equal_batches(const std::vector<Batch>& actual, const std::vector<Batch>& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      EXPECT_TRUE(actual[i].inputs.cpu().equal(expected[i].inputs));
      EXPECT_TRUE(actual[i].targets.cpu().equal(expected[i].targets));
      EXPECT_EQ(actual[i].whole_targets, expected[i].whole_targets);
      expect_equal_lengths(actual[i].lengths, expected[i].lengths);
    }
  }

  static void expect_equal_lengths(const at::Tensor& actual, const at::Tensor& expected) {
    ASSERT_EQ(actual.defined(), expected.defined());
    if (!actual.defined()) return;
    EXPECT_TRUE(actual.equal(expected));
  }

  static void expect_equal_samples(const Samples& mapped, const Samples& resident) {
    ASSERT_TRUE(mapped.mapped);
    EXPECT_FALSE(mapped.inputs.defined());
    EXPECT_EQ(mapped.size(), resident.size());
    EXPECT_EQ(mapped.num_steps(), resident.num_steps());
    expect_equal_lengths(mapped.lengths, resident.lengths);
    EXPECT_TRUE(inputs_of(mapped, 0, mapped.size()).equal(resident.inputs));
    if (resident.size() == 0) return;
    for (const Order order : {Order::kSequential, Order::kShuffled, Order::kByLength}) {
      expect_equal_batches(batches_of(mapped, order, Placement::kAutomatic, at::kCPU),
                           batches_of(resident, order, Placement::kAutomatic, at::kCPU));
    }
  }

  static void expect_equal_scales(const std::vector<ColumnScale>& actual, const std::vector<ColumnScale>& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      EXPECT_EQ(actual[i].offset, expected[i].offset);
      EXPECT_EQ(actual[i].scale, expected[i].scale);
    }
  }

  // Loads the data both ways.
  void expect_equal(const std::string& more) const {
    SCOPED_TRACE(more);
    const Dataset mapped = load_dataset(settings("mapped", more)), resident = load_dataset(settings("resident", more));
    EXPECT_EQ(mapped.fingerprint, resident.fingerprint);
    EXPECT_EQ(mapped.description, resident.description);
    expect_equal_scales(mapped.feature_scales, resident.feature_scales);
    expect_equal_samples(mapped.train, resident.train);
    expect_equal_samples(mapped.valid, resident.valid);
  }

  void expect_equal_for_every_normalization(const std::string& more = "") const {
    for (const std::string how : {"auto", "none", "standard", "minmax", "column_minmax"}) {
      const bool divides_bytes = how == "auto";
      expect_equal("normalize: " + how + (divides_bytes ? more : ""));
      expect_equal("train_lengths: n.npy\nnormalize: " + how + (divides_bytes ? more : ""));
    }
  }

  std::string load_error(ExitCode code) const {
    return error_of(code, [&] { load_dataset(settings("mapped", "")); });
  }
};

template <class T>
class MappedElements : public MappedInputsTest {};

template <class T, char... name>
struct Element {
  using Type = T;
  static std::string code() { return {name...}; }
};

using Elements =
    ::testing::Types<Element<uint8_t, '|', 'u', '1'>, Element<int8_t, '|', 'i', '1'>, Element<uint16_t, '<', 'u', '2'>,
                     Element<int16_t, '<', 'i', '2'>, Element<uint32_t, '<', 'u', '4'>, Element<int32_t, '<', 'i', '4'>,
                     Element<uint64_t, '<', 'u', '8'>, Element<int64_t, '<', 'i', '8'>,
                     Element<c10::Half, '<', 'f', '2'>, Element<float, '<', 'f', '4'>, Element<double, '<', 'f', '8'>>;
TYPED_TEST_SUITE(MappedElements, Elements);

TYPED_TEST(MappedElements, GiveTheBatchesAndTheFingerprintOfInputsInMemory) {
  using T = typename TypeParam::Type;
  const double factor = std::numeric_limits<T>::is_integer ? 1 : 0.37;
  this->template write_npy<T>("x.npy", TypeParam::code(), kShape, numbers<T>(factor));
  this->expect_equal_for_every_normalization(std::is_same_v<T, uint8_t> ? "\nbyte_maximum: 255" : "");
}

TEST_F(MappedInputsTest, DivideBytesBy255) {
  write_npy<uint8_t>("x.npy", "|u1", kShape, numbers<uint8_t>());
  expect_equal("normalize: unit\nbyte_maximum: 255");
  write_npy<float>("x.npy", "<f4", kShape, numbers<float>());
  expect_golden(error_of(ExitCode::kData, [&] { load_dataset(settings("mapped", "normalize: unit")); }));
}

TEST_F(MappedInputsTest, MayHaveOneOrSeveralDimensionsOfFeatures) {
  for (const char* shape : {"11, 18", "11, 3, 2, 3", "11, 18, 1"}) {
    write_npy<float>("x.npy", "<f4", shape, numbers<float>(0.11));
    expect_equal("normalize: standard");
  }
}

TEST_F(MappedInputsTest, AreSplitLikeInputsInMemory) {
  for (const std::string split :
       {"num_valid: 0", "split: ordered", "num_test: 2", "num_train: 5\nnum_valid: 2",
        "valid_inputs: x.npy\nvalid_targets: y.npy\nnum_test: 3", "valid_inputs: x.npy\nvalid_targets: y.npy\nseed: 4"})
    expect_equal("normalize: standard\n" + split);
}

TEST_F(MappedInputsTest, OfValidationMayBeInAFileOfAnotherType) {
  write_npy<int16_t>("v.npy", "<i2", "2, 6, 3", [] {
    std::vector<int16_t> values(36);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int16_t>(i * i % 29 - 7);
    return values;
  }());
  write_npy<int64_t>("w.npy", "<i8", "2,", {2, 0});
  write_npy<int64_t>("m.npy", "<i8", "2,", {3, 6});
  const std::string valid = "valid_inputs: v.npy\nvalid_targets: w.npy\n";
  for (const std::string how : {"none", "standard", "column_minmax"}) {
    expect_equal(valid + "normalize: " + how);
    expect_equal(valid + "train_lengths: n.npy\nvalid_lengths: m.npy\nnormalize: " + how);
  }
}

TEST_F(MappedInputsTest, MayBeReadByTwoThreadsAtOnce) {
  const Samples mapped = load_dataset(settings("mapped", "normalize: standard")).train;
  const Samples resident = load_dataset(settings("resident", "normalize: standard")).train;
  std::array<std::vector<Batch>, 2> read;
  {
    std::array<std::jthread, 2> threads;
    for (size_t i = 0; i < 2; ++i)
      threads[i] =
          std::jthread([&, i] { read[i] = batches_of(mapped, Order::kShuffled, Placement::kAutomatic, at::kCPU); });
  }
  const auto expected = batches_of(resident, Order::kShuffled, Placement::kAutomatic, at::kCPU);
  for (const std::vector<Batch>& batches : read) expect_equal_batches(batches, expected);
}

TEST_F(MappedInputsTest, ThatCannotBeMappedAreRefused) {
  write_npy<float>("v.npy", "<f4", "1, 6, 3", std::vector<float>(18, 1));
  replace_in("v.npy", "False", "True ");
  write_npy<int64_t>("w.npy", "<i8", "1,", {0});
  const std::string more = "valid_inputs: v.npy\nvalid_targets: w.npy";
  expect_golden(error_of(ExitCode::kData, [&] { load_dataset(settings("mapped", more)); }));
}

TEST_F(MappedInputsTest, OfAPartForATrainedModelAreThoseInMemory) {
  const std::string more = "num_test: 3\nnormalize: minmax";
  const DataSettings mapped = settings("mapped", more), resident = settings("resident", more);
  const Dataset dataset = load_dataset(mapped);
  for (const DataPart part : {DataPart::kTrain, DataPart::kValid, DataPart::kTest, DataPart::kAll})
    expect_equal_samples(load_for_inference(mapped, dataset, part, Targets::kRequired).samples,
                         load_for_inference(resident, dataset, part, Targets::kRequired).samples);
}

TEST_F(MappedInputsTest, ArePartOfAnInspection) {
  const auto text = [&](const std::string& memory) {
    const auto json = inspection_json(inspect(settings(memory, "train_lengths: n.npy")));
    return fmt::format("{} {} {}", json["training"]["inputs"].dump(), json["fingerprint"].dump(),
                       json["first_samples"][1]["first_steps"].dump());
  };
  EXPECT_EQ(text("mapped"), text("resident"));
}

TEST_F(MappedInputsTest, MayHaveNanAndInfInPadding) {
  std::vector<float> values = numbers<float>(0.37);
  const auto at = [&](int64_t step) -> float& { return values[(1 * kSteps + step) * kFeatures]; };
  at(1) = std::numeric_limits<float>::quiet_NaN();  // sample 1 has one step
  at(5) = std::numeric_limits<float>::infinity();
  write_npy<float>("x.npy", "<f4", kShape, values);
  expect_equal("train_lengths: n.npy\nnormalize: standard");
  expect_equal("train_lengths: n.npy\nnormalize: none");
  at(0) = at(1);
  write_npy<float>("x.npy", "<f4", kShape, values);
  EXPECT_THAT(error_of(ExitCode::kDiverged, [&] { load_dataset(settings("mapped", "train_lengths: n.npy")); }),
              ::testing::HasSubstr("sample 1, step 0, feature 0"));
}

TEST_F(MappedInputsTest, NamesANumberThatIsNotFinite) {
  std::vector<float> values = numbers<float>();
  values[3 * kSteps * kFeatures + 2 * kFeatures + 1] = std::numeric_limits<float>::quiet_NaN();
  write_npy<float>("x.npy", "<f4", kShape, values);
  constexpr const char* kMessage =
      "{}/x.npy: sample 3, step 2, feature 1 (counted from 0) is nan: rnnlab trains on finite float32 numbers only: "
      "correct the file";
  EXPECT_EQ(load_error(ExitCode::kDiverged), kMessage);
  const Dataset dataset = load_dataset(settings("mapped", "split: ordered\nnum_train: 3"));  // does not use sample 3
  EXPECT_EQ(dataset.train.size(), 3);
  EXPECT_EQ(error_of(ExitCode::kDiverged,
                     [&] { load_for_inference(settings("mapped", ""), dataset, DataPart::kAll, Targets::kRequired); }),
            kMessage);
}

TEST_F(MappedInputsTest, RefuseADoubleBeyondFloat) {
  std::vector<double> values = numbers<double>();
  values[0] = 1e300;
  write_npy<double>("x.npy", "<f8", kShape, values);
  expect_golden(load_error(ExitCode::kDiverged));
}

TEST_F(MappedInputsTest, RefuseABoolThatIsNeitherTrueNorFalse) {
  std::vector<uint8_t> values(kSamples * kSteps * kFeatures, 1);
  write_npy<uint8_t>("x.npy", "|b1", kShape, values);
  expect_equal("");
  values[kSteps * kFeatures] = 2;
  write_npy<uint8_t>("x.npy", "|b1", kShape, values);
  expect_golden(load_error(ExitCode::kData));
}

TEST_F(MappedInputsTest, RefuseOtherCountsAndShapes) {
  write_npy<int64_t>("y.npy", "<i8", "2,", {0, 1});
  expect_golden(load_error(ExitCode::kData));
  write_npy<uint16_t>("x.npy", "<f2", "2,", {0, 0});
  expect_golden(load_error(ExitCode::kData));
}

TEST_F(MappedInputsTest, EndAnEpochIfTheFileIsChanged) {
  const Dataset dataset = load_dataset(settings("mapped", ""));
  Batches batches(dataset.train, {.batch_size = 2}, at::kCPU);
  const auto later = std::filesystem::last_write_time(path("x.npy")) + std::chrono::seconds(1);
  std::filesystem::last_write_time(path("x.npy"), later);
  batches.start_epoch(0);
  expect_golden(error_of(ExitCode::kData, [&] { batches.next(); }));
}

// The page with the new end of the file reads as zeros, without a signal.
TEST_F(MappedInputsTest, RefuseTheZerosOfAFileThatIsCutOffDuringAVisit) {
  const MappedInputs inputs(std::make_shared<const MappedArray>(path("x.npy")));
  const auto size = std::filesystem::file_size(path("x.npy"));
  int64_t num_visited = 0;
  const auto cut_off = [&](int64_t, std::span<const float>) {
    if (num_visited++ == 0) std::filesystem::resize_file(path("x.npy"), size - 4);
  };
  expect_golden(error_of(ExitCode::kData, [&] { inputs.visit({}, cut_off); }));
  EXPECT_EQ(num_visited, kSamples);
}

TEST_F(MappedInputsTest, AreReadUpToTheSampleThatIsFound) {
  const MappedInputs inputs(std::make_shared<const MappedArray>(path("x.npy")));
  int64_t num_visited = 0;
  const auto is_third = [&](int64_t sample, std::span<const float>) { return ++num_visited, sample == 2; };
  EXPECT_EQ(inputs.find({}, is_third), 2);
  EXPECT_EQ(num_visited, 3);
  EXPECT_EQ(inputs.find({}, [](int64_t, std::span<const float>) { return false; }), std::nullopt);
}

TEST_F(MappedInputsTest, AreAlwaysOnTheHost) {
  const Dataset dataset = load_dataset(settings("mapped", ""));
  EXPECT_EQ(choose_placement(dataset.train, Placement::kAutomatic, at::kCPU), Placement::kHost);
}

TEST_F(MappedInputsTest, OnCudaAreThoseOfTheCpu) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a CUDA GPU";
  const c10::Device cuda(at::kCUDA, 0);
  for (const std::string more : {"normalize: none", "normalize: standard\ntrain_lengths: n.npy"}) {
    const Samples mapped = load_dataset(settings("mapped", more)).train;
    const Samples resident = load_dataset(settings("resident", more)).train;
    const auto actual = batches_of(mapped, Order::kShuffled, Placement::kAutomatic, cuda);
    const auto expected = batches_of(resident, Order::kShuffled, Placement::kHost, at::kCPU);
    expect_equal_batches(actual, expected);
    EXPECT_TRUE(actual.at(0).inputs.is_cuda() && actual.at(0).targets.is_cuda());
  }
}

TEST_F(MappedInputsTest, SayInANoteThatTheyAre) {
  const Dataset dataset = load_dataset(settings("mapped", ""));
  expect_golden(dataset.notes);
}

}  // namespace
}  // namespace rnnlab
