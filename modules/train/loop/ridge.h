// SPDX-License-Identifier: Apache-2.0
// A linear regression from all numbers of a window to its targets, as a baseline of forecasts: what a model without
// hidden states reaches with the same inputs.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>

#include "data/dataset.h"

namespace rnnlab {

// A larger regression would take longer than training should wait.
inline constexpr int64_t kMostRidgeColumns = 2'000;

// Returns (N, K) float32, scaled like the targets of the validation part; nullopt unless the data are windows of a
// series of numbers with at least ten windows for training, and at most kMostRidgeColumns steps times features.
//
// The weights minimise the sum of squared errors over windows of the training part, plus the sum of squared weights
// (the penalty is 1), with inputs that are scaled to mean 0 and deviation 1 and an offset without a penalty (Hoerl and
// Kennard, Ridge regression: biased estimation for nonorthogonal problems, 1970). They are computed in float64. Windows
// with a missing target are left out; where the product of windows and squared columns exceeds 4e9, evenly spread
// windows are taken. Categories are not inputs.
std::optional<at::Tensor> ridge_forecast(const Dataset& dataset);

// Returns why there is no ridge_forecast() of windows that have too many columns.
std::optional<std::string> note_on_ridge(const Dataset& dataset);

}  // namespace rnnlab
