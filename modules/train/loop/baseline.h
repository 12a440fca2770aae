// SPDX-License-Identifier: Apache-2.0
// Computes what predictions without a model reach on the validation part: the mean or the class frequencies of the
// training part, and the earlier values of a series. A model that is not better has learned nothing of use.
#pragma once

#include <vector>

#include "data/dataset.h"
#include "results/quality.h"
#include "train/loop/training_settings.h"

namespace rnnlab {

// Returns the baselines of a task, with the same metrics that validation has for `loss`, which is not kAuto:
// - numbers: the mean of the training part, and the naive forecasts and the ridge regression (ridge.h) of a series. MAE
//   and RMSE are in the targets' own units; over several targets they are means over all of them. There is no loss if
//   that of training is of a distribution.
// - classes and tokens: the frequencies of the training part, with one added to each count, so that the loss of a class
//   that it lacks is finite. Accuracy is that of the most frequent class, or the mean over several if they are equally
//   frequent up to one sample: a split of balanced classes gives some of them a sample more than others.
// - binary: the same for each target.
// The naive forecasts of classes and of binary targets have an accuracy and no loss. Empty without validation samples.
// Missing targets have no part in any of this, nor do targets for which a naive forecast is missing.
std::vector<Baseline> baselines(const Dataset& dataset, LossKind loss);

}  // namespace rnnlab
