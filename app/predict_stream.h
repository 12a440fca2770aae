// SPDX-License-Identifier: Apache-2.0
// `predict --stream`: reads rows from standard input as they arrive, and prints a prediction for each.
#pragma once

#include <filesystem>

#include "base/error.h"
#include "runs/use/stream.h"
#include "runs/use/trained_model.h"

namespace rnnlab::app {

// Throws UserError kUsage if `file` cannot be written as the state of a stream. An empty name means no file.
void require_state_file(const std::filesystem::path& file);

// Ends at the end of standard input, or after the current row if a signal asks for it (train/loop/stop_signal.h).
// However it ends, the state in `file` is then that after the last row whose prediction was printed; an empty name
// keeps none. Throws the UserErrors of Stream and of stream_state.h.
ExitCode predict_stream(const TrainedModel& trained, const std::filesystem::path& file, StreamForm form);

}  // namespace rnnlab::app
