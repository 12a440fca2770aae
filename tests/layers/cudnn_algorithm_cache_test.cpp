// SPDX-License-Identifier: Apache-2.0
// Tests `cudnn_algorithm: auto` without a GPU: which algorithms are measured and stored, and that a bad cache costs
// only time.
#include <ATen/Context.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/expect_error.h"
#include "base/system/temporary_folder.h"
#include "layers/cudnn/plan_cache.h"
#include "layers/cudnn/rnn_descriptor.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr auto kStandard = CudnnAlgorithm::kStandard;
constexpr auto kPersistStatic = CudnnAlgorithm::kPersistStatic;
constexpr auto kPersistDynamic = CudnnAlgorithm::kPersistDynamic;
constexpr auto kSmallHidden = CudnnAlgorithm::kSmallHidden;

const CudnnPlatform kPlatform = {.gpu = "NVIDIA H200", .driver = "580.1", .cudnn = "9.19.0"};

RnnShape shape_with(int64_t hidden_size) {
  return {.type = at::kHalf,
          .passes = Passes::kForwardAndBackward,
          .num_steps = 28,
          .batch_size = 128,
          .input_size = 28,
          .hidden_size = hidden_size};
}

// Counts what is measured. Small hidden is refused, persist static is the fastest.
struct Stopwatch {
  std::vector<CudnnAlgorithm> measured;

  MeasureAlgorithm measure() {
    return [this](CudnnAlgorithm algorithm) -> std::optional<double> {
      measured.push_back(algorithm);
      if (algorithm == kSmallHidden) return std::nullopt;
      return algorithm == kPersistStatic ? 0.25 : 0.5;
    };
  }
};

class AlgorithmChoice : public ::testing::Test {
 protected:
  std::filesystem::path file() const { return folder_.path() / "new" / "folder" / "algorithms.json"; }
  AlgorithmCache cache() const { return AlgorithmCache(file()); }
  CudnnAlgorithm choose(const RnnShape& shape, const CudnnPlatform& platform = kPlatform) {
    return choose_algorithm(platform, shape, cache(), stopwatch_.measure()).algorithm;
  }
  void write_cache(const std::string& text) const { rnnlab::testing::write_text(file(), text); }

  rnnlab::testing::TemporaryFolder folder_;
  Stopwatch stopwatch_;
};

TEST_F(AlgorithmChoice, MeasuresEveryAlgorithmOnceAndTakesTheFastest) {
  EXPECT_EQ(choose(shape_with(128)), kPersistStatic);
  EXPECT_THAT(stopwatch_.measured, ElementsAre(kStandard, kPersistStatic, kPersistDynamic, kSmallHidden));
}

TEST_F(AlgorithmChoice, IsRememberedByTheNextRun) {
  choose(shape_with(128));
  stopwatch_.measured.clear();
  const auto known = choose_algorithm(kPlatform, shape_with(128), cache(), stopwatch_.measure());
  EXPECT_THAT(stopwatch_.measured, IsEmpty());
  EXPECT_EQ(known.algorithm, kPersistStatic);
  EXPECT_THAT(known.milliseconds,
              ElementsAre(Pair(kStandard, 0.5), Pair(kPersistStatic, 0.25), Pair(kPersistDynamic, 0.5)));
}

TEST_F(AlgorithmChoice, HoldsForItsShapePassesAndPlatformOnly) {
  choose(shape_with(128));
  RnnShape other_passes = shape_with(128);
  other_passes.passes = Passes::kForward;
  RnnShape other_math = shape_with(128);
  other_math.type = at::kFloat;
  RnnShape with_tf32 = other_math;
  with_tf32.float32_math = Float32Math::kTf32;
  for (const RnnShape& shape : {shape_with(256), other_passes, other_math, with_tf32}) {
    stopwatch_.measured.clear();
    choose(shape);
    EXPECT_EQ(stopwatch_.measured.size(), 4U) << algorithm_key(kPlatform, shape);
  }
  for (const CudnnPlatform& platform : {CudnnPlatform{"NVIDIA H100", "580.1", "9.19.0"},
                                        {"NVIDIA H200", "581.0", "9.19.0"},
                                        {"NVIDIA H200", "580.1", "9.20.0"}}) {
    stopwatch_.measured.clear();
    choose(shape_with(128), platform);
    EXPECT_EQ(stopwatch_.measured.size(), 4U) << algorithm_key(platform, shape_with(128));
  }
  stopwatch_.measured.clear();
  choose(shape_with(128));  // none of the others has pushed it out
  EXPECT_THAT(stopwatch_.measured, IsEmpty());
}

