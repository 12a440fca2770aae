// SPDX-License-Identifier: Apache-2.0
#include "results/work_settings.h"

#include <gtest/gtest.h>

#include "results/run_record.h"

namespace rnnlab {
namespace {

const Settings kSettings = {{"deterministic", "false"},         {"model.cell", "lstm"},        {"model.dropout", "0"},
                            {"model.hidden_size", "64"},        {"training.batch_size", "32"}, {"training.epochs", "5"},
                            {"training.learning_rate", "0.01"}, {"training.optimizer", "adam"}};

WorkHashes hashes_with(const std::string& key, const std::string& value) {
  Settings settings = kSettings;
  settings[key] = value;
  return work_hashes(settings);
}

TEST(WorkHashes, AreOfWhatIsComputed) {
  const WorkHashes before = work_hashes(kSettings);
  EXPECT_NE(hashes_with("model.hidden_size", "16").model, before.model);
  EXPECT_EQ(hashes_with("model.hidden_size", "16").training, before.training);
  for (const auto& [key, value] : {std::pair("training.optimizer", "sgd"), {"deterministic", "true"}}) {
    EXPECT_NE(hashes_with(key, value).training, before.training) << key;
    EXPECT_EQ(hashes_with(key, value).model, before.model) << key;
  }
}

TEST(WorkHashes, AreNotOfWhatIsComparedApart) {
  for (const char* key : {"training.epochs", "training.batch_size", "training.num_threads", "training.cuda_graph",
                          "model.initial_weights", "data.path", "seed", "layer"})
    EXPECT_EQ(hashes_with(key, "other"), work_hashes(kSettings)) << key;
}

TEST(WorkHashes, LeaveOutWhatALaterVersionDoesNotDo) {
  for (const char* neutral : {"0", "0.0", "false", "auto", "none", "\"\"", "[]"})
    EXPECT_EQ(hashes_with("model.a_later_setting", neutral), work_hashes(kSettings)) << neutral;
  EXPECT_NE(hashes_with("model.a_later_setting", "1"), work_hashes(kSettings));
}

// The keys came after version 3 of the files, which therefore do not have them.
TEST(WorkHashes, TakeTheDefaultOfALaterKeyForItsAbsence) {
  EXPECT_EQ(hashes_with("model.candidate", "positive"), work_hashes(kSettings));
  EXPECT_NE(hashes_with("model.candidate", "linear"), work_hashes(kSettings));
  EXPECT_EQ(hashes_with("model.heads", "1"), work_hashes(kSettings));
  EXPECT_NE(hashes_with("model.heads", "2"), work_hashes(kSettings));
}

TEST(WorkHashes, AreOfNumbersNotOfTheirDigits) {
  EXPECT_EQ(hashes_with("training.learning_rate", "1e-2"), work_hashes(kSettings));
  EXPECT_EQ(hashes_with("training.learning_rate", "0.0100"), work_hashes(kSettings));
}

TEST(SettingsSha256, IsOfAllSettingsButPaths) {
  Settings settings = kSettings;
  settings["data.path"] = "/elsewhere";
  EXPECT_EQ(settings_sha256(settings), settings_sha256(kSettings));
  settings["training.epochs"] = "6";
  EXPECT_NE(settings_sha256(settings), settings_sha256(kSettings));
}

// Runs of versions without these keys are compared with runs of versions that print their defaults.
TEST(SameSetting, TakesTheDefaultOfALaterKeyForItsAbsence) {
  for (const char* key : {"data.unsorted", "data.duplicates", "data.gaps"}) {
    EXPECT_TRUE(is_same_setting(key, {}, {{key, "error"}})) << key;
    EXPECT_FALSE(is_same_setting(key, {}, {{key, "ignore"}})) << key;
  }
  EXPECT_FALSE(is_same_setting("data.missing_words", {}, {{"data.missing_words", "[NA]"}}));
  EXPECT_FALSE(is_same_setting("data.missing", {}, {{"data.missing", "error"}})) << "a key of all versions";
}

// ---- of two runs ----

RunRecord run_of(const std::string& hidden_size, const std::string& hash) {
  RunRecord run;
  run.config = {{"model.hidden_size", hidden_size}};
  run.summary.identity.model_hash = hash;
  return run;
}

TEST(ComparableHashes, AreThoseOfTheSummariesIfBothAreOfOneKind) {
  const auto [a, b] = comparable_hashes(run_of("64", "old"), run_of("64", "older"));
  EXPECT_EQ(a.model, "old");
  EXPECT_EQ(b.model, "older");
}

TEST(ComparableHashes, AreComputedAgainIfOneIsOld) {
  RunRecord now = run_of("64", "new");
  now.summary.settings_sha256 = "s";
  const auto [a, b] = comparable_hashes(run_of("64", "old"), now);
  EXPECT_EQ(a, b);
  const auto [c, d] = comparable_hashes(run_of("16", "old"), now);
  EXPECT_NE(c, d);
}

}  // namespace
}  // namespace rnnlab
