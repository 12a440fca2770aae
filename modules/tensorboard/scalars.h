// An epoch's row as TensorBoard's scalars.
#pragma once

#include <string>

#include "results/epoch_row.h"

namespace rnnlab::tensorboard {

// A Summary message: the metrics as "train/loss", "valid/accuracy" and the like, the learning rate, gradient norm and
// left out updates as "training/gradient_norm" and the like, and the rest as "measured/train_seconds". What is absent
// is left out.
std::string scalars_of(const EpochRow& row);

// Of a column of the epochs, "valid_accuracy" -> "valid/accuracy"; empty where it is no scalar of its own.
std::string scalar_tag(const EpochColumn& column);

}  // namespace rnnlab::tensorboard
