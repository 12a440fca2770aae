// SPDX-License-Identifier: Apache-2.0
#include "train/models/model.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>

#include "base/error.h"
#include "base/numbers.h"
#include "base/random.h"
#include "base/sha256.h"
#include "layers/cells/cell.h"
#include "train/models/model_graph.h"

namespace rnnlab {
namespace {

bool fits(const ModelInfo& model, Task task) { return std::ranges::count(model.tasks, task) > 0; }

// Returns the first listed model that fits the task.
std::string_view model_for(Task task) {
  for (const auto& [kind, name] : config::EnumNames<ModelKind>::kNames)
    if (fits(info_of(kind), task)) return name;
  fail_invariant("a task with a model", __FILE__, __LINE__, "no model fits the task");
}

std::string targets_of(const DataShape& shape) {
  switch (shape.task) {
    case Task::kClassification:
      return counted(shape.num_outputs, "class");
    case Task::kBinary:
    case Task::kRegression:
      return counted(shape.num_outputs, "real-valued target");
    case Task::kLanguageModel:
      return fmt::format("a text of {} different tokens", shape.num_outputs);
  }
  fail_invariant("a listed task", __FILE__, __LINE__, "targets_of does not know the task");
}

// Targets that are classes are read as numbers if their type or shape does not say what they are.
std::string advice_on_classes(const ModelInfo& model, Task task) {
  const bool are_numbers = task == Task::kRegression && fits(model, Task::kClassification);
  return are_numbers ? ", or set data.task: classification if the targets are classes, and data.target_per: step if "
                       "there is one for each step"
                     : "";
}

RecurrentOptions computed_by(LayerChoice layer, RecurrentOptions options) {
  options.cudnn_algorithm = layer.cudnn_algorithm;
  return options;
}

}  // namespace

Model::Model(LayerChoice layer, const RecurrentOptions& options)
    : recurrent_(add_recurrent("recurrent", layer, options)) {}

std::shared_ptr<RecurrentLayer> Model::add_recurrent(const char* name, LayerChoice layer,
                                                     const RecurrentOptions& options) {
  return register_module(name, make_layer(layer.kind, computed_by(layer, options)));
}

Continuation Model::continue_from(const RecurrentState& /*state*/, const at::Tensor& /*inputs*/) {
  fail_invariant("a model that can continue", __FILE__, __LINE__, "this model has no state after a step");
}

at::Tensor Model::dropped(const at::Tensor& values, double probability) const {
  if (probability == 0.0 || !is_training()) return values;
  return at::dropout(values, probability, /*train=*/true);
}

void Model::carry_states(int64_t batch_size) {
  RNNLAB_INVARIANT(can_carry_states(), "only a language model carries states from batch to batch");
  const RecurrentOptions& options = recurrent().options();
  const at::Tensor weight = recurrent().parameters().front();
  carried_.clear();
  for (size_t i = 0; i < info_of(options.cell).states.size(); ++i)
    carried_.push_back(at::zeros({options.num_layers * options.num_directions(), batch_size, options.hidden_size},
                                 weight.options().dtype(at::kFloat).requires_grad(false)));
}

void Model::forget_states() {
  const at::NoGradGuard no_grad;
  for (const at::Tensor& state : carried_) state.zero_();
}

// The states are copied, because the backward pass needs them after store_states() has overwritten them.
RecurrentState Model::initial_states() const {
  if (!is_training() || carried_.empty()) return {};
  RecurrentState states(carried_.front().clone());
  for (size_t i = 1; i < carried_.size(); ++i) states.inner.push_back(carried_[i].clone());
  return states;
}

void Model::store_states(const RecurrentState& states) {
  if (!is_training() || carried_.empty()) return;
  const at::NoGradGuard no_grad;
  carried_.front().copy_(states.hidden);
  for (size_t i = 1; i < carried_.size(); ++i) carried_[i].copy_(states.inner[i - 1]);
}

std::vector<ParameterSpec> parameter_specs(const ModelSettings& settings, const DataShape& shape) {
  std::vector<ParameterSpec> specs = draw_model(settings, shape).parameters();
  std::ranges::stable_partition(specs, [](const ParameterSpec& spec) { return spec.name.starts_with("recurrent."); });
  return specs;
}

int64_t bytes_of(const std::vector<ParameterSpec>& specs) {
  int64_t bytes = 0;
  for (const ParameterSpec& spec : specs) {
    int64_t size = sizeof(float);
    for (const int64_t dimension : spec.shape) size = saturating_multiply(size, dimension);
    bytes = saturating_add(bytes, size);
  }
  return bytes;
}

std::shared_ptr<Model> make_model(const ModelSettings& settings, LayerChoice layer, const DataShape& shape,
                                  ConvolutionKind convolution) {
  const ModelInfo& info = info_of(settings.kind);
  if (!fits(info, shape.task)) {
    throw_error(ExitCode::kUsage, "model.kind: {} does not fit data with {}; use {}{}", config::name_of(settings.kind),
                targets_of(shape), model_for(shape.task), advice_on_classes(info, shape.task));
  }
  for (const Contradiction& one : misfits(settings, shape))
    throw_error(ExitCode::kUsage, "{}: {}", one.keys.front(), one.message);
  if (bytes_of(parameter_specs(settings, shape)) == std::numeric_limits<int64_t>::max())
    throw_error(ExitCode::kUsage, "model: its weights do not fit into any memory; use smaller layers or samples");
  return info.make(settings, layer, shape, convolution);
}

namespace {

std::string shape_of(const at::Tensor& tensor) { return fmt::format("({})", fmt::join(tensor.sizes(), ", ")); }

int64_t bytes_of(const Model& model) {
  int64_t bytes = 0;
  for (const auto& parameter : model.parameters()) bytes += static_cast<int64_t>(parameter.nbytes());
  return bytes;
}

}  // namespace

std::string weights_sha256(const Model& model) {
  std::map<std::string, at::Tensor> by_name;
  for (const auto& parameter : model.named_parameters()) by_name.emplace(parameter.key(), parameter.value());
  Sha256 digest;
  for (const auto& [name, tensor] : by_name) {
    const auto values = tensor.detach().to(at::kCPU, at::kFloat).contiguous();
    digest.update(fmt::format("{} {}\n", name, shape_of(tensor)));
    digest.update(std::as_bytes(std::span(values.const_data_ptr<float>(), static_cast<size_t>(values.numel()))));
  }
  return digest.hex();
}

std::string parameter_table(const Model& model) {
  const auto parameters = model.named_parameters();
  size_t name_width = std::string_view("total").size();
  size_t shape_width = std::string_view("shape").size();
  for (const auto& parameter : parameters) {
    name_width = std::max(name_width, parameter.key().size());
    shape_width = std::max(shape_width, shape_of(parameter.value()).size());
  }
  const auto line = [&](const std::string& name, const std::string& shape, const std::string& count) {
    return fmt::format("{:<{}}  {:<{}}  {:>12}\n", name, name_width, shape, shape_width, count);
  };
  std::string table = line("name", "shape", "parameters");
  for (const auto& parameter : parameters) {
    table += line(parameter.key(), shape_of(parameter.value()), format_count(parameter.value().numel()));
  }
  table += line("total", "", format_count(num_parameters(model)));
  table.pop_back();
  return table + fmt::format("  ({})\n", format_bytes(bytes_of(model)));
}

int64_t num_parameters(const Model& model) {
  int64_t count = 0;
  for (const auto& parameter : model.parameters()) count += parameter.numel();
  return count;
}

namespace {

// Takes draw `seed` of the stream that starts at the name's hash, so that neighbouring seeds are not correlated.
uint64_t seed_of(uint64_t seed, std::string_view name) {
  return SplitMix64(fnv1a(name) + seed * SplitMix64::kStep).next();
}

// Returns the inputs of one output of a dense layer, (outputs, inputs), or of a convolution, (channels out, channels
// in, rows, columns).
int64_t num_inputs(const at::Tensor& weight) { return weight.numel() / weight.size(0); }

// Returns the outputs of one input.
int64_t num_outputs(const at::Tensor& weight) { return weight.numel() / weight.size(1); }

// Returns the name of a recurrent layer's parameter in its network, such as "weight_hh_l0"; "" for any other parameter.
std::string_view recurrent_parameter(std::string_view name) {
  for (const std::string_view network : {"recurrent.", "decoder."})
    if (name.starts_with(network)) return name.substr(network.size());
  return "";
}

// Returns the number whose inverse root bounds PyTorch's uniform weights: the hidden units of a recurrent layer, or the
// inputs of a dense layer or a convolution.
int64_t pytorch_fan(const Model& model, const std::string& name) {
  if (!recurrent_parameter(name).empty()) return model.recurrent().options().hidden_size;
  const auto weight = name.substr(0, name.rfind('.')) + ".weight";
  const auto parameters = model.named_parameters();
  RNNLAB_INVARIANT(parameters.contains(weight), name + " is not a parameter of a dense layer or a convolution");
  return num_inputs(parameters[weight]);
}

bool is_embedding(std::string_view name) { return name == "embedding.weight" || name.starts_with("category"); }

void draw_as_pytorch(const Model& model, const std::string& name, const at::Tensor& values,
                     const at::Generator& generator) {
  if (is_embedding(name)) return static_cast<void>(values.normal_(0.0, 1.0, generator));
  const double bound = 1.0 / std::sqrt(static_cast<double>(pytorch_fan(model, name)));
  values.uniform_(-bound, bound, generator);
}

// Vectors are biases, and weights from a unit to itself.
void draw_as_xavier(const at::Tensor& values, const at::Generator& generator) {
  if (values.dim() == 1) return static_cast<void>(values.zero_());
  const double bound = std::sqrt(6.0 / static_cast<double>(num_outputs(values) + num_inputs(values)));
  values.uniform_(-bound, bound, generator);
}

// The sum has eight parts, so that it can be computed by vector instructions and is the same on every processor.
double dot(const double* a, const double* b, int64_t size) {
  constexpr int64_t kParts = 8;
  std::array<double, kParts> parts = {};
  int64_t i = 0;
  for (; i + kParts <= size; i += kParts)
    for (int64_t part = 0; part < kParts; ++part) parts[static_cast<size_t>(part)] += a[i + part] * b[i + part];
  for (; i < size; ++i) parts[0] += a[i] * b[i];
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

// Subtracts from a row its projections onto the `count` orthonormal rows from `first` on.
void subtract_projections(double* row, const double* first, int64_t count, int64_t size) {
  for (const double* other = first; other < first + count * size; other += size) {
    const double part = dot(row, other, size);
    for (int64_t k = 0; k < size; ++k) row[k] -= part * other[k];
  }
}

void normalize(double* row, int64_t size) {
  const double norm = std::sqrt(dot(row, row, size));
  for (int64_t k = 0; k < size; ++k) row[k] /= norm;
}

// Makes the rows of (N, M) float64, N <= M, orthonormal one after the other (Gram and Schmidt, in the modified form), a
// block of rows at a time. LAPACK's QR would be faster, but its last digits differ from processor to processor.
void make_rows_orthonormal(const at::Tensor& rows) {
  constexpr int64_t kBlock = 32;  // rows that stay in the cache
  const int64_t count = rows.size(0), size = rows.size(1);
  auto* const first = rows.mutable_data_ptr<double>();
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, count);
    double* const block = first + begin * size;
    for (int64_t i = begin; i < end; ++i) {
      subtract_projections(first + i * size, block, i - begin, size);
      normalize(first + i * size, size);
    }
    at::parallel_for(end, count, 1, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) subtract_projections(first + i * size, block, end - begin, size);
    });
  }
}

