#include "results/held_equal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/comparison_files.h"
#include "results/sample_devices.h"
#include "results/sample_runs.h"
#include "system/temporary_folder.h"

namespace rnnlab::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Held : public ::testing::Test {
 protected:
  void add(const std::string& name, const SampleRun& run) {
    run.write(folder_.path() / name);
    runs_.push_back(load_run(folder_.path() / name));
  }
  std::string text() const { return held_equal_text(held_equal(runs_)); }

  TemporaryFolder folder_;
  std::vector<RunRecord> runs_;
};

TEST_F(Held, EqualConditionsAreNamedWithTheirValue) {
  add("a", sample_run("cpu", "naive", 1, {9, 1, 1}));
  add("b", sample_run("cpu", "fused", 1, {9, 2, 2}));
  EXPECT_THAT(text(), AllOf(HasSubstr("Held equal:\n  data "), HasSubstr("\n  batch size "), HasSubstr(" 128\n"),
                            HasSubstr("\n  usable CPUs "), Not(HasSubstr("Not held equal"))));
  EXPECT_THAT(text(), HasSubstr("Not recorded by every run: "));
}

TEST_F(Held, WeightsAreEqualSeedBySeed) {
  for (const int64_t seed : {1, 2})
    for (const char* layer : {"naive", "fused"})
      add(layer + std::to_string(seed), sample_run("cpu", layer, seed, {9, 1}));
  EXPECT_THAT(text(), HasSubstr("w1 (seed 1); w2 (seed 2)\n"));
}

TEST_F(Held, UnequalConditionsAreNamedWithAllTheirValues) {
  add("a", sample_run("cpu", "naive", 1, {9, 1, 1}));
  SampleRun other = sample_run("cpu", "fused", 1, {9, 2, 2});
  other.environment.cpu.usable_cpus = 64;
  add("b", other);
  EXPECT_THAT(text(), HasSubstr("Not held equal:\n  usable CPUs  2; 64\n"));
}

// Before version 3 other texts were hashed.
TEST_F(Held, HashesOfAnOldRunAreComputedAgain) {
  add("a", sample_run("cpu", "naive", 1, {9, 1, 1}));
  add("b", sample_run("cpu", "fused", 1, {9, 2, 2}));
  runs_[1].summary.settings_sha256.clear();
  runs_[1].summary.identity.model_hash = runs_[1].summary.identity.training_hash = "of another text";
  EXPECT_THAT(text(), Not(HasSubstr("Not held equal")));
}

TEST_F(Held, DevicesAreToldOfWhereARunHasSeveral) {
  add("a", run_of_devices(1, 2));
  EXPECT_THAT(text(), Not(HasSubstr("devices")));
  add("b", run_of_devices(2, 1));
  EXPECT_THAT(text(), HasSubstr("Not held equal:\n  devices  1; 2\n"));
}

TEST_F(Held, TheJsonOfAComparisonHasThemAsAField) {
  add("a", sample_run("cpu", "naive", 1, {9, 1, 1}));
  EXPECT_THAT(comparison_json(compare(runs_, {}), {.held_equal = held_equal(runs_)}),
              AllOf(HasSubstr("\"baseline\": \"cpu naive\""), HasSubstr("\"held_equal\": {\n    \"equal\": [")));
}

}  // namespace
}  // namespace rnnlab::testing
