#include "training/trainer_options.h"

#include <algorithm>

#include "base/error.h"
#include "base/numbers.h"

namespace rnnlab {
namespace {

// 0 where neither epochs nor steps bound the run.
int64_t total_steps(const TrainingSettings& settings, int64_t steps_per_epoch) {
  if (settings.epochs == 0) return settings.max_steps.value_or(0);
  const auto by_epochs = checked_multiply(settings.epochs, steps_per_epoch);
  if (!by_epochs) {
    throw_error(ExitCode::kUsage, "training.epochs: {} epochs of {} steps each are more than can be counted",
                settings.epochs, steps_per_epoch);
  }
  return settings.max_steps ? std::min(*by_epochs, *settings.max_steps) : *by_epochs;
}

BatchShare share_of(const Ranks* ranks, BatchShare::Kind kind) {
  if (ranks == nullptr) return {};
  return {.kind = kind, .index = ranks->rank(), .count = ranks->size()};
}

}  // namespace

Batches make_train_batches(const Samples& train, const TrainerOptions& options) {
  const auto& settings = options.settings;
  const BatchOptions batch_options{.batch_size = settings.batch_size,
                                   .tail = settings.drop_last ? TailPolicy::kDrop : TailPolicy::kKeep,
                                   .order = settings.shuffle ? Order::kShuffled : Order::kSequential,
                                   .seed = options.seed,
                                   .placement = options.placement,
                                   .share = share_of(options.ranks, BatchShare::Kind::kPartOfEach)};
  return Batches(train, batch_options, options.device);
}

std::optional<Batches> make_valid_batches(const Samples& valid, const TrainerOptions& options) {
  if (valid.size() == 0) return std::nullopt;
  const BatchOptions batch_options{.batch_size = std::min(options.settings.valid_batch_size, valid.size()),
                                   .tail = TailPolicy::kKeep,
                                   .order = Order::kSequential,
                                   .seed = 0,
                                   .placement = options.placement,
                                   .share = share_of(options.ranks, BatchShare::Kind::kWholeBatches)};
  return Batches(valid, batch_options, options.device);
}

RunPlan make_plan(const TrainingSettings& settings, const Batches& train, const std::optional<Batches>& valid) {
  const int64_t steps_per_epoch = (train.batches_per_epoch() + settings.accumulate - 1) / settings.accumulate;
  return {.num_train = train.samples_per_epoch(),
          .num_valid = valid ? valid->samples_per_epoch() : 0,
          .steps_per_epoch = steps_per_epoch,
          .total_steps = total_steps(settings, steps_per_epoch),
          .epochs = settings.epochs};
}

Replay replay(const TrainerOptions& options) { return options.settings.cuda_graph ? Replay::kGraphs : Replay::kNever; }

}  // namespace rnnlab
