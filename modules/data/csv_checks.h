// SPDX-License-Identifier: Apache-2.0
// Checks the settings of the source csv against each other, before any file is read. What only a file can show, such as
// the names of its columns, csv_part.h checks.
#pragma once

#include "data/data_settings.h"

namespace rnnlab {

// Complains about each contradiction, with the keys that are part of it and what to do.
void check_csv(const DataSettings& settings, config::Checker& checker);

}  // namespace rnnlab