TEST_F(AlgorithmChoice, IsKeptUnderAKeyThatPeopleCanRead) { expect_golden(algorithm_key(kPlatform, shape_with(128))); }

TEST_F(AlgorithmChoice, MeasuresAgainWhereTheCacheIsBroken) {
  for (const char* text :
       {"", "no JSON", "[]", "{}", R"({"format": 2, "shapes": {}})", R"({"format": 1, "shapes": 3})"}) {
    write_cache(text);
    stopwatch_.measured.clear();
    EXPECT_EQ(choose(shape_with(128)), kPersistStatic) << text;
    EXPECT_EQ(stopwatch_.measured.size(), 4U) << text;
    EXPECT_EQ(cache().find(algorithm_key(kPlatform, shape_with(128)))->algorithm, kPersistStatic) << "mended: " << text;
  }
}

TEST_F(AlgorithmChoice, TakesNoAlgorithmFromTheCacheThatDoesNotExist) {
  const std::string key = algorithm_key(kPlatform, shape_with(128));
  for (const char* entry :
       {R"({"algorithm": "fastest", "milliseconds": {}})", R"({"algorithm": "auto", "milliseconds": {}})",
        R"({"algorithm": 1, "milliseconds": {}})", R"({"milliseconds": {}})", "null"}) {
    write_cache(fmt::format(R"({{"format": 1, "shapes": {{"{}": {}}}}})", key, entry));
    EXPECT_FALSE(cache().find(key)) << entry;
  }
}

TEST_F(AlgorithmChoice, MeasuresEveryTimeWhereNothingCanBeKept) {
  const std::filesystem::path blocked = folder_.path() / "a file";
  std::ofstream(blocked) << "not a folder";
  for (const std::filesystem::path& file : {blocked / "algorithms.json", std::filesystem::path()}) {
    stopwatch_.measured.clear();
    for (int run = 0; run < 2; ++run)
      EXPECT_EQ(choose_algorithm(kPlatform, shape_with(128), AlgorithmCache(file), stopwatch_.measure()).algorithm,
                kPersistStatic);
    EXPECT_EQ(stopwatch_.measured.size(), 8U) << file;
  }
}

TEST_F(AlgorithmChoice, FailsClearlyWhereCudnnRunsNothing) {
  rnnlab::testing::expect_error(ExitCode::kUsage, [&] {
    choose_algorithm(kPlatform, shape_with(128), cache(), [](CudnnAlgorithm) { return std::nullopt; });
  });
  EXPECT_FALSE(std::filesystem::exists(file()));
}

