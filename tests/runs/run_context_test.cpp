// SPDX-License-Identifier: Apache-2.0
#include "runs/run_context.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "base/expect_error.h"
#include "base/system/logger.h"
#include "base/system/temporary_folder.h"
#include "golden.h"
#include "results/checkpoint/checkpoint.h"
#include "runs/run.h"
#include "runs/tiny_experiment.h"
#include "train/models/model.h"

namespace rnnlab {
namespace {

using testing::tiny_experiment;

TEST(RunContext, ResolvesAuto) {
  const RunContext run(tiny_experiment({"device=auto", "data.placement=auto"}), {"rnnlab"});
  EXPECT_EQ(run.experiment.device, run.device.str());
  EXPECT_NE(run.experiment.device, "auto");
  EXPECT_EQ(run.identity.placement, "device");
}

TEST(RunContext, IsIdentifiedByTheWeightsItStartsFrom) {
  const RunContext run(tiny_experiment(), {});
  EXPECT_EQ(run.identity.initial_weights_sha256, weights_sha256(*run.model));
  EXPECT_EQ(run.identity.data_fingerprint, run.dataset.fingerprint);
}

TEST(RunContext, RefusesWhatTheDataCannotDo) {
  try {
    const RunContext run(tiny_experiment({"model.kind=sequence_regressor"}), {});
    FAIL() << "expected an error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    expect_golden(error.what());
  }
}

// Targets of 0 and 1 may be binary or numbers: the data decide which metrics there are.
TEST(RunContext, RefusesToWatchAMetricThatTheDataDoNotHave) {
  const testing::TemporaryFolder folder;
  testing::write_text(folder.path() / "a.csv", "a,b,c\n1,0,0.5\n2,1,1\n3,0,2\n4,1,3.5\n5,0,1\n6,1,2\n7,0,4\n8,1,3\n");
  const auto with_target = [&](const std::string& target) {
    return testing::cases_of("name: tiny\ndevice: cpu\ndata: {source: csv, path: " + folder.name("a.csv") +
                             ", features: [a], window: 2, num_valid: 2, " + target +
                             "}\nmodel: {kind: sequence_regressor, hidden_size: 2}\n"
                             "training: {early_stopping: valid_accuracy}\n")
        .front()
        .experiment;
  };
  EXPECT_EQ(RunContext(with_target("target: [b], task: binary"), {}).experiment.training.early_stopping,
            "valid_accuracy");
  try {
    const RunContext run(with_target("target: [c]"), {});
    FAIL() << "expected an error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    expect_golden(error.what());
  }
}

// The tensors of both forms of a GRU are the same, so what the file or its checkpoint states decides.
TEST(RunContext, RefusesInitialWeightsOfAnotherFunction) {
  const testing::TemporaryFolder out;
  Logger logger(Verbosity::kQuiet, {});
  const std::vector<std::string> gru = {"layer=naive", "model.cell=gru", "model.reset_gate=before"};
  const RunOutcome run =
      run_experiment(tiny_experiment(gru), {.out = out.path(), .command_line = {}, .console = {}}, logger);
  const auto file = list_checkpoints(run.folder / kCheckpointsFolder).back().path / kModelFile;
  const std::string weights = "model.initial_weights=" + file.string();
  EXPECT_NO_THROW(RunContext(tiny_experiment({gru[0], gru[1], gru[2], weights}), {}));
  testing::expect_error(ExitCode::kCheckpoint,
                        file.string() +
                            ": its weights are for model.reset_gate: before, and the model has after; with "
                            "after they would compute a different function: set model.reset_gate=before",
                        [&] {
                          RunContext(tiny_experiment({gru[0], gru[1], weights}), {});
                        });
}

TEST(ObserveTrainingPath, LeavesNoTraceInTheModel) {
  const RunContext run(testing::tiny_experiment(), {});
  const std::string before = weights_sha256(*run.model);
  const ExecutionPath path = observe_training_path(*run.model, run.dataset, run.options);
  EXPECT_NE(path.path, "");
  EXPECT_EQ(weights_sha256(*run.model), before);
  for (const auto& parameter : run.model->parameters()) EXPECT_FALSE(parameter.grad().defined());
}

TEST(ObserveTrainingPath, TakesABatchThatIsLargerThanTheData) {
  const RunContext run(testing::tiny_experiment({"training.batch_size=100000", "layer=naive"}), {});
  EXPECT_EQ(observe_training_path(*run.model, run.dataset, run.options).path.substr(0, 11), "native loop");
}

TEST(LoadKernels, LeavesNoTraceInTheModel) {
  const RunContext run(testing::tiny_experiment({"training.batch_size=7", "training.valid_batch_size=3"}), {});
  const std::string before = weights_sha256(*run.model);
  load_kernels(*run.model, run.dataset, run.options);
  EXPECT_EQ(weights_sha256(*run.model), before);
  EXPECT_TRUE(run.model->is_training());
  for (const auto& parameter : run.model->parameters()) EXPECT_FALSE(parameter.grad().defined());
}

// Notes how many samples the batches have that a model is given.
class Watched : public Model {
 public:
  explicit Watched(Model& model) : model_(model) {}

  at::Tensor forward(const Batch& batch) override {
    sizes.insert(batch.size);
    return model_.forward(batch);
  }

  std::set<int64_t> sizes;

 private:
  Model& model_;
};

TEST(LoadKernels, RunsEachBatchSizeOfTrainingAndValidation) {
  const RunContext run(testing::tiny_experiment({"training.batch_size=7", "training.valid_batch_size=3"}), {});
  const int64_t last = run.dataset.train.size() % 7, last_valid = run.dataset.valid.size() % 3;
  ASSERT_GT(last, 0);
  ASSERT_GT(last_valid, 0);
  Watched watched(*run.model);
  load_kernels(watched, run.dataset, run.options);
  EXPECT_EQ(watched.sizes, (std::set<int64_t>{7, last, 3, last_valid}));
}

// A model that carries states has them for full batches only.
TEST(LoadKernels, LeavesOutALastBatchThatTrainingDrops) {
  RunContext run(testing::tiny_experiment({"training.batch_size=7"}), {});
  for (bool* const drops : {&run.options.settings.drop_last, &run.options.settings.carry_state}) {
    *drops = true;
    Watched watched(*run.model);
    load_kernels(watched, run.dataset, run.options);
    EXPECT_FALSE(watched.sizes.contains(run.dataset.train.size() % 7));
    *drops = false;
  }
}

TEST(ScalingEstimate, AddsTheExchangeToThePartOfEachProcess) {
  const ScalingEstimate estimate{.num_processes = 4,
                                 .whole_seconds = 8e-3,
                                 .part_seconds = 3e-3,
                                 .exchange_seconds = 1e-3,
                                 .num_bytes = 2 << 20,
                                 .num_pieces = 3};
  EXPECT_DOUBLE_EQ(estimate.speedup(), 2);
  EXPECT_DOUBLE_EQ(estimate.weak_efficiency(), 8.0 / 9);
  expect_golden(text_of(estimate));
}

TEST(ScalingEstimate, IsMissingIfTheWholeBatchFailsOnOneGpu) {
  const ScalingEstimate estimate{.num_processes = 2,
                                 .whole_seconds = std::numeric_limits<double>::quiet_NaN(),
                                 .part_seconds = 3e-3,
                                 .exchange_seconds = 1e-3};
  expect_golden(text_of(estimate));
}

}  // namespace
}  // namespace rnnlab
