// The versions of the libraries that do the work, for environment.json and `rnnlab info`: those that are loaded, where
// they can differ from those that were compiled against.
#pragma once

#include "results/environment.h"

namespace rnnlab {

SoftwareVersions software_versions();

}  // namespace rnnlab
