// SPDX-License-Identifier: Apache-2.0
#include "layers/cells/cell.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace rnnlab {

#define RNNLAB_CELL(enumerator, name) const CellInfo& name##_cell();
#include "layers/cells/cell_list.inc"

const CellInfo& info_of(Cell cell) {
  switch (cell) {
#define RNNLAB_CELL(enumerator, name) \
  case Cell::enumerator:              \
    return name##_cell();
#include "layers/cells/cell_list.inc"
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

bool reads(Cell cell, RecurrentOption option) { return std::ranges::count(info_of(cell).options, option) > 0; }

std::vector<std::string> names_of_cells_with(RecurrentOption option) {
  std::vector<std::string> names;
  for (const auto& [cell, name] : config::EnumNames<Cell>::kNames)
    if (reads(cell, option)) names.emplace_back(name);
  return names;
}

void set_values(UsedOption& used, auto value, auto /*usual*/) { used.value = fmt::format("{}", value); }
template <config::NamedEnum Value>
void set_values(UsedOption& used, Value value, Value usual) {
  used.number = static_cast<int64_t>(value);
  used.value = config::name_of(value);
  used.usual = config::name_of(usual);
}

// These functions return values that an option has besides the usual one.
std::vector<bool> other_values(bool usual) { return {!usual}; }
std::vector<int64_t> other_values(int64_t usual) { return {usual + 1}; }
std::vector<double> other_values(double usual) { return {usual + 0.5}; }
template <config::NamedEnum Value>
std::vector<Value> other_values(Value usual) {
  std::vector<Value> others;
  for (const auto& [value, name] : config::EnumNames<Value>::kNames)
    if (value != usual) others.push_back(value);
  return others;
}

}  // namespace

std::vector<UsedOption> used_options(const RecurrentOptions& options) {
  std::vector<UsedOption> all;
  // This names every member: one that is not in the list does not compile, because each layer would accept it.
#define RNNLAB_OPTION(enumerator, name, type, usual) name,
  [[maybe_unused]] const auto& [cell, input_size, hidden_size,
#include "layers/option_list.inc"
                                batch_first, cudnn_algorithm, persistent_form] = options;
  const auto add = [&](const UsedOption& used, auto value, auto usual) {
    if (value != usual) set_values(all.emplace_back(used), value, usual);
  };
#define RNNLAB_OPTION(enumerator, name, type, usual) add({RecurrentOption::enumerator, #name}, name, type{usual});
#define RNNLAB_CELL_OPTION(enumerator, name, type, usual, noun, help) \
  add({RecurrentOption::enumerator, #name, noun}, name, type{usual});
#include "layers/option_list.inc"
  return all;
}

std::vector<RecurrentOptions> unusual_options(Cell cell) {
  std::vector<RecurrentOptions> all;
#define RNNLAB_OPTION(enumerator, name, type, usual)                    \
  for (const type value : other_values(type{usual})) {                  \
    all.push_back({.cell = cell, .input_size = 64, .hidden_size = 64}); \
    all.back().name = value;                                            \
  }
#include "layers/option_list.inc"
  std::erase_if(all, [](const RecurrentOptions& options) { return !contradictions(options).empty(); });
  return all;
}

std::string described_cells() {
  std::vector<std::string> lines;
  for (const auto& [cell, name] : config::EnumNames<Cell>::kNames)
    lines.push_back(fmt::format("{}: {}", name, info_of(cell).description));
  return join(lines, "; ");
}

std::string cells_with(RecurrentOption option) { return join_with_and(names_of_cells_with(option)); }

std::vector<Contradiction> contradictions(const RecurrentOptions& options) {
  std::vector<Contradiction> all;
  for (const UsedOption& one : used_options(options)) {
    if (one.noun.empty() || reads(options.cell, one.option)) continue;
    const std::vector<std::string> cells = names_of_cells_with(one.option);
    all.push_back(
        {{std::string(one.key), "cell"},
         fmt::format("only {} {} {}", join_with_and(cells), cells.size() == 1 ? "has" : "have", one.noun),
         fmt::format("{}: {} means nothing with cell: {}; ", one.key, one.value, config::name_of(options.cell))});
  }
  const auto fault = info_of(options.cell).fault;
  if (const auto found = fault == nullptr ? std::nullopt : fault(options)) all.push_back(*found);
  return all;
}

}  // namespace rnnlab
