// What a file says of the function that its weights are for: in its metadata, and by its names and shapes, which must
// agree. Every reader of a layout begins with start_network.
#pragma once

#include "checkpoint/safetensors.h"
#include "weights/network_weights.h"

namespace rnnlab {

// Without tensors and sizes, knowing what the metadata say. UserError kCheckpoint as facts_in.
NetworkWeights start_network(const TensorFile& file);

// The cell that the tensors are of; kRnnTanh stands for both plain cells, which have the same. UserError kCheckpoint
// where the metadata say another.
void settle_cell(NetworkWeights& network, Cell cell, const TensorFile& file);

// The same for a GRU's reset gate.
void settle_reset_gate(NetworkWeights& network, ResetGate reset_gate, const TensorFile& file);

}  // namespace rnnlab
