// SPDX-License-Identifier: Apache-2.0
// rnnlab cell: shows a cell's equations, their derivative, and which layers compute them; with --json, its program for
// other programs, such as scripts/export-onnx.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <algorithm>
#include <functional>
#include <map>

#include "arguments.h"
#include "base/folder.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "layers/cells/cell_settings.h"
#include "layers/layer_kind.h"
#include "layers/program/describe_program.h"
#include "layers/program/evaluate.h"
#include "output.h"
#include "results/run_folder.h"
#include "run_names.h"
#include "runs/model_file.h"
#include "runs/resume.h"
#include "verbs.h"

namespace rnnlab::app {
namespace {

constexpr const char* kCellFooter = R"(
Prints what a cell reads and keeps, its program, the reverse program that gives its gradients, and the layers that
compute it. The derivative is checked by numbers, at random points. docs/write-a-cell.md leads from a formula on paper
to a table of times. A run means the cell that it trains, with its options, such as model.reset_gate. --json prints
parameters, states and the operations of a step, which docs/export.md describes.

Examples:
  rnnlab cell gru
  rnnlab cell experiments/cells/mgu.yaml
  rnnlab cell runs/mnist_rows/2026-11-21T02-59-51Z-cpu-fused --json
  rnnlab cell lstm --yaml > my_cell.yaml)";

struct CellOptions {
  std::string cell;
  bool yaml = false;
  bool json = false;
};

struct NamedCell {
  std::string name;
  CellText text;
  RecurrentOptions options;  // its sizes are an example, unless the cell is that of a run
  bool is_of_run = false;
};

constexpr RecurrentOptions kExample = {.input_size = 3, .hidden_size = 4};

RecurrentOptions example_of(Cell cell) {
  RecurrentOptions options = kExample;
  options.cell = cell;
  return options;
}

bool is_run(const std::string& argument) {
  return is_folder(argument) || is_folder(std::filesystem::path(kRunsFolder) / argument);
}

ModelSettings model_of_run(const std::string& run) {
  if (is_safetensors_file(run)) return read_saved_model(run).experiment.model;
  if (is_file(std::filesystem::path(run) / kConfigFile)) return settings_of_run(run).model;
  throw_error(ExitCode::kUsage, "{}: contains no {}; name a cell, a file of equations, or the folder of a run", run,
              kConfigFile);
}

NamedCell cell_of_run(const std::string& run) {
  const ModelSettings model = model_of_run(run);
  if (!info_of(model.kind).has_recurrent_layers())
    throw_error(ExitCode::kUsage, "{}: its model is of the kind {}, which has no recurrent cell; name another run", run,
                config::name_of(model.kind));
  const RecurrentOptions options = recurrent_options(model, kExample.input_size);
  const std::string name = model.own_cell.is_given() ? model.own_cell.name : cell_name(options.cell);
  return {name, text_of(options), options, true};
}

NamedCell cell_with(const std::string& argument) {
  if (const auto cell = config::from_name<Cell>(argument))
    return {argument, text_of({.cell = *cell}), example_of(*cell)};
  if (is_safetensors_file(argument)) return cell_of_run(argument);
  if (is_run(argument)) return cell_of_run(named_run(argument, kRunsFolder));
  const bool may_be_file = argument.find('/') != std::string::npos || argument.find('.') != std::string::npos;
  if (!may_be_file) {
    const std::vector<std::string> names = config::names_of<Cell>();
    throw_error(ExitCode::kUsage, "{} is not a cell{}: name one of {}, a file of equations, or a run",
                in_quotes(argument), did_you_mean(argument, names), join_with_or(names));
  }
  const CellSettings settings = read_cell_file(argument);
  const CellText text = settings.text();
  return {settings.name, text, example_of(own_cell(text).value())};
}

std::string sides_text(const GateSides& gate) {
  if (gate.is_sum) return gate.name + ": W x + R h";
  if (!gate.reads_hidden) return gate.name + ": W x";
  return gate.name + (gate.reads_input ? ": W x and R h apart" : ": R h");
}

std::string reason_against(LayerKind kind, Cell cell) {
  const auto why_not = info_of(kind).why_not;
  return why_not == nullptr ? "written for other cells" : why_not(program_of(cell));
}

using CanCompute = std::function<bool(LayerKind, Processor)>;

std::string layers_text(const CanCompute& can_compute) {
  std::string text;
  for (const auto& [device, processor] : {std::pair("CPU", Processor::kCpu), std::pair("GPU", Processor::kGpu)}) {
    std::vector<std::string> names;
    for (const LayerKind kind : layer_kinds())
      if (can_compute(kind, processor)) names.emplace_back(config::name_of(kind));
    text += fmt::format("layers on a {}: {}\n", device, names.empty() ? "none" : join(names, ", "));
  }
  return text;
}

// A run also has sizes and options.
std::string layers_of_run(const RecurrentOptions& options) {
  return layers_text([&](LayerKind kind, Processor processor) {
    return !why_unsupported(kind, {.options = options, .processor = processor});
  });
}

// Layers with one reason against the cell share a line.
std::string layers_of_cell(Cell cell) {
  std::map<std::string, std::vector<std::string>> cannot;  // by reason
  for (const LayerKind kind : layer_kinds())
    if (!has_cell(kind, cell)) cannot[reason_against(kind, cell)].emplace_back(config::name_of(kind));
  std::string text = layers_text([&](LayerKind kind, Processor processor) {
    return has_cell(kind, cell) && std::ranges::count(info_of(kind).processors, processor) > 0;
  });
  for (const auto& [reason, names] : cannot) text += fmt::format("not by {}: {}\n", join_with_and(names), reason);
  return text;
}

std::string parameters_text(const RecurrentOptions& options) {
  std::vector<std::string> parameters;
  for (const auto& [name, shape] : cell_parameters(options, options.input_size))
    parameters.push_back(fmt::format("{} ({})", name, fmt::join(shape, ", ")));
  return fmt::format("parameters for {} inputs and {} units: {}\n", options.input_size, options.hidden_size,
                     join(parameters, ", "));
}

std::string derivative_text(const CellProgram& program) {
  constexpr int64_t kPoints = 1000;
  const ReverseProgram reverse = reverse_of(program);
  const auto [difference, num_points] = check_derivative(program, kPoints);
  std::string text = fmt::format("reverse program:\n{}", reverse_text(program, reverse));
  text += fmt::format("kept for it: {}\n", kept_text(program, reverse));
  if (num_points == 0) return text + "No gradient was compared: the equations are not finite at random inputs.\n";
  return text + fmt::format(
                    "The reverse program's gradients differ from those of dual numbers by at most {:.1e}, at {} random "
                    "points.\n",
                    difference, num_points);
}

std::string cell_text(const NamedCell& named) {
  const RecurrentOptions& options = named.options;
  const CellProgram program = program_of(named.text);
  std::vector<std::string> gates;
  for (const GateSides& gate : program.gates) gates.push_back(sides_text(gate));
  std::string text = fmt::format("{}: {}\nstates: {}\n", named.name, join(gates, "; "), join(program.states, ", "));
  if (named.name != cell_name(options.cell)) text += fmt::format("known as: {}\n", cell_name(options.cell));
  text += parameters_text(options) + (named.is_of_run ? layers_of_run(options) : layers_of_cell(options.cell));
  return text + fmt::format("program:\n{}{}", program_text(program), derivative_text(program));
}

// Returns for each gate its place among the blocks of H rows in weight_ih, and in weight_hh.
Json gates_json(const CellProgram& program) {
  Json gates = Json::array();
  int64_t input_row = 0, hidden_row = 0;
  for (const GateSides& gate : program.gates) {
    gates.push_back({{"name", gate.name}, {"input_row", nullptr}, {"hidden_row", nullptr}});
    if (gate.reads_input) gates.back()["input_row"] = input_row++;
    if (gate.reads_hidden) gates.back()["hidden_row"] = hidden_row++;
  }
  return gates;
}

Json vectors_json(const CellProgram& program) {
  Json rows = Json::array();
  for (const LearnedVector& vector : program.vectors)
    for (int64_t row = 0; row < vector.num_rows(); ++row)
      rows.push_back({{"name", vector.row_name(row)}, {"parameter", vector.name}, {"row", row}});
  return rows;
}

// Shapes are texts, because the number of inputs is different for each layer of a stack.
Json parameters_json(const RecurrentOptions& options) {
  Json parameters = Json::array();
  for (const auto& [name, shape] : cell_parameters(options, options.input_size)) {
    Json sizes = Json::array({fmt::format("{} H", shape[0] / options.hidden_size)});
    if (name == "weight_ih") sizes.emplace_back("I");
    if (name == "weight_hh") sizes.emplace_back(options.heads == 1 ? "H" : fmt::format("H / {}", options.heads));
    parameters.push_back({{"name", name}, {"shape", sizes}});
  }
  return parameters;
}

Json operation_json(const Node& node, const std::vector<int64_t>& arguments) {
  Json json = {{"operation", info_of(node.operation).name}};
  if (node.operation == Operation::kNumber) {
    json["number"] = to_json(node.number);
    return json;
  }
  const bool is_leaf = info_of(node.operation).num_arguments == 0;
  if (is_leaf || node.operation == Operation::kHiddenProduct) json["index"] = node.index;
  if (!is_leaf) json["arguments"] = arguments;
  return json;
}

// Adds what the new states need; operands and new states are places in the list of these operations.
void add_operations(const CellProgram& program, Json& json) {
  const std::vector<bool> needed = needed_for(program.graph, program.new_states);
  std::vector<int64_t> place_of(needed.size());
  const auto places = [&](const std::vector<NodeId>& nodes) {
    std::vector<int64_t> found;
    for (const NodeId node : nodes) found.push_back(place_of[static_cast<size_t>(node)]);
    return found;
  };
  Json operations = Json::array();
  for (size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    const Node& node = program.graph.nodes()[i];
    place_of[i] = std::ssize(operations);
    operations.push_back(operation_json(node, places(arguments_of(node))));
  }
  json["operations"] = operations;
  json["new_states"] = places(program.new_states);
}

std::string cell_json(const NamedCell& named) {
  const RecurrentOptions& options = named.options;
  const CellProgram program = program_of(named.text);
  Json json = {{"name", named.name},
               {"cell", nullptr},
               {"heads", options.heads},
               {"gates", gates_json(program)},
               {"states", program.states},
               {"state_names", info_of(options.cell).states},
               {"vectors", vectors_json(program)},
               {"parameters", parameters_json(options)}};
  if (!is_own(options.cell)) json["cell"] = cell_name(options.cell);
  add_operations(program, json);
  return json_text(json);
}

ExitCode show_cell(const CellOptions& options) {
  const NamedCell named = cell_with(options.cell);
  if (options.yaml)
    print_data(config::print(settings_of(named.text, named.name), CellSettings::schema()));
  else if (options.json)
    print_data(cell_json(named));
  else
    print_text(cell_text(named));
  return ExitCode::kDone;
}

}  // namespace

void add_cell(CLI::App& program, Action& chosen) {
  const auto [command, options] = add_verb<CellOptions>(
      program, chosen, "cell", "Show a cell's equations and their derivative", kCellFooter, show_cell);
  command->add_option("cell", options->cell, "the name of a cell, a file of equations, or a run")
      ->required()
      ->type_name("CELL");
  CLI::Option* const yaml = command->add_flag("--yaml", options->yaml, "print the cell as a file of equations");
  command->add_flag("--json", options->json, "print the cell's program as JSON")->excludes(yaml);
}

}  // namespace rnnlab::app
