// SPDX-License-Identifier: Apache-2.0
// Scales the inputs of samples: those in memory in place, and mapped ones when they are read. Steps beyond a sample's
// length are neither read nor changed. Targets are not scaled here: csv_source.cpp scales them column by column.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/scaling.h"

namespace rnnlab {

struct Normalized {
  std::string note;               // a sentence about the scaling; "" for kNone
  std::vector<Scaling> features;  // the fitted values, one a feature; empty if nothing was fitted
};

// Scales both parts; kStandard and kMinMax are fitted to each feature of the training part, and kUnit divides by
// `byte_maximum`. `how` is not kAutomatic.
Normalized normalize(Samples& train, Samples& valid, Normalization how, int64_t byte_maximum = kLargestByte);

// Scales `samples` with `how` and the `features` that an earlier normalize() fitted.
void normalize_as(Samples& samples, Normalization how, const std::vector<Scaling>& features,
                  int64_t byte_maximum = kLargestByte);

}  // namespace rnnlab
