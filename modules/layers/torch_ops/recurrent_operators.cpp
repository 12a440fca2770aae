// SPDX-License-Identifier: Apache-2.0
// Registers the layers as operators of PyTorch, torch.ops.rnnlab.*: `recurrent` computes a layer, and
// `recurrent_backward` its gradients. They are functions of tensors, so that torch.compile, autograd and torch.library
// handle them as they handle PyTorch's own; python/rnnlab/operators.py adds their shapes for torch.compile. The
// derivative of `recurrent` is C++, because one of torch.library in Python takes several times as long as a small
// layer. No function here knows Python.
#include <ATen/autocast_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/basic_ops.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/library.h>

#include <optional>
#include <tuple>

#include "layers/device/cuda_library.h"
#include "layers/torch_ops/cell_spec.h"
#include "layers/torch_ops/layer_pool.h"
#include "layers/torch_ops/python_errors.h"

namespace rnnlab::operators {
namespace {

// The results of a forward pass with autograd's graph from the arguments to them. The leaves are the pass's own: they
// share the memory of the caller's tensors, but nothing that another pass could change.
struct PassGraph {
  at::Tensor input;  // leaves of the graph
  std::vector<at::Tensor> states;
  std::vector<at::Tensor> weights;
  std::vector<at::Tensor> results;  // the output, then the final states
  bool is_of_library = false;       // whether libraries have the cell
};

// Autograd is off in an operator's kernel. This switches it on for the layer, whose own graph records the pass.
class RecordGraph {
 public:
  explicit RecordGraph(bool on) : keys_(included_keys()), mode_(on) {}

 private:
  static c10::impl::LocalDispatchKeySet included_keys() {
    c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
    keys.excluded_ = keys.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView;
    return keys;
  }

