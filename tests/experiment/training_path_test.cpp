#include "experiment/training_path.h"

#include <ATen/record_function.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string_view>

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

// The rows of products with a bias on this thread, of which the output layer's are the samples of a batch.
std::set<int64_t> rows_during(const std::function<void()>& work) {
  static std::set<int64_t> rows;
  rows.clear();
  const auto note_rows = [](const at::RecordFunction& function) -> std::unique_ptr<at::ObserverContext> {
    if (std::string_view(function.name()) == "aten::addmm") rows.insert(function.inputs()[1].toTensor().size(0));
    return nullptr;
  };
  const auto handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(note_rows).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  work();
  at::removeCallback(handle);
  return rows;
}

TEST(LoadKernels, RunsEachBatchSizeOfTrainingAndValidation) {
  const PreparedRun run(testing::tiny_experiment({"training.batch_size=7", "training.valid_batch_size=3"}), {});
  const int64_t last = run.dataset.train.size() % 7, last_valid = run.dataset.valid.size() % 3;
  ASSERT_GT(last, 0);
  ASSERT_GT(last_valid, 0);
  const auto rows = rows_during([&] { load_kernels(*run.model, run.dataset, run.options); });
  EXPECT_THAT(rows, ::testing::IsSupersetOf({int64_t{7}, last, int64_t{3}, last_valid}));
}

}  // namespace
}  // namespace rnnlab
