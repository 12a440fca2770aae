// SPDX-License-Identifier: Apache-2.0
// The list of optimisers. A new one is a source with its class, a line each here and in optimizers.cpp, and its name in
// training_settings.h.
#pragma once

#include <memory>
#include <vector>

#include "train/loop/optimizer.h"
#include "train/loop/training_settings.h"

namespace rnnlab {

struct OptimizerInfo {
  OptimizerKind kind;
  std::unique_ptr<Optimizer> (*make)(const TrainingSettings& settings, std::vector<NamedTensor> parameters);
  // Returns how many tensors of a weight's size the state has for each weight.
  int64_t (*num_copies)(const TrainingSettings& settings);
  bool has_momentum = false;  // training.momentum
};

// Throws InvariantError for a value that the list does not have.
const OptimizerInfo& info_of(OptimizerKind kind);

std::unique_ptr<Optimizer> make_optimizer(const TrainingSettings& settings, std::vector<NamedTensor> parameters);

// SGD with momentum: v = momentum * v + g and w -= learning_rate * v, as PyTorch does (Keras multiplies the rate into
// the velocity v). Weight decay adds weight_decay * w to the gradient.
std::unique_ptr<Optimizer> make_sgd(const TrainingSettings& settings, std::vector<NamedTensor> parameters);

// Adam (Kingma and Ba 2015), where weight decay adds weight_decay * w to the gradient, and AdamW (Loshchilov and Hutter
// 2019), where it subtracts learning_rate * weight_decay * w from the weight.
std::unique_ptr<Optimizer> make_adam(const TrainingSettings& settings, std::vector<NamedTensor> parameters);

// RMSprop (Hinton, Srivastava and Swersky, lecture 6e of Neural Networks for Machine Learning, 2012): s = alpha * s +
// (1 - alpha) * g^2, and the step g / (sqrt(s) + epsilon) in place of SGD's g. Weight decay adds weight_decay * w to g.
std::unique_ptr<Optimizer> make_rms_prop(const TrainingSettings& settings, std::vector<NamedTensor> parameters);

}  // namespace rnnlab
