// SPDX-License-Identifier: Apache-2.0
// Compares `persistent` in any shape with a float64 layer on the same GPU (`hoisted`, or `naive` for sLSTM, which the
// parity suite compares with the reference), for shapes that take too long in plain loops on the CPU.
#pragma once

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>

#include <array>
#include <string>

#include "layers/layer_under_test.h"
#include "layers/recurrent_layer.h"

namespace rnnlab {

// Describes a class of a layer's numbers: its type, and in float32 whether products may round to TF32.
struct NumberClass {
  const char* name;
  at::ScalarType type;
  bool allows_tf32;
  double tolerance;  // as in tolerances.h
};

// Operands of recurrent products have TF32's 10 bits (5e-4), and inputs are multiplied in TF32. Sums have up to a few
// thousand terms, over several steps forward and backward.
constexpr double kTf32Class = 4e-3;

constexpr std::array<NumberClass, 4> kNumberClasses = {{{"fp32", at::kFloat, false, kFloat32Cuda},
                                                        {"tf32", at::kFloat, true, kTf32Class},
                                                        {"fp16", at::kHalf, false, kFloat16},
                                                        {"bf16", at::kBFloat16, false, kBfloat16}}};

// Returns the largest hidden size for which there are kernels.
constexpr int64_t largest_hidden_size(const NumberClass& numbers) {
  return numbers.type == at::kFloat && !numbers.allows_tf32 ? 1024 : 1536;
}

constexpr std::array<Cell, 4> kCells = {Cell::kLstm, Cell::kGru, Cell::kRnnTanh, Cell::kRnnRelu};

enum class Ends { kWhole, kVaried };   // of the sequences
enum class States { kZeros, kGiven };  // of the initial states
enum class Restarts { kNone, kSome };  // whether a tenth of the steps starts, and the first step of half the sequences

struct LayerShape {
  RecurrentOptions options;
  int64_t num_steps = 3;
  int64_t batch_size = 9;
  Ends ends = Ends::kWhole;
  States states = States::kGiven;
  Restarts restarts = Restarts::kNone;
  double magnitude = 1;         // of the inputs; the bottom layer's input weights are divided by it
  double growth = 1;            // of the outputs' gradients, from the last step to the first
  bool growth_differs = false;  // whether the first sequences and units have a growth near 1
  int64_t num_quiet_steps = 0;  // the last ones; if there are any, they and the final states have no gradients
};
std::string describe(const LayerShape& shape, const NumberClass& numbers);

// Returns whether the environment has RNNLAB_LONG_RUN=1, which requests the long form of tests.
bool is_long_run();

// Lets LibTorch round float32 products to TF32, or not, during its lifetime.
class TensorFloat32 {
 public:
  explicit TensorFloat32(const NumberClass& numbers) { at::globalContext().setAllowTF32CuBLAS(numbers.allows_tf32); }
  ~TensorFloat32() { at::globalContext().setAllowTF32CuBLAS(false); }
  TensorFloat32(const TensorFloat32&) = delete;
  TensorFloat32& operator=(const TensorFloat32&) = delete;
};

// Returns the largest error of the results and all gradients of `persistent`, each relative to its own largest value
// but at least 1. All numbers are drawn by `seed`. The error is infinite if a number is not finite.
double largest_error(const LayerShape& shape, const NumberClass& numbers, uint64_t seed);

// Moves a layer of three inputs to the GPU, in a type. Expects that a NaN in sequence 5 reaches all later steps of
// this sequence and changes nothing else.
void expect_nan_stays_in_its_sequence(RecurrentLayer& layer, int64_t batch_size, at::ScalarType type = at::kBFloat16);

// Moves a layer to the GPU. Expects that the gradients of its input and its parameters keep their bits if a power of
// two brings them far below and above float16's range.
struct StepsAndBatch {
  int64_t num_steps = 20;
  int64_t batch_size = 10;
};
void expect_gradients_of_any_magnitude(RecurrentLayer& layer, const NumberClass& numbers,
                                       const StepsAndBatch& sizes = {});

// Returns a multiple of 8, at least 8: the fewest steps for which all products after a backward pass have as many
// multiplications as operands of float16 need (kLeastMultiplications in products.h).
int64_t steps_of_large_products(const RecurrentOptions& options, int64_t batch_size);

// Expects the results of float64 in the TF32 class, for outputs' gradients that stay, shrink and grow from step to
// step, and gates' gradients in float16 in each layer and direction.
void expect_float64_by_half_gradients(LayerShape shape);

}  // namespace rnnlab
