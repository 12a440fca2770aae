// SPDX-License-Identifier: Apache-2.0
// Tests training.carry_state: the rows of a batch continue the text of the batch before.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randint.h>
#include <gmock/gmock.h>

#include <cmath>

#include "train/loop/toy.h"
#include "train/models/model.h"

namespace rnnlab {
namespace {

// Windows of a text of 24 characters and five tokens, without validation: six of four steps, or fewer that are longer.
Dataset text_dataset(int64_t num_steps = 4) {
  const auto generator = at::detail::createCPUGenerator(3);
  const at::Tensor text = at::randint(5, {25}, generator, at::TensorOptions(at::kLong));
  Dataset dataset;
  dataset.train.inputs = text.narrow(0, 0, 24).view({-1, num_steps}).contiguous();
  dataset.train.targets = text.narrow(0, 1, 24).view({-1, num_steps}).contiguous();
  dataset.shape = {.task = Task::kLanguageModel, .input_size = 5, .sequence_length = num_steps, .num_outputs = 5};
  return dataset;
}

// The weights stay as they are, so that losses depend on the windows and the states alone.
TrainerOptions still_options() {
  TrainerOptions options = toy_options();
  options.settings.batch_size = 2;
  options.settings.learning_rate = 1e-30;
  return options;
}

std::vector<double> losses_with(const Dataset& dataset, const TrainerOptions& options) {
  return run_toy(dataset, options).seen.losses;
}

TEST(CarriedStates, BeginEachEpochWithZeros) {
  TrainerOptions options = still_options();
  options.settings.carry_state = true;
  const std::vector<double> losses = losses_with(text_dataset(), options);
  ASSERT_EQ(losses.size(), 6u);
  for (size_t step = 0; step < 3; ++step) EXPECT_EQ(losses[step + 3], losses[step]) << step;
}

// Row 0 reads windows 0, 1 and 2, and row 1 reads windows 3, 4 and 5.
TEST(CarriedStates, ReachFromEachBatchToTheNext) {
  TrainerOptions options = still_options();
  options.settings.epochs = 1;
  options.settings.carry_state = true;
  const Dataset dataset = text_dataset();
  const std::vector<double> carried = losses_with(dataset, options);
  options.settings.carry_state = false;
  options.settings.shuffle = false;
  Dataset in_turns = dataset;
  in_turns.train = take(dataset.train, {0, 3, 1, 4, 2, 5});
  const std::vector<double> without = losses_with(in_turns, options);
  EXPECT_EQ(carried.at(0), without.at(0)) << "both begin with zeros";
  EXPECT_NE(carried.at(1), without.at(1));
  EXPECT_NE(carried.at(2), without.at(2));
}

TEST(CarriedStates, MakeThreeWindowsEqualToOneLongSequence) {
  TrainerOptions options = still_options();
  options.settings.epochs = 1;
  options.settings.shuffle = false;
  const double of_long = losses_with(text_dataset(12), options).at(0);
  const auto mean_with = [&](bool carry_state) {
    options.settings.carry_state = carry_state;
    Dataset dataset = text_dataset();
    if (!carry_state) dataset.train = take(dataset.train, {0, 3, 1, 4, 2, 5});
    const std::vector<double> losses = losses_with(dataset, options);
    return (losses.at(0) + losses.at(1) + losses.at(2)) / 3;
  };
  EXPECT_NEAR(mean_with(true), of_long, 1e-6);
  EXPECT_GT(std::abs(mean_with(false) - of_long), 1e-4) << "without states the windows are not one sequence";
}

}  // namespace
}  // namespace rnnlab
