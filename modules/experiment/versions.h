// The versions of the libraries that do the work, for environment.json and `rnnlab info`: those that are loaded, where
// they can differ from those that were compiled against.
#pragma once

#include "results/environment.h"

namespace rnnlab {

SoftwareVersions software_versions();

// With the instruction sets that they use (instruction_sets.h).
Libraries libraries();

}  // namespace rnnlab
