// PyTorch's layout: the names of torch.nn.LSTM, GRU and RNN, without prefix, or as `recurrent.*` next to the other
// modules of rnnlab's models.
#pragma once

#include <vector>

#include "checkpoint/safetensors.h"
#include "training/named_tensor.h"
#include "weights/network_weights.h"

namespace rnnlab {

inline constexpr const char* kRecurrentPrefix = "recurrent.";

bool is_pytorch_layout(const TensorFile& file);
NetworkWeights read_pytorch_layout(const TensorFile& file);
std::vector<NamedTensor> pytorch_layout(const NetworkWeights& network);

}  // namespace rnnlab
