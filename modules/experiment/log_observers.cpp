#include "experiment/log_observers.h"

#include <fmt/format.h>

#include "base/numbers.h"
#include "results/run_folder.h"

namespace rnnlab {
namespace {

// Returns a text about an epoch that did not reach its end; "" if there is none.
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
  save(take(), Standing::kOrdinary);
}

bool CheckpointObserver::needs_sync_at(int64_t step) const {
  return settings_.every_steps && step % *settings_.every_steps == 0;
}

void CheckpointObserver::on_epoch_end(const TrainingState& state, const EpochRow&) {
  if (!trainer_.epoch_is_over()) return;
  const bool is_best = settings_.best && state.best_epoch == state.epoch;
  if (is_due(state))
    save(take(), is_best ? Standing::kBest : Standing::kOrdinary);
  else if (is_best)
    best_ = take();
}

void CheckpointObserver::on_run_end(const TrainingState&) {
  const bool is_held = best_ && best_->position == position();
  if (!is_held && saved_ != position()) save(take(), Standing::kOrdinary);
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
void CheckpointObserver::save(Held held, Standing standing) {
  if (standing == Standing::kBest) best_.reset();
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
  save(*std::exchange(best_, std::nullopt), Standing::kBest);
}

}  // namespace rnnlab
