// SPDX-License-Identifier: Apache-2.0
// Registers the layers as operators of PyTorch, torch.ops.rnnlab.*: `recurrent` computes a layer, and
// `recurrent_backward` its gradients. They are functions of tensors, so that torch.compile, autograd and torch.library
// handle them as they handle PyTorch's own; python/rnnlab/operators.py adds their shapes for torch.compile. The
// derivative of `recurrent` is C++, because one of torch.library in Python takes several times as long as a small
// layer; a pass that is differentiated is `recurrent_with_graph` there. `recurrent_by_steps` computes the same by
// PyTorch's own operators, which PyTorch can differentiate any number of times, in forward mode, and in the transforms
// of torch.func. No function here knows Python.
#include <ATen/autocast_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/library.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <tuple>

#include "layers/device/cuda_library.h"
#include "layers/torch_ops/cell_spec.h"
#include "layers/torch_ops/layer_pool.h"
#include "layers/torch_ops/python_errors.h"

namespace rnnlab::operators {
namespace {

// Which arguments need a gradient.
struct Needs {
  bool input = false, states = false, weights = false;
  bool any() const { return input || states || weights; }
};

// The arguments of an operator that are not differentiated.
struct Settings {
  std::optional<at::Tensor> lengths;  // missing if every sequence is whole
  std::optional<at::Tensor> starts;   // missing if no step starts
  std::string_view cell;
  int64_t num_layers = 1;
  bool bidirectional = false;
  double dropout = 0;
  bool training = false;
  std::optional<at::ScalarType> autocast;
  at::ScalarType result_type = at::kFloat, inner_type = at::kFloat;
  bool all_states = false;

