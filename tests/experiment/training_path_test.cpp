#include "experiment/training_path.h"

#include <gtest/gtest.h>

#include "experiment/prepared_run.h"
#include "experiment/tiny_experiment.h"
#include "models/model_parameters.h"

namespace rnnlab {
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

}  // namespace
}  // namespace rnnlab
