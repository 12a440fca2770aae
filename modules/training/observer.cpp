#include "training/observer.h"

#include <utility>

namespace rnnlab {

void TrainingState::stop(StopReason reason, std::string text, ExitCode code) {
  if (stopped()) return;
  stop_reason = reason;
  stop_text = std::move(text);
  exit_code = code;
}

}  // namespace rnnlab
