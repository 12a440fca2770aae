// SPDX-License-Identifier: Apache-2.0
#include "train/loop/training_settings.h"

#include <gmock/gmock.h>

#include "golden.h"
#include "train/settings_reading.h"

namespace rnnlab {
namespace {

using ::testing::IsEmpty;

Reading<TrainingSettings> read(const std::string& yaml) {
  return read_settings<TrainingSettings>(yaml, "training.yaml");
}

TEST(TrainingSettings, DefaultsMakeSense) { EXPECT_THAT(read("epochs: 3").complaints, IsEmpty()); }

TEST(TrainingSettings, WhatIsPrintedReadsBack) {
  TrainingSettings settings;
  settings.max_steps = 100;
  settings.clip_norm = 0.25;
  settings.schedule = ScheduleKind::kInverseTime;
  settings.decay_rate = 1e-5;
  settings.early_stopping = "valid_accuracy";
  const auto text = config::print(settings, TrainingSettings::schema());
  const auto [again, complaints] = read(text);
  EXPECT_THAT(complaints, IsEmpty());
  EXPECT_EQ(config::print(again, TrainingSettings::schema()), text);
}

TEST(TrainingSettings, BoundsMayBeEpochsOrStepsOrTime) {
  EXPECT_THAT(read("{epochs: 0, max_steps: 5}").complaints, IsEmpty());
  EXPECT_THAT(read("{epochs: 0, max_seconds: 1.5}").complaints, IsEmpty());
}

std::string complaint(const std::string& yaml) { return only_one(read(yaml).complaints); }

TEST(TrainingSettings, CombinationsWithoutSenseNameTheirKeys) {
  expect_golden(complaint("epochs: 0"));
  expect_golden(complaint("{epochs: 0, max_seconds: 9, schedule: cosine}"));
  expect_golden(complaint("{tensorboard_machine: true}"));
  expect_golden(complaint("{clip_norm: 1, clip_value: 1}"));
  expect_golden(complaint("{learning_rate: 1e-3, minimum_learning_rate: 0.1}"));
  expect_golden(complaint("{schedule: step, decay_rate: 0.1}"));
  expect_golden(complaint("{schedule: inverse_time}"));
  expect_golden(complaint("{schedule: cosine, decay_rate: 0.5}"));
  expect_golden(complaint("{carry_state: true, batch_by_length: true}"));
  expect_golden(complaint("{carry_state: true, shards: 2}"));
  expect_golden(complaint("{decay_patience: 2}"));
  expect_golden(complaint("{decay_steps: 10}"));
  expect_golden(complaint("{epochs: auto, schedule: cosine}"));
  expect_golden(complaint("{epochs: auto, patience: 5}"));
  expect_golden(complaint("early_stopping: valid_coverage"));
  expect_golden(complaint("{epochs: auto, schedule: plateau, decay_rate: 0.5, decay_patience: 10}"));
  expect_golden(complaint("{loss: student, quantiles: [0.1, 0.5, 1]}"));
}

TEST(TrainingSettings, AutomaticEpochsEndAtAPlateau) {
  TrainingSettings settings = read("epochs: auto").settings;
  settle_epochs(settings);
  EXPECT_EQ(settings.epochs, 1000);
  EXPECT_EQ(settings.early_stopping, "valid_loss");
  EXPECT_EQ(settings.patience, 10);
  EXPECT_EQ(settings.schedule, ScheduleKind::kPlateau);
  EXPECT_THAT(read(config::print(settings, TrainingSettings::schema())).complaints, IsEmpty());
  TrainingSettings own = read(
                             "{epochs: auto, patience: 20, early_stopping: valid_rmse, schedule: exponential, "
                             "decay_rate: 0.9, decay_steps: 100}")
                             .settings;
  settle_epochs(own);
  EXPECT_EQ(own.early_stopping, "valid_rmse");
  EXPECT_EQ(own.patience, 20);
  EXPECT_EQ(own.schedule, ScheduleKind::kExponential);
}

TEST(TrainingSettings, NumbersOfEpochsStayAsTheyAre) {
  TrainingSettings settings = read("epochs: 7").settings;
  settle_epochs(settings);
  EXPECT_EQ(settings.epochs, 7);
  EXPECT_FALSE(settings.early_stopping);
}

TEST(TrainingSettings, NumbersHaveBounds) {
  expect_golden(complaint("patience: 0"));
  expect_golden(complaint("accumulate: 1000000001"));
  expect_golden(complaint("epochs: 9223372036854775807"));
  expect_golden(complaint("max_steps: 9223372036854775807"));
  expect_golden(complaint("learning_rate: 0"));
  expect_golden(complaint("clip_value: 1e308"));
  expect_golden(complaint("beta2: 1"));
}

}  // namespace
}  // namespace rnnlab
