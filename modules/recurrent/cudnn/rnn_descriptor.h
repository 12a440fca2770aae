// cuDNN's description of a recurrent stack and an algorithm for it, and where in its weight space each parameter lies.
// Nothing here depends on the number of steps; only the dynamic persistent algorithm depends on the batch size.
#pragma once

#include <cudnn.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "recurrent/cudnn/rnn_shape.h"

namespace rnnlab {

// cuDNN's answers as errors of ours: which of its functions refused what, in its own words.

// "CUDNN_STATUS_NOT_SUPPORTED (what cuDNN last said on this thread)".
std::string words_of(cudnnStatus_t status);

// kUsage where cuDNN does not do what it was asked for (bad parameter, not supported), kDevice where it failed at it.
ExitCode exit_code_of(cudnnStatus_t status);

// UserError kDevice naming `function` unless it succeeded. For calls that do not depend on what the user asked for.
void check_cudnn(cudnnStatus_t status, const char* function);

// Owners of cuDNN's descriptors: made empty, destroyed with the object, neither copied nor moved.

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

// In elements of the shape's type.
struct WeightLayout {
  int64_t num_elements = 0;
  std::vector<int64_t> offsets;  // of the parameters, in the order of parameter_specs

  bool operator==(const WeightLayout&) const = default;
};

enum class SequenceLengths { kWhole, kVaried };

// What to tell the user of a `status` of cuDNN's `function` that is no success: algorithm, shape, cuDNN's words and
// what to use instead. With exit_code_of(status).
UserError failure_of(const RnnShape& shape, CudnnAlgorithm algorithm, cudnnStatus_t status, const char* function);

class RnnDescriptor {
 public:
  // kAuto is not an algorithm. UserError as failure_of says where cuDNN refuses algorithm and shape.
  RnnDescriptor(const RnnShape& shape, CudnnAlgorithm algorithm, SequenceLengths lengths);

  cudnnRNNDescriptor_t get() const { return rnn_.get(); }
  const RnnShape& shape() const { return shape_; }
  CudnnAlgorithm algorithm() const { return algorithm_; }
  cudnnDataType_t data_type() const;
  size_t weight_bytes() const;

  // Of a weight space that begins at `base`, on the device; nothing is read there. InvariantError where a parameter is
  // not one piece with its gates in our order.
  WeightLayout weight_layout(const void* base) const;

  // Passes if `status` is a success; else throws failure_of.
  void check(cudnnStatus_t status, const char* function) const;

 private:
  enum class Side { kInput, kRecurrent };
  struct Gate {
    int64_t matrix, bias;  // offsets in elements
  };

  Gate gate(const void* base, int64_t pseudo_layer, int64_t linear_layer) const;  // cuDNN's own numbers
  Gate gates(const void* base, int64_t pseudo_layer, Side side) const;            // the first of all that follow it

  CudnnDropout no_dropout_;
  CudnnRnn rnn_;
  RnnShape shape_;
  CudnnAlgorithm algorithm_;
};

}  // namespace rnnlab
