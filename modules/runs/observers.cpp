// SPDX-License-Identifier: Apache-2.0
#include "runs/observers.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/histc.h>
#include <ATen/ops/stack.h>
#include <fmt/format.h>
#include <torch/cuda.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "base/error.h"
#include "base/numbers.h"
#include "base/system/files.h"
#include "base/system/machine.h"
#include "results/epoch_cost.h"
#include "results/run_folder.h"
#include "train/loop/operation_times.h"
#include "train/models/model_graph.h"

namespace rnnlab {
namespace {

// Returns a text about an epoch that did not reach its end; "" if every epoch did.
std::string cut_short_text(const TrainingState& state, const RunPlan& plan) {
  const int64_t steps = state.step - (state.epoch - 1) * plan.steps_per_epoch;
  if (steps <= 0 || steps >= plan.steps_per_epoch) return "";
  return fmt::format("; epoch {} was cut short after {} of {} steps, so its time does not count", state.epoch, steps,
                     plan.steps_per_epoch);
}

// A file or another program has no width.
size_t table_width(const Terminal& terminal) {
  constexpr size_t kWithoutTerminal = 120;
  return terminal.is_terminal ? terminal.width : kWithoutTerminal;
}

}  // namespace

ConsoleObserver::ConsoleObserver(Logger& logger, const Terminal& terminal)
    : logger_(logger), table_width_(table_width(terminal)), bar_(terminal) {
  logger_.set_before_line([this] { bar_.clear(); });
}

ConsoleObserver::~ConsoleObserver() { logger_.set_before_line({}); }

void ConsoleObserver::on_run_begin(const RunPlan& plan) { plan_ = plan; }

void ConsoleObserver::on_epoch_begin(const TrainingState& state) {
  loss_text_.clear();
  seconds_of_loss_ = 0;
  const std::string of_all = plan_.epochs > 0 ? fmt::format("/{}", plan_.epochs) : "";
  bar_.start(fmt::format("epoch {}{}", state.epoch, of_all), plan_.steps_per_epoch,
             {.pieces = num_epochs_after(state), .seconds_between = seconds_of_validation_});
}

// A run that only time bounds has no known number of epochs.
double ConsoleObserver::num_epochs_after(const TrainingState& state) const {
  if (plan_.total_steps == 0 || plan_.steps_per_epoch == 0) return 0;
  const double all = static_cast<double>(plan_.total_steps) / static_cast<double>(plan_.steps_per_epoch);
  return std::max(all - static_cast<double>(state.epoch), 0.0);
}

void ConsoleObserver::on_step(const StepProgress& progress) {
  bar_.update(progress.step_in_epoch, [&] { return loss_text(progress); });
}

// Reading the loss waits for the device in the timed part of the epoch, so the bar shows a loss that is up to a second
// old.
const std::string& ConsoleObserver::loss_text(const StepProgress& progress) {
  constexpr double kSecondsBetweenReadings = 1.0;
  constexpr size_t kWidestLoss = 10;
  if (progress.seconds - seconds_of_loss_ < kSecondsBetweenReadings) return loss_text_;
  loss_text_ = "loss " + format_within(kWidestLoss, "{:.4f}", progress.read_loss());
  seconds_of_loss_ = progress.seconds;
  return loss_text_;
}

void ConsoleObserver::on_epoch_end(const TrainingState& state, const EpochRow& row) {
  const Validation validation = plan_.num_valid > 0 ? Validation::kYes : Validation::kNo;
  if (!table_) logger_.info(table_.emplace(row, table_width_, validation).header());
  seconds_of_validation_ = row.valid_seconds.value_or(0);
  logger_.info(table_->line(row, cut_short_text(state, plan_).empty() ? "" : "cut short"));
  warn_of_undefined(row);
  logger_.check();
}

void ConsoleObserver::warn_of_undefined(const EpochRow& row) {
  for (const auto& [metric, reason] : row.undefined) {
    if (undefined_[metric] != reason) logger_.warn(fmt::format("{} has no value: {}", metric, reason));
    undefined_[metric] = reason;
  }
}

void ConsoleObserver::on_run_end(const TrainingState& state) {
  logger_.info(state.stop_text + cut_short_text(state, plan_));
}

void FileObserver::on_epoch_end(const TrainingState&, const EpochRow& row) {
  log_.append(row);
  rows_.push_back(row);
}

void FileObserver::on_run_end(const TrainingState&) { sync(); }

void FileObserver::sync() { log_.sync(); }

CheckpointObserver::CheckpointObserver(const std::filesystem::path& run_folder, RunFacts facts, Trainer& trainer,
                                       std::function<void()> make_log_durable)
    : settings_(facts.experiment.checkpoint),
      facts_(std::move(facts)),
      trainer_(trainer),
      make_log_durable_(std::move(make_log_durable)),
      writer_(run_folder / kCheckpointsFolder, settings_.keep) {}

void CheckpointObserver::on_run_begin(const RunPlan&) {
  saved_ = position();
  saved_at_ = Clock::now();
}

void CheckpointObserver::on_step(const StepProgress& progress) {
  const bool ends_epoch = progress.step_in_epoch == progress.steps_per_epoch;  // on_epoch_end handles it
  if (ends_epoch || !needs_sync_at(progress.step)) return;
  save(take(), CheckpointKind::kOrdinary);
}

bool CheckpointObserver::needs_sync_at(int64_t step) const {
  return settings_.every_steps && step % *settings_.every_steps == 0;
}

void CheckpointObserver::on_epoch_end(const TrainingState& state, const EpochRow&) {
  if (!trainer_.epoch_is_over()) return;
  const bool is_best = settings_.best && state.best_epoch == state.epoch;
  if (is_due(state))
    save(take(), is_best ? CheckpointKind::kBest : CheckpointKind::kOrdinary);
  else if (is_best)
    best_ = take();
}

void CheckpointObserver::on_run_end(const TrainingState&) {
  const bool is_held = best_ && best_->position == position();
  if (!is_held && saved_ != position()) save(take(), CheckpointKind::kOrdinary);
  finish();
}

void CheckpointObserver::finish() {
  save_held();
  writer_.wait();
}

bool CheckpointObserver::is_due(const TrainingState& state) const {
  if (settings_.every_steps && state.step % *settings_.every_steps == 0) return true;
  if (settings_.every_epochs == 0 || state.epoch % settings_.every_epochs != 0) return false;
  return Clock::now() - saved_at_ >= std::chrono::duration<double>(settings_.every_seconds);
}

// A best state that was held back is written first, because the newest checkpoint must be the last one written. If the
// new state is the best, the held state is dropped.
void CheckpointObserver::save(Held held, CheckpointKind standing) {
  if (standing == CheckpointKind::kBest) best_.reset();
  save_held();
  make_log_durable_();
  saved_ = held.position;
  const int64_t step = held.position.step;
  const auto contents = [this, snapshot = std::move(held.snapshot)] { return contents_of(facts_, snapshot); };
  writer_.submit(step, contents, standing);
  saved_at_ = Clock::now();
}

void CheckpointObserver::save_held() {
  if (!best_) return;
  save(*std::exchange(best_, std::nullopt), CheckpointKind::kBest);
}

namespace {

std::set<Profiling::Activity> activities(c10::Device device) {
  if (device.is_cpu()) return {Profiling::Activity::CPU};
  return {Profiling::Activity::CPU, Profiling::Activity::CUDA};
}

// The profiler writes into this file first and then renames it; if the disk is full, the file remains.
std::filesystem::path temporary_file(const std::filesystem::path& trace) { return trace.string() + ".tmp"; }

// The profiler does not check whether its writes succeed, so the end of the file is checked here.
bool ends_as_json(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file || file.tellg() < 2) return false;
  file.seekg(-2, std::ios::end);
  std::string end;
  std::getline(file, end, '\0');
  return end.find('}') != std::string::npos;
}

}  // namespace

