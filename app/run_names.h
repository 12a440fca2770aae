// SPDX-License-Identifier: Apache-2.0
// Runs by name: where a command takes a run, `weather` means runs/weather if there is no such path, or if that path has
// nothing that a command takes: a folder of data beside the runs is not meant. A folder of runs, such as runs/weather,
// means its newest run where one run is taken. The link `latest` is replaced by the run that it leads to, so that
// results name the run itself. If that run was deleted, the newest run beside the link is read instead, with a note on
// stderr.
#pragma once

#include <string>

namespace rnnlab::app {

// Returns whether the path has something that a command takes: a run, a checkpoint, folders of these, or a file.
bool is_path_of_runs(const std::string& path);

// Returns the path that a user means by `name`: itself, or <out>/<name>. Throws UserError kUsage with both places, and
// with a similar name, if neither exists.
std::string named_path(const std::string& name, const std::string& out);

// Returns the run, checkpoint or file that a user means. If that is a folder of runs, this is its newest run, with a
// note on stderr. Throws as named_path does.
std::string named_run(const std::string& name, const std::string& out);

// Does what named_run does for a run that will be changed: throws UserError kUsage if the name means a link `latest`
// whose run was deleted.
std::string named_run_to_resume(const std::string& name, const std::string& out);

// Returns the path without the link `latest`.
std::string run_of_latest(const std::string& path);

// Does what named_run does for a verb that needs a trained model: a folder of runs means its newest run with a
// checkpoint. The note on stderr counts the newer runs.
std::string named_trained_run(const std::string& name, const std::string& out);

// Does what named_run does for the option --baseline, which also takes a label: other texts are returned unchanged.
std::string run_or_label(const std::string& text, const std::string& out);

}  // namespace rnnlab::app
