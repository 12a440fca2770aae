// A run's settings and end for TensorBoard's HParams dashboard, which sets them beside the metrics of the run's scalars
// (the plugin's plugin_data.proto).
#pragma once

#include <map>
#include <string>

namespace rnnlab::tensorboard {

// A Summary message: the session began. Settings by key, each "true" or "false", a number, or a text. `group`: runs of
// one group are repetitions of one another.
std::string session_start(const std::map<std::string, std::string>& settings, const std::string& group);

enum class SessionEnd { kDone = 1, kFailed = 2 };

// A Summary message: the session ended. One that may yet go on has none.
std::string session_end(SessionEnd end);

}  // namespace rnnlab::tensorboard
