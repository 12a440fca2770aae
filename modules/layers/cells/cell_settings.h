// SPDX-License-Identifier: Apache-2.0
// The settings of a cell of the user's own: its equations and their names, in `model.cell` of an experiment or in a
// file of their own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/config/schema.h"
#include "layers/cells/cell.h"

namespace rnnlab {

struct CellSettings {
  std::string name = "own";        // for people
  std::vector<std::string> gates;  // empty: no cell is given
  std::vector<std::string> states;
  std::vector<std::string> vectors;  // "p", or "peephole.i" for a row of the parameter "peephole"
  Biases biases = Biases::kTwo;
  bool heads = false;
  std::string equations;

  bool is_given() const { return !equations.empty() || !gates.empty() || !states.empty(); }
  CellText text() const;

  static const config::Schema<CellSettings>& schema();
};

// Returns the settings that read back to the cell's text.
CellSettings settings_of(const CellText& text, const std::string& name);

// Returns whether the value of `model.cell`, or the argument of `rnnlab cell`, names a file and no cell of the list.
bool is_cell_file(const std::string& text);

// Reads a file with the keys of CellSettings. Throws UserError kUsage with all mistakes and their places.
CellSettings read_cell_file(const std::string& path);

}  // namespace rnnlab

template <>
struct rnnlab::config::EnumNames<rnnlab::Biases> {
  static constexpr std::array<std::pair<Biases, std::string_view>, 2> kNames = {
      {{Biases::kTwo, "two"}, {Biases::kOne, "one"}}};
};
