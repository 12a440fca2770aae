#include "training/training_settings.h"

#include <gmock/gmock.h>

#include "config/document.h"

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
  settings.early_stopping = StoppingMetric::kValidAccuracy;
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
  EXPECT_EQ(complaint("epochs: 0"), "");
  EXPECT_EQ(complaint("{epochs: 0, max_seconds: 9, schedule: cosine}"), "");
  EXPECT_EQ(complaint("{optimizer: adam, momentum: 0.9}"), "");
  EXPECT_EQ(complaint("{clip_norm: 1, clip_value: 1}"), "");
  EXPECT_EQ(complaint("{learning_rate: 1e-3, minimum_learning_rate: 0.1}"), "");
  EXPECT_EQ(complaint("{schedule: step, decay_rate: 0.1}"), "");
  EXPECT_EQ(complaint("{schedule: inverse_time}"), "");
  EXPECT_EQ(complaint("{schedule: cosine, decay_rate: 0.5}"), "");
  EXPECT_EQ(complaint("{decay_steps: 10}"), "");
}

TEST(TrainingSettings, NumbersHaveBounds) {
  EXPECT_EQ(complaint("batch_size: 0"), "");
  EXPECT_EQ(complaint("learning_rate: 0"), "");
  EXPECT_EQ(complaint("beta2: 1"), "");
}

}  // namespace
}  // namespace rnnlab
