// SPDX-License-Identifier: Apache-2.0
// `predict --stream`: reads rows from standard input as they arrive, and prints a prediction for each.
#pragma once

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/system/locks.h"
#include "runs/use/stream.h"
#include "runs/use/trained_model.h"

namespace rnnlab::app {

// Returns the lock of a state's file, which a call holds to its end, because a second one would write a state without
// the first one's rows; null for an empty name, which means no file. Throws UserError kUsage if the file cannot be
// written as the state of a stream, kDevice if another process uses it.
std::unique_ptr<FileLock> lock_state_file(const std::filesystem::path& file);

// Ends at the end of standard input, or after the current row if a signal asks for it (train/loop/stop_signal.h).
// However it ends, the state in `file` is then that after the last row whose prediction was printed; an empty name
// keeps none. Throws the UserErrors of Stream and of stream_state.h.
ExitCode predict_stream(const TrainedModel& trained, const std::filesystem::path& file, StreamForm form);

}  // namespace rnnlab::app