void run_out_of_memory() { TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory"); }

TEST_F(AlgorithmChoice, DoesNotRememberAnAnswerThatLacksAnAlgorithmForWantOfMemory) {
  const MeasureAlgorithm with_memory = stopwatch_.measure();
  const MeasureAlgorithm without = [&](CudnnAlgorithm algorithm) {
    if (algorithm == kPersistStatic) run_out_of_memory();
    return with_memory(algorithm);
  };
  const auto chosen = choose_algorithm(kPlatform, shape_with(128), cache(), without);
  EXPECT_EQ(chosen.algorithm, kStandard);
  EXPECT_THAT(chosen.milliseconds, ElementsAre(Pair(kStandard, 0.5), Pair(kPersistDynamic, 0.5)));
  EXPECT_EQ(choose(shape_with(128)), kPersistStatic) << "measured again, with memory";
}

TEST_F(AlgorithmChoice, SaysThatMemoryIsWhyNothingRuns) {
  const MeasureAlgorithm measure = [](CudnnAlgorithm) -> std::optional<double> {
    run_out_of_memory();
    return std::nullopt;
  };
  EXPECT_THROW(choose_algorithm(kPlatform, shape_with(128), cache(), measure), c10::OutOfMemoryError);
}

TEST_F(AlgorithmChoice, EndsWhereAnAlgorithmFailsThatIsNotRefused) {
  const MeasureAlgorithm measure = [](CudnnAlgorithm) -> std::optional<double> {
    throw_error(ExitCode::kDevice, "cuDNN failed");
  };
  EXPECT_THROW(choose_algorithm(kPlatform, shape_with(128), cache(), measure), UserError);
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST(CudnnFailure, IsTheUsersWhereCudnnRefusesAndTheDevicesElsewhere) {
  for (const auto status : {CUDNN_STATUS_NOT_SUPPORTED, CUDNN_STATUS_NOT_SUPPORTED_SHAPE, CUDNN_STATUS_BAD_PARAM,
                            CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND})
    EXPECT_EQ(exit_code_of(status), ExitCode::kUsage) << cudnnGetErrorString(status);
  for (const auto status : {CUDNN_STATUS_EXECUTION_FAILED, CUDNN_STATUS_EXECUTION_FAILED_CUDART,
                            CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, CUDNN_STATUS_NOT_INITIALIZED})
    EXPECT_EQ(exit_code_of(status), ExitCode::kDevice) << cudnnGetErrorString(status);
}

TEST(CudnnFailure, NamesWhatToUseInstead) {
  const auto failure = [](CudnnAlgorithm algorithm, cudnnStatus_t status) {
    return std::string(failure_of(shape_with(128), algorithm, status, "cudnnRNNForward").what());
  };
  expect_golden(failure(kSmallHidden, CUDNN_STATUS_NOT_SUPPORTED));
  expect_golden(failure(kStandard, CUDNN_STATUS_EXECUTION_FAILED));
}

// Sets environment variables while it lives; nullptr unsets one.
class Environment {
 public:
  explicit Environment(const std::vector<std::pair<const char*, const char*>>& variables) {
    for (const auto& [name, value] : variables) {
      const char* old = std::getenv(name);
      before_.emplace_back(name, old == nullptr ? std::optional<std::string>() : old);
      set(name, value);
    }
  }
  ~Environment() {
    for (const auto& [name, value] : before_) set(name, value ? value->c_str() : nullptr);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  static void set(const char* name, const char* value) { value == nullptr ? unsetenv(name) : setenv(name, value, 1); }

  std::vector<std::pair<const char*, std::optional<std::string>>> before_;
};

TEST(AlgorithmCacheFile, LiesInTheUsersCacheFolder) {
  const auto file_with = [](const char* own, const char* cache, const char* home) {
    const Environment environment({{"RNNLAB_CACHE", own}, {"XDG_CACHE_HOME", cache}, {"HOME", home}});
    return algorithm_cache_file().string();
  };
  EXPECT_EQ(file_with("/own", "/cache", "/home/me"), "/own/cudnn_algorithms.json");
  expect_golden(file_with(nullptr, "/cache", "/home/me"));
  expect_golden(file_with(nullptr, nullptr, "/home/me"));
  expect_golden(file_with("", "", "/home/me"));
  EXPECT_EQ(file_with(nullptr, nullptr, nullptr), "");
}

TEST(RnnShape, IsReadFromTheOptionsAndTheInput) {
  const RecurrentOptions options = {
      .cell = Cell::kGru, .input_size = 3, .hidden_size = 4, .num_layers = 2, .bidirectional = true};
  at::globalContext().setAllowTF32CuDNN(true);
  const RnnShape shape = shape_of(options, at::zeros({7, 5, 3}), Passes::kForward);
  EXPECT_EQ(text_of(shape), "gru in float32, TF32, T 7, B 5, I 3, H 4, L 2, D 2");
  EXPECT_EQ(precision_of(shape_of(options, at::zeros({7, 5, 3}, at::kBFloat16), Passes::kForward)), "bfloat16");
  EXPECT_EQ(precision_of(shape_of(options, at::zeros({7, 5, 3}, at::kDouble), Passes::kForward)), "float64");
  at::globalContext().setAllowTF32CuDNN(false);
  EXPECT_EQ(precision_of(shape_of(options, at::zeros({7, 5, 3}), Passes::kForward)), "float32");
}

}  // namespace
}  // namespace rnnlab
