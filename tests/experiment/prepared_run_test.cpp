#include "experiment/prepared_run.h"

#include <gtest/gtest.h>

#include <set>

#include "experiment/tiny_experiment.h"
#include "models/model_parameters.h"

namespace rnnlab {
namespace {

using testing::tiny_experiment;

TEST(PreparedRun, ResolvesWhatAutoComesTo) {
  const PreparedRun run(tiny_experiment({"device=auto", "data.placement=auto"}), {"rnnlab"});
  EXPECT_EQ(run.experiment.device, run.device.str());
  EXPECT_NE(run.experiment.device, "auto");
  EXPECT_EQ(run.identity.placement, "device");
}

TEST(PreparedRun, IsIdentifiedByTheWeightsItStartsFrom) {
  const PreparedRun run(tiny_experiment(), {});
  EXPECT_EQ(run.identity.initial_weights_sha256, weights_sha256(*run.model));
  EXPECT_EQ(run.identity.data_fingerprint, run.dataset.fingerprint);
}

TEST(PreparedRun, RefusesWhatTheDataCannotDo) {
  try {
    const PreparedRun run(tiny_experiment({"model.kind=sequence_regressor"}), {});
    FAIL() << "expected an error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    EXPECT_STREQ(error.what(),
                 "model.kind: sequence_regressor does not fit data with 10 classes; use sequence_classifier");
  }
}

}  // namespace
namespace {

TEST(ObserveTrainingPath, LeavesNoTraceInTheModel) {
  const PreparedRun run(testing::tiny_experiment(), {});
  const std::string before = weights_sha256(*run.model);
  const ExecutionPath path = observe_training_path(*run.model, run.dataset, run.options);
  EXPECT_NE(path.path, "");
  EXPECT_EQ(weights_sha256(*run.model), before);
  for (const auto& parameter : run.model->parameters()) EXPECT_FALSE(parameter.grad().defined());
}

TEST(ObserveTrainingPath, TakesABatchThatIsLargerThanTheData) {
  const PreparedRun run(testing::tiny_experiment({"training.batch_size=100000", "layer=naive"}), {});
  EXPECT_EQ(observe_training_path(*run.model, run.dataset, run.options).path.substr(0, 11), "native loop");
}

TEST(LoadKernels, LeavesNoTraceInTheModel) {
  const PreparedRun run(testing::tiny_experiment({"training.batch_size=7", "training.valid_batch_size=3"}), {});
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
  const PreparedRun run(testing::tiny_experiment({"training.batch_size=7", "training.valid_batch_size=3"}), {});
  const int64_t last = run.dataset.train.size() % 7, last_valid = run.dataset.valid.size() % 3;
  ASSERT_GT(last, 0);
  ASSERT_GT(last_valid, 0);
  Watched watched(*run.model);
  load_kernels(watched, run.dataset, run.options);
  EXPECT_EQ(watched.sizes, (std::set<int64_t>{7, last, 3, last_valid}));
}

}  // namespace
}  // namespace rnnlab
