#include "models/initialization.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/split_mix64.h"

namespace rnnlab {
namespace {

// FNV-1a over the name, then draw `seed` of the stream that the name begins: neighbouring seeds share nothing.
uint64_t seed_of(uint64_t seed, std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
  return SplitMix64(hash + seed * SplitMix64::kStep).next();
}

bool is_bias(std::string_view name) { return name.find("bias") != std::string_view::npos; }

// Of one output of a dense layer, (outputs, inputs), or a convolution, (channels out, channels in, rows, columns).
int64_t num_inputs(const at::Tensor& weight) { return weight.numel() / weight.size(0); }

// Of one input.
int64_t num_outputs(const at::Tensor& weight) { return weight.numel() / weight.size(1); }

// The number whose inverse root bounds PyTorch's uniform weights: hidden units of a recurrent layer, inputs of a dense
// one or a convolution.
int64_t pytorch_fan(const Model& model, const std::string& name) {
  if (name.starts_with("recurrent.")) return model.recurrent().options().hidden_size;
  const auto weight = name.substr(0, name.rfind('.')) + ".weight";
  const auto parameters = model.named_parameters();
  RNNLAB_INVARIANT(parameters.contains(weight), name + " belongs to no dense layer");
  return num_inputs(parameters[weight]);
}

at::Tensor drawn_as_pytorch(const Model& model, const std::string& name, at::Tensor values,
                            const at::Generator& generator) {
  if (name == "embedding.weight") return values.normal_(0.0, 1.0, generator);
  const double bound = 1.0 / std::sqrt(static_cast<double>(pytorch_fan(model, name)));
  return values.uniform_(-bound, bound, generator);
}

at::Tensor drawn_as_xavier(const std::string& name, at::Tensor values, const at::Generator& generator) {
  if (is_bias(name)) return values.zero_();
  const double bound = std::sqrt(6.0 / static_cast<double>(num_outputs(values) + num_inputs(values)));
  return values.uniform_(-bound, bound, generator);
}

}  // namespace

void initialize(Model& model, Initialization initialization, uint64_t seed) {
  const at::NoGradGuard no_grad;
  for (auto& parameter : model.named_parameters()) {
    const auto& name = parameter.key();
    const auto generator = at::detail::createCPUGenerator(seed_of(seed, name));
    auto values = at::empty(parameter.value().sizes(), at::TensorOptions().dtype(at::kFloat));
    values = initialization == Initialization::kXavier ? drawn_as_xavier(name, values, generator)
                                                       : drawn_as_pytorch(model, name, values, generator);
    parameter.value().copy_(values);  // in place: the layer may keep its weights in one flat buffer
  }
}

}  // namespace rnnlab
