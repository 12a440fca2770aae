// SPDX-License-Identifier: Apache-2.0
// rnnlab cell: shows a cell's equations, their derivative, and which layers compute them.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <map>
#include <memory>

#include "arguments.h"
#include "base/text.h"
#include "layers/cells/cell_settings.h"
#include "layers/layer_kind.h"
#include "layers/program/describe_program.h"
#include "layers/program/evaluate.h"
#include "output.h"
#include "verbs.h"

namespace rnnlab::app {
namespace {

constexpr const char* kCellFooter = R"(
Prints what a cell reads and keeps, its program, the reverse program that gives its gradients, and the layers that
compute it. The derivative is checked by numbers, at random points. docs/write-a-cell.md leads from a formula on paper
to a table of times.

Examples:
  rnnlab cell gru
  rnnlab cell experiments/cells/mgu.yaml
  rnnlab cell lstm --yaml > my_cell.yaml)";

struct CellOptions {
  std::string cell;
  bool yaml = false;
};

struct NamedCell {
  std::string name;
  CellText text;
};

NamedCell cell_with(const std::string& argument) {
  if (const auto cell = config::from_name<Cell>(argument)) return {argument, text_of({.cell = *cell})};
  const bool may_be_file = argument.find('/') != std::string::npos || argument.find('.') != std::string::npos;
  if (!may_be_file) {
    const std::vector<std::string> names = config::names_of<Cell>();
    throw_error(ExitCode::kUsage, "{} is not a cell{}: name one of {}, or a file of equations", in_quotes(argument),
                did_you_mean(argument, names), join_with_or(names));
  }
  const CellSettings settings = read_cell_file(argument);
  return {settings.name, settings.text()};
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

// Layers with one reason share a line.
std::string layers_text(Cell cell) {
  std::vector<std::string> can;
  std::map<std::string, std::vector<std::string>> cannot;  // by reason
  for (const LayerKind kind : layer_kinds())
    (has_cell(kind, cell) ? can : cannot[reason_against(kind, cell)]).emplace_back(config::name_of(kind));
  std::string text = "layers: " + join(can, ", ") + "\n";
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
  return text + fmt::format("Its gradients differ from those by dual numbers by {:.1e} at most, at {} random points.\n",
                            difference, num_points);
}

ExitCode show_cell(const CellOptions& options) {
  const NamedCell named = cell_with(options.cell);
  if (options.yaml) {
    print_data(config::print(settings_of(named.text, named.name), CellSettings::schema()));
    return ExitCode::kDone;
  }
  const RecurrentOptions example = {.cell = own_cell(named.text).value(), .input_size = 3, .hidden_size = 4};
  const CellProgram program = program_of(named.text);
  std::vector<std::string> gates;
  for (const GateSides& gate : program.gates) gates.push_back(sides_text(gate));
  std::string text = fmt::format("{}: {}\nstates: {}\n", named.name, join(gates, "; "), join(program.states, ", "));
  if (named.name != cell_name(example.cell)) text += fmt::format("known as: {}\n", cell_name(example.cell));
  text += parameters_text(example) + layers_text(example.cell);
  text += fmt::format("program:\n{}{}", program_text(program), derivative_text(program));
  print_text(text);
  return ExitCode::kDone;
}

}  // namespace

void add_cell(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("cell", "Show a cell's equations and their derivative");
  auto options = std::make_shared<CellOptions>();
  command->add_option("cell", options->cell, "the name of a cell, or a file of equations")
      ->required()
      ->type_name("CELL");
  command->add_flag("--yaml", options->yaml, "print the cell as a file of equations");
  command->footer(kCellFooter);
  command->callback([&chosen, options] { chosen = [options](const CommandLine&) { return show_cell(*options); }; });
}

}  // namespace rnnlab::app
