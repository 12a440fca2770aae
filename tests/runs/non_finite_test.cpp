// SPDX-License-Identifier: Apache-2.0
// R8: NaN or Inf is put into a run at every place where it can occur. The run ends with exit code 5 and names the
// place, and no checkpoint contains a number that is not finite.
#include <ATen/ops/full_like.h>
#include <ATen/ops/isfinite.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/system/temporary_folder.h"
#include "golden.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/run_folder.h"
#include "runs/resume.h"
#include "runs/run.h"
#include "runs/run_checkpoint.h"
#include "runs/run_context.h"
#include "runs/tiny_experiment.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::TemporaryFolder;
using testing::tiny_experiment;

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

  RunRequest request() const { return {.out = out_.path(), .command_line = {}, .console = {}}; }

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
    try {
      train_run(run, folder, {}, request(), logger_);
      FAIL() << "expected an error";
    } catch (const UserError& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kDiverged);
      EXPECT_THAT(error.what(), ::testing::StartsWith("training diverged at "));
      EXPECT_THAT(error.what(), HasSubstr(plant.expected));
    }
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
  Logger logger(Verbosity::kQuiet, Terminal{});
  const RunRequest request{.out = out.path(), .command_line = {}, .console = {}};
  try {
    run_experiment(cases.at(0).experiment, request, logger);
    FAIL() << "expected an error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kDiverged);
    expect_golden(error.what());
  }
  const auto run = run_folders_in(out.path() / "huge").at(0);
  EXPECT_EQ(latest_checkpoint(run / kCheckpointsFolder).place.value().step, 2);
}

}  // namespace
}  // namespace rnnlab
