// SPDX-License-Identifier: Apache-2.0
#include "train/loop/training_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab {
namespace {

constexpr int64_t kLeastPatienceOfAuto = 10;

using Settings = TrainingSettings;
using config::Checker;
using config::kMostCounted;
using config::kMostFloat;

void list_bounds(config::Schema<Settings>& s) {
  s.field(
       "epochs", &Settings::epochs,
       "passes over the training data; 0: no bound by epochs; auto: until the validation loss, or what early_stopping "
       "names, has not improved for 10 epochs (or patience, if that is more), at most 1,000, with schedule: plateau if "
       "none is set")
      .between(0, kMostCounted)
      .or_word("auto", kEpochsByPlateau)
      .may_change(config::Change::kOnResume, config::Change::kOnCompare);
  s.field("max_steps", &Settings::max_steps, "optimiser updates after which the run ends")
      .unit("steps")
      .between(1, kMostCounted)
      .may_change(config::Change::kOnResume, config::Change::kOnCompare);
  s.field("max_seconds", &Settings::max_seconds,
          "wall time after which the run ends, when the current step or graph of steps is done")
      .unit("s")
      .above(0.0)
      .at_most(kMostCounted)
      .may_change(config::Change::kOnResume, config::Change::kOnCompare);
}

std::vector<std::string> names_of_score_metrics() {
  std::vector<std::string> names;
  for (const MetricInfo* metric : score_metrics()) names.emplace_back(metric->name);
  return names;
}

bool is_power_of_two(int64_t number) { return number > 0 && (number & (number - 1)) == 0; }

void list_batches(config::Schema<Settings>& s) {
  s.field("batch_size", &Settings::batch_size, "sequences in a batch")
      .unit("samples")
      .between(1, kMostCounted)
      .may_change(config::Change::kOnCompare);
  s.field("valid_batch_size", &Settings::valid_batch_size,
          "sequences in a batch of validation; does not change results")
      .unit("samples")
      .between(1, kMostCounted)
      .may_change(config::Change::kOnUse);
  s.field("accumulate", &Settings::accumulate, "batches whose gradients make one update, each weighted by its size")
      .unit("batches")
      .between(1, kMostCounted);
  s.field("shuffle", &Settings::shuffle, "a new order in each epoch, determined only by the seed and the epoch");
  s.field(
      "batch_by_length", &Settings::batch_by_length,
      "sequences with lengths: batches of similar lengths, cut off behind the longest; a function of seed and epoch");
  s.field(
      "carry_state", &Settings::carry_state,
      "language models: each row of a batch continues the text of this row in the batch before, and begins with its "
      "states; windows are not shuffled, and the last ones that do not fill all rows are left out");
  s.field("drop_last", &Settings::drop_last, "skip the last batch if it is not full");
  s.field("shards", &Settings::shards,
          "split every batch into this number of parts, each computed separately: bit-identical results on any number "
          "of devices that divides it; unset: the number of devices")
      .unit("shards")
      .between(1, 1024)
      .where("a power of two", is_power_of_two)
      .may_change(config::Change::kOnCompare);
}

// Returns "step, exponential: factor per decay_steps; plateau: factor per plateau": the kinds of a list by their text,
// of which "" is left out.
template <class Kind, class TextOf>
std::string by_kind(TextOf text_of) {
  std::vector<std::pair<std::string_view, std::string>> names_by_text;
  for (const auto& [kind, name] : config::EnumNames<Kind>::kNames) {
    const std::string_view text = text_of(kind);
    if (text.empty()) continue;
    const auto known = std::ranges::find(names_by_text, text, &std::pair<std::string_view, std::string>::first);
    if (known == names_by_text.end())
      names_by_text.emplace_back(text, name);
    else
      known->second += fmt::format(", {}", name);
  }
  std::vector<std::string> texts;
  for (const auto& [text, names] : names_by_text) texts.push_back(fmt::format("{}: {}", names, text));
  return join(texts, "; ");
}

// Returns "sgd, rmsprop: <text>": the optimisers that read the key.
std::string for_readers_of(std::string_view key, std::string_view text) {
  return fmt::format("{}: {}", join(optimizers_that_read(key), ", "), text);
}

std::string_view help_of(LossKind loss) {
  switch (loss) {
    case LossKind::kAuto:
      return "the loss of the data's task";
#define RNNLAB_LOSS(enumerator, name, help) \
  case LossKind::enumerator:                \
    return help;
#include "train/loop/loss_list.inc"
  }
  return "";
}

void list_optimizer(config::Schema<Settings>& s) {
  s.field("loss", &Settings::loss, "what is minimised; " + by_kind<LossKind>(help_of));
  s.field("quantiles", &Settings::quantiles,
          "losses that forecast intervals: the levels of the quantiles that are forecast, ascending and with 0.5, the "
          "median; the lowest and the highest are the ends of the interval; empty: 0.1, 0.5 and 0.9")
      .above(0.0)
      .below(1.0);
  s.field("class_weights", &Settings::class_weights,
          "classification: balanced weights the loss of training, so that rare classes have as much influence as "
          "frequent ones; losses of validation have no weights");
  s.field("optimizer", &Settings::optimizer, "how gradients become updates");
  s.field("learning_rate", &Settings::learning_rate, "at the start of the schedule").above(0.0).at_most(kMostFloat);
  s.field("momentum", &Settings::momentum,
          for_readers_of("momentum", "share of the last update's direction that is kept"))
      .at_least(0.0)
      .below(1.0);
  s.field("beta1", &Settings::beta1, for_readers_of("beta1", "decay of the mean gradient")).at_least(0.0).below(1.0);
  s.field("beta2", &Settings::beta2, for_readers_of("beta2", "decay of the mean squared gradient"))
      .at_least(0.0)
      .below(1.0);
  s.field("alpha", &Settings::alpha, for_readers_of("alpha", "decay of the mean squared gradient"))
      .at_least(0.0)
      .below(1.0);
  s.field("epsilon", &Settings::epsilon, for_readers_of("epsilon", "added to the root in the denominator"))
      .above(0.0)
      .at_most(kMostFloat);
  s.field("weight_decay", &Settings::weight_decay,
          by_kind<OptimizerKind>([](OptimizerKind kind) { return info_of(kind).weight_decay; }))
      .between(0.0, kMostFloat);
  s.field("clip_norm", &Settings::clip_norm, "largest Euclidean norm of all gradients together")
      .above(0.0)
      .at_most(kMostFloat);
  s.field("clip_value", &Settings::clip_value, "largest magnitude of a single gradient element")
      .above(0.0)
      .at_most(kMostFloat);
}

void list_schedule(config::Schema<Settings>& s) {
  s.field("schedule", &Settings::schedule, "how the learning rate changes with the step");
  s.field("warmup_steps", &Settings::warmup_steps, "steps of linear growth from 0 before the schedule")
      .unit("steps")
      .between(0, kMostCounted);
  s.field("decay_rate", &Settings::decay_rate,
          by_kind<ScheduleKind>([](ScheduleKind kind) { return info_of(kind).decay_rate.help; }))
      .above(0.0)
      .at_most(kMostFloat);
  s.field("decay_steps", &Settings::decay_steps, "steps of one decay; " + by_kind<ScheduleKind>([](ScheduleKind kind) {
                                                   return info_of(kind).decay_steps.help;
                                                 }))
      .unit("steps")
      .between(1, kMostCounted);
  s.field("decay_patience", &Settings::decay_patience,
          by_kind<ScheduleKind>([](ScheduleKind kind) { return info_of(kind).decay_patience.help; }))
      .unit("epochs")
      .between(1, kMostCounted);
  s.field("minimum_learning_rate", &Settings::minimum_learning_rate, "lower limit of the learning rate in the schedule")
      .between(0.0, kMostFloat);
}

void list_stopping_and_timing(config::Schema<Settings>& s) {
  s.field("metrics", &Settings::metrics,
          "metrics of validation besides those that every run has (docs/quality.md); they need all outputs for the "
          "part, so each batch of validation waits for the device")
      .one_of(names_of_score_metrics())
      .may_change(config::Change::kOnUse, config::Change::kOnCompare);
  s.field("early_stopping", &Settings::early_stopping,
          "the metric that must keep improving, and that the best checkpoint is chosen by")
      .one_of(goal_columns())
      .may_change(config::Change::kOnCompare);
  s.field("patience", &Settings::patience, "early stopping: epochs without improvement after which the run ends")
      .unit("epochs")
      .between(1, kMostCounted)
      .may_change(config::Change::kOnCompare);
  s.field("min_delta", &Settings::min_delta, "early stopping: what counts as an improvement")
      .between(0.0, kMostFloat)
      .may_change(config::Change::kOnCompare);
  s.group("stop_at", &Settings::stop_at,
          "values of validation at which the run ends, when all that are set are reached in one epoch",
          StopAt::schema(), {config::Change::kOnCompare});
  s.field("cuda_graph", &Settings::cuda_graph,
          "GPU: every step, from the choice of its samples to the new weights, as one CUDA graph that the host only "
          "starts; the same results. If that is not possible, steps run one by one and the log gives the reason")
      .may_change(config::Change::kOnCompare);
  s.field("warmup_epochs", &Settings::warmup_epochs, "first epochs whose times are not counted")
      .unit("epochs")
      .between(0, kMostCounted)
      .may_change(config::Change::kOnCompare);
  s.field("num_threads", &Settings::num_threads,
          "threads of one operation on the CPU; by default one for each CPU that the process may use")
      .unit("threads")
      .between(1, 4096)
      .may_change(config::Change::kOnResume, config::Change::kOnUse, config::Change::kOnCompare);
}

void list_tensorboard(config::Schema<Settings>& s) {
  s.field("tensorboard", &Settings::tensorboard,
          "also write what TensorBoard shows into the run's folder: scalars of each epoch, settings, the model's graph")
      .may_change(config::Change::kOnCompare);
  s.field("tensorboard_histograms", &Settings::tensorboard_histograms,
          "with tensorboard: also distributions of weights and gradients after each epoch's last step")
      .may_change(config::Change::kOnCompare);
  s.field("tensorboard_machine", &Settings::tensorboard_machine,
          "with tensorboard: also the host's name in the file's name and absolute paths in the settings; omitted by "
          "default, because event files are made to be shared")
      .may_change(config::Change::kOnCompare);
}

void check_shards(const Settings& t, Checker& checker) {
  if (t.shards && t.batch_size < *t.shards)
    checker.complain({"shards", "batch_size"}, "a batch has fewer samples than shards");
}

void check_batches(const Settings& t, Checker& checker) {
  if (t.batch_by_length && !t.shuffle)
    checker.complain({"batch_by_length", "shuffle"}, "batches by length are drawn by the seed: remove shuffle: false");
  if (t.carry_state && t.batch_by_length)
    checker.complain({"carry_state", "batch_by_length"}, "texts are read in their order: remove batch_by_length");
  if (t.carry_state && t.shards)
    checker.complain({"carry_state", "shards"}, "states are carried by one process without shards: remove shards");
  if (t.batch_by_length && t.shards)
    checker.complain({"batch_by_length", "shards"},
                     "each process cuts its part of a batch by itself, so the results would depend on the number of "
                     "processes: remove one of the two");
}

void check_bounds(const Settings& t, Checker& checker) {
  const bool is_auto = t.epochs == kEpochsByPlateau;
  if (is_auto && t.patience != TrainingSettings().patience && t.patience < kLeastPatienceOfAuto)
    checker.complain({"epochs", "patience"}, fmt::format("auto waits for at least {}: raise patience, or remove it",
                                                         counted(kLeastPatienceOfAuto, "epoch")));
  if (is_auto && info_of(t.schedule).lasts_to_the_end && !t.decay_steps)
    checker.complain({"epochs", "schedule", "decay_steps"},
                     fmt::format("{} needs to know the last step: set a number of epochs, or decay_steps",
                                 config::name_of(t.schedule)));
  if (t.epochs != 0 || t.max_steps) return;
  if (!t.max_seconds)
    checker.complain({"epochs", "max_steps", "max_seconds"}, "nothing ends the run: set at least one of them");
  if (info_of(t.schedule).lasts_to_the_end && !t.decay_steps)
    checker.complain(
        {"schedule", "decay_steps"},
        fmt::format("{} needs decay_steps if neither epochs nor max_steps is set", config::name_of(t.schedule)));
}

void check_optimizer(const Settings& t, Checker& checker) {
  if (t.clip_norm && t.clip_value)
    checker.complain({"clip_norm", "clip_value"}, "gradients cannot be clipped by both: remove one of them");
  if (t.minimum_learning_rate > t.learning_rate) {
    checker.complain({"minimum_learning_rate", "learning_rate"}, "the minimum is above the learning rate");
  }
}

constexpr int64_t kUsualDecayPatience = 2;

void check_plateaus(const Settings& t, Checker& checker) {
  if (!info_of(t.schedule).counts_plateaus()) {
    if (t.decay_patience)
      checker.complain({"schedule", "decay_patience"},
                       fmt::format("{} has no decay_patience", config::name_of(t.schedule)));
    return;
  }
  const int64_t patience = t.decay_patience.value_or(kUsualDecayPatience);
  const bool is_auto = t.epochs == kEpochsByPlateau;
  const int64_t of_run = is_auto ? std::max(t.patience, kLeastPatienceOfAuto) : t.patience;
  if ((t.early_stopping || is_auto) && of_run <= patience)
    checker.complain(
        {"patience", "decay_patience"},
        fmt::format("early stopping after {} ends the run before or when {} lower the learning rate: raise "
                    "patience",
                    counted(of_run, "epoch"), counted(patience, "epoch")));
}

void check_schedule(const Settings& t, Checker& checker) {
  using Use = ScheduleInfo::Use;
  const std::string name(config::name_of(t.schedule));
  const ScheduleInfo& info = info_of(t.schedule);
  if (info.decay_rate.use == Use::kNeeded && !t.decay_rate)
    checker.complain({"schedule", "decay_rate"}, name + " needs a decay_rate");
  if (info.decay_steps.use == Use::kNeeded && !t.decay_steps)
    checker.complain({"schedule", "decay_steps"}, name + " needs decay_steps");
  if (info.decay_rate.use == Use::kNone && t.decay_rate)
    checker.complain({"schedule", "decay_rate"}, name + " has no decay_rate");
  if (info.decay_steps.use == Use::kNone && t.decay_steps)
    checker.complain({"schedule", "decay_steps"}, name + " has no decay_steps");
}

void check_tensorboard(const Settings& t, Checker& checker) {
  if (t.tensorboard_histograms && !t.tensorboard)
    checker.complain({"tensorboard_histograms", "tensorboard"}, "histograms need TensorBoard: set tensorboard: true");
  if (t.tensorboard_machine && !t.tensorboard)
    checker.complain({"tensorboard_machine", "tensorboard"},
                     "it applies only to TensorBoard's file: set tensorboard: true");
}

config::Schema<StopAt> make_stop_at_schema() {
  config::Schema<StopAt> s("The values of validation at which a run ends");
  for (const MetricInfo& metric : metric_list()) {
    if (!metric.is_goal) continue;
    const char* const bound = metric.range.better == Better::kLarger ? "at least" : "at most";
    auto field =
        s.entry(fmt::format("valid_{}", metric.name), &StopAt::values, fmt::format("{} this {}", bound, metric.help));
    metric.kind == NumberKind::kShare ? field.above(metric.range.least) : field.at_least(metric.range.least);
    field.at_most(metric.range.most);
  }
  return s;
}

config::Schema<Settings> make_schema() {
  config::Schema<Settings> s("How the weights are fitted");
  list_bounds(s);
  list_batches(s);
  list_optimizer(s);
  list_schedule(s);
  list_stopping_and_timing(s);
  list_tensorboard(s);
  s.check(check_bounds);
  s.check(check_batches);
  s.check(check_shards);
  s.check(check_optimizer);
  s.check(check_schedule);
  s.check(check_plateaus);
  s.check(check_tensorboard);
  return s;
}

}  // namespace

