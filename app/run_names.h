// SPDX-License-Identifier: Apache-2.0
// Runs by name: where a command takes a run, `weather` means runs/weather if there is no such path. A path that exists
// always wins. A folder of runs, such as runs/weather, means its newest run where one run is taken. The link `latest`
// is replaced by the run that it leads to, so that results name the run itself.
#pragma once

#include <string>

namespace rnnlab::app {

// Returns the path that a user means by `name`: itself, or <out>/<name>. Throws UserError kUsage with both places, and
// with a similar name, if neither exists.
std::string named_path(const std::string& name, const std::string& out);

// Returns the run, checkpoint or file that a user means. If that is a folder of runs, this is its newest run, with a
// note on stderr. Throws as named_path does.
std::string named_run(const std::string& name, const std::string& out);

// Does what named_run does for a verb that needs a trained model: a folder of runs means its newest run with a
// checkpoint. Each newer run has a note on stderr.
std::string named_trained_run(const std::string& name, const std::string& out);

// Does what named_run does for the option --baseline, which also takes a label: other texts are returned unchanged.
std::string run_or_label(const std::string& text, const std::string& out);

}  // namespace rnnlab::app
