// SPDX-License-Identifier: Apache-2.0
// Other tests check that ranks compute the results of one process, by comparing losses, norms of gradients and weights.
// Here a mistake of each kind is planted, and the same comparison must detect it.
#include <ATen/Context.h>
#include <ATen/ops/stack.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "train/loop/determinism.h"
#include "train/loop/toy.h"
#include "train/models/model.h"
#include "train/ranks/ranks.h"

namespace rnnlab {
namespace {

// Threads that train as ranks. Only one thread runs at a time, and it lets the next one run when it waits for the
// others, because all share one random generator.
class Meeting {
 public:
  explicit Meeting(int64_t size) : given_(static_cast<size_t>(size)) {}

  void enter() { mutex_.lock(); }
  void leave() { mutex_.unlock(); }

  // Holds the values of each rank; every rank gets all of them.
  std::vector<at::Tensor> exchange(int64_t rank, const at::Tensor& own) {
    std::unique_lock lock(mutex_, std::adopt_lock);
    given_[static_cast<size_t>(rank)] = own.clone();
    const int64_t round = round_;
    if (++num_given_ == std::ssize(given_)) {
      result_ = given_;
      num_given_ = 0;
      ++round_;
      all_came_.notify_all();
    }
    all_came_.wait(lock, [&] { return round_ > round; });
    std::vector<at::Tensor> all = result_;
    lock.release();
    return all;
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_came_;
  std::vector<at::Tensor> given_, result_;
  int64_t num_given_ = 0, round_ = 0;
};

constexpr int64_t kSize = 2;

// A mistake changes one of these parts of the training; the default changes nothing.
struct Mistake {
  // A message has all gradients, and then values that the tests do not change. `step` counts from 1.
  std::function<void(at::Tensor gradients, int64_t rank, int64_t step)> before_sum = {}, after_sum = {};
  std::function<void(std::vector<at::Tensor>& tables)> in_validation = {};
  std::function<void(TrainerOptions& options, int64_t rank)> in_options = {};
  std::function<void(int64_t rank, int64_t step)> before_training_pass = {};
};

// A model that makes the mistake before each pass.
class ModelWithMistake : public Model {
 public:
  ModelWithMistake(std::shared_ptr<Model> model, const Mistake& mistake, int64_t rank)
      : model_(std::move(model)), mistake_(mistake), rank_(rank) {
    register_module("model", model_);
  }

  at::Tensor forward(const Batch& batch) override {
    if (is_training() && mistake_.before_training_pass) mistake_.before_training_pass(rank_, ++step_);
    return model_->forward(batch);
  }

 private:
  std::shared_ptr<Model> model_;
  const Mistake& mistake_;
  int64_t rank_;
  int64_t step_ = 0;
};

class ThreadRanks : public Ranks {
 public:
  ThreadRanks(Meeting& meeting, int64_t rank, int64_t num_gradients, const Mistake& mistake)
      : Ranks(rank, kSize), meeting_(meeting), num_gradients_(num_gradients), mistake_(mistake) {}

  void all_reduce(at::Tensor& values) override {
    ++step_;
    if (mistake_.before_sum) mistake_.before_sum(values.narrow(0, 0, num_gradients_), rank(), step_);
    values.copy_(at::stack(meeting_.exchange(rank(), values)).sum(0));
    if (mistake_.after_sum) mistake_.after_sum(values.narrow(0, 0, num_gradients_), rank(), step_);
  }

  std::string backend() const override { return "threads"; }

  void all_gather_into(const at::Tensor& values, const at::Tensor& all) override {
    std::vector<at::Tensor> tables = meeting_.exchange(rank(), values);
    if (mistake_.in_validation && values.dim() == 2) mistake_.in_validation(tables);
    all.copy_(at::stack(tables));
  }

  std::vector<std::string> all_gather_texts(const std::string& text) override {
    return std::vector<std::string>(kSize, text);
  }
  void post_failure(ExitCode, const std::string& message) noexcept override { ADD_FAILURE() << message; }
  bool claim_report(const std::string&) noexcept override { return true; }

