// SPDX-License-Identifier: Apache-2.0
#include "runs/run_context.h"

#include <ATen/ops/full_like.h>
#include <ATen/ops/isfinite.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "base/expect_error.h"
#include "base/system/logger.h"
#include "base/system/temporary_folder.h"
#include "golden.h"
#include "results/checkpoint/checkpoint.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/run_folder.h"
#include "runs/resume.h"
#include "runs/run.h"
#include "runs/run_checkpoint.h"
#include "runs/tiny_experiment.h"
#include "train/models/model.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
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
  testing::expect_error(ExitCode::kUsage,
                        [&] { const RunContext run(tiny_experiment({"model.kind=sequence_regressor"}), {}); });
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
  testing::expect_error(ExitCode::kUsage, [&] { const RunContext run(with_target("target: [c]"), {}); });
}

// The tensors of both forms of a GRU are the same, so what the file or its checkpoint states decides.
TEST(RunContext, RefusesInitialWeightsOfAnotherFunction) {
  const testing::TemporaryFolder out;
  const std::vector<std::string> gru = {"layer=naive", "model.cell=gru", "model.reset_gate=before"};
  const RunOutcome run = testing::run_quietly(tiny_experiment(gru), out.path());
  const auto file = list_checkpoints(run.folder / kCheckpointsFolder).back().path / kModelFile;
  const std::string weights = "model.initial_weights=" + file.string();
  EXPECT_NO_THROW(RunContext(tiny_experiment({gru[0], gru[1], gru[2], weights}), {}));
  testing::expect_error(ExitCode::kCheckpoint, [&] { RunContext(tiny_experiment({gru[0], gru[1], weights}), {}); });
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

// ---- numbers that are not finite ----
// R8: NaN or Inf is put into a run at every place where it can occur. The run ends with exit code 5 and names the
// place, and no checkpoint contains a number that is not finite.

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Plants it after step 6, in the second of three epochs.
struct Plant {
  std::string name;
  std::string expected;  // in the message
  std::function<void(RunContext&, double)> plant;
};

class Planter : public Observer {
 public:
  explicit Planter(std::function<void()> plant) : plant_(std::move(plant)) {}
  void on_step(const StepProgress& progress) override {
    if (needs_sync_at(progress.step)) plant_();
  }
  bool needs_sync_at(int64_t step) const override { return step == 6; }

 private:
  std::function<void()> plant_;
};

void fill(const at::Tensor& tensor, double value) {
  const at::NoGradGuard no_grad;
  at::Tensor(tensor).view(-1)[0].fill_(value);
}

const std::vector<Plant> kPlants = {
    {"Weight", "weight recurrent.weight_ih_l0 is not finite",
     [](RunContext& run, double value) { fill(run.trainer->optimizer().parameters().front().tensor, value); }},
    {"Gradient", "gradient of recurrent.weight_ih_l0 is not finite",
     [](RunContext& run, double value) {
       at::Tensor(run.trainer->optimizer().parameters().front().tensor)
           .register_hook([value](const at::Tensor& gradient) { return at::full_like(gradient, value); });
     }},
    {"OptimizerState", "is not finite after the update of step ",
     [](RunContext& run, double value) {
       for (const auto& [name, tensor] : run.trainer->optimizer_state())
         if (name == "recurrent.weight_ih_l0.exp_avg") fill(tensor, value);
     }},
    {"Data", "the inputs of training sample 0 (from 0) are not finite; weights are those of step ",
     [](RunContext& run, double value) { at::Tensor(run.dataset.train.inputs).fill_(value); }},
    {"ValidationData", "the inputs of validation sample 0 (from 0) are not finite",
     [](RunContext& run, double value) { at::Tensor(run.dataset.valid.inputs).fill_(value); }},
};

using PlantedWhere = std::tuple<Plant, double, std::string>;  // how often is saved

class NotFinite : public ::testing::TestWithParam<PlantedWhere> {
 protected:
  static void expect_all_finite(const fs::path& folder) {
    for (const CheckpointPlace& place : list_checkpoints(folder / kCheckpointsFolder)) {
      const Snapshot saved = read_saved_run(place.path).snapshot;
      for (const auto* tensors : {&saved.model, &saved.optimizer})
        for (const auto& [name, tensor] : *tensors)
          EXPECT_TRUE(at::isfinite(tensor).all().item<bool>()) << place.path << " " << name;
    }
  }

  RunRequest request() const { return {.out = out_.path()}; }

  testing::TemporaryFolder out_;
  Logger logger_{Verbosity::kQuiet, Terminal{}};
};

TEST_P(NotFinite, IsLocatedAndNeverSaved) {
  const auto& [plant, value, saving] = GetParam();
  const fs::path folder = out_.path() / "run";
  fs::create_directory(folder);
  {
    RunContext run(tiny_experiment({"deterministic=true", "training.num_threads=1", "checkpoint.every_seconds=0",
                                    "checkpoint.keep=100", saving}),
                   {});
    Planter planter([&] { plant.plant(run, value); });
    run.trainer->add_observer(planter);
    const std::string message =
        testing::message_of_error(ExitCode::kDiverged, [&] { train_run(run, folder, {}, request(), logger_); });
    EXPECT_THAT(message, ::testing::StartsWith("training diverged at "));
    EXPECT_THAT(message, HasSubstr(plant.expected));
    logger_.close_file();
  }
  expect_all_finite(folder);
  const auto latest = latest_checkpoint(folder / kCheckpointsFolder);
  ASSERT_TRUE(latest.place);
  EXPECT_GE(latest.place->step, 4) << "the last good one";
  EXPECT_EQ(resume_experiment(folder, {}, request(), logger_).exit_code, ExitCode::kDone);
}

std::string name_of_plant(const ::testing::TestParamInfo<PlantedWhere>& info) {
  const auto& [plant, value, saving] = info.param;
  const bool every_step = saving == "checkpoint.every_steps=1";
  return plant.name + (std::isnan(value) ? "Nan" : "Inf") + (every_step ? "SavedEveryStep" : "SavedEveryEpoch");
}

INSTANTIATE_TEST_SUITE_P(Everywhere, NotFinite,
                         ::testing::Combine(::testing::ValuesIn(kPlants), ::testing::Values(kNan, kInfinity),
                                            ::testing::Values("checkpoint.every_steps=1", "checkpoint.every_epochs=1")),
                         name_of_plant);

// Finite numbers whose squares are not.
TEST(NotFiniteLoss, OfAnEpochsValidationKeepsWhatWasSavedWithinTheEpoch) {
  const testing::TemporaryFolder out;
  testing::write_text(out.path() / "a.csv", "x,y\n1,1\n2,2\n3,3\n4,1\n5,2\n6,3\n7,1e30\n8,1e30\n");
  const std::string data = "data: {source: csv, target: [y], task: regression, split: ordered, num_valid: 2, path: ";
  const auto cases = testing::cases_of(
      "name: huge\ndevice: cpu\nlayer: naive\nmodel: {kind: sequence_regressor, hidden_size: 4}\n" + data +
      (out.path() / "a.csv").string() + "}\ntraining: {epochs: 2, batch_size: 2}\ncheckpoint: {every_steps: 1}\n");
  testing::expect_error(ExitCode::kDiverged, [&] { testing::run_quietly(cases.at(0).experiment, out.path()); });
  const auto run = run_folders_in(out.path() / "huge").at(0);
  EXPECT_EQ(latest_checkpoint(run / kCheckpointsFolder).place.value().step, 2);
}

}  // namespace
}  // namespace rnnlab
