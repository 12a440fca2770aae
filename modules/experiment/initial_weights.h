// Weights that come from a safetensors file, such as one that PyTorch's names were written to from Python, instead of
// being drawn: those of the whole model, or of the recurrent layer alone under the bare names of torch.nn.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "models/model.h"

namespace rnnlab {

inline constexpr const char* kRecurrentPrefix = "recurrent.";

// "recurrent.weight_ih_l0" -> "weight_ih_l0", and the other parameters left out.
std::vector<TensorSpec> recurrent_specs(const Model& model);
std::vector<TensorSpec> model_specs(const Model& model);

// Overwrites the model's parameters, or those of its recurrent layer where the file has the bare names (the others stay
// as they are). UserError kCheckpoint names the tensors that are missing, different or unexpected: all must fit.
void load_initial_weights(Model& model, const std::filesystem::path& file);

// `file` as an experiment in `folder` means it: from the current directory, or else from `folder`.
std::string weights_beside(const std::string& file, const std::filesystem::path& folder);

}  // namespace rnnlab
