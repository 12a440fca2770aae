#include "experiment/run_observers.h"

#include <fmt/format.h>

#include "base/numbers.h"

namespace rnnlab {
namespace {

// What became of an epoch that did not reach its end; "" where there is none.
std::string cut_short_text(const TrainingState& state, const RunPlan& plan) {
  const int64_t steps = state.step - (state.epoch - 1) * plan.steps_per_epoch;
  if (steps <= 0 || steps >= plan.steps_per_epoch) return "";
  return fmt::format("; epoch {} was cut short after {} of {} steps, so its time does not count", state.epoch, steps,
                     plan.steps_per_epoch);
}

}  // namespace

ConsoleObserver::ConsoleObserver(Logger& logger, const Terminal& terminal) : logger_(logger), bar_(terminal) {
  logger_.set_before_line([this] { bar_.clear(); });
}

ConsoleObserver::~ConsoleObserver() { logger_.set_before_line({}); }

void ConsoleObserver::on_run_begin(const RunPlan& plan) { plan_ = plan; }

void ConsoleObserver::on_epoch_begin(const TrainingState& state) {
  loss_text_.clear();
  seconds_of_loss_ = 0;
  const std::string of_all = plan_.epochs > 0 ? fmt::format("/{}", plan_.epochs) : "";
  bar_.start(fmt::format("epoch {}{}", state.epoch, of_all), plan_.steps_per_epoch);
}

void ConsoleObserver::on_step(const StepProgress& progress) {
  bar_.update(progress.step_in_epoch, [&] { return loss_text(progress); });
}

// Reading the loss waits for the device, in the timed part of the epoch: so the bar shows one that is up to a second
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
  if (!table_) logger_.info(table_.emplace(row).header());
  logger_.info(table_->line(row, cut_short_text(state, plan_).empty() ? "" : "cut short"));
  logger_.check();
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

}  // namespace rnnlab
