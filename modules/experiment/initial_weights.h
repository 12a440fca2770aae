// Loads initial weights from a safetensors file instead of drawing them. The names may be those of PyTorch, Keras or
// TensorFlow; the file has the weights of the whole model, or of the recurrent layer only.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "models/model.h"

namespace rnnlab {

// recurrent_specs shortens names, such as "recurrent.weight_ih_l0" to "weight_ih_l0", and leaves out other parameters.
std::vector<TensorSpec> recurrent_specs(const Model& model);
std::vector<TensorSpec> model_specs(const Model& model);

// Overwrites the model's parameters, or only those of its recurrent layer if the file has only these (the others stay
// unchanged). Throws UserError kCheckpoint with the tensors that are missing, different or unexpected, by PyTorch's
// names, unless all fit. A file in the layout of Keras or TensorFlow must also match the model's cell and reset gate.
void load_initial_weights(Model& model, const std::filesystem::path& file);

// Resolves `file` for an experiment in `folder`: relative to the current directory, or else to `folder`.
std::string weights_beside(const std::string& file, const std::filesystem::path& folder);

}  // namespace rnnlab
