// SPDX-License-Identifier: Apache-2.0
#include "train/loop/trainer.h"

#include <ATen/ops/full.h>
#include <c10/core/StreamGuard.h>
#include <torch/cuda.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/numbers.h"
#include "layers/device/gpu_device.h"
#include "train/loop/determinism.h"
#include "train/loop/device_rates.h"
#include "train/loop/profiling.h"
#include "train/loop/stop_signal.h"

namespace rnnlab {
namespace {

// Returns 0 if neither epochs nor steps bound the run.
int64_t total_steps(const TrainingSettings& settings, int64_t steps_per_epoch) {
  if (settings.epochs == 0) return settings.max_steps.value_or(0);
  const auto by_epochs = checked_multiply(settings.epochs, steps_per_epoch);
  if (!by_epochs) {
    throw_error(ExitCode::kUsage, "training.epochs: {} epochs of {} steps each are more than can be counted",
                settings.epochs, steps_per_epoch);
  }
  return settings.max_steps ? std::min(*by_epochs, *settings.max_steps) : *by_epochs;
}

BatchShare share_of(const Ranks& ranks, BatchShare::Kind kind) {
  return {.kind = kind, .index = ranks.rank(), .count = ranks.size()};
}

Order order_of(const TrainingSettings& settings) {
  if (settings.carry_state) return Order::kStreams;
  if (settings.batch_by_length) return Order::kByLength;
  return settings.shuffle ? Order::kShuffled : Order::kSequential;
}

}  // namespace

Batches make_train_batches(const Samples& train, const TrainerOptions& options) {
  const auto& settings = options.settings;
  if (settings.batch_by_length && !train.lengths.defined())
    throw_error(ExitCode::kUsage, "training.batch_by_length: these samples have no lengths; remove it");
  const BatchOptions batch_options{
      .batch_size = settings.batch_size,
      .tail = settings.drop_last || settings.carry_state ? TailPolicy::kDrop : TailPolicy::kKeep,
      .order = order_of(settings),
      .seed = options.seed,
      .placement = options.placement,
      .share = share_of(*options.ranks, BatchShare::Kind::kPartOfEach)};
  return Batches(train, batch_options, options.device);
}

Objective training_objective(const Dataset& dataset, const TrainerOptions& options) {
  Objective objective(options.settings, dataset, options.device);
  if (options.settings.class_weights == ClassWeights::kNone) return objective;
  if (dataset.shape.task != Task::kClassification)
    throw_error(ExitCode::kUsage,
                "training.class_weights: only classes have weights, but these targets are {}; remove it",
                dataset.shape.task == Task::kLanguageModel ? "tokens" : "numbers");
  objective.weight_classes(balanced_class_weights(dataset.train, dataset.shape.num_outputs).to(options.device));
  return objective;
}

std::optional<Batches> make_valid_batches(const Samples& valid, const TrainerOptions& options) {
  if (valid.size() == 0) return std::nullopt;
  const BatchOptions batch_options{.batch_size = std::min(options.settings.valid_batch_size, valid.size()),
                                   .tail = TailPolicy::kKeep,
                                   .order = Order::kSequential,
                                   .seed = 0,
                                   .placement = options.placement,
                                   .share = share_of(*options.ranks, BatchShare::Kind::kWholeBatches)};
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

namespace {

static_assert(BatchLoop::kStepsPerGraph <= Optimizer::kMostStepsAtOnce);

constexpr std::chrono::seconds kMaxUncheckedTime{10};

void wait_for(c10::Device device) {
  if (!device.is_cuda()) return;
  const TraceRange range("wait for the device");
  torch::cuda::synchronize(device.index());
}

std::string seconds_text(double seconds) { return fmt::format("the run reached training.max_seconds ({:g})", seconds); }

// A rank's stop request is the exit code of a signal, or this value.
constexpr double kSecondsAreOver = -1;

// On CPUs a process computes nothing while it exchanges gradients, so by default they travel as one message there.
ExchangeOptions exchange_options(const TrainerOptions& options) {
  const std::optional<int64_t>& shards = options.settings.shards;
  return {.ranks = options.ranks,
          .shards = shards,
          .overlaps = !shards && options.distributed.overlap.value_or(options.device.is_cuda()),
          .piece_bytes = options.distributed.piece_bytes};
}

BatchLoop::Agree agreement(const TrainerOptions& options) {
  return [ranks = options.ranks](bool is_so) { return ranks->is_true_on_all(is_so); };
}

Model& moved_to(c10::Device device, Model& model) {
  model.to(device);
  return model;
}

}  // namespace

Trainer::Trainer(Model& model, const Dataset& dataset, const TrainerOptions& options)
    : model_(moved_to(options.device, model)),
      dataset_(dataset),
      options_(options),
      objective_(options.settings, dataset, options.device),
      train_batches_(make_train_batches(dataset.train, options)),
      valid_batches_(make_valid_batches(dataset.valid, options)),
      plan_(make_plan(options.settings, train_batches_, valid_batches_)),
      schedule_(make_schedule(options.settings, plan_.total_steps)),
      early_stopping_(options.settings),
      stop_target_(options.settings),
      step_(model, training_objective(dataset, options), options.settings, options.precision, options.device),
      record_(std::ssize(step_.optimizer().parameters()), options.device),
      train_loop_(
          train_batches_, options.settings.accumulate,
          [this](auto batches, int64_t slot) { return step_.run(batches, slot); }, replay(options), agreement(options)),
      score_metrics_(asked_metrics(options.settings), Loss(options.settings, dataset, at::kCPU), dataset, dataset.valid,
                     dataset.naive_errors),
      epoch_(options.device) {
  if (options.settings.carry_state) {
    options.ranks->require_sole("training.carry_state: states are carried by one process");
    model.carry_states(options.settings.batch_size);
  }
  step_.enable_exchange(exchange_options(options), options.seed);
  if (valid_batches_)
    valid_loop_.emplace(*valid_batches_, 1, evaluation_work(model, objective_, options.precision, &score_metrics_),
                        score_metrics_.empty() ? replay(options) : Replay::kNever);
}

// If a rank has ended, a plain wait for the device would never return.
void Trainer::wait_for_device() const {
  options_.ranks->wait_for(options_.device);
  wait_for(options_.device);
}

void Trainer::notify(const std::function<void(Observer&)>& event) const {
  for (Observer* observer : observers_) {
    std::optional<WritingFiles> writing;
    if (observer->writes_files()) writing.emplace(*options_.ranks);
    event(*observer);
  }
}

const TrainingState& Trainer::run() {
  RNNLAB_INVARIANT(state_.epoch == 0 || restored_, "a trainer must run only once");
  run_began_ = Clock::now();
  wait_for_device();  // earlier work is queued on a stream that graphs may not use
  const c10::OptionalStreamGuard stream(options_.settings.cuda_graph ? graph_stream(options_.device) : std::nullopt);
  notify([this](Observer& observer) { observer.on_run_begin(plan_); });
  while (!state_.stopped() || is_within_restored_epoch()) {
    begin_epoch();
    const TraceRange range("epoch");
    train_epoch();
    end_epoch();
    agree_to_stop();  // a signal may have arrived during validation, or while the observers wrote
  }
  notify([this](Observer& observer) { observer.on_run_end(state_); });
  return state_;
}

// A replay of a graph is measured after the eager steps and the capture.
int Trainer::num_warmups() const {
  const bool replays = options_.settings.cuda_graph && why_no_graphs().empty();
  return replays ? CapturedWork::kWarmupRuns + 1 : 1;
}

// Each call begins the epoch again, so that the last batch of the epoch, which may be smaller, is never measured.
double Trainer::seconds_of_first_steps() {
  train_batches_.start_epoch(0);
  wait_for_device();
  const int64_t steps_before = state_.step;
  const auto began = Clock::now();
  train_next_steps();
  wait_for_device();
  const double seconds = seconds_since(began);
  RNNLAB_INVARIANT(state_.step > steps_before, "an epoch must have a batch");
  return seconds / static_cast<double>(state_.step - steps_before);
}

double Trainer::seconds_of_first_valid_batch() {
  valid_batches_->start_epoch(0);
  wait_for_device();
  const auto began = Clock::now();
  valid_loop_->next();
  wait_for_device();
  return seconds_since(began);
}

StepTimes Trainer::measure() {
  RNNLAB_INVARIANT(state_.epoch == 0 && options_.ranks == &sole_rank(), "a trainer is measured alone, before its run");
  wait_for_device();
  reset_peak_memory(options_.device);
  const c10::OptionalStreamGuard stream(options_.settings.cuda_graph ? graph_stream(options_.device) : std::nullopt);
  begin_new_epoch();
  model_.train();
  StepTimes times;
  times.first_step_seconds = seconds_of_first_steps();
  for (int i = 1; i < num_warmups(); ++i) seconds_of_first_steps();
  times.step_seconds = seconds_of_first_steps();
  read_record();
  if (!valid_batches_) return times;
  model_.eval();
  times.num_valid_batches = valid_batches_->batches_per_epoch();
  for (int i = 0; i <= num_warmups(); ++i) times.valid_batch_seconds = seconds_of_first_valid_batch();
  model_.train();
  return times;
}

// The last batch of an epoch may be followed by the first one of the next epoch.
void Trainer::queue_step(double rate) {
  step_.set_step_number(state_.step + 1);
  step_.set_learning_rates({&rate, 1});
  auto results = train_loop_.next();
  if (!results) {
    begin_new_epoch();
    train_batches_.start_epoch(state_.epoch - 1);
    results = train_loop_.next();
  }
  RNNLAB_INVARIANT(results, "an epoch must have a batch");
  record_.append(results->rows, results->counts);
  ++state_.step;
}

double Trainer::take_loss() {
  const StepRow row = record_.take().back();
  if (state_.step == 1 && !is_finite(row)) throw_diverged_at(row, state_.step);
  return is_finite(row) ? row.loss : std::numeric_limits<double>::quiet_NaN();
}

void Trainer::try_rates(std::span<const double> rates, const std::function<bool(double rate, double loss)>& on_loss) {
  RNNLAB_INVARIANT(state_.epoch == 0 && options_.ranks == &sole_rank(),
                   "rates are tried by a trainer alone, before its run");
  wait_for_device();
  const c10::OptionalStreamGuard stream(options_.settings.cuda_graph ? graph_stream(options_.device) : std::nullopt);
  begin_new_epoch();
  model_.train();
  train_batches_.start_epoch(0);
  for (const double rate : rates) {
    queue_step(rate);
    if (!on_loss(rate, take_loss())) break;
  }
}

void Trainer::begin_epoch() {
  if (epoch_.is_over())
    begin_new_epoch();
  else
    resume_epoch();
  restored_.reset();
  reset_peak_memory(options_.device);
  notify([this](Observer& observer) { observer.on_epoch_begin(state_); });
}

void Trainer::begin_new_epoch() {
  ++state_.epoch;
  epoch_.begin();
  model_.forget_states();
  step_.begin_epoch(state_.epoch);
}

void Trainer::resume_epoch() {
  epoch_.resume();
  set_generator_states(restored_.value(), options_.device);
}

void Trainer::train_epoch() {
  model_.train();
  wait_for_device();
  step_.take_exchange_seconds();
  options_.ranks->is_true_on_all(true);  // no rank's clock counts what other ranks do between epochs
  epoch_.start_clocks();
  record_read_ = Clock::now();
  const int64_t batches_done =
      epoch_.tally().steps * options_.settings.accumulate;  // the last step may have fewer batches
  train_batches_.start_epoch(state_.epoch - 1, std::min(batches_done, train_batches_.batches_per_epoch()));
  step_.clear_stop_requests();
  if (!is_whole()) train_steps();
  epoch_.end_device_clock();
  if (is_whole() && has_next_epoch())
    train_batches_.prepare_epoch(state_.epoch);  // prepares the next epoch while the device works
  wait_for_device();
  epoch_.stop_clocks(train_batches_.seconds_waited());
  epoch_.set_exchange_seconds(step_.take_exchange_seconds());
  read_record();
}

bool Trainer::has_next_epoch() const {
  const int64_t epochs = options_.settings.epochs;
  return !state_.stopped() && (epochs == 0 || state_.epoch < epochs);
}

double Trainer::run_seconds() const { return seconds_before_ + seconds_since(run_began_); }

void Trainer::train_steps() {
  while (!state_.stopped() && train_next_steps()) {
    read_record_if_due();
    stop_at_requests();
    stop_at_bounds();
  }
}

bool Trainer::train_next_steps() {
  // Only one rank takes snapshots, which empty the record; but all ranks must queue the same number of steps.
  if (record_.room() < BatchLoop::kStepsPerGraph) read_record();
  const int64_t count = train_loop_.steps_per_launch(most_steps_at_once());
  step_.set_step_number(state_.step + 1);
  options_.ranks->set_step(state_.step + 1);
  step_.request_stop(own_request());
  step_.set_learning_rates(next_learning_rates(count));
  const auto results = train_loop_.next(count);
  if (!results) return false;
  {
    const TraceRange range("record");
    record_.append(results->rows, results->counts);
  }
  unreported_steps_ = std::ssize(results->num_samples);
  for (const int64_t num_samples : results->num_samples) {
    count_step(num_samples);
    report_step();
  }
  return true;
}

// Returns how many steps may be queued before the observers are called: no step is queued after one at which an
// observer reads the state, or which ends the run.
int64_t Trainer::most_steps_at_once() const {
  const auto is_last = [&](int64_t step) {
    const bool needs_sync = std::any_of(observers_.begin(), observers_.end(),
                                        [step](const Observer* observer) { return observer->needs_sync_at(step); });
    return needs_sync || step == options_.settings.max_steps;
  };
  const int64_t most = std::min(BatchLoop::kStepsPerGraph, record_.room());
  int64_t count = 1;
  while (count < most && !is_last(state_.step + count)) ++count;
  return count;
}

std::vector<double> Trainer::next_learning_rates(int64_t count) const {
  std::vector<double> rates;
  for (int64_t i = 0; i < count; ++i) rates.push_back(learning_rate(i));
  return rates;
}

double Trainer::learning_rate(int64_t steps_from_now) const {
  return learning_rate_at(schedule_, state_.step + steps_from_now, state_.num_plateaus.value_or(0));
}

void Trainer::count_step(int64_t num_samples) {
  --unreported_steps_;
  epoch_.count_step(num_samples, learning_rate(0));
  ++state_.step;
}

void Trainer::report_step() {
  const TraceRange range("observers");
  const StepProgress progress{.epoch = state_.epoch,
                              .step_in_epoch = epoch_.tally().steps,
                              .steps_per_epoch = plan_.steps_per_epoch,
                              .step = state_.step,
                              .seconds = epoch_.seconds(),
                              .read_loss = [this] { return latest_loss(); }};
  notify([&](Observer& observer) { observer.on_step(progress); });
}

double Trainer::latest_loss() const {
  wait_for_device();
  return record_.size() > 0 ? record_.loss(record_.size() - 1 - unreported_steps_) : last_loss_.value();
}

void Trainer::read_record_if_due() {
  // All ranks find the same NaN at the same step, so each rank checks after the same number of steps.
  const bool is_long_ago = options_.ranks->is_known_on_all(Clock::now() - record_read_ > kMaxUncheckedTime);
  if (record_.full() || is_long_ago) read_record();
}

void Trainer::read_record() {
  const TraceRange range("read back");
  wait_for_device();
  const auto rows = record_.take();
  int64_t step = state_.step - std::ssize(rows);
  for (const auto& row : rows) {
    ++step;
    if (!is_finite(row)) throw_diverged_at(row, step);
    epoch_.add(row);
    last_loss_ = row.loss;
  }
  record_read_ = Clock::now();
}

void Trainer::throw_diverged_at(const StepRow& row, int64_t step) const {
  const auto& parameters = optimizer().parameters();
  BadStep bad{.epoch = state_.epoch, .step = step, .loss = row.loss, .previous_loss = last_loss_, .gradients = {}};
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!std::isfinite(row.gradient_norms[i])) bad.gradients.push_back(parameters[i].name);
  }
  throw_diverged(bad, parameters, dataset_.train);
}