const config::Schema<StopAt>& StopAt::schema() {
  static const config::Schema<StopAt> schema = make_stop_at_schema();
  return schema;
}

namespace {

int64_t default_decay_steps(const TrainingSettings& settings, int64_t total_steps) {
  if (!info_of(settings.schedule).lasts_to_the_end) return 1;
  return std::max<int64_t>(total_steps - settings.warmup_steps, 1);
}

}  // namespace

void settle_epochs(TrainingSettings& settings) {
  constexpr int64_t kMost = 1000, kEpochsOfAPlateau = 4;
  if (settings.epochs != kEpochsByPlateau) return;
  settings.epochs = kMost;
  settings.patience = std::max(settings.patience, kLeastPatienceOfAuto);
  settings.early_stopping = settings.early_stopping.value_or("valid_loss");
  if (settings.schedule != ScheduleKind::kConstant) return;
  settings.schedule = ScheduleKind::kPlateau;
  settings.decay_rate = 0.5;
  settings.decay_patience = kEpochsOfAPlateau;
}

Schedule make_schedule(const TrainingSettings& settings, int64_t total_steps) {
  return {.kind = settings.schedule,
          .learning_rate = settings.learning_rate,
          .minimum = settings.minimum_learning_rate,
          .decay_rate = settings.decay_rate.value_or(1.0),
          .decay_steps = settings.decay_steps.value_or(default_decay_steps(settings, total_steps)),
          .decay_patience = settings.decay_patience.value_or(kUsualDecayPatience),
          .warmup_steps = settings.warmup_steps};
}

const config::Schema<TrainingSettings>& TrainingSettings::schema() {
  static const config::Schema<TrainingSettings> schema = make_schema();
  return schema;
}

}  // namespace rnnlab
