// Writes trace.json, the Chrome trace of a run's first steps after warm-up: the ranges of training/profiling.h,
// LibTorch's operators within them, and the work of a GPU, on one time line. Tracing slows down the traced steps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "system/logger.h"
#include "training/observer.h"
#include "training/profiling.h"

namespace rnnlab {

struct TraceRequest {
  std::filesystem::path file;
  int64_t num_steps = 0;      // at least; up to the end of the epoch if the last of them ends it
  int64_t warmup_epochs = 0;  // before the traced steps
  c10::Device device = c10::Device(c10::kCPU);
};

// Register this observer last, so that the trace includes the other observers.
class TraceObserver : public Observer {
 public:
  TraceObserver(TraceRequest request, Logger& logger);

  void on_epoch_begin(const TrainingState& state) override;
  void on_step(const StepProgress& progress) override;
  bool needs_sync_at(int64_t step) const override;
  void on_run_end(const TrainingState& state) override;

  // Call this function for a run that diverged, which ends without on_run_end. The function writes the steps so far,
  // and warns if there are none. Throws UserError kDevice if the file cannot be written.
  void finish();

 private:
  void begin(int64_t num_steps_before);
  void write();

  TraceRequest request_;
  Logger& logger_;
  std::optional<Profiling> profiling_;
  int64_t steps_before_ = 0;
  int64_t last_step_ = 0;
  bool is_written_ = false;
};

}  // namespace rnnlab
