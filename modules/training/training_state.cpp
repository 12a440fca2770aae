#include "training/training_state.h"

#include <utility>

namespace rnnlab {

void TrainingState::stop(StopReason reason, std::string text) {
  if (stopped()) return;
  stop_reason = reason;
  stop_text = std::move(text);
}

ExitCode exit_code_after(StopReason reason) {
  if (reason == StopReason::kInterrupted) return ExitCode::kInterrupted;
  return reason == StopReason::kTerminated ? ExitCode::kTerminated : ExitCode::kDone;
}

}  // namespace rnnlab