  std::vector<PassFeature> features() const {
    std::vector<PassFeature> used;
    if (starts) used.push_back(PassFeature::kStarts);
    if (all_states) used.push_back(PassFeature::kAllStates);
    return used;
  }
};

struct Call {
  at::Tensor input;                 // (T, B, I)
  std::vector<at::Tensor> states;   // each (L * D, B, H), or (L * D, 0, H) if it is zero
  std::vector<at::Tensor> weights;  // in the order of parameter_specs
};

// The results of a forward pass with autograd's graph from the arguments to them. The leaves are the pass's own: they
// share the memory of the caller's tensors, but nothing that another pass could change.
struct PassGraph {
  Call arguments;                   // leaves of the graph
  std::vector<at::Tensor> results;  // as run() returns them
  bool is_of_library = false;       // whether libraries have the cell
  std::string cell;                 // which the settings name
  Settings settings;
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

RecurrentOptions options_of(const Settings& settings, const Call& call) {
  if (call.input.is_cuda()) load_cuda_library();
  RecurrentOptions options = options_of_cell(settings.cell);
  options.input_size = call.input.size(2);
  options.hidden_size = call.states.front().size(2);
  options.num_layers = settings.num_layers;
  options.bidirectional = settings.bidirectional;
  options.dropout = settings.dropout;
  return options;
}

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

// States without elements are zero.
RecurrentState state_of(const std::vector<at::Tensor>& states) {
  const auto given = [](const at::Tensor& state) { return state.numel() == 0 ? at::Tensor() : state; };
  RecurrentState state = {given(states.front())};
  std::transform(states.begin() + 1, states.end(), std::back_inserter(state.inner), given);
  return state;
}

// Returns the output, the final states, and the states of all steps if they were asked for. Autograd records the pass
// if it is on.
std::vector<at::Tensor> run(LayerKind kind, const Call& call, const Settings& settings) {
  const RecurrentOptions options = options_of(settings, call);
  check_weights(options, call);
  if (const auto features = settings.features(); !features.empty())  // LayerPool asks about the options
    require_supported(kind, {.options = options, .features = features});
  const LayerInUse layer = LayerPool::instance().take({kind, options, call.input.device()});
  layer->use_weights(call.weights);
  layer->train(settings.training);
  const Autocast autocast(call.input.device().type(), settings.autocast);
  const RecurrentResult result = layer->forward(
      call.input, state_of(call.states), settings.lengths.value_or(at::Tensor()),
      settings.starts.value_or(at::Tensor()), settings.all_states ? StatesOf::kEveryStep : StatesOf::kLastStep);
  std::vector<at::Tensor> results = {result.output.to(settings.result_type),
                                     result.state.hidden.to(settings.result_type)};
  for (const at::Tensor& inner : result.state.inner) results.push_back(inner.to(settings.inner_type));
  for (size_t i = 0; i < result.all_states.size(); ++i)
    results.push_back(result.all_states[i].to(i == 0 ? settings.result_type : settings.inner_type));
  return results;
}

std::unique_ptr<PassGraph> recorded(LayerKind kind, const Call& call, const Settings& settings, const Needs& needs) {
  auto graph = std::make_unique<PassGraph>();
  graph->arguments.input = leaf_of(call.input, needs.input);
  for (const at::Tensor& state : call.states) graph->arguments.states.push_back(leaf_of(state, needs.states));
  for (const at::Tensor& weight : call.weights) graph->arguments.weights.push_back(leaf_of(weight, needs.weights));
  const RecordGraph record(needs.any());
  graph->results = run(kind, graph->arguments, settings);
  if (!needs.any()) return graph;
  graph->is_of_library = info_of(options_of_cell(settings.cell).cell).library.has_value();
  graph->cell = settings.cell;
  graph->settings = settings;
  graph->settings.cell = graph->cell;
  return graph;
}

// Results must not share memory with each other or with what the backward pass needs.
at::Tensor as_result(const at::Tensor& tensor, bool may_be_shared) {
  const bool is_shared = may_be_shared && (tensor.use_count() > 1 || tensor.storage().use_count() > 1);
  const at::Tensor result = tensor.detach();
  return is_shared || !result.is_contiguous() ? result.clone(at::MemoryFormat::Contiguous) : result;
}

using Results = std::tuple<at::Tensor, std::vector<at::Tensor>, at::Tensor>;

Results recurrent(const at::Tensor& input, at::TensorList states, at::TensorList weights,
                  const std::optional<at::Tensor>& lengths, std::string_view cell, std::string_view implementation,
                  int64_t num_layers, bool bidirectional, double dropout, bool training, bool needs_input,
                  bool needs_states, bool needs_weights, std::optional<at::ScalarType> autocast,
                  at::ScalarType result_type, at::ScalarType inner_type, const std::optional<at::Tensor>& starts,
                  bool all_states) {
  return with_python_errors([&] {
    const Settings settings = {lengths,  starts,   cell,        num_layers, bidirectional, dropout,
                               training, autocast, result_type, inner_type, all_states};
    const Needs needs = {needs_input, needs_states, needs_weights};
    std::unique_ptr<PassGraph> graph = recorded(value_of<LayerKind>(implementation, "implementation"),
                                                {input, states.vec(), weights.vec()}, settings, needs);
    const auto is_final_state = [&](size_t i) { return i <= states.size(); };  // others are new tensors
    std::vector<at::Tensor> others;
    for (size_t i = 1; i < graph->results.size(); ++i)
      others.push_back(as_result(graph->results[i], is_final_state(i)));
    const at::Tensor output = as_result(graph->results.front(), needs.any());
    if (!needs.any()) graph.reset();
    return Results(output, others, owner_of(std::move(graph)));
  });
}

using ResultsBySteps = std::tuple<at::Tensor, std::vector<at::Tensor>>;

ResultsBySteps recurrent_by_steps(const at::Tensor& input, at::TensorList states, at::TensorList weights,
                                  const std::optional<at::Tensor>& lengths, const std::optional<at::Tensor>& starts,
                                  std::string_view cell, int64_t num_layers, bool bidirectional, double dropout,
                                  bool training, std::optional<at::ScalarType> autocast, at::ScalarType result_type,
                                  at::ScalarType inner_type, bool all_states) {
  return with_python_errors([&] {
    const Settings settings = {lengths,  starts,   cell,        num_layers, bidirectional, dropout,
                               training, autocast, result_type, inner_type, all_states};
    const std::vector<at::Tensor> results = run(LayerKind::kNaive, {input, states.vec(), weights.vec()}, settings);
    return ResultsBySteps(results.front(), {results.begin() + 1, results.end()});
  });
}

// Returns the arguments whose gradients are needed, in the order input, states, weights.
std::vector<at::Tensor> needed_arguments(const Call& call, const Needs& needs) {
  std::vector<at::Tensor> arguments;
  if (needs.input) arguments.push_back(call.input);
  if (needs.states) arguments.insert(arguments.end(), call.states.begin(), call.states.end());
  if (needs.weights) arguments.insert(arguments.end(), call.weights.begin(), call.weights.end());
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
    const std::vector<at::Tensor> arguments =
        needed_arguments(graph.arguments, {needs_input, needs_states, needs_weights});
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

// Returns one gradient for each argument, undefined where none is needed, of those that are.
variable_list for_all_arguments(const std::vector<at::Tensor>& found, size_t num_states, size_t num_weights,
                                const Needs& needs) {
  auto next = found.begin();
  variable_list all;
  const auto append = [&](size_t count, bool is_needed) {
    for (size_t i = 0; i < count; ++i) all.push_back(is_needed ? *next++ : at::Tensor());
  };
  append(1, needs.input);
  append(num_states, needs.states);
  append(num_weights, needs.weights);
  return all;
}

// The calls go through PyTorch's dispatcher, where torch.compile records them. A pass that keeps a graph is an operator
// of its own, because the CUDA graphs of torch.compile refuse memory that is in no tensor they know.
Results call_recurrent(const Call& call, std::string_view implementation, const Settings& s, const Needs& needs) {
  const auto named = [](const char* name) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<decltype(recurrent)>();
  };
  static const auto kWithGraph = named("rnnlab::recurrent_with_graph"), kWithoutGraph = named("rnnlab::recurrent");
  const auto& one = needs.any() ? kWithGraph : kWithoutGraph;
  return one.call(call.input, call.states, call.weights, s.lengths, s.cell, implementation, s.num_layers,
                  s.bidirectional, s.dropout, s.training, needs.input, needs.states, needs.weights, s.autocast,
                  s.result_type, s.inner_type, s.starts, s.all_states);
}

std::vector<at::Tensor> call_recurrent_backward(const at::Tensor& graph,
                                                const c10::List<std::optional<at::Tensor>>& upstream, const Call& call,
                                                const Needs& needs) {
  static const auto kOperator = c10::Dispatcher::singleton()
                                    .findSchemaOrThrow("rnnlab::recurrent_backward", "")
                                    .typed<decltype(recurrent_backward)>();
  return kOperator.call(graph, upstream, call.input, call.states, call.weights, needs.input, needs.states,
                        needs.weights);
}

// Some weights may be frozen, or zeros in the place of biases.
variable_list trained_of(const variable_list& arguments) {
  variable_list trained;
  std::ranges::copy_if(arguments, std::back_inserter(trained),
                       [](const at::Tensor& one) { return one.requires_grad(); });
  return trained;
}

// Returns the gradients of the arguments, which are zeros where no result depends on one.
variable_list gradients_of(const std::vector<at::Tensor>& results, const variable_list& upstream,
                           const variable_list& arguments, bool is_differentiable) {
  variable_list roots, gradients;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!upstream[i].defined() || !results[i].requires_grad()) continue;
    roots.push_back(results[i]);
    gradients.push_back(upstream[i]);
  }
  variable_list found(arguments.size());
  if (!roots.empty())
    found = torch::autograd::grad(roots, arguments, gradients, /*retain_graph=*/is_differentiable, is_differentiable,
                                  /*allow_unused=*/true);
  for (size_t i = 0; i < found.size(); ++i)
    if (!found[i].defined()) found[i] = at::zeros_like(arguments[i]);
  return found;
}

// Returns the gradients that are needed by operators of PyTorch, which can be differentiated and vectorised: the pass
// is computed again step by step. Copies of the arguments keep the paths between the arguments out of the gradients.
std::vector<at::Tensor> gradients_by_steps(const Call& call, const Settings& settings, const Needs& needs,
                                           const variable_list& upstream) {
  TORCH_CHECK(settings.dropout == 0 || !settings.training,
              "rnnlab: a layer with dropout has no second derivatives and no batched gradients in training, because it "
              "would draw other zeros; call layer.eval(), or put torch.nn.Dropout between layers of your own");
  const bool is_differentiable = c10::GradMode::is_enabled();
  const c10::AutoGradMode record(true);
  const auto copies_of = [](const std::vector<at::Tensor>& tensors) {
    std::vector<at::Tensor> copies;
    for (const at::Tensor& tensor : tensors) copies.push_back(tensor.view_as(tensor));
    return copies;
  };
  const Call copy = {call.input.view_as(call.input), copies_of(call.states), copies_of(call.weights)};
  const std::vector<at::Tensor> results = with_python_errors([&] { return run(LayerKind::kNaive, copy, settings); });
  variable_list arguments = needed_arguments(copy, needs);
  const variable_list found = gradients_of(results, upstream, trained_of(arguments), is_differentiable);
  auto next = found.begin();
  for (at::Tensor& argument : arguments) argument = argument.requires_grad() ? *next++ : at::Tensor();
  return arguments;
}

// Whether vmap computes several gradients at once, as torch.autograd.grad(is_grads_batched=True) has it.
bool is_batched(const at::Tensor& gradient) {
  return gradient.defined() && gradient.key_set().has_any(c10::DispatchKeySet(
                                   {c10::DispatchKey::Batched, c10::DispatchKey::FuncTorchBatched}));
}

class RecurrentFunction : public torch::autograd::Function<RecurrentFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& input, at::TensorList states,
                               at::TensorList weights, std::string_view implementation, const Settings& settings,
                               const Needs& needs) {
    const at::AutoDispatchBelowADInplaceOrView without_autograd;
    auto [output, others, graph] =
        call_recurrent({input, states.vec(), weights.vec()}, implementation, settings, needs);
    // Lengths and starts are those of the graph's settings; saved, they are known not to have changed.
    variable_list saved = {graph, settings.lengths.value_or(at::Tensor()), settings.starts.value_or(at::Tensor()),
                           input};
    saved.insert(saved.end(), states.begin(), states.end());
    saved.insert(saved.end(), weights.begin(), weights.end());
    context->save_for_backward(std::move(saved));
    context->set_materialize_grads(false);
    context->mark_non_differentiable({graph});
    context->saved_data["num_states"] = static_cast<int64_t>(states.size());
    context->saved_data["needs_input"] = needs.input;
    context->saved_data["needs_states"] = needs.states;
    context->saved_data["needs_weights"] = needs.weights;
    variable_list results = {output, graph};
    results.insert(results.end(), others.begin(), others.end());
    return results;
  }

  static variable_list backward(AutogradContext* context, variable_list upstream) {
    upstream.erase(upstream.begin() + 1);  // of the graph's owner
    const variable_list saved = context->get_saved_variables();
    const auto num_states = context->saved_data["num_states"].toInt();
    const Needs needs = {context->saved_data["needs_input"].toBool(), context->saved_data["needs_states"].toBool(),
                         context->saved_data["needs_weights"].toBool()};
    const Call call = {
        saved[3], {saved.begin() + 4, saved.begin() + 4 + num_states}, {saved.begin() + 4 + num_states, saved.end()}};
    const std::vector<at::Tensor> found = c10::GradMode::is_enabled() || std::ranges::any_of(upstream, is_batched)
                                              ? gradients_by_steps(call, graph_of(saved[0]).settings, needs, upstream)
                                              : call_recurrent_backward(saved[0], optional(upstream), call, needs);
    variable_list all = for_all_arguments(found, call.states.size(), call.weights.size(), needs);
    all.resize(all.size() + 3);  // the arguments without a gradient
    return all;
  }

 private:
  static c10::List<std::optional<at::Tensor>> optional(const variable_list& tensors) {
    c10::List<std::optional<at::Tensor>> all;
    for (const at::Tensor& tensor : tensors) all.push_back(tensor.defined() ? std::optional(tensor) : std::nullopt);
    return all;
  }
};