double Trainer::signal_request() {
  const auto request = pending_stop();
  return request ? static_cast<double>(request->exit_code) : 0;
}

// The clocks of ranks differ, so only that of the first rank counts.
double Trainer::own_request() const {
  const double signal = signal_request();
  return signal != 0 ? signal : options_.ranks->on_first([this] { return is_time_over() ? kSecondsAreOver : 0.0; });
}

void Trainer::stop_at_requests() {
  if (const auto requests = step_.stop_requests(signal_request())) stop_if_requested(*requests);
}

// All ranks stop for the same reason, because all have the same requests.
void Trainer::stop_if_requested(const std::vector<double>& requests) {
  const auto first = std::ranges::find_if(requests, [](double request) { return request != 0; });
  if (first == requests.end()) return;
  if (*first == kSecondsAreOver) return stop_at_seconds();
  const auto own = pending_stop();
  const std::vector<std::string> texts = options_.ranks->all_gather_texts(own ? own->text : "");
  const auto rank = static_cast<size_t>(first - requests.begin());
  const std::string of_rank = rank == 0 ? "" : fmt::format(" (rank {})", rank);
  state_.stop(StopReason::kSignal, texts[rank] + of_rank, static_cast<ExitCode>(*first));
}

void Trainer::agree_to_stop() {
  if (state_.stopped()) return;
  const at::Tensor requests = options_.ranks->all_gather(at::full({}, own_request(), at::kDouble));
  const double* values = requests.const_data_ptr<double>();
  stop_if_requested({values, values + requests.numel()});
}

