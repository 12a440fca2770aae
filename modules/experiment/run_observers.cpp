#include "experiment/run_observers.h"

#include <fmt/format.h>

namespace rnnlab {

ConsoleObserver::ConsoleObserver(Logger& logger, const Terminal& terminal) : logger_(logger), bar_(terminal) {
  logger_.set_before_line([this] { bar_.clear(); });
}

ConsoleObserver::~ConsoleObserver() { logger_.set_before_line({}); }

void ConsoleObserver::on_run_begin(const RunPlan& plan) { plan_ = plan; }

void ConsoleObserver::on_epoch_begin(const TrainingState& state) {
  const std::string of_all = plan_.epochs > 0 ? fmt::format("/{}", plan_.epochs) : "";
  bar_.start(fmt::format("epoch {}{}", state.epoch, of_all), plan_.steps_per_epoch);
}

void ConsoleObserver::on_step(const StepProgress& progress) {
  bar_.update(progress.step_in_epoch, [&] { return fmt::format("loss {:.4f}", progress.read_loss()); });
}

void ConsoleObserver::on_epoch_end(const TrainingState&, const EpochRow& row) {
  if (!table_) logger_.info(table_.emplace(row).header());
  logger_.info(table_->line(row));
  logger_.check();
}

void ConsoleObserver::on_run_end(const TrainingState& state) { logger_.info(state.stop_text); }

void FileObserver::on_epoch_end(const TrainingState&, const EpochRow& row) {
  log_.append(row);
  rows_.push_back(row);
}

void FileObserver::on_run_end(const TrainingState&) { log_.finish(); }

}  // namespace rnnlab
