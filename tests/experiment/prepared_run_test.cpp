#include "experiment/prepared_run.h"

#include <gtest/gtest.h>

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
}  // namespace rnnlab
