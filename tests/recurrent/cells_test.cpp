// The records of the cells: what each says of itself, and which layers have it.
#include "recurrent/cells/cell.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include "recurrent/layer_kind.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

// "weight_ih (16, 3)" for a layer of 4 units that reads vectors of 3.
std::vector<std::string> parameters_with(RecurrentOptions options) {
  options.hidden_size = 4;
  std::vector<std::string> lines;
  for (const auto& [name, shape] : info_of(options.cell).parameters(options, 3))
    lines.push_back(fmt::format("{} ({})", name, fmt::join(shape, ", ")));
  return lines;
}

TEST(Cells, OfLibrariesHaveTheParametersOfTorchNn) {
  EXPECT_THAT(parameters_with({.cell = Cell::kLstm}),
              ElementsAre("weight_ih (16, 3)", "weight_hh (16, 4)", "bias_ih (16)", "bias_hh (16)"));
  EXPECT_THAT(parameters_with({.cell = Cell::kGru}),
              ElementsAre("weight_ih (12, 3)", "weight_hh (12, 4)", "bias_ih (12)", "bias_hh (12)"));
  EXPECT_THAT(parameters_with({.cell = Cell::kRnnRelu}),
              ElementsAre("weight_ih (4, 3)", "weight_hh (4, 4)", "bias_ih (4)", "bias_hh (4)"));
}

TEST(Cells, BeginTheirStatesWithTheHiddenOne) {
  for (const auto& [cell, name] : config::EnumNames<Cell>::kNames) {
    EXPECT_EQ(info_of(cell).states.front(), "hidden") << name;
    EXPECT_FALSE(info_of(cell).description.empty()) << name;
  }
  EXPECT_THAT(info_of(Cell::kLstm).states, ElementsAre("hidden", "cell"));
  EXPECT_THAT(info_of(Cell::kGru).states, ElementsAre("hidden"));
}

TEST(Cells, TellWhichOptionsTheyDoNotRead) {
  EXPECT_TRUE(unread_options({.cell = Cell::kGru, .reset_gate = ResetGate::kBefore}).empty());
  const auto unread = unread_options({.cell = Cell::kRnnTanh, .reset_gate = ResetGate::kBefore});
  ASSERT_EQ(unread.size(), 1U);
  EXPECT_EQ(unread[0].key, "reset_gate");
  EXPECT_EQ(unread[0].value, "before");
  EXPECT_EQ(unread[0].message, "only gru has a reset gate");
}

TEST(CellsOfLayers, AreAllForNaiveAndThoseOfLibrariesForTheOthers) {
  EXPECT_EQ(cells_of(LayerKind::kNaive).size(), config::EnumNames<Cell>::kNames.size());
  EXPECT_THAT(cells_of(LayerKind::kGrouped), ElementsAre(Cell::kLstm));
  EXPECT_THAT(cells_of(LayerKind::kDiagonal), ElementsAre(Cell::kLstm, Cell::kRnnTanh, Cell::kRnnRelu));
  for (const LayerKind kind : layer_kinds())
    for (const Cell cell : cells_of(kind))
      EXPECT_TRUE(kind == LayerKind::kNaive || info_of(cell).library.has_value()) << config::name_of(kind);
}

}  // namespace
}  // namespace rnnlab
