// SPDX-License-Identifier: Apache-2.0
#include "recurrent/cells/cell.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace rnnlab {

#define RNNLAB_CELL(enumerator, name) const CellInfo& name##_cell();
#include "recurrent/cells/cell_list.inc"

const CellInfo& info_of(Cell cell) {
  switch (cell) {
#define RNNLAB_CELL(enumerator, name) \
  case Cell::enumerator:              \
    return name##_cell();
#include "recurrent/cells/cell_list.inc"
  }
  fail_invariant("a listed cell", __FILE__, __LINE__, "info_of does not know the cell");
}

std::vector<Cell> all_cells() {
  std::vector<Cell> cells;
  for (const auto& [cell, name] : config::EnumNames<Cell>::kNames) cells.push_back(cell);
  return cells;
}

int64_t num_gates(Cell cell) { return info_of(cell).num_gates; }

bool has_cell_state(Cell cell) { return info_of(cell).states.size() > 1; }

LibraryCell library_cell(Cell cell) {
  const std::optional<LibraryCell> library = info_of(cell).library;
  RNNLAB_INVARIANT(library.has_value(), fmt::format("libraries do not have cell: {}", config::name_of(cell)));
  return *library;
}

std::vector<ParameterSpec> library_parameters(const RecurrentOptions& options, int64_t num_inputs) {
  const int64_t rows = num_gates(options.cell) * options.hidden_size;
  return {{"weight_ih", {rows, num_inputs}},
          {"weight_hh", {rows, options.hidden_size}},
          {"bias_ih", {rows}},
          {"bias_hh", {rows}}};
}

std::vector<ParameterSpec> input_parameters(const RecurrentOptions& options, int64_t num_inputs) {
  const int64_t rows = num_gates(options.cell) * options.hidden_size;
  return {{"weight_ih", {rows, num_inputs}}, {"bias_ih", {rows}}};
}

namespace {

std::vector<std::string> names_of_cells_with(CellOption option) {
  std::vector<std::string> names;
  for (const auto& [cell, name] : config::EnumNames<Cell>::kNames)
    if (std::ranges::count(info_of(cell).options, option) > 0) names.emplace_back(name);
  return names;
}

// Returns the option's value, or "" if it has its default.
std::string value_of(CellOption option, const RecurrentOptions& options) {
  const RecurrentOptions defaults;
  const auto name_unless = [](auto value, auto usual) {
    return value == usual ? std::string() : std::string(config::name_of(value));
  };
  switch (option) {
    case CellOption::kResetGate:
      return name_unless(options.reset_gate, defaults.reset_gate);
    case CellOption::kActivation:
      return name_unless(options.activation, defaults.activation);
    case CellOption::kCandidate:
      return name_unless(options.candidate, defaults.candidate);
    case CellOption::kHeads:
      return options.num_heads == defaults.num_heads ? "" : std::to_string(options.num_heads);
  }
  fail_invariant("a listed option", __FILE__, __LINE__, "value_of does not know the option");
}

struct OptionText {
  CellOption option;
  const char* key;
  const char* noun;         // the part that the cells with the option have
  const char* advice = "";  // an alternative for cells without the option
};

constexpr OptionText kOptionTexts[] = {
    {CellOption::kResetGate, "reset_gate", "a reset gate"},
    {CellOption::kActivation, "activation", "an activation to choose",
     "; a plain cell's activation is in its name: use rnn_relu"},
    {CellOption::kCandidate, "candidate", "a form of the candidate to choose"},
    {CellOption::kHeads, "heads", "heads"},
};

}  // namespace

std::string described_cells() {
  std::vector<std::string> lines;
  for (const auto& [cell, name] : config::EnumNames<Cell>::kNames)
    lines.push_back(fmt::format("{}: {}", name, info_of(cell).description));
  return join(lines, "; ");
}

std::string cells_with(CellOption option) {
  const std::vector<std::string> names = names_of_cells_with(option);
  if (names.size() < 2) return join(names, "");
  return join(std::span(names).first(names.size() - 1), ", ") + " and " + names.back();
}

std::string cell_fault(const RecurrentOptions& options) {
  const auto fault = info_of(options.cell).fault;
  return fault == nullptr ? "" : fault(options);
}

std::vector<UnreadOption> unread_options(const RecurrentOptions& options) {
  std::vector<UnreadOption> unread;
  for (const OptionText& text : kOptionTexts) {
    const std::string value = value_of(text.option, options);
    if (value.empty() || std::ranges::count(info_of(options.cell).options, text.option) > 0) continue;
    const char* verb = names_of_cells_with(text.option).size() == 1 ? "has" : "have";
    unread.push_back(
        {text.key, value, fmt::format("only {} {} {}{}", cells_with(text.option), verb, text.noun, text.advice)});
  }
  return unread;
}

}  // namespace rnnlab
