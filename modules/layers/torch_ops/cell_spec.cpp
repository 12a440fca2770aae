// SPDX-License-Identifier: Apache-2.0
#include "layers/torch_ops/cell_spec.h"

#include <torch/library.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/system/json_fields.h"
#include "layers/cells/cell_settings.h"
#include "layers/layer_kind.h"
#include "layers/parameters.h"
#include "layers/torch_ops/python_errors.h"

template <>
struct rnnlab::config::EnumNames<rnnlab::PassFeature> {
  static constexpr std::array<std::pair<PassFeature, std::string_view>, 2> kNames = {
      {{PassFeature::kStarts, "starts"}, {PassFeature::kAllStates, "all_states"}}};
};

namespace rnnlab::operators {
namespace {

struct CellSpec {
  Cell cell = Cell::kLstm;
  CellSettings own_cell = {};  // the map form of `cell`
#define RNNLAB_CELL_OPTION(enumerator, name, type, usual, noun, help) type name = usual;
#include "layers/option_list.inc"

  static const config::Schema<CellSpec>& schema();
};

const config::Schema<CellSpec>& CellSpec::schema() {
  static const config::Schema<CellSpec> schema = [] {
    config::Schema<CellSpec> s("A cell and its options");
    s.field("cell", &CellSpec::cell, "the recurrent cell");
    s.map_form("cell", &CellSpec::own_cell, CellSettings::schema());
#define RNNLAB_CELL_OPTION(enumerator, name, type, usual, noun, help) s.field(#name, &CellSpec::name, help);
#include "layers/option_list.inc"
    s.check([](const CellSpec& spec, config::Checker& checker) {
      if (spec.heads < 1) checker.complain({"heads"}, "expected at least 1");
    });
    return s;
  }();
  return schema;
}

// Python makes the text of its arguments, in which lines and columns would mean nothing to a user.
config::Document document_without_places(std::string_view text, const std::string& source, config::Findings& findings) {
  const auto no_place = [&](int /*line*/, int /*column*/) { return config::Place{.source = source}; };
  const auto root = config::parse_yaml(text, no_place, findings);
  findings.throw_if_any();
  return config::Document::from_text("{}", source, findings).with_root(root.value_or(config::Value()));
}

template <class Settings>
Settings settings_in(std::string_view text, const std::string& source) {
  config::Findings findings;
  const config::Document document = document_without_places(text, source, findings);
  Settings settings = config::read(document, Settings::schema(), findings);
  findings.throw_if_any();
  return settings;
}

RecurrentOptions read_options(std::string_view spec) {
  if (const auto cell = config::from_name<Cell>(spec)) return {.cell = *cell};
  const auto settings = settings_in<CellSpec>(spec, "the cell");
  return {
      .cell = settings.own_cell.is_given() ? own_cell(settings.own_cell.text()).value() : settings.cell,
#define RNNLAB_CELL_OPTION(enumerator, name, type, usual, noun, help) .name = settings.name,
#include "layers/option_list.inc"
  };
}

}  // namespace

RecurrentOptions options_of_cell(std::string_view spec) {
  static std::mutex mutex;
  static std::map<std::string, RecurrentOptions, std::less<>> known;
  const std::scoped_lock lock(mutex);
  const auto found = known.find(spec);
  if (found != known.end()) return found->second;
  return known.emplace(spec, read_options(spec)).first->second;
}

namespace {

// ---- what Python asks about cells; objects are texts in JSON ----

// Returns the keys of the cell's file and their values.
std::string fields_of(const CellSettings& settings) {
  return Json({{"name", settings.name},
               {"gates", settings.gates},
               {"states", settings.states},
               {"vectors", settings.vectors},
               {"biases", config::name_of(settings.biases)},
               {"heads", settings.heads},
               {"equations", settings.equations}})
      .dump();
}

std::string read_cell(std::string_view fields) {
  return with_python_errors([&] {
    const auto settings = settings_in<CellSettings>(fields, "the cell");
    if (!settings.is_given()) throw_error(ExitCode::kUsage, "the cell has no equations");
    return fields_of(settings);
  });
}

std::string read_cell_from(std::string_view path) {
  return with_python_errors([&] { return fields_of(read_cell_file(std::string(path))); });
}

std::string listed_cell(std::string_view name) {
  return with_python_errors([&] {
    const Cell cell = value_of<Cell>(name, "cell");
    return fields_of(settings_of(text_of({.cell = cell}), std::string(name)));
  });
}

// "cpu", "cuda", or "" for a device that is not known yet.
std::optional<Processor> processor_with(std::string_view device) {
  if (device.empty()) return std::nullopt;
  return device == "cuda" ? Processor::kGpu : Processor::kCpu;
}

RecurrentOptions options_of_layer(std::string_view cell, int64_t input_size, int64_t hidden_size, int64_t num_layers,
                                  bool bidirectional) {
  RecurrentOptions options = options_of_cell(cell);
  options.input_size = input_size;
  options.hidden_size = hidden_size;
  options.num_layers = num_layers;
  options.bidirectional = bidirectional;
  for (const Contradiction& one : contradictions(options))
    throw_error(ExitCode::kUsage, "{}: {}", join_with_and(one.keys), one.message);
  return options;
}

// Returns the shapes of the parameters by their names, in the order in which `recurrent` takes them.
std::string parameters(std::string_view cell, int64_t input_size, int64_t hidden_size, int64_t num_layers,
                       bool bidirectional) {
  return with_python_errors([&] {
    Json shapes = Json::object();
    for (const ParameterSpec& spec :
         parameter_specs(options_of_layer(cell, input_size, hidden_size, num_layers, bidirectional)))
      shapes[spec.name] = spec.shape;
    return shapes.dump();
  });
}

using Features = c10::List<std::string>;  // as EnumNames has them

std::vector<PassFeature> features_with(const Features& names) {
  std::vector<PassFeature> features;
  for (const std::string& name : names.vec()) features.push_back(value_of<PassFeature>(name, "feature"));
  return features;
}

// Returns for each layer why it cannot compute such a layer, with these features, on the device; "" if it can.
std::string layers_for(std::string_view cell, int64_t input_size, int64_t hidden_size, int64_t num_layers,
                       bool bidirectional, std::string_view device, const Features& features) {
  return with_python_errors([&] {
    const LayerWork work = {.options = options_of_layer(cell, input_size, hidden_size, num_layers, bidirectional),
                            .processor = processor_with(device),
                            .features = features_with(features)};
    Json reasons = Json::object();
    for (const LayerKind kind : layer_kinds()) {
      const auto refusal = why_unsupported(kind, work);
      reasons[std::string(config::name_of(kind))] = refusal ? refusal->message : "";
    }
    return reasons.dump();
  });
}

// Returns the layers that "auto" measures, as `layer: auto` does, the one that is usually the fastest first.
std::vector<std::string> candidates(std::string_view cell, int64_t input_size, int64_t hidden_size, int64_t num_layers,
                                    bool bidirectional, std::string_view device, std::string_view precision,
                                    const Features& features) {
  return with_python_errors([&] {
    const RecurrentOptions options = options_of_layer(cell, input_size, hidden_size, num_layers, bidirectional);
    std::vector<LayerKind> kinds =
        rnnlab::candidates(options, value_of<Precision>(precision, "precision"), processor_with(device));
    const LayerWork work = {.options = options, .features = features_with(features)};
    std::erase_if(kinds, [&](LayerKind kind) { return why_unsupported(kind, work).has_value(); });
    const auto is_likely = [](LayerKind kind) { return info_of(kind).auto_use == AutoUse::kAlways; };
    if (std::ranges::any_of(kinds, is_likely)) std::erase_if(kinds, std::not_fn(is_likely));
    std::vector<std::string> names;
    for (const LayerKind kind : kinds) names.emplace_back(config::name_of(kind));
    return names;
  });
}

TORCH_LIBRARY_FRAGMENT(rnnlab, library) {
  library.def("read_cell(str fields) -> str", &read_cell);
  library.def("read_cell_file(str path) -> str", &read_cell_from);
  library.def("listed_cell(str name) -> str", &listed_cell);
  library.def("parameters(str cell, int input_size, int hidden_size, int num_layers, bool bidirectional) -> str",
              &parameters);
  library.def(
      "layers_for(str cell, int input_size, int hidden_size, int num_layers, bool bidirectional, str device, "
      "str[] features) -> str",
      &layers_for);
  library.def(
      "candidates(str cell, int input_size, int hidden_size, int num_layers, bool bidirectional, str device, "
      "str precision, str[] features) -> str[]",
      &candidates);
}

}  // namespace
}  // namespace rnnlab::operators
