// SPDX-License-Identifier: Apache-2.0
#include "train/loop/gradient_exchange.h"

#include <ATen/Context.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/core/StreamGuard.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "train/loop/batch_loop.h"
#include "train/loop/cuda_functions.h"
#include "train/loop/determinism.h"
#include "train/loop/toy.h"
#include "train/models/model.h"
#include "train/ranks/fake_ranks.h"

namespace rnnlab {
namespace {

TrainerOptions options_with_shards(std::optional<int64_t> shards) {
  TrainerOptions options = toy_options();
  options.settings.shards = shards;
  return options;
}

std::vector<double> losses_with_shards(const Dataset& dataset, std::optional<int64_t> shards) {
  return run_toy(dataset, options_with_shards(shards)).seen.losses;
}

// 100 samples in batches of 32: the last one has 4, which is fewer than eight shards.
TEST(GradientExchange, OfShardsComputesWhatAWholeBatchDoes) {
  const Dataset dataset = toy_dataset(100);
  const std::vector<double> whole = losses_with_shards(dataset, std::nullopt);
  for (const int64_t shards : {1, 2, 8}) {
    const std::vector<double> cut = losses_with_shards(dataset, shards);
    ASSERT_EQ(cut.size(), whole.size());
    for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(cut[i], whole[i], 1e-5) << shards << " shards, step " << i;
  }
}

// Returns the loss of the first step with `count` samples that are all the same, with dropout; each sample is a shard.
double loss_of_equal_samples(int64_t count) {
  Dataset dataset = toy_dataset(count);
  dataset.train.inputs = dataset.train.inputs.narrow(0, 0, 1).repeat({count, 1, 1}).contiguous();
  dataset.train.targets = dataset.train.targets.narrow(0, 0, 1).repeat({count}).contiguous();
  TrainerOptions options = options_with_shards(count);
  options.settings.batch_size = count;
  return run_toy(dataset, options, /*output_dropout=*/0.5).seen.losses.at(0);
}

TEST(GradientExchange, DrawsOtherMasksForEachShard) {
  EXPECT_GT(std::abs(loss_of_equal_samples(2) - loss_of_equal_samples(1)), 1e-4);
}

Evaluation one_step(GradientExchange& exchange, const at::Tensor& weight) {
  weight.mutable_grad() = at::ones_like(weight);
  const at::Tensor one = at::ones({});
  exchange.set_sums({one, one, one, 2}, /*factor=*/1);
  exchange.store_shard(exchange.first_shard());
  const Batch batch{.inputs = weight, .targets = weight, .lengths = {}, .size = 2, .whole_size = 4, .whole_targets = 4};
  return exchange.all_reduce({&batch, 1});
}

TEST(GradientExchange, TellsOnceHowLongItTook) {
  FakeRanks ranks(0, 2);  // the second has the same values
  for (const std::optional<int64_t> shards : {std::optional<int64_t>(), std::optional<int64_t>(2)}) {
    const at::Tensor weight = at::zeros({3});
    GradientExchange exchange({.ranks = &ranks, .shards = shards}, {{"weight", weight}});
    EXPECT_EQ(exchange.take_seconds(), 0);
    one_step(exchange, weight);
    EXPECT_TRUE(weight.grad().equal(at::full({3}, 2.0F)));
    EXPECT_GT(exchange.take_seconds().value(), 0);
    EXPECT_EQ(exchange.take_seconds(), 0) << "the last call has taken the seconds";
  }
}

TEST(GradientExchange, OfAProcessAloneTakesNoTime) {
  const at::Tensor weight = at::zeros({3});
  GradientExchange exchange({.shards = 1}, {{"weight", weight}});
  one_step(exchange, weight);
  EXPECT_FALSE(exchange.take_seconds());
}

// There are as many steps as samples, so the sizes do not show which axis of the targets is that of the samples.
TEST(GradientExchange, CutsTokensBySamples) {
  const at::Tensor weight = at::arange(3, at::kFloat);
  const GradientExchange exchange({.shards = 2}, {{"weight", weight}});
  const at::Tensor tokens = at::arange(16, at::kLong).view({4, 4});
  const Batch batch{.inputs = tokens, .targets = tokens + 1, .lengths = {}, .size = 4, .whole_size = 4};
  const Batch first = exchange.shard_of(batch, 0), second = exchange.shard_of(batch, 1);
  EXPECT_EQ(first.size, 2);
  EXPECT_TRUE(at::cat({first.inputs, second.inputs}, 1).equal(batch.inputs));
  EXPECT_TRUE(at::cat({first.targets, second.targets}, 1).equal(batch.targets));
}

void wait(const std::function<bool()>& has_ended) {
  while (!has_ended()) {
  }
}

TEST(DelayedValues, AreThereAtOnceOnACpu) {
  DelayedValues values;
  EXPECT_FALSE(values.next(wait));
  at::Tensor changing = at::full({2}, 1.0F);
  values.append(changing);
  changing.fill_(2);
  EXPECT_TRUE(values.next(wait).value().equal(at::full({2}, 1.0F)));
  EXPECT_FALSE(values.next(wait));
}

TEST(DelayedValues, OnAGpuAreReadStepsLater) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a CUDA GPU";
  DelayedValues values;
  const at::Tensor changing = at::full({2}, 0.0F, at::TensorOptions().device(at::kCUDA));
  for (size_t step = 0; step < 5; ++step) {
    changing.fill_(static_cast<double>(step));
    values.append(changing);
    const auto read = values.next(wait);
    ASSERT_EQ(read.has_value(), step >= DelayedValues::kStepsBehind);
    if (!read) continue;
    EXPECT_EQ(read->sum().item<double>(), 2.0 * static_cast<double>(step - DelayedValues::kStepsBehind));
  }
  values.clear();
  EXPECT_FALSE(values.next(wait));
}

at::Tensor mask(c10::Device device) {
  return at::dropout(at::ones({1000}, at::TensorOptions().device(device)), 0.5, /*train=*/true);
}

at::Tensor mask_of(c10::Device device, const StepShard& shard) {
  seed_shard(device, /*seed=*/7, shard);
  return mask(device);
}

TEST(ShardSeeds, GiveEachShardOfEachStepAMaskOfItsOwn) {
  const at::Tensor first = mask_of(at::kCPU, {.first_step = 5, .num_shards = 2});
  EXPECT_TRUE(mask_of(at::kCPU, {.first_step = 4, .slot = 1, .num_shards = 2}).equal(first)) << "the same step";
  EXPECT_FALSE(mask_of(at::kCPU, {.first_step = 5, .num_shards = 2, .shard = 1}).equal(first));
  EXPECT_FALSE(mask_of(at::kCPU, {.first_step = 6, .num_shards = 2}).equal(first));
}

// A graph of two steps with two shards each is replayed for steps 11 and 12 after it was captured for 3 and 4.
TEST(ShardSeeds, AreThoseOfTheStepsThatAReplayStandsFor) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a CUDA GPU";
  const c10::Device device(at::kCUDA, 0);
  const c10::OptionalStreamGuard stream(graph_stream(device));
  const auto masks_from = [&](int64_t first_step) {
    std::vector<at::Tensor> masks;
    for (const int64_t slot : {0, 1})
      for (const int64_t shard : {0, 1})
        masks.push_back(mask_of(device, {.first_step = first_step, .slot = slot, .num_shards = 2, .shard = shard}));
    return at::cat(masks);
  };
  const at::Tensor expected = masks_from(11).clone();
  at::Tensor masks;
  const auto graph = make_captured_work(device);
  graph->capture_without_warmup([&] { masks = masks_from(3); });
  seed_shard(device, 7, {.first_step = 11, .num_shards = 2});
  graph->replay();
  EXPECT_TRUE(masks.equal(expected));
  EXPECT_FALSE(masks.slice(0, 0, 1000).equal(masks.slice(0, 1000, 2000)));
}