 private:
  Meeting& meeting_;
  const int64_t num_gradients_;
  const Mistake& mistake_;
  int64_t step_ = 0;
};

struct Difference {
  double loss = 0;  // relative, of any step
  double gradient_norm = 0;
  double validation = 0;
  bool ranks_differ = false;  // in their weights
};

// 103 samples in batches of 32: the last one has 7, of which rank 0 has 3.
constexpr int64_t kNumTrain = 103, kTailStep = 4;
constexpr double kTailShares[] = {3.0 / 7, 4.0 / 7};

TrainerOptions options_of_test() {
  TrainerOptions options = toy_options();
  options.settings.clip_norm = 0.05;
  options.settings.valid_batch_size = 8;
  return options;
}

int64_t num_parameters(const Dataset& dataset) {
  int64_t sum = 0;
  for (const at::Tensor& parameter : toy_model(dataset)->parameters()) sum += parameter.numel();
  return sum;
}

ToyRun train(const Dataset& dataset, const TrainerOptions& options, const Mistake& mistake, int64_t rank) {
  ToyRun run;
  ModelWithMistake model(toy_model(dataset, LayerKind::kNaive, /*output_dropout=*/options.settings.shards ? 0.5 : 0.0),
                         mistake, rank);
  Trainer trainer(model, dataset, options);
  trainer.add_observer(run.seen);
  run.state = trainer.run();
  run.weights = weights_sha256(model);
  return run;
}

std::vector<ToyRun> run_ranks(const Dataset& dataset, const TrainerOptions& options, const Mistake& mistake) {
  Meeting meeting(kSize);
  std::vector<ToyRun> runs(kSize);
  std::vector<std::jthread> threads;
  for (int64_t rank = 0; rank < kSize; ++rank)
    threads.emplace_back([&, rank] {
      meeting.enter();
      ThreadRanks ranks(meeting, rank, num_parameters(dataset), mistake);
      TrainerOptions of_rank = options;
      of_rank.ranks = &ranks;
      if (mistake.in_options) mistake.in_options(of_rank, rank);
      runs[static_cast<size_t>(rank)] = train(dataset, of_rank, mistake, rank);
      meeting.leave();
    });
  threads.clear();
  return runs;
}

double relative(double a, double b) { return std::abs(a - b) / std::max(std::abs(a), 1e-12); }

// The comparison is the one of the tests of `devices`.
Difference difference_of(const ToyRun& one, const std::vector<ToyRun>& ranks) {
  Difference found;
  const Recorder &whole = one.seen, &cut = ranks.front().seen;
  EXPECT_EQ(whole.losses.size(), cut.losses.size());
  for (size_t i = 0; i < whole.losses.size(); ++i)
    found.loss = std::max(found.loss, relative(whole.losses[i], cut.losses[i]));
  for (size_t i = 0; i < whole.rows.size(); ++i) {
    found.gradient_norm =
        std::max(found.gradient_norm, relative(*whole.rows[i].gradient_norm, *cut.rows[i].gradient_norm));
    found.validation = std::max(found.validation, relative(*whole.rows[i].valid_loss, *cut.rows[i].valid_loss));
  }
  for (const ToyRun& rank : ranks) found.ranks_differ = found.ranks_differ || rank.weights != ranks.front().weights;
  return found;
}

bool is_found(const Difference& difference) {
  constexpr double kBound = 1e-5;
  return difference.loss > kBound || difference.gradient_norm > kBound || difference.validation > kBound ||
         difference.ranks_differ;
}

bool is_found(const Mistake& mistake) {
  const Dataset dataset = toy_dataset(kNumTrain, 32);
  const TrainerOptions options = options_of_test();
  return is_found(difference_of(train(dataset, options, Mistake(), 0), run_ranks(dataset, options, mistake)));
}

TEST(PlantedErrors, WithoutOneNothingIsFound) { EXPECT_FALSE(is_found(Mistake())); }

// The mean of means is correct if all ranks have the same number of samples, as in all batches but the last.
TEST(PlantedErrors, MeanOfMeansIsFound) {
  EXPECT_TRUE(is_found(Mistake{.before_sum = [](const at::Tensor& gradients, int64_t rank, int64_t step) {
    if (step % kTailStep == 0) gradients.mul_(1.0 / kSize / kTailShares[rank]);
  }}));
}

TEST(PlantedErrors, ARankWithoutItsTailIsFound) {
  EXPECT_TRUE(is_found(Mistake{.before_sum = [](const at::Tensor& gradients, int64_t rank, int64_t step) {
    if (rank == 1 && step % kTailStep == 0) gradients.zero_();
  }}));
}

TEST(PlantedErrors, ShufflingByRankIsFound) {
  EXPECT_TRUE(is_found(Mistake{
      .in_options = [](TrainerOptions& options, int64_t rank) { options.seed += static_cast<uint64_t>(rank); }}));
}

TEST(PlantedErrors, ClippingBeforeTheExchangeIsFound) {
  EXPECT_TRUE(is_found(Mistake{.before_sum = [](const at::Tensor& gradients, int64_t, int64_t) {
    gradients.mul_(std::min(1.0, 0.05 / kSize / gradients.norm().item<double>()));
  }}));
}

// A factor of the gradient does not change the updates of Adam, but it changes the norm.
TEST(PlantedErrors, AGradientThatCountsTwiceIsFound) {
  EXPECT_TRUE(is_found(Mistake{.after_sum = [](const at::Tensor& gradients, int64_t, int64_t) { gradients.mul_(2); }}));
}

TEST(PlantedErrors, ValidationThatCountsTwiceIsFound) {
  EXPECT_TRUE(is_found(Mistake{.in_validation = [](std::vector<at::Tensor>& tables) { tables[1] = tables[0]; }}));
}

// This happens if only one rank finds an overflow in fp16.
TEST(PlantedErrors, AStepThatOneRankSkipsIsFound) {
  EXPECT_TRUE(is_found(Mistake{.after_sum = [](const at::Tensor& gradients, int64_t rank, int64_t step) {
    if (rank == 1 && step == 2) gradients.zero_();
  }}));
}

// ---- the same bits for any number of devices (training.shards) ----

// Returns whether the bits of two ranks and of one process differ, with two shards and dropout.
bool is_found_by_bits(const Mistake& mistake) {
  const Dataset dataset = toy_dataset(kNumTrain, 32);
  TrainerOptions options = options_of_test();
  options.settings.shards = kSize;
  const std::vector<ToyRun> ranks = run_ranks(dataset, options, mistake);
  return train(dataset, options, Mistake(), 0).weights != ranks.front().weights;
}

TEST(PlantedErrors, ShardsHaveTheSameBitsWithoutOne) { EXPECT_FALSE(is_found_by_bits(Mistake())); }

TEST(PlantedErrors, OneMaskOfDropoutForAllRanksIsFound) {
  EXPECT_TRUE(is_found_by_bits(
      Mistake{.before_training_pass = [](int64_t, int64_t step) { seed_dropout(options_of_test().seed, step); }}));
}

TEST(PlantedErrors, ShufflingByRankIsFoundByBits) {
  EXPECT_TRUE(is_found_by_bits(Mistake{
      .in_options = [](TrainerOptions& options, int64_t rank) { options.seed += static_cast<uint64_t>(rank); }}));
}

}  // namespace
}  // namespace rnnlab
