// What in a run's folder was changed after the run had ended: each file is held against its seal in summary.json, and
// the summary against its own. Folders of before version 3 have no seals; of them only the two files with the rows are
// held against each other.
#pragma once

#include <filesystem>
#include <vector>

#include "results/run_record.h"
#include "results/warning.h"

namespace rnnlab {

// `run` as it was read from `folder`. Nothing where all is as it was written. UserError kData where a file that is
// there cannot be read.
std::vector<Warning> changed_files(const std::filesystem::path& folder, const RunRecord& run);

}  // namespace rnnlab