// ---- planted errors ----
// Other tests check that ranks compute the results of one process, by comparing losses, norms of gradients and weights.
// Here a mistake of each kind is planted, and the same comparison must detect it.

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

class ThreadRanks : public FakeRanks {
 public:
  ThreadRanks(Meeting& meeting, int64_t rank, int64_t num_gradients, const Mistake& mistake)
      : FakeRanks(rank, kSize), meeting_(meeting), num_gradients_(num_gradients), mistake_(mistake) {}

  void all_reduce(at::Tensor& values) override {
    ++step_;
    if (mistake_.before_sum) mistake_.before_sum(values.narrow(0, 0, num_gradients_), rank(), step_);
    values.copy_(at::stack(meeting_.exchange(rank(), values)).sum(0));
    if (mistake_.after_sum) mistake_.after_sum(values.narrow(0, 0, num_gradients_), rank(), step_);
  }

  void all_gather_into(const at::Tensor& values, const at::Tensor& all) override {
    std::vector<at::Tensor> tables = meeting_.exchange(rank(), values);
    if (mistake_.in_validation && values.dim() == 2) mistake_.in_validation(tables);
    all.copy_(at::stack(tables));
  }

  void post_failure(ExitCode, const std::string& message) noexcept override { ADD_FAILURE() << message; }

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