TraceObserver::TraceObserver(TraceRequest request, Logger& logger)
    : request_(std::move(request)), logger_(logger), steps_(request_.num_steps, request_.warmup_epochs) {}

void TraceObserver::on_epoch_begin(const TrainingState& state) {
  if (profiling_ && steps_.end_at(last_step_)) write();
  if (steps_.begin_with(state)) profiling_.emplace(activities(request_.device));
}

void TraceObserver::on_step(const StepProgress& progress) {
  if (!profiling_) return;
  last_step_ = progress.step;
  // After the last step of an epoch the trace continues, because the end of the epoch is of interest too.
  const bool ends_epoch = progress.step_in_epoch == progress.steps_per_epoch;
  if (needs_sync_at(last_step_) && !ends_epoch) write();
}

void TraceObserver::on_run_end(const TrainingState&) { finish(); }

void TraceObserver::finish() {
  if (profiling_) write();
  if (is_written_) return;
  logger_.warn(
      fmt::format("nothing was traced: the run ended within its warm-up, before epoch {}; use training.warmup_epochs=0 "
                  "to trace from the first step",
                  request_.warmup_epochs + 1));
}

void TraceObserver::write() {
  if (request_.device.is_cuda()) torch::cuda::synchronize(request_.device.index());
  const auto result = profiling_->finish();
  profiling_.reset();
  steps_.set_over();
  is_written_ = true;
  remove_file(temporary_file(request_.file));  // left by a killed process, or a link to a different place
  result->save(request_.file.string());
  if (!ends_as_json(request_.file)) {
    remove_file(temporary_file(request_.file));
    throw_error(ExitCode::kDevice,
                "{}: the trace could not be written completely; free some space or trace fewer steps "
                "(--trace-steps)",
                request_.file.string());
  }
  logger_.info(fmt::format("trace     steps {} to {} in {}; open it in https://ui.perfetto.dev",
                           steps_.steps_before() + 1, last_step_, request_.file.string()));
  const int64_t num_steps = last_step_ - steps_.steps_before();
  for (const std::string& line : profile_lines(device_times(*result), host_times(*result), num_steps))
    logger_.info(line);
}