  c10::impl::ForceDispatchKeyGuard keys_;
  c10::AutoGradMode mode_;
};

// Sets autocast to `type`, or off. Its cache is off, because it would keep conversions of weights that change.
class Autocast {
 public:
  Autocast(c10::DeviceType device, std::optional<at::ScalarType> type)
      : device_(device),
        was_enabled_(at::autocast::is_autocast_enabled(device)),
        was_cached_(at::autocast::is_autocast_cache_enabled()),
        type_before_(at::autocast::get_autocast_dtype(device)) {
    at::autocast::set_autocast_enabled(device, type.has_value());
    at::autocast::set_autocast_cache_enabled(false);
    if (type) at::autocast::set_autocast_dtype(device, *type);
  }
  ~Autocast() {
    at::autocast::set_autocast_dtype(device_, type_before_);
    at::autocast::set_autocast_cache_enabled(was_cached_);
    at::autocast::set_autocast_enabled(device_, was_enabled_);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  c10::DeviceType device_;
  bool was_enabled_, was_cached_;
  at::ScalarType type_before_;
};

void free_graph(void* graph) { delete static_cast<PassGraph*>(graph); }

// Returns a tensor of one zero byte that owns the graph: autograd and torch.compile keep it from the forward to the
// backward pass like any saved tensor, and the graph is freed with it.
at::Tensor owner_of(std::unique_ptr<PassGraph> graph) {
  static uint8_t zero = 0;
  if (graph == nullptr) return at::zeros({1}, at::kByte);
  c10::DataPtr data(&zero, graph.release(), &free_graph, c10::Device(c10::kCPU));
  const c10::Storage storage(c10::Storage::use_byte_size_t(), 1, std::move(data));
  return at::empty({0}, at::kByte).set_(storage, 0, {1});
}

const PassGraph& graph_of(const at::Tensor& owner) {
  const auto* graph = owner.storage().data_ptr().cast_context<PassGraph>(&free_graph);
  TORCH_CHECK(graph != nullptr,
              "rnnlab: this forward pass kept no graph, or its saved tensors were copied; saved_tensors_hooks that "
              "copy tensors of the CPU do not work with rnnlab's layers");
  return *graph;
}

at::Tensor leaf_of(const at::Tensor& tensor, bool needs_gradient) {
  return tensor.detach().requires_grad_(needs_gradient);
}

// Which arguments need a gradient.
struct Needs {
  bool input, states, weights;
  bool any() const { return input || states || weights; }
};

struct Call {
  at::Tensor input;  // (T, B, I)
  std::vector<at::Tensor> states;
  at::TensorList weights;  // in the order of parameter_specs
  at::Tensor lengths;      // undefined if every sequence is whole
  bool is_training;
  Needs needs;
  std::optional<at::ScalarType> autocast;
  at::ScalarType result_type, inner_type;
};

void check_weights(const RecurrentOptions& options, const Call& call) {
  const std::vector<ParameterSpec> specs = parameter_specs(options);
  if (specs.size() != call.weights.size())
    throw_error(ExitCode::kUsage, "{} weights were given, but the layer has {}", call.weights.size(), specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    const at::Tensor& weight = call.weights[i];
    if (weight.sizes() != at::IntArrayRef(specs[i].shape))
      throw_error(ExitCode::kUsage, "{} has the shape ({}), wanted ({})", specs[i].name,
                  fmt::join(weight.sizes(), ", "), fmt::join(specs[i].shape, ", "));
    if (weight.device() != call.input.device())
      throw_error(ExitCode::kUsage, "the input is on {}, but {} is on {}; move both to one device",
                  call.input.device().str(), specs[i].name, weight.device().str());
    if (weight.scalar_type() != call.weights.front().scalar_type())
      throw_error(ExitCode::kUsage, "{} is {}, but {} is {}; give all weights one type", specs[i].name,
                  c10::toString(weight.scalar_type()), specs.front().name,
                  c10::toString(call.weights.front().scalar_type()));
  }
}

RecurrentState state_of(const std::vector<at::Tensor>& states) {
  RecurrentState state = {states.front()};
  state.inner.assign(states.begin() + 1, states.end());
  return state;
}

std::unique_ptr<PassGraph> run(LayerKind kind, const RecurrentOptions& options, const Call& call) {
  check_weights(options, call);
  const LayerInUse layer = LayerPool::instance().take({kind, options, call.input.device()});
  auto graph = std::make_unique<PassGraph>();
  graph->is_of_library = info_of(options.cell).library.has_value();
  graph->input = leaf_of(call.input, call.needs.input);
  for (const at::Tensor& state : call.states) graph->states.push_back(leaf_of(state, call.needs.states));
  for (const at::Tensor& weight : call.weights) graph->weights.push_back(leaf_of(weight, call.needs.weights));
  layer->use_weights(graph->weights);
  layer->train(call.is_training);
  const Autocast autocast(call.input.device().type(), call.autocast);
  const RecordGraph record(call.needs.any());
  const RecurrentResult result = layer->forward(graph->input, state_of(graph->states), call.lengths);
  graph->results = {result.output.to(call.result_type), result.state.hidden.to(call.result_type)};
  for (const at::Tensor& inner : result.state.inner) graph->results.push_back(inner.to(call.inner_type));
  return graph;
}

// Results must not share memory with each other or with what the backward pass needs.
at::Tensor as_result(const at::Tensor& tensor, bool is_kept) {
  const at::Tensor result = tensor.detach();
  return is_kept || !result.is_contiguous() ? result.clone(at::MemoryFormat::Contiguous) : result;
}

using Results = std::tuple<at::Tensor, std::vector<at::Tensor>, at::Tensor>;

Results recurrent(const at::Tensor& input, at::TensorList states, at::TensorList weights,
                  const std::optional<at::Tensor>& lengths, std::string_view cell, std::string_view implementation,
                  int64_t num_layers, bool bidirectional, double dropout, bool training, bool needs_input,
                  bool needs_states, bool needs_weights, std::optional<at::ScalarType> autocast,
                  at::ScalarType result_type, at::ScalarType inner_type) {
  return with_python_errors([&] {
    if (input.is_cuda()) load_cuda_library();
    RecurrentOptions options = options_of_cell(cell);
    options.input_size = input.size(2);
    options.hidden_size = states.front().size(2);
    options.num_layers = num_layers;
    options.bidirectional = bidirectional;
    options.dropout = dropout;
    const auto kind = value_of<LayerKind>(implementation, "implementation");
    const Call call = {input,     states.vec(),
                       weights,   lengths.value_or(at::Tensor()),
                       training,  {needs_input, needs_states, needs_weights},
                       autocast,  result_type,
                       inner_type};
    std::unique_ptr<PassGraph> graph = run(kind, options, call);
    const bool is_kept = call.needs.any();
    std::vector<at::Tensor> final_states;
    for (size_t i = 1; i < graph->results.size(); ++i)
      final_states.push_back(as_result(graph->results[i], /*is_kept=*/true));
    const at::Tensor output = as_result(graph->results.front(), is_kept);
    if (!is_kept) graph.reset();
    return Results(output, final_states, owner_of(std::move(graph)));
  });
}

// Returns the arguments whose gradients are needed, in the order input, states, weights.
std::vector<at::Tensor> needed_arguments(const PassGraph& graph, const Needs& needs) {
  std::vector<at::Tensor> arguments;
  if (needs.input) arguments.push_back(graph.input);
  if (needs.states) arguments.insert(arguments.end(), graph.states.begin(), graph.states.end());
  if (needs.weights) arguments.insert(arguments.end(), graph.weights.begin(), graph.weights.end());
  return arguments;
}

// In the cells of libraries every argument acts on every result, so a gradient that is missing was lost, and zeros
// would hide that. In other cells a result may be independent of an argument.
at::Tensor gradient_found(const at::Tensor& gradient, const at::Tensor& argument, bool is_of_library) {
  if (!gradient.defined() && !is_of_library) return at::zeros_like(argument.detach());
  TORCH_CHECK(gradient.defined(),
              "rnnlab: a gradient was lost in the backward pass of a layer; this is a defect of rnnlab");
  return gradient.contiguous();
}

// Returns the gradients that are needed, in the order input, states, weights.
std::vector<at::Tensor> recurrent_backward(const at::Tensor& graph_owner,
                                           const c10::List<std::optional<at::Tensor>>& upstream, const at::Tensor&,
                                           at::TensorList, at::TensorList, bool needs_input, bool needs_states,
                                           bool needs_weights) {
  return with_python_errors([&] {
    const PassGraph& graph = graph_of(graph_owner);
    const std::vector<at::Tensor> arguments = needed_arguments(graph, {needs_input, needs_states, needs_weights});
    torch::autograd::edge_list roots, edges;
    std::vector<at::Tensor> gradients;
    for (size_t i = 0; i < graph.results.size(); ++i) {
      const std::optional<at::Tensor> given = upstream.get(i);
      if (!given || !given->defined() || !graph.results[i].requires_grad()) continue;
      roots.push_back(torch::autograd::impl::gradient_edge(graph.results[i]));
      gradients.push_back(given->to(graph.results[i].scalar_type()));
    }
    std::vector<at::Tensor> found;
    if (roots.empty()) {
      for (const at::Tensor& argument : arguments) found.push_back(at::zeros_like(argument.detach()));
      return found;
    }
    for (const at::Tensor& argument : arguments) edges.push_back(torch::autograd::impl::gradient_edge(argument));
    const RecordGraph record(false);
    found =
        torch::autograd::Engine::get_default_engine().execute(roots, gradients, /*keep_graph=*/true,
                                                              /*create_graph=*/false, /*accumulate_grad=*/false, edges);
    for (size_t i = 0; i < found.size(); ++i) found[i] = gradient_found(found[i], arguments[i], graph.is_of_library);
    return found;
  });
}

// ---- the derivative of `recurrent` ----

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The arguments of `recurrent` without a gradient.
struct Settings {
  std::optional<at::Tensor> lengths;
  std::string_view cell, implementation;
  int64_t num_layers;
  bool bidirectional;
  double dropout;
  bool training;
  Needs needs;
  std::optional<at::ScalarType> autocast;
  at::ScalarType result_type, inner_type;
};

// The calls go through PyTorch's dispatcher, where torch.compile records them.
Results call_recurrent(const at::Tensor& input, at::TensorList states, at::TensorList weights, const Settings& s) {
  static const auto kOperator =
      c10::Dispatcher::singleton().findSchemaOrThrow("rnnlab::recurrent", "").typed<decltype(recurrent)>();
  return kOperator.call(input, states, weights, s.lengths, s.cell, s.implementation, s.num_layers, s.bidirectional,
                        s.dropout, s.training, s.needs.input, s.needs.states, s.needs.weights, s.autocast,
                        s.result_type, s.inner_type);
}

std::vector<at::Tensor> call_recurrent_backward(const at::Tensor& graph,
                                                const c10::List<std::optional<at::Tensor>>& upstream,
                                                const at::Tensor& input, at::TensorList states, at::TensorList weights,
                                                const Needs& needs) {
  static const auto kOperator = c10::Dispatcher::singleton()
                                    .findSchemaOrThrow("rnnlab::recurrent_backward", "")
                                    .typed<decltype(recurrent_backward)>();
  return kOperator.call(graph, upstream, input, states, weights, needs.input, needs.states, needs.weights);
}

class RecurrentFunction : public torch::autograd::Function<RecurrentFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& input, at::TensorList states,
                               at::TensorList weights, const Settings& settings) {
    const at::AutoDispatchBelowADInplaceOrView without_autograd;
    auto [output, final_states, graph] = call_recurrent(input, states, weights, settings);
    variable_list saved = {graph, input};
    saved.insert(saved.end(), states.begin(), states.end());
    saved.insert(saved.end(), weights.begin(), weights.end());
    context->save_for_backward(std::move(saved));
    context->set_materialize_grads(false);
    context->mark_non_differentiable({graph});
    context->saved_data["num_states"] = static_cast<int64_t>(states.size());
    context->saved_data["needs_input"] = settings.needs.input;
    context->saved_data["needs_states"] = settings.needs.states;
    context->saved_data["needs_weights"] = settings.needs.weights;
    variable_list results = {output, graph};
    results.insert(results.end(), final_states.begin(), final_states.end());
    return results;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto num_states = static_cast<size_t>(context->saved_data["num_states"].toInt());
    const at::TensorList states = at::TensorList(saved).slice(2, num_states);
    const at::TensorList weights = at::TensorList(saved).slice(2 + num_states);
    const Needs needs = {context->saved_data["needs_input"].toBool(), context->saved_data["needs_states"].toBool(),
                         context->saved_data["needs_weights"].toBool()};
    const variable_list found =
        call_recurrent_backward(saved[0], upstream_of(gradients), saved[1], states, weights, needs);
    auto next = found.begin();
    variable_list results;
    const auto append = [&](size_t count, bool is_needed) {
      for (size_t i = 0; i < count; ++i) results.push_back(is_needed ? *next++ : at::Tensor());
    };
    append(1, needs.input);
    append(states.size(), needs.states);
    append(weights.size(), needs.weights);
    results.emplace_back();  // the settings
    return results;
  }

