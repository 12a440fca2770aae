// SPDX-License-Identifier: Apache-2.0
// What all optimisers have in common. Nothing is read back from the device: a step's learning rate, its scale and the
// flag that forbids the update are tensors there.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "layers/parameters.h"
#include "train/loop/training_settings.h"

namespace rnnlab {

// The rate is a number on a CPU and a () tensor on a GPU, and LibTorch has an operator for each.
using LearningRate = std::variant<double, at::Tensor>;

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // The number of steps that may be queued together, each with its own learning rate.
  static constexpr int64_t kMostStepsAtOnce = 8;

  // Sets the rates of the steps that are queued next, at most kMostStepsAtOnce. On a GPU the rates are a float32 tensor
  // that captured steps read; this call must not be part of a capture.
  void set_learning_rates(std::span<const double> learning_rates);
  void set_learning_rate(double learning_rate) { set_learning_rates({&learning_rate, 1}); }

  // Makes one update from the parameters' gradients, which must all be defined. `found_inf`: () float32 on the same
  // device, or undefined; if it is 1, neither weights nor state change, and the host does not wait to find that out.
  // `gradient_scale`: () on the same device, or undefined; the gradients are multiplied by it, possibly in place.
  // `slot`: the index of the learning rate.
  void step(const at::Tensor& found_inf, const at::Tensor& gradient_scale = {}, int64_t slot = 0);

  // Frees the gradients; the next backward pass writes new ones.
  void zero_grad();

  std::vector<at::Tensor> gradients() const;
  const std::vector<NamedTensor>& parameters() const { return parameters_; }

  // Returns the optimiser's own tensors, not copies, with PyTorch's names, such as "<parameter>.momentum_buffer".
  virtual std::vector<NamedTensor> state() const = 0;

 protected:
  explicit Optimizer(std::vector<NamedTensor> parameters);
  std::vector<at::Tensor> zeros_like_parameters() const;
  // Appends one tensor a parameter, named "<parameter>.<suffix>".
  void append_named(const std::vector<at::Tensor>& tensors, const char* suffix, std::vector<NamedTensor>& named) const;

 private:
  // Scales the gradients first, unless `gradient_scale` is undefined.
  virtual void update(at::TensorList weights, at::TensorList gradients, const LearningRate& learning_rate,
                      const std::optional<at::Tensor>& found_inf, const at::Tensor& gradient_scale) = 0;

  std::vector<double> learning_rates_ = std::vector<double>(kMostStepsAtOnce, 0.0);
  at::Tensor learning_rates_on_device_;  // (kMostStepsAtOnce)
  std::vector<NamedTensor> parameters_;
  std::vector<at::Tensor> weights_;
};

// Multiplies by the scale, if it is defined.
void scale_in_place(at::TensorList gradients, const at::Tensor& scale);

// Returns the optimiser that settings.optimizer names.
std::unique_ptr<Optimizer> make_optimizer(const TrainingSettings& settings, std::vector<NamedTensor> parameters);

// Returns an optimiser of this class, for records (optimizers.h).
template <class Class>
std::unique_ptr<Optimizer> make_optimizer_of(const TrainingSettings& settings, std::vector<NamedTensor> parameters) {
  return std::make_unique<Class>(settings, std::move(parameters));
}

// Returns 1 if training.momentum asks for a velocity of each weight, else 0.
int64_t num_velocities(const TrainingSettings& settings);

}  // namespace rnnlab
