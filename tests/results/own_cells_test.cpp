// SPDX-License-Identifier: Apache-2.0
#include "results/own_cells.h"

#include <gmock/gmock.h>

#include "golden.h"
#include "results/compared_runs.h"

namespace rnnlab::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What a run's config.yaml has in `model.cell`, or beside it.
constexpr const char* kMgu = "  cell:\n    name: mgu\n    gates: [f]\n    states: [h]\n    equations: h = f * h\n";
constexpr const char* kMguInOtherWords =
    "  cell:\n    name: mine\n    gates: [g]\n    states: [s]\n    equations: s = s * g\n";
constexpr const char* kOtherMgu = "  cell:\n    name: mgu\n    gates: [f]\n    states: [h]\n    equations: h = f + h\n";
constexpr const char* kGru = "  cell: gru\n  reset_gate: before\n";

class OwnCells : public ComparedRuns {
 protected:
  // Adds a run whose folder does not have the hash of its program if `hash` is "".
  void add_run(const std::string& layer, const std::string& cell, const std::string& hash) {
    SampleRun run = sample_run("cpu", layer, 1, layer == "naive" ? kSlow : kFast);
    const size_t place = run.config.find("training:");
    run.config.insert(place, cell);
    run.summary.identity.cell_sha256 = hash.empty() ? "" : hash + std::string(63, '0');
    add(std::to_string(runs_.size()), run);
  }

  void add_two(const std::string& cell, const std::string& hash, const std::string& other,
               const std::string& other_hash) {
    runs_.clear();
    add_run("naive", cell, hash);
    add_run("blocked", other, other_hash);
    name_own_cells(runs_);
  }

  std::vector<std::string> cells() const {
    std::vector<std::string> cells;
    for (const RunRecord& run : runs_) cells.push_back(run.config.at("model.cell"));
    return cells;
  }

  std::vector<std::string> other_work() const { return compared().other_work; }
};

TEST_F(OwnCells, OfEqualProgramsAreEqualWorkInAnyWords) {
  add_two(kMgu, "1", kMguInOtherWords, "1");
  EXPECT_THAT(cells(), ElementsAre("mgu", "mgu"));
  EXPECT_THAT(other_work(), IsEmpty());
  EXPECT_TRUE(compared().groups[1].ratio) << "the losses and times are comparable";
  EXPECT_EQ(runs_[1].own_cell.at("model.cell.equations"), "\"s = s * g\"");
}

TEST_F(OwnCells, OfOtherEquationsAreOtherWork) {
  add_two(kMgu, "1", "  cell: lstm\n", "2");
  expect_golden(other_work());
  add_two(kMgu, "1", kOtherMgu, "2");
  EXPECT_THAT(cells(), ElementsAre("mgu (10000000)", "mgu (20000000)")) << "two cells have one name";
  expect_golden(other_work());
}

TEST_F(OwnCells, WithTheEquationsOfANamedCellHaveItsNameAndOptions) {
  add_two(kMgu, "1", kGru, "1");
  EXPECT_THAT(cells(), ElementsAre("gru", "gru"));
  EXPECT_EQ(runs_[0].config.at("model.reset_gate"), "before");
  EXPECT_THAT(other_work(), IsEmpty());
}

TEST_F(OwnCells, OfEarlierVersionsAreComparedByTheirSettings) {
  add_two(kMgu, "", kMgu, "1");
  EXPECT_THAT(other_work(), IsEmpty());
  add_two(kMgu, "", kMguInOtherWords, "1");
  EXPECT_THAT(cells(), ElementsAre("mgu", "mine"));
  EXPECT_EQ(other_work().size(), 1u);
  add_two(kMgu, "", "  cell: mgu\n", "");
  EXPECT_EQ(cells()[0].size(), std::string("mgu (01234567)").size()) << "the digits are of the settings";
}

TEST_F(OwnCells, AreInOneGroupWithTheirRepeats) {
  runs_.clear();
  add_run("naive", kMgu, "1");
  add_run("naive", kMguInOtherWords, "1");
  runs_[1].summary.seed = 2;
  name_own_cells(runs_);
  EXPECT_EQ(compared().groups.size(), 1u);
}

TEST_F(OwnCells, DoNotChangeRunsOfNamedCells) {
  add_two(kGru, "1", kGru, "1");
  EXPECT_THAT(runs_[0].own_cell, IsEmpty());
  const Settings before = runs_[0].config;
  add_two(kGru, "1", kMgu, "2");
  EXPECT_EQ(runs_[0].config, before);
}

}  // namespace
}  // namespace rnnlab::testing
