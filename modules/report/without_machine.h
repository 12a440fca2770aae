// Removes everything from a report that names the machine or its user. CPU, GPU, load and libraries stay.
#pragma once

#include "report/make_report.h"

namespace rnnlab::report {

// `sources` without the host's name, its kernel and command lines, and with every path cut to what is below the folders
// of a user: runs to shared_run_name, files to their last name. Paths that differ keep names that differ, so a report
// compares the same runs with and without this. In texts of runs and errors, absolute paths lose their folders.
Sources without_machine(Sources sources);

}  // namespace rnnlab::report