bool has_tangent(at::TensorList tensors) {
  return std::ranges::any_of(tensors, [](const at::Tensor& tensor) { return tensor._fw_grad(/*level=*/0).defined(); });
}

Results differentiable_recurrent(const at::Tensor& input, at::TensorList states, at::TensorList weights,
                                 const std::optional<at::Tensor>& lengths, std::string_view cell,
                                 std::string_view implementation, int64_t num_layers, bool bidirectional,
                                 double dropout, bool training, bool needs_input, bool needs_states, bool needs_weights,
                                 std::optional<at::ScalarType> autocast, at::ScalarType result_type,
                                 at::ScalarType inner_type, const std::optional<at::Tensor>& starts, bool all_states) {
  const Settings settings = {lengths,  starts,   cell,        num_layers, bidirectional, dropout,
                             training, autocast, result_type, inner_type, all_states};
  const Needs needs = {needs_input, needs_states, needs_weights};
  const Call call = {input, states.vec(), weights.vec()};
  if (has_tangent(input) || has_tangent(states) || has_tangent(weights)) {
    const std::vector<at::Tensor> results = with_python_errors([&] { return run(LayerKind::kNaive, call, settings); });
    return {results.front(), {results.begin() + 1, results.end()}, owner_of(nullptr)};
  }
  if (!needs.any() || !c10::GradMode::is_enabled()) {  // compiled code differentiates by itself
    const at::AutoDispatchBelowADInplaceOrView without_autograd;
    return call_recurrent(call, implementation, settings, needs);
  }
  variable_list results = RecurrentFunction::apply(input, states, weights, implementation, settings, needs);
  return {results[0], {results.begin() + 2, results.end()}, results[1]};
}

