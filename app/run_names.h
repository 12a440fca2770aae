// SPDX-License-Identifier: Apache-2.0
// Runs by name: where a command takes a run, `weather` means runs/weather if there is no such path, or if that path has
// nothing that a command takes: a folder of data beside the runs is not meant. A folder of runs, such as runs/weather,
// means its newest run where one run is taken. The link `latest` is replaced by the run that it leads to, so that
// results name the run itself. If that run was deleted, the newest run beside the link is read instead, with a note on
// stderr.
#pragma once

#include <string>
#include <vector>

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

// Returns the runs that a user means by the folders of a command line. A folder of runs, such as runs/mnist_rows, is
// replaced by those of its runs that have ended; a notice on stderr lists the others. A run that is named twice, as by
// overlapping patterns, counts once. Names of experiments stand for their folders. load_run checks
// whether a folder is a run. Throws UserError kUsage if neither a path nor a name exists.
std::vector<std::string> named_runs(const std::vector<std::string>& folders);

// Does what named_runs does, and takes a folder of such folders, such as `runs`, as all runs in them.
std::vector<std::string> named_runs_of_all(const std::vector<std::string>& folders);

}  // namespace rnnlab::app
