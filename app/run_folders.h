// Finds the runs that a user means by the folders of a command line.
#pragma once

#include <string>
#include <vector>

namespace rnnlab::app {

// A folder of runs, such as runs/mnist_rows, is replaced by those of its runs that have ended; a notice on stderr lists
// the others. A run that is named twice, as by overlapping patterns, counts once. load_run checks whether a folder is a
// run.
std::vector<std::string> named_runs(const std::vector<std::string>& folders);

}  // namespace rnnlab::app
