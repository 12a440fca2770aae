#include "experiment/initial_weights.h"

#include "training/snapshot.h"
#include "training/train_step.h"
#include "weights/layouts.h"
#include "weights/pytorch_layout.h"
#include "weights/tensor_reader.h"

namespace rnnlab {
namespace {

bool has_bare_names(const TensorFile& file) { return file.find("weight_ih_l0") != nullptr; }

// Returns the tensors with PyTorch's names, for any layout of the file.
std::vector<NamedTensor> pytorch_tensors(const TensorFile& file, const Model& model) {
  const Layout layout = layout_of(file).value_or(Layout::kPyTorch);
  if (layout == Layout::kPyTorch || !model.has_recurrent()) return to_tensors(file.tensors);
  const NetworkWeights network = read_network(file, layout);
  require_same_function(network.known, model.recurrent().options(), file.name);
  return export_tensors(network, Layout::kPyTorch);
}

std::string without_prefix(const std::string& name) { return name.substr(std::string_view(kRecurrentPrefix).size()); }

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
  std::vector<NamedTensor> tensors = pytorch_tensors(read_safetensors(path), model);
  const TensorFile file{.name = path.string(), .tensors = views_of(tensors), .metadata = {}, .bytes = nullptr};
  const bool is_bare = has_bare_names(file);
  require_tensors(file, is_bare ? recurrent_specs(model) : model_specs(model));
  const std::string prefix = is_bare ? kRecurrentPrefix : "";
  for (NamedTensor& tensor : tensors) tensor.name = prefix + tensor.name;
  copy_tensors(tensors, parameters_with(model, prefix));
}

std::string weights_beside(const std::string& file, const std::filesystem::path& folder) {
  std::error_code ignored;
  const bool stands =
      file.empty() || std::filesystem::path(file).is_absolute() || std::filesystem::exists(file, ignored);
  if (stands || folder.empty() || !std::filesystem::exists(folder / file, ignored)) return file;
  return (folder / file).string();
}

}  // namespace rnnlab
