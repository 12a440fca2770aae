// Holds everything on which the speed of cuDNN's algorithms for a recurrent stack, and their support for it, depend.
// The shape is a plain value: plans are kept by it, and measured answers by its text.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "recurrent/recurrent_options.h"

namespace rnnlab {

enum class Float32Math { kFma, kTf32 };  // for products of float32
enum class Passes { kForward, kForwardAndBackward };

// T steps, B sequences, I inputs, H hidden units, L layers, D directions.
struct RnnShape {
  Cell cell = Cell::kLstm;
  at::ScalarType type = at::kFloat;
  Float32Math float32_math = Float32Math::kFma;  // always kFma for other types
  Passes passes = Passes::kForward;
  int64_t num_steps = 1, batch_size = 1, input_size = 1, hidden_size = 1, num_layers = 1, num_directions = 1;

  bool operator==(const RnnShape&) const = default;
};

// Returns the shape of `options` for an input (T, B, I) in the type that cuDNN gets; float32_math follows LibTorch's
// present switches.
RnnShape shape_of(const RecurrentOptions& options, const at::Tensor& input, Passes passes);

// Returns "float32", "float32, TF32" or "bfloat16", for example.
std::string precision_of(const RnnShape& shape);

// Returns for example "lstm in float32, TF32, T 28, B 128, I 28, H 128, L 1, D 1".
std::string text_of(const RnnShape& shape);

}  // namespace rnnlab
