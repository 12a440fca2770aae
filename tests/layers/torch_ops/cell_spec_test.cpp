// SPDX-License-Identifier: Apache-2.0
#include "layers/torch_ops/cell_spec.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "layers/cells/cell.h"

namespace rnnlab::operators {
namespace {

std::string message_about(std::string_view spec) {
  try {
    options_of_cell(spec);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(CellSpec, IsANameOrAMapWithOptions) {
  EXPECT_EQ(options_of_cell("lstm"), (RecurrentOptions{.cell = Cell::kLstm}));
  EXPECT_EQ(options_of_cell("{cell: gru, reset_gate: before}"),
            (RecurrentOptions{.cell = Cell::kGru, .reset_gate = ResetGate::kBefore}));
  EXPECT_EQ(options_of_cell(R"({"cell": "slstm", "heads": 4})"), (RecurrentOptions{.cell = Cell::kSlstm, .heads = 4}));
}

TEST(CellSpec, HoldsEquationsWhichAreOneCellHoweverTheyAreWritten) {
  const Cell first = options_of_cell("{cell: {gates: [n], states: [h], equations: h = 2 * tanh(n)}}").cell;
  const Cell other = options_of_cell("{cell: {gates: [a], states: [y], equations: y = tanh(a) * 2}}").cell;
  EXPECT_TRUE(is_own(first));
  EXPECT_EQ(first, other);
  EXPECT_EQ(options_of_cell("{cell: {gates: [n], states: [h], equations: h = tanh(n)}}").cell, Cell::kRnnTanh);
}

TEST(CellSpec, ReportsMistakes) {
  EXPECT_EQ(message_about("{cell: {gates: [n], states: [h], equations: h = tahn(n)}}"),
            "the cell: cell.equations: line 1, column 5: unknown function tahn (did you mean 'tanh'?)");
  EXPECT_EQ(message_about("{cell: gru, heads: 0}"), "the cell: heads: expected at least 1");
  EXPECT_NE(message_about("lsmt"), "no error");
}

}  // namespace
}  // namespace rnnlab::operators
