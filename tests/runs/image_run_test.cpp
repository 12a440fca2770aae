// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <torch/cuda.h>

#include "layers/on_cuda.h"
#include "results/run_record.h"
#include "runs/resumed_run.h"

namespace rnnlab {
namespace {

using testing::final_state;
using testing::FinalState;
using ::testing::HasSubstr;

// Two epochs of four steps, with dropout.
constexpr const char* kImages = R"(name: images
device: cpu
data: {source: digits, num_train: 200, num_valid: 50}
model: {kind: image_classifier, dense: [32], dense_dropout: 0.5}
training: {epochs: 2, batch_size: 50}
deterministic: true
checkpoint: {every_seconds: 0}
)";

class ImageRun : public testing::ResumedRun {
 protected:
  std::filesystem::path train_images(const std::vector<std::string>& overrides,
                                     const std::vector<Observer*>& observers = {}) {
    return train(kImages, overrides, observers).finished.at(0).folder;
  }
};

TEST_F(ImageRun, IsNamedByHowItsConvolutionsAreComputed) {
  const auto folder = train_images({"convolution=channels_last", "training.epochs=1"});
  EXPECT_THAT(folder.filename().string(), ::testing::EndsWith("-cpu-channels_last"));
  const Summary summary = read_summary(folder);
  EXPECT_EQ(summary.layer, "channels_last");
  EXPECT_EQ(summary.path, "oneDNN convolution (float32)");
  EXPECT_THAT(testing::read_text(folder / kLogFile), HasSubstr("layer     channels_last, precision fp32"));
}

TEST_F(ImageRun, LearnsTheSameHoweverItIsComputed) {
  const auto row_of = [&](const std::string& convolution, const std::string& num_convolutions) {
    return read_epochs(train_images({"convolution=" + convolution, "model.num_convolutions=" + num_convolutions,
                                     "data.num_train=100", "training.epochs=1"}))
        .back();
  };
  for (const std::string num_convolutions : {"2", "4"}) {
    const EpochRow plain = row_of("plain", num_convolutions);
    for (const std::string convolution : {"channels_last", "fused_pool", "fused"}) {
      const EpochRow other = row_of(convolution, num_convolutions);
      EXPECT_NEAR(other.train_loss, plain.train_loss, 1e-4 * plain.train_loss) << convolution;
      EXPECT_NEAR(other.valid_loss.value(), plain.valid_loss.value(), 1e-4 * plain.valid_loss.value()) << convolution;
    }
  }
}

TEST_F(ImageRun, EndsAsIfItHadNotStopped) {
  const FinalState whole = final_state(train_images({}));
  for (const int64_t step : {3, 4, 6}) {
    testing::StopAtStep stop(step);
    const auto stopped = train_images({}, {&stop});
    EXPECT_EQ(resume(stopped).exit_code, ExitCode::kDone);
    EXPECT_EQ(final_state(stopped), whole) << "stopped after step " << step;
  }
}

class ImageRunOnCuda : public ImageRun {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  }
};

TEST_F(ImageRunOnCuda, IsTheSameBitForBitAsCudaGraphs) {
  for (const std::string precision : {"fp32", "tf32", "bf16", "fp16"})
    for (const std::string convolution : {"plain", "channels_last", "fused_pool", "fused"}) {
      SCOPED_TRACE(precision + " " + convolution);
      const auto run_with = [&](const std::string& graphs) {
        return train_images(
            {"device=cuda", "precision=" + precision, "convolution=" + convolution, "training.cuda_graph=" + graphs});
      };
      const auto graphs = run_with("true");
      EXPECT_THAT(read_summary(graphs).path_notes,
                  ::testing::Contains("every step is one CUDA graph (training.cuda_graph)"));
      EXPECT_EQ(final_state(graphs), final_state(run_with("false")));
    }
}

TEST_F(ImageRunOnCuda, NamesOwnKernelsOrTheReasonAgainstThem) {
  if (!has_own_kernels_here()) {
    const Summary summary = read_summary(train_images({"device=cuda"}));
    EXPECT_EQ(summary.path, "cuDNN convolution (float32); LibTorch's operators for bias, ReLU and pooling");
    EXPECT_THAT(summary.path_notes, ::testing::Contains(::testing::StartsWith("this build has no own kernels for ")));
    return;
  }
  const auto path_of = [&](const std::string& num_convolutions) {
    return read_summary(train_images({"device=cuda", "model.num_convolutions=" + num_convolutions})).path;
  };
  EXPECT_EQ(path_of("2"),
            "own kernel for the first convolution, ReLU and pooling; own kernel for bias, ReLU and pooling; "
            "cuDNN convolution (float32); own kernel for the dense layer's ReLU, dropout and output");
  EXPECT_EQ(path_of("4"),
            "cuDNN convolution (float32); own kernel for bias, ReLU and pooling; "
            "own kernel for the dense layer's ReLU, dropout and output");
}

}  // namespace
}  // namespace rnnlab
