#include "training/training_state.h"

#include <utility>

namespace rnnlab {

void TrainingState::stop(StopReason reason, std::string text) {
  if (stopped()) return;
  stop_reason = reason;
  stop_text = std::move(text);
}

std::string stop_reason_name(StopReason reason) {
  switch (reason) {
    case StopReason::kEpochs:
      return "epochs";
    case StopReason::kSteps:
      return "steps";
    case StopReason::kSeconds:
      return "seconds";
    case StopReason::kEarlyStopping:
      return "early_stopping";
    case StopReason::kInterrupted:
      return "interrupted";
    case StopReason::kTerminated:
      return "terminated";
  }
  RNNLAB_INVARIANT(false, "a stop reason without a name");
  return "";
}

ExitCode exit_code_after(StopReason reason) {
  if (reason == StopReason::kInterrupted) return ExitCode::kInterrupted;
  return reason == StopReason::kTerminated ? ExitCode::kTerminated : ExitCode::kDone;
}

}  // namespace rnnlab