// values: (gates * heads * width, width). The matrix of a head is that of all its gates.
void draw_orthogonal(const at::Tensor& values, int64_t heads, const at::Generator& generator) {
  const int64_t width = values.size(1), num_gates = values.size(0) / (heads * width);
  const at::Tensor by_head = values.view({num_gates, heads, width, width});
  for (int64_t head = 0; head < heads; ++head) {
    const at::Tensor columns = at::empty({width, num_gates * width}, at::kDouble).normal_(0.0, 1.0, generator);
    make_rows_orthonormal(columns);
    by_head.select(1, head).copy_(columns.t().view({num_gates, width, width}));
  }
}

void open_forget_gate(const RecurrentOptions& options, const at::Tensor& bias) {
  constexpr std::array<std::string_view, 4> kGatesOfLstm = {"i", "f", "g", "o"};  // as in torch.nn
  if (std::ranges::equal(info_of(options.cell).text.gates, kGatesOfLstm))
    bias.narrow(0, options.hidden_size, options.hidden_size).fill_(1);
}

void draw_as_keras(const Model& model, const std::string& name, const at::Tensor& values,
                   const at::Generator& generator) {
  constexpr double kBoundOfEmbeddings = 0.05;
  const std::string_view parameter = recurrent_parameter(name);
  if (parameter.starts_with("weight_hh")) return draw_orthogonal(values, model.recurrent().options().heads, generator);
  if (is_embedding(name)) return static_cast<void>(values.uniform_(-kBoundOfEmbeddings, kBoundOfEmbeddings, generator));
  draw_as_xavier(values, generator);
  if (parameter.starts_with("bias_ih")) open_forget_gate(model.recurrent().options(), values);
}

}  // namespace

void initialize(Model& model, Initialization initialization, uint64_t seed) {
  const at::NoGradGuard no_grad;
  for (auto& parameter : model.named_parameters()) {
    const auto& name = parameter.key();
    const auto generator = at::detail::createCPUGenerator(seed_of(seed, name));
    const auto values = at::empty(parameter.value().sizes(), at::TensorOptions().dtype(at::kFloat));
    switch (initialization) {
      case Initialization::kPyTorch:
        draw_as_pytorch(model, name, values, generator);
        break;
      case Initialization::kXavier:
        draw_as_xavier(values, generator);
        break;
      case Initialization::kKeras:
        draw_as_keras(model, name, values, generator);
        break;
    }
    parameter.value().copy_(values);  // in place: the layer may keep its weights in one flat buffer
  }
}

}  // namespace rnnlab