TORCH_LIBRARY(rnnlab, library) {
  const std::string arguments =
      "(Tensor input, Tensor[] states, Tensor[] weights, Tensor? lengths, str cell, str implementation, "
      "int num_layers, bool bidirectional, float dropout, bool training, bool needs_input, bool needs_states, "
      "bool needs_weights, ScalarType? autocast, ScalarType result_type, ScalarType inner_type, Tensor? starts=None, "
      "bool all_states=False) -> (Tensor, Tensor[], Tensor)";
  library.def(("recurrent" + arguments).c_str());
  library.def(("recurrent_with_graph" + arguments).c_str(), {at::Tag::cudagraph_unsafe});
  library.def(
      "recurrent_by_steps(Tensor input, Tensor[] states, Tensor[] weights, Tensor? lengths, Tensor? starts, str cell, "
      "int num_layers, bool bidirectional, float dropout, bool training, ScalarType? autocast, ScalarType result_type, "
      "ScalarType inner_type, bool all_states) -> (Tensor, Tensor[])",
      &recurrent_by_steps);
  library.def(
      "recurrent_backward(Tensor graph, Tensor?[] upstream, Tensor input, Tensor[] states, Tensor[] weights, "
      "bool needs_input, bool needs_states, bool needs_weights) -> Tensor[]",
      {at::Tag::cudagraph_unsafe});
  library.def("implementations() -> str[]", [] { return config::names_of<LayerKind>(); });
}

TORCH_LIBRARY_IMPL(rnnlab, CPU, library) {
  library.impl("recurrent", &recurrent);
  library.impl("recurrent_with_graph", &recurrent);
  library.impl("recurrent_backward", &recurrent_backward);
}

TORCH_LIBRARY_IMPL(rnnlab, CUDA, library) {
  library.impl("recurrent", &recurrent);
  library.impl("recurrent_with_graph", &recurrent);
  library.impl("recurrent_backward", &recurrent_backward);
}

// vmap enters the operators that `recurrent_by_steps` is made of.
TORCH_LIBRARY_IMPL(rnnlab, FuncTorchBatchedDecomposition, library) {
  library.impl("recurrent_by_steps", &recurrent_by_steps);
}

TORCH_LIBRARY_IMPL(rnnlab, Autograd, library) {
  library.impl("recurrent", &differentiable_recurrent);
  library.impl("recurrent_with_graph", &differentiable_recurrent);
  library.impl("recurrent_backward", torch::autograd::autogradNotImplementedFallback());
}

}  // namespace
}  // namespace rnnlab::operators