bool Trainer::is_time_over() const {
  const auto& most = options_.settings.max_seconds;
  return most && run_seconds() >= *most;
}

void Trainer::stop_at_bounds() {
  const auto& settings = options_.settings;
  if (settings.max_steps && state_.step >= *settings.max_steps) {
    state_.stop(StopReason::kSteps, fmt::format("the run reached training.max_steps ({})", *settings.max_steps));
  }
  if (options_.ranks->is_known_on_all(is_time_over())) stop_at_seconds();
}

void Trainer::stop_at_seconds() { state_.stop(StopReason::kSeconds, seconds_text(*options_.settings.max_seconds)); }

void Trainer::end_epoch() {
  auto row = training_row();
  if (should_validate()) validate(row);
  row.peak_memory_bytes = peak_memory_bytes(options_.device);
  row = row_over_ranks(*options_.ranks, row);
  epoch_.set_over(is_whole() && row.valid_loss.has_value() == valid_batches_.has_value());
  if (epoch_.is_over()) {
    early_stopping_.update_best(row, state_);
    count_plateaus(schedule_, state_);
    stop_target_.update(row, state_);
  }
  stop_if_done();  // validation may have reached the bound of time
  const TraceRange range("observers");
  notify([&](Observer& observer) { observer.on_epoch_end(state_, row); });
}

