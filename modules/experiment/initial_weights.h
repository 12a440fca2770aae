// Weights that come from a safetensors file instead of being drawn, by the names of PyTorch, Keras or TensorFlow: those
// of the whole model, or of the recurrent layer alone.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "models/model.h"

namespace rnnlab {

// "recurrent.weight_ih_l0" -> "weight_ih_l0", and the other parameters left out.
std::vector<TensorSpec> recurrent_specs(const Model& model);
std::vector<TensorSpec> model_specs(const Model& model);

// Overwrites the model's parameters, or those of its recurrent layer where the file has no others (these stay as they
// are). UserError kCheckpoint names the tensors that are missing, different or unexpected, by PyTorch's names: all must
// fit; and a file in the layout of Keras or TensorFlow must be of the model's cell and reset gate.
void load_initial_weights(Model& model, const std::filesystem::path& file);

// `file` as an experiment in `folder` means it: from the current directory, or else from `folder`.
std::string weights_beside(const std::string& file, const std::filesystem::path& folder);

}  // namespace rnnlab
