// SPDX-License-Identifier: Apache-2.0
// Describes a recurrent stack and an algorithm to cuDNN, and finds the position of each parameter in its weight space.
// The description does not depend on the number of steps; only that of the dynamic persistent algorithm depends on the
// batch size.
#pragma once

#include <ATen/core/Tensor.h>
#include <cudnn.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "layers/recurrent_options.h"

namespace rnnlab {

enum class Float32Math { kFma, kTf32 };  // for products of float32
enum class Passes { kForward, kForwardAndBackward };

// Holds everything on which the speed of cuDNN's algorithms for a recurrent stack, and their support for it, depend.
// The shape is a plain value: plans are kept by it, and measured answers by its text.
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

// Returns cuDNN's error as text: "CUDNN_STATUS_NOT_SUPPORTED (cuDNN's last message on this thread)".
std::string words_of(cudnnStatus_t status);

// Returns kUsage if cuDNN does not support the request (bad parameter, not supported), kDevice if it failed at it.
ExitCode exit_code_of(cudnnStatus_t status);

// Throws UserError kDevice with the name `function` unless the call of this function succeeded. The function is for
// calls that do not depend on the user's settings.
void check_cudnn(cudnnStatus_t status, const char* function);

// Owns one of cuDNN's descriptors: the constructor creates an empty one and the destructor destroys it.
template <class Handle, cudnnStatus_t (*create)(Handle*), cudnnStatus_t (*destroy)(Handle)>
class CudnnDescriptor {
 public:
  CudnnDescriptor() { check_cudnn(create(&handle_), "creating a cuDNN descriptor"); }
  ~CudnnDescriptor() { destroy(handle_); }
  CudnnDescriptor(const CudnnDescriptor&) = delete;
  CudnnDescriptor& operator=(const CudnnDescriptor&) = delete;

  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};

using CudnnRnn = CudnnDescriptor<cudnnRNNDescriptor_t, cudnnCreateRNNDescriptor, cudnnDestroyRNNDescriptor>;
using CudnnSequence =
    CudnnDescriptor<cudnnRNNDataDescriptor_t, cudnnCreateRNNDataDescriptor, cudnnDestroyRNNDataDescriptor>;
using CudnnTensor = CudnnDescriptor<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using CudnnDropout =
    CudnnDescriptor<cudnnDropoutDescriptor_t, cudnnCreateDropoutDescriptor, cudnnDestroyDropoutDescriptor>;

// Holds positions in a weight space, in elements of the shape's type.
struct WeightLayout {
  int64_t num_elements = 0;
  std::vector<int64_t> offsets;  // of the parameters, in the order of parameter_specs

  bool operator==(const WeightLayout&) const = default;
};

enum class SequenceLengths { kWhole, kVaried };

// Returns the error for a `status` of cuDNN's `function` that is not a success: algorithm, shape, cuDNN's message and
// an alternative. The error's exit code is exit_code_of(status).
UserError failure_of(const RnnShape& shape, CudnnAlgorithm algorithm, cudnnStatus_t status, const char* function);

class RnnDescriptor {
 public:
  // `algorithm` must not be kAuto. Throws failure_of() if cuDNN rejects the algorithm for the shape.
  RnnDescriptor(const RnnShape& shape, CudnnAlgorithm algorithm, SequenceLengths lengths);

  cudnnRNNDescriptor_t get() const { return rnn_.get(); }
  const RnnShape& shape() const { return shape_; }
  CudnnAlgorithm algorithm() const { return algorithm_; }
  cudnnDataType_t data_type() const;
  size_t weight_bytes() const;

  // Returns the layout of a weight space that begins at `base` on the device; it reads no memory there. Throws
  // InvariantError unless each parameter is contiguous with its gates in our order.
  WeightLayout weight_layout(const void* base) const;

  // Throws failure_of() unless `status` is a success.
  void check(cudnnStatus_t status, const char* function) const;

 private:
  enum class Side { kInput, kRecurrent };
  struct Gate {
    int64_t matrix, bias;  // offsets in elements
  };

  Gate gate(const void* base, int64_t pseudo_layer, int64_t linear_layer) const;  // the numbers are cuDNN's
  Gate gates(const void* base, int64_t pseudo_layer, Side side) const;            // the first gate of that side

  CudnnDropout no_dropout_;
  CudnnRnn rnn_;
  RnnShape shape_;
  CudnnAlgorithm algorithm_;
};

}  // namespace rnnlab
