#include "experiment/trace_observer.h"

#include <fmt/format.h>
#include <torch/cuda.h>

#include <fstream>

#include "base/error.h"
#include "system/files.h"

namespace rnnlab {
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

TraceObserver::TraceObserver(TraceRequest request, Logger& logger) : request_(std::move(request)), logger_(logger) {}

void TraceObserver::on_epoch_begin(const TrainingState& state) {
  if (profiling_ && last_step_ - steps_before_ >= request_.num_steps) write();
  if (!profiling_ && !is_written_ && state.epoch > request_.warmup_epochs) begin(state.step);
}

void TraceObserver::on_step(const StepProgress& progress) {
  if (!profiling_) return;
  last_step_ = progress.step;
  // After the last step of an epoch the trace continues, because the end of the epoch is of interest too.
  const bool ends_epoch = progress.step_in_epoch == progress.steps_per_epoch;
  if (needs_sync_at(last_step_) && !ends_epoch) write();
}

bool TraceObserver::needs_sync_at(int64_t step) const {
  return profiling_ && step - steps_before_ >= request_.num_steps;
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

void TraceObserver::begin(int64_t num_steps_before) {
  steps_before_ = last_step_ = num_steps_before;
  profiling_.emplace(activities(request_.device));
}

void TraceObserver::write() {
  if (request_.device.is_cuda()) torch::cuda::synchronize(request_.device.index());
  const auto result = profiling_->finish();
  profiling_.reset();
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
  logger_.info(fmt::format("trace     steps {} to {} in {}; open it in https://ui.perfetto.dev", steps_before_ + 1,
                           last_step_, request_.file.string()));
}

}  // namespace rnnlab
