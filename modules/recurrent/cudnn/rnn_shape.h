// Everything that decides how fast cuDNN's algorithms are at a recurrent stack, and whether they run it at all. A plain
// value: what plans are kept by, and, as text, what measured answers are kept under.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "recurrent/recurrent_options.h"

namespace rnnlab {

enum class Float32Math { kFma, kTf32 };  // of float32's products
enum class Passes { kForward, kForwardAndBackward };

// T steps, B sequences, I inputs, H hidden units, L layers, D directions.
struct RnnShape {
  Cell cell = Cell::kLstm;
  at::ScalarType type = at::kFloat;
  Float32Math float32_math = Float32Math::kFma;  // kFma in every other type
  Passes passes = Passes::kForward;
  int64_t num_steps = 1, batch_size = 1, input_size = 1, hidden_size = 1, num_layers = 1, num_directions = 1;

  bool operator==(const RnnShape&) const = default;
};

// `options` at an input of (T, B, I) in the type that cuDNN gets; the mathematics of float32 as LibTorch is set now.
RnnShape shape_of(const RecurrentOptions& options, const at::Tensor& input, Passes passes);

// "float32", "float32, TF32", "bfloat16".
std::string precision_of(const RnnShape& shape);

// "lstm in float32, TF32, T 28, B 128, I 28, H 128, L 1, D 1".
std::string text_of(const RnnShape& shape);

}  // namespace rnnlab