 private:
  // Returns the gradients of the output and of the final states; that of the graph's owner, the second, is left out.
  static c10::List<std::optional<at::Tensor>> upstream_of(const variable_list& gradients) {
    c10::List<std::optional<at::Tensor>> upstream;
    for (size_t i = 0; i < gradients.size(); ++i)
      if (i != 1) upstream.push_back(gradients[i].defined() ? std::optional(gradients[i]) : std::nullopt);
    return upstream;
  }
};

void refuse_tangents(at::TensorList tensors) {
  for (const at::Tensor& tensor : tensors)
    TORCH_CHECK(!tensor._fw_grad(/*level=*/0).defined(),
                "rnnlab's layers have no forward-mode derivative; make the layer with implementation=\"torch\"");
}

Results differentiable_recurrent(const at::Tensor& input, at::TensorList states, at::TensorList weights,
                                 const std::optional<at::Tensor>& lengths, std::string_view cell,
                                 std::string_view implementation, int64_t num_layers, bool bidirectional,
                                 double dropout, bool training, bool needs_input, bool needs_states, bool needs_weights,
                                 std::optional<at::ScalarType> autocast, at::ScalarType result_type,
                                 at::ScalarType inner_type) {
  for (const at::TensorList tensors : {at::TensorList(input), states, weights}) refuse_tangents(tensors);
  const Settings settings = {lengths,       cell,        implementation, num_layers,
                             bidirectional, dropout,     training,       {needs_input, needs_states, needs_weights},
                             autocast,      result_type, inner_type};
  if (!settings.needs.any()) {
    const at::AutoDispatchBelowADInplaceOrView without_autograd;
    return call_recurrent(input, states, weights, settings);
  }
  variable_list results = RecurrentFunction::apply(input, states, weights, settings);
  return {results[0], {results.begin() + 2, results.end()}, results[1]};
}

// Gives the gradients a history that says what to do if somebody asks for second derivatives.
std::vector<at::Tensor> once_differentiable_backward(const at::Tensor& graph,
                                                     const c10::List<std::optional<at::Tensor>>& upstream,
                                                     const at::Tensor& input, at::TensorList states,
                                                     at::TensorList weights, bool needs_input, bool needs_states,
                                                     bool needs_weights) {
  std::vector<at::Tensor> found;
  {
    const at::AutoDispatchBelowADInplaceOrView without_autograd;
    found =
        call_recurrent_backward(graph, upstream, input, states, weights, {needs_input, needs_states, needs_weights});
  }
  variable_list inputs = {input};
  inputs.insert(inputs.end(), states.begin(), states.end());
  inputs.insert(inputs.end(), weights.begin(), weights.end());
  for (const std::optional<at::Tensor>& given : upstream.vec())
    if (given) inputs.push_back(*given);
  if (!torch::autograd::compute_requires_grad(inputs)) return found;
  const auto refusal = std::make_shared<torch::autograd::Error>(
      "rnnlab's layers have no second derivatives; make the layer with implementation=\"torch\", and switch off the "
      "library that has none either: torch.backends.cudnn.flags(enabled=False) on a GPU, "
      "torch.backends.mkldnn.flags(enabled=False) on a CPU",
      torch::autograd::collect_next_edges(inputs));
  for (at::Tensor& gradient : found) torch::autograd::set_history(gradient, refusal);
  return found;
}

TORCH_LIBRARY(rnnlab, library) {
  library.def(
      "recurrent(Tensor input, Tensor[] states, Tensor[] weights, Tensor? lengths, str cell, str implementation, "
      "int num_layers, bool bidirectional, float dropout, bool training, bool needs_input, bool needs_states, "
      "bool needs_weights, ScalarType? autocast, ScalarType result_type, ScalarType inner_type) -> (Tensor, Tensor[], "
      "Tensor)");
  library.def(
      "recurrent_backward(Tensor graph, Tensor?[] upstream, Tensor input, Tensor[] states, Tensor[] weights, "
      "bool needs_input, bool needs_states, bool needs_weights) -> Tensor[]");
  library.def("implementations() -> str[]", [] { return config::names_of<LayerKind>(); });
}

TORCH_LIBRARY_IMPL(rnnlab, CPU, library) {
  library.impl("recurrent", &recurrent);
  library.impl("recurrent_backward", &recurrent_backward);
}

TORCH_LIBRARY_IMPL(rnnlab, CUDA, library) {
  library.impl("recurrent", &recurrent);
  library.impl("recurrent_backward", &recurrent_backward);
}

TORCH_LIBRARY_IMPL(rnnlab, Autograd, library) {
  library.impl("recurrent", &differentiable_recurrent);
  library.impl("recurrent_backward", &once_differentiable_backward);
}

}  // namespace
}  // namespace rnnlab::operators
