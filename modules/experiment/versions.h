// The versions of the libraries that do the work, for environment.json and `rnnlab info`.
#pragma once

#include "results/environment.h"

namespace rnnlab {

SoftwareVersions software_versions();

}  // namespace rnnlab
