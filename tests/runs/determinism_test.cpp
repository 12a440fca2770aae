// SPDX-License-Identifier: Apache-2.0
// R7: two runs of one seed on one machine end with equal bits.
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include "base/system/temporary_folder.h"
#include "results/checkpoint/checkpoint.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/run_folder.h"
#include "runs/tiny_experiment.h"

namespace rnnlab {
namespace {

struct TwoHashes {
  std::string model;
  std::string optimizer;

  bool operator==(const TwoHashes&) const = default;
};

TwoHashes hashes_after(const std::vector<std::string>& overrides) {
  const testing::TemporaryFolder out;
  const auto run = testing::run_quietly(testing::tiny_experiment(overrides), out.path());
  const Manifest manifest = verify_checkpoint(list_checkpoints(run.folder / kCheckpointsFolder).back().path);
  return {manifest.files.at(kModelFile).sha256, manifest.files.at(kOptimizerFile).sha256};
}

void expect_same_bits_twice(const std::vector<std::string>& more) {
  const auto overrides = testing::with({"deterministic=true", "model.num_layers=2", "model.dropout=0.2"}, more);
  EXPECT_EQ(hashes_after(overrides), hashes_after(overrides));
}

TEST(Deterministic, RunsEndWithTheSameBitsOnACpu) {
  for (const char* layer : {"naive", "hoisted", "fused", "blocked"}) {
    SCOPED_TRACE(layer);
    expect_same_bits_twice({std::string("layer=") + layer});
  }
}

TEST(Deterministic, RunsEndWithTheSameBitsOnAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "needs a GPU";
  for (const char* layer : {"naive", "fused", "cudnn", "diagonal"})
    for (const char* graph : {"false", "true"}) {
      SCOPED_TRACE(fmt::format("{}, cuda_graph {}", layer, graph));
      expect_same_bits_twice(
          {"device=cuda", std::string("layer=") + layer, std::string("training.cuda_graph=") + graph});
    }
}

}  // namespace
}  // namespace rnnlab