std::string scalar_tag(const EpochColumn& column) {
  std::string name = column.name;
  switch (column.role) {
    case ColumnRole::kLabel:
      return "";
    case ColumnRole::kMetric:
      name[name.find('_')] = '/';
      return name;
    case ColumnRole::kTraining:
      return "training/" + name;
    case ColumnRole::kMeasurement:
      return "measured/" + name;
  }
  return "";
}

std::string scalars_of(const EpochRow& row) {
  std::string summary;
  for (const EpochColumn& column : epoch_columns()) {
    const std::string tag = scalar_tag(column);
    const auto value = number_in(row, column);
    if (!tag.empty() && value) summary += tensorboard::scalar_summary(tag, *value);
  }
  for (const bool is_of_cpu : {false, true})
    if (const auto joules = counted_joules(row, is_of_cpu))
      summary += tensorboard::scalar_summary(is_of_cpu ? "measured/cpu_watts" : "measured/gpu_watts",
                                             *joules / row.train_seconds);
  return summary;
}

namespace {

// Returns the settings of config.yaml; paths lose their folders if the machine must not be identified.
std::map<std::string, std::string> settings_of(const Experiment& experiment) {
  config::Findings findings;
  auto settings = config_values(
      config::Document::from_text(config::print(experiment, Experiment::schema()), "config.yaml", findings));
  if (experiment.training.tensorboard_machine) return settings;
  for (auto& [key, value] : settings) value = setting_without_folders(value);
  return settings;
}

std::string machine_of(const TrainingSettings& training) {
  return training.tensorboard_machine ? host_info().hostname : tensorboard::kAnyMachine;
}

std::string graph_of(const RunContext& run) {
  const Objective objective(run.options.settings, run.dataset, run.device);
  return tensorboard::graph_def_of(
      model_graph(run.experiment.model, run.dataset.shape, std::string(config::name_of(objective.loss().kind()))));
}

// Returns "" for a tensor that is not finite: float16 overflowed and the update was skipped.
std::string histogram_of(const std::string& tag, const at::Tensor& tensor) {
  if (!tensor.defined()) return "";
  const at::NoGradGuard no_grad;
  const at::Tensor values = tensor.detach().to(at::kCPU, at::kFloat);  // on a GPU, counting is not deterministic
  const auto [lowest, highest] = at::aminmax(values);
  const double low = lowest.item<double>(), high = highest.item<double>();
  if (!std::isfinite(low) || !std::isfinite(high)) return "";
  const at::Tensor counts = at::histc(values, tensorboard::kNumBuckets, low, high).to(at::kDouble);
  const at::Tensor exact = values.to(at::kDouble);
  return tensorboard::histogram_summary(
      tag, {.lowest = low,
            .highest = high,
            .sum = exact.sum().item<double>(),
            .sum_of_squares = exact.square().sum().item<double>(),
            .counts = {counts.const_data_ptr<double>(), static_cast<size_t>(counts.numel())}});
}

std::string with_slashes(std::string name) {
  std::ranges::replace(name, '.', '/');
  return name;
}

}  // namespace

