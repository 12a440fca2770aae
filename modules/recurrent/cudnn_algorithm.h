// Predicts the algorithm that LibTorch 2.11 requests from cuDNN. LibTorch neither lets the caller choose an algorithm
// nor reports it, so its rule (get_algo in aten/src/ATen/native/cudnn/RNN.cpp) is repeated here as a pure function, for
// GPUs of compute capability 8.0 and later with at least 98 multiprocessors, 8.6 excluded.
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

#include "recurrent/recurrent_options.h"

namespace rnnlab {

enum class CudnnPass { kForward, kBackward };
enum class CudnnSequences { kWhole, kPacked };  // kPacked: of varied lengths

struct CudnnCall {
  Cell cell = Cell::kLstm;
  int64_t input_size = 0, hidden_size = 0, batch_size = 0, num_layers = 1, num_directions = 1;
  at::ScalarType type = at::kFloat;  // of the tensors that reach cuDNN, after autocast
  CudnnSequences sequences = CudnnSequences::kWhole;
};

// Returns LibTorch's choice for one pass of `call`; never kAuto. The passes of one call may differ.
CudnnAlgorithm cudnn_algorithm(const CudnnCall& call, CudnnPass pass);

// Returns "standard", "persist static" or "persist static small-H".
std::string_view words_for(CudnnAlgorithm algorithm);

// Returns why `call` runs the standard algorithm in both directions; "" if it does not.
std::string why_standard(const CudnnCall& call);

}  // namespace rnnlab