void Trainer::stop_if_done() {
  if (epoch_.is_over()) stop_target_.stop_if_reached(state_);
  stop_at_bounds();
  if (epoch_.is_over()) early_stopping_.stop_if_patience_is_over(state_);
  const int64_t epochs = options_.settings.epochs;
  const int64_t epochs_over = state_.epoch - (epoch_.is_over() ? 0 : 1);
  if (epochs > 0 && epochs_over >= epochs)
    state_.stop(StopReason::kEpochs, fmt::format("the run reached training.epochs ({})", epochs));
}

EpochRow Trainer::training_row() const {
  EpochRow row = epoch_.training_row(objective_);
  row.epoch = state_.epoch;
  if (options_.precision == Precision::kFp16) row.skipped_steps = epoch_.tally().skipped_steps;
  const bool is_warmup = state_.epoch < first_epoch_ + options_.settings.warmup_epochs;
  row.warmup = is_warmup || epoch_.was_resumed() || !is_whole();
  return row;
}

bool Trainer::should_validate() const {
  if (!valid_batches_) return false;
  return state_.stop_reason != StopReason::kSignal;
}

void Trainer::validate(EpochRow& row) {
  const TraceRange range("validate");
  const auto began = Clock::now();
  score_metrics_.clear();
  const auto totals = evaluate(model_, *valid_batches_, *valid_loop_, options_.device, *options_.ranks);
  put_validation_metrics(objective_.metrics(totals), row);
  put_validation_metrics(score_metrics_.results(valid_batches_->batch_size(), *options_.ranks), row);
  row.valid_seconds = seconds_since(began);
  if (std::isfinite(*row.valid_loss)) return;
  throw_diverged_in_validation(state_.epoch, state_.step, *row.valid_loss, optimizer().parameters(), dataset_.valid);
}

