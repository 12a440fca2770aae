// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/program.h"
#include "golden.h"
#include "results/checkpoint/safetensors.h"

namespace rnnlab {
namespace {

using testing::kTinyYaml;
using testing::Program;

class Export : public ::testing::Test {
 protected:
  void SetUp() override { program_.write("tiny.yaml", kTinyYaml); }

  TensorFile exported(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"export", "tiny.yaml", "-o", "work.safetensors"});
    result_ = program_.run(arguments);
    EXPECT_EQ(result_.exit_code, 0) << result_.errors;
    return read_safetensors(program_.folder() / "work.safetensors");
  }
  static std::vector<int64_t> shape(const TensorFile& file, const char* tensor) {
    const TensorView* found = file.find(tensor);
    return found == nullptr ? std::vector<int64_t>{-1} : found->spec.shape;
  }

  Program program_;
  testing::ProgramResult result_;
};

TEST_F(Export, HasSamplesOrdersRatesAndWeights) {
  const TensorFile file = exported({});
  expect_golden(result_.output);
  EXPECT_EQ(shape(file, "train.inputs"), (std::vector<int64_t>{200, 28, 28}));
  EXPECT_EQ(shape(file, "train.targets"), (std::vector<int64_t>{200}));
  EXPECT_EQ(shape(file, "valid.inputs"), (std::vector<int64_t>{50, 28, 28}));
  EXPECT_EQ(shape(file, "order"), (std::vector<int64_t>{3, 200}));
  EXPECT_EQ(shape(file, "learning_rates"), (std::vector<int64_t>{12}));
  EXPECT_EQ(shape(file, "weights.recurrent.weight_hh_l0"), (std::vector<int64_t>{32, 8}));
  EXPECT_EQ(shape(file, "weights.output.bias"), (std::vector<int64_t>{10}));
}

TEST_F(Export, LeavesOutSamplesThatNoEpochUses) {
  const TensorFile file = exported({"training.batch_size=80", "training.drop_last=true"});
  EXPECT_EQ(shape(file, "order"), (std::vector<int64_t>{3, 160}));
}

TEST_F(Export, HasTheIdentityOfARunOfTheSameExperiment) {
  const auto work = nlohmann::json::parse(exported({}).metadata.at("rnnlab_work"));
  ASSERT_EQ(program_.run({"train", "tiny.yaml"}).exit_code, 0);
  const auto summary = nlohmann::json::parse(
      testing::read_text(program_.folder() / program_.run_folders("tiny").at(0) / "summary.json"));
  for (const char* key : {"data_fingerprint", "initial_weights_sha256", "order_sha256", "model_hash", "training_hash"})
    EXPECT_EQ(work["identity"][key], summary["identity"][key]) << key;
  EXPECT_EQ(work["settings_sha256"], summary["settings_sha256"]);
  EXPECT_EQ(work["settings"]["training.epochs"], "3");
  EXPECT_EQ(work["defaults"]["training.cuda_graph"], "false");
}

TEST_F(Export, IsOfOneRunWithABound) {
  expect_golden(program_.run({"export", "tiny.yaml"}).errors);
  expect_golden(program_.run({"export", "tiny.yaml", "sweep={seed: [1, 2]}", "-o", "w.safetensors"}).errors);
  expect_golden(
      program_.run({"export", "tiny.yaml", "training.epochs=0", "training.max_seconds=1", "-o", "w.safetensors"})
          .errors);
}

TEST_F(Export, PrintsTheSizeOfTheWorkAsJson) {
  exported({"--json"});
  EXPECT_EQ(
      nlohmann::json::parse(result_.output),
      (nlohmann::json{{"file", "work.safetensors"}, {"num_train", 200}, {"num_epochs", 3}, {"steps_per_epoch", 4}}));
}

}  // namespace
}  // namespace rnnlab
