// SPDX-License-Identifier: Apache-2.0
#include "train/loop/training_settings.h"

#include <gmock/gmock.h>

#include "base/config/document.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Reading {
  TrainingSettings settings;
  std::vector<std::string> complaints;
};

Reading read(const std::string& yaml) {
  config::Findings findings;
  const auto document = config::Document::from_text(yaml, "training.yaml", findings);
  Reading reading;
  reading.settings = config::read(document, TrainingSettings::schema(), findings);
  reading.complaints = findings.lines();
  return reading;
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

std::string complaint(const std::string& yaml) {
  const auto complaints = read(yaml).complaints;
  return complaints.size() == 1 ? complaints.front()
                                : "expected one complaint, got " + std::to_string(complaints.size());
}

TEST(TrainingSettings, CombinationsWithoutSenseNameTheirKeys) {
  EXPECT_EQ(complaint("epochs: 0"),
            "training.yaml:1:9: epochs, max_steps (default) and max_seconds (default): nothing ends the run: set at "
            "least one of them");
  EXPECT_EQ(complaint("{epochs: 0, max_seconds: 9, schedule: cosine}"),
            "training.yaml:1:39: schedule and decay_steps (default): cosine needs decay_steps if neither epochs nor "
            "max_steps is set");
  EXPECT_EQ(complaint("{tensorboard_machine: true}"),
            "training.yaml:1:23: tensorboard_machine and tensorboard (default): it applies only to TensorBoard's file: "
            "set tensorboard: true");
  EXPECT_EQ(complaint("{clip_norm: 1, clip_value: 1}"),
            "training.yaml:1:13: clip_norm and clip_value (training.yaml:1:28): gradients cannot be clipped by both: "
            "remove one of them");
  EXPECT_EQ(complaint("{learning_rate: 1e-3, minimum_learning_rate: 0.1}"),
            "training.yaml:1:46: minimum_learning_rate and learning_rate (training.yaml:1:17): the minimum is above "
            "the learning rate");
  EXPECT_EQ(complaint("{schedule: step, decay_rate: 0.1}"),
            "training.yaml:1:12: schedule and decay_steps (default): step needs decay_steps");
  EXPECT_EQ(complaint("{schedule: inverse_time}"),
            "training.yaml:1:12: schedule and decay_rate (default): inverse_time needs a decay_rate");
  EXPECT_EQ(complaint("{schedule: cosine, decay_rate: 0.5}"),
            "training.yaml:1:12: schedule and decay_rate (training.yaml:1:32): cosine has no decay_rate");
  EXPECT_EQ(complaint("{carry_state: true, batch_by_length: true}"),
            "training.yaml:1:15: carry_state and batch_by_length (training.yaml:1:38): texts are read in their order: "
            "remove batch_by_length");
  EXPECT_EQ(complaint("{carry_state: true, shards: 2}"),
            "training.yaml:1:15: carry_state and shards (training.yaml:1:29): states are carried by one process "
            "without shards: remove shards");
  EXPECT_EQ(complaint("{decay_patience: 2}"),
            "training.yaml:1:18: schedule (default) and decay_patience: constant has no decay_patience");
  EXPECT_EQ(complaint("{decay_steps: 10}"),
            "training.yaml:1:15: schedule (default) and decay_steps: constant has no decay_steps");
}

TEST(TrainingSettings, NumbersHaveBounds) {
  EXPECT_EQ(complaint("patience: 0"),
            "training.yaml:1:11: patience: got '0', expected an integer, at least 1 and at most 1000000000");
  EXPECT_EQ(complaint("accumulate: 1000000001"),
            "training.yaml:1:13: accumulate: got '1000000001', expected an integer, at least 1 and at most 1000000000");
  EXPECT_EQ(complaint("epochs: 9223372036854775807"),
            "training.yaml:1:9: epochs: got '9223372036854775807', expected an integer, at least 0 and at most "
            "1000000000");
  EXPECT_EQ(complaint("max_steps: 9223372036854775807"),
            "training.yaml:1:12: max_steps: got '9223372036854775807', expected an integer, at least 1 and at most "
            "1000000000");
  EXPECT_EQ(complaint("learning_rate: 0"),
            "training.yaml:1:16: learning_rate: got '0', expected a number, above 0 and at most 1e+38");
  EXPECT_EQ(complaint("clip_value: 1e308"),
            "training.yaml:1:13: clip_value: got '1e308', expected a number, above 0 and at most 1e+38");
  EXPECT_EQ(complaint("beta2: 1"), "training.yaml:1:8: beta2: got '1', expected a number, at least 0 and below 1");
}

}  // namespace
}  // namespace rnnlab
