#include "experiment/initial_weights.h"

#include "experiment/tensor_bytes.h"
#include "training/snapshot.h"
#include "training/train_step.h"

namespace rnnlab {
namespace {

bool has_bare_names(const TensorFile& file) { return file.find("weight_ih_l0") != nullptr; }

std::string without_prefix(const std::string& name) { return name.substr(std::string_view(kRecurrentPrefix).size()); }

std::vector<NamedTensor> tensors_of(const TensorFile& file, const std::string& prefix) {
  std::vector<NamedTensor> tensors = to_tensors(file.tensors);
  for (NamedTensor& tensor : tensors) tensor.name = prefix + tensor.name;
  return tensors;
}

std::vector<NamedTensor> parameters_with(const Model& model, const std::string& prefix) {
  std::vector<NamedTensor> parameters = named_parameters(model);
  std::erase_if(parameters, [&](const NamedTensor& one) { return !one.name.starts_with(prefix); });
  return parameters;
}

}  // namespace

std::vector<TensorSpec> model_specs(const Model& model) { return specs_of(named_parameters(model)); }

std::vector<TensorSpec> recurrent_specs(const Model& model) {
  std::vector<TensorSpec> specs = specs_of(parameters_with(model, kRecurrentPrefix));
  for (TensorSpec& spec : specs) spec.name = without_prefix(spec.name);
  return specs;
}

void load_initial_weights(Model& model, const std::filesystem::path& path) {
  const TensorFile file = read_safetensors(path);
  const bool is_bare = has_bare_names(file);
  require_tensors(file, is_bare ? recurrent_specs(model) : model_specs(model));
  const std::string prefix = is_bare ? kRecurrentPrefix : "";
  copy_tensors(tensors_of(file, prefix), parameters_with(model, prefix));
}

std::string weights_beside(const std::string& file, const std::filesystem::path& folder) {
  std::error_code ignored;
  const bool stands =
      file.empty() || std::filesystem::path(file).is_absolute() || std::filesystem::exists(file, ignored);
  if (stands || folder.empty() || !std::filesystem::exists(folder / file, ignored)) return file;
  return (folder / file).string();
}

}  // namespace rnnlab