TensorBoardObserver::TensorBoardObserver(const std::filesystem::path& run_folder, const RunContext& run,
                                         int64_t first_epoch)
    : run_(run), first_epoch_(first_epoch), file_(run_folder, machine_of(run.experiment.training)) {}

void TensorBoardObserver::on_run_begin(const RunPlan&) {
  file_.append_start(first_epoch_);
  if (first_epoch_ > 1) return;  // an earlier file has the rest
  file_.append_summary(0, tensorboard::session_start(settings_of(run_.experiment)));
  file_.append_graph(graph_of(run_));
}

void TensorBoardObserver::on_epoch_end(const TrainingState& state, const EpochRow& row) {
  std::string summary = scalars_of(row);
  if (run_.experiment.training.tensorboard_histograms) {
    for (const auto& [name, tensor] : run_.trainer->optimizer().parameters()) {
      summary += histogram_of("weights/" + with_slashes(name), tensor);
      summary += histogram_of("gradients/" + with_slashes(name), tensor.grad());
    }
  }
  file_.append_summary(state.epoch, summary);
}

void TensorBoardObserver::add_shares(std::span<const EpochRow> rows, const ProductWork& work) {
  for (const EpochRow& row : rows)
    if (const auto share = share_of_best_rate(row, work))
      file_.append_summary(row.epoch, tensorboard::scalar_summary("measured/share_of_best_rate", *share));
  sync();
}

void TensorBoardObserver::on_run_end(const TrainingState& state) {
  if (state.exit_code == ExitCode::kDone)
    file_.append_summary(0, tensorboard::session_end(tensorboard::SessionEnd::kDone));
  sync();
}

void TensorBoardObserver::fail() {
  file_.append_summary(0, tensorboard::session_end(tensorboard::SessionEnd::kFailed));
  sync();
}

namespace {

// Returns two sums over the bits of every tensor; the second is weighted by position.
at::Tensor fingerprint_of(const std::vector<NamedTensor>& tensors) {
  constexpr int64_t kPlaces = 65'521;
  std::vector<at::Tensor> sums;
  for (const NamedTensor& one : tensors) {
    const at::Tensor bits = one.tensor.detach().contiguous().view(-1).view(at::kInt).to(at::kLong);
    const at::Tensor places = at::arange(bits.numel(), bits.options()).remainder_(kPlaces).add_(1);
    sums.push_back(at::stack({bits.sum(), bits.mul(places).sum()}));
  }
  return at::stack(sums).to(at::kCPU);
}

}  // namespace

void WeightsObserver::on_epoch_begin(const TrainingState& state) {
  if (traced_) traced_->begin_with(state);
}

void WeightsObserver::on_step(const StepProgress& progress) {
  if (traced_ && traced_->end_at(progress.step)) traced_->set_over();
  if (is_saved(progress.step)) compare(fmt::format("step {}", progress.step));
}

void WeightsObserver::on_epoch_end(const TrainingState& state, const EpochRow&) {
  compare(fmt::format("epoch {}", state.epoch));
}

void WeightsObserver::compare(const std::string& when) const {
  const std::vector<NamedTensor>& parameters = trainer_.optimizer().parameters();
  const at::Tensor all = ranks_.gather_to_compare([&] {
    ranks_.wait_for(parameters.front().tensor.device());
    return fingerprint_of(parameters);
  });
  for (int64_t rank = 1; rank < all.size(0); ++rank)
    for (size_t i = 0; i < parameters.size(); ++i)
      if (!all[rank][static_cast<int64_t>(i)].equal(all[0][static_cast<int64_t>(i)]))
        throw_error(ExitCode::kInternal, "after {} the weights {} of rank {} are not those of rank 0", when,
                    parameters[i].name, rank);
}

}  // namespace rnnlab
