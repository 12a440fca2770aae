// The function that the weights of a file belong to: its metadata, and its names and shapes, which must agree with the
// metadata. Every reader of a layout begins with start_network.
#pragma once

#include "checkpoint/safetensors.h"
#include "weights/network_weights.h"

namespace rnnlab {

// Returns a network without tensors and sizes, with the values in the metadata. Throws as facts_in.
NetworkWeights start_network(const TensorFile& file);

// Sets the cell of the tensors; kRnnTanh stands for both plain cells, which have equal tensors. Throws UserError
// kCheckpoint if the metadata contradict it.
void settle_cell(NetworkWeights& network, Cell cell, const TensorFile& file);

// Sets the reset gate of a GRU. Throws UserError kCheckpoint if the metadata contradict it.
void settle_reset_gate(NetworkWeights& network, ResetGate reset_gate, const TensorFile& file);

}  // namespace rnnlab
