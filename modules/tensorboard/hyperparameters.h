// A run's settings and end for TensorBoard's HParams dashboard, which sets them beside the metrics of the run's scalars
// (the plugin's plugin_data.proto).
#pragma once

#include <map>
#include <string>

namespace rnnlab::tensorboard {

// A Summary message: the session began. Settings by key, each "true" or "false", a number, or a text. The session has
// no group name, so TensorBoard shows each run as a row of its own: it would show a group as one row of mean metrics.
std::string session_start(const std::map<std::string, std::string>& settings);

enum class SessionEnd { kDone = 1, kFailed = 2 };

// A Summary message: the session ended. One that may yet go on has none.
std::string session_end(SessionEnd end);

}  // namespace rnnlab::tensorboard