Snapshot Trainer::snapshot() {
  RNNLAB_INVARIANT(unreported_steps_ == 0, "needs_sync_at() must be true for the step of a snapshot");
  read_record();
  const auto optimizer_state = step_.state();
  require_finite(state_.epoch, state_.step, optimizer().parameters(), optimizer_state);
  RunProgress progress{.state = state_,
                       .epoch_is_over = epoch_.is_over(),
                       .tally = epoch_.tally_now(train_batches_.seconds_waited()),
                       .last_loss = last_loss_,
                       .seconds = run_seconds()};
  progress.state.stop_reason.reset();
  progress.state.stop_text.clear();
  progress.state.exit_code = ExitCode::kDone;
  return {.progress = std::move(progress),
          .model = copied_to_host(optimizer().parameters()),
          .optimizer = copied_to_host(optimizer_state),
          .generators = generator_states(options_.device)};
}

void Trainer::restore(Snapshot snapshot) {
  RNNLAB_INVARIANT(state_.epoch == 0, "a snapshot must be restored before the run begins");
  copy_tensors(snapshot.model, optimizer().parameters());
  copy_tensors(snapshot.optimizer, step_.state());
  state_ = snapshot.progress.state;
  epoch_.restore(snapshot.progress.tally, snapshot.progress.epoch_is_over);
  last_loss_ = snapshot.progress.last_loss;
  seconds_before_ = snapshot.progress.seconds;
  first_epoch_ = epoch_.is_over() ? state_.epoch + 1 : state_.epoch;
  restored_ = std::move(snapshot.generators);
  stop_if_done();
  // All ranks read the same number from the checkpoint, so they need no agreement of their clocks.
  const auto& most_seconds = options_.settings.max_seconds;
  if (!state_.stopped() && most_seconds && seconds_before_ >= *most_seconds) stop_at_seconds();
}

}  // namespace rnnlab
