// Which runs a user means by the folders of a command line.
#pragma once

#include <string>
#include <vector>

namespace rnnlab::app {

// A folder of runs, such as runs/mnist_rows, stands for those of its runs that have ended; a notice on stderr names the
// others. A run that is named twice, as by overlapping patterns, counts once. Whether a folder is a run's is for
// load_run to say.
std::vector<std::string> named_runs(const std::vector<std::string>& folders);

}  // namespace rnnlab::app
