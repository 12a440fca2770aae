// Writes trace.json, the Chrome trace of a run's first steps after warm-up: what the program does when, by the names of
// trace_range.h, LibTorch's operators within, and what a GPU ran, on one time line. Tracing slows down what it watches.
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
  int64_t num_steps = 0;      // at least; up to the end of the epoch where that comes with the last of them
  int64_t warmup_epochs = 0;  // that come before
  c10::Device device = c10::Device(c10::kCPU);
};

// Tell it of everything last, so that what the others do is in the trace.
class TraceObserver : public Observer {
 public:
  TraceObserver(TraceRequest request, Logger& logger);

  void on_epoch_begin(const TrainingState& state) override;
  void on_step(const StepProgress& progress) override;
  bool needs_sync_at(int64_t step) const override;
  void on_run_end(const TrainingState& state) override;

  // For a run that ends without on_run_end: it diverged. Writes what there is; warns where there is nothing. UserError
  // kDevice where it cannot be written.
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
