// Any shape of `persistent` against a float64 layer on the same GPU (`hoisted`, which the parity suite holds to the
// reference), for shapes that plain loops on the CPU take too long for.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <memory>
#include <string>

#include "recurrent/recurrent_layer.h"
#include "recurrent/tolerances.h"

namespace rnnlab {

// What the numbers of a layer are: its type, and in float32 whether products may round to TF32.
struct NumberClass {
  const char* name;
  at::ScalarType type;
  bool allows_tf32;
  double tolerance;  // as in tolerances.h
};

// Operands of recurrent products have TF32's 10 bits (5e-4) and inputs are multiplied in TF32; sums over up to a few
// thousand terms, several steps and back.
constexpr double kTf32Class = 4e-3;

constexpr std::array<NumberClass, 4> kNumberClasses = {{{"fp32", at::kFloat, false, kFloat32Cuda},
                                                        {"tf32", at::kFloat, true, kTf32Class},
                                                        {"fp16", at::kHalf, false, kFloat16},
                                                        {"bf16", at::kBFloat16, false, kBfloat16}}};

// That there are kernels for.
constexpr int64_t largest_hidden_size(const NumberClass& numbers) {
  return numbers.type == at::kFloat && !numbers.allows_tf32 ? 1024 : 1536;
}

constexpr std::array<Cell, 4> kCells = {Cell::kLstm, Cell::kGru, Cell::kRnnTanh, Cell::kRnnRelu};

enum class Ends { kWhole, kVaried };   // of the sequences
enum class States { kZeros, kGiven };  // initial ones

struct LayerShape {
  RecurrentOptions options;
  int64_t num_steps = 3;
  int64_t batch_size = 9;
  Ends ends = Ends::kWhole;
  States states = States::kGiven;
  LayerKind kind = LayerKind::kPersistent;
};
std::string describe(const LayerShape& shape, const NumberClass& numbers);

// Lets LibTorch round float32 products to TF32, or not, for as long as it lives.
class TensorFloat32 {
 public:
  explicit TensorFloat32(const NumberClass& numbers);
  ~TensorFloat32();
  TensorFloat32(const TensorFloat32&) = delete;
  TensorFloat32& operator=(const TensorFloat32&) = delete;
};

// The largest error of the results and all gradients of `persistent`, each relative to its own largest value, which
// counts as 1 where it is less. Everything is drawn by `seed`; infinite where a number is not finite.
double largest_error(const LayerShape& shape, const NumberClass& numbers, uint64_t seed);

}  // namespace rnnlab
