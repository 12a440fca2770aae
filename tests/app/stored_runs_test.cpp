// SPDX-License-Identifier: Apache-2.0
// Every verb reads files of earlier versions (tests/stored): the numbers are unchanged, and their runs can be resumed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/program.h"
#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Program;
using testing::read_text;

const fs::path kStored = fs::path(RNNLAB_SOURCE_DIR) / "tests/stored";

// A different processor rounds differently.
constexpr double kTolerance = 1e-4;

std::vector<std::string> stored_versions() {
  std::vector<std::string> versions;
  for (const auto& entry : fs::directory_iterator(kStored))
    if (entry.is_directory()) versions.push_back(entry.path().filename().string());
  std::ranges::sort(versions);
  return versions;
}

// A column of a CSV without quotes.
std::vector<std::string> column(const std::string& csv, const std::string& name) {
  std::vector<std::string> lines = split(csv, '\n');
  const std::vector<std::string> header = split(lines.at(0), ',');
  const auto at = static_cast<size_t>(std::ranges::find(header, name) - header.begin());
  std::vector<std::string> cells;
  for (size_t i = 1; i + 1 < lines.size(); ++i) cells.push_back(split(lines[i], ',').at(at));
  return cells;
}

// A row of the file without a prediction has no index.
std::string lines_with_index(const std::string& csv) {
  std::string lines;
  for (const std::string& line : split(csv, '\n'))
    if (!line.empty() && !line.starts_with(',')) lines += line + "\n";
  return lines;
}

// The program in a folder with a copy of the files that the version wrote.
class StoredRuns : public ::testing::TestWithParam<std::string> {
 protected:
  StoredRuns() { fs::copy(kStored / GetParam(), program_.folder(), fs::copy_options::recursive); }

  std::string only_run_of(const std::string& experiment) const { return program_.run_folders(experiment).at(0); }

  std::string expected(const std::string& file) const { return read_text(program_.folder() / "expected" / file); }

  void expect_same_metrics(const std::string& experiment, const testing::Words& more) const {
    const auto result = program_.run(testing::with({"evaluate", only_run_of(experiment), "--json"}, more), 0);
    const auto now = nlohmann::json::parse(result.output);
    const auto then = nlohmann::json::parse(expected("evaluate-" + experiment + ".json"));
    EXPECT_EQ(now["samples"], then["samples"]);
    for (const auto& [metric, value] : then["metrics"].items())
      EXPECT_NEAR(now["metrics"][metric].get<double>(), value.get<double>(), kTolerance) << experiment << ' ' << metric;
  }

  void expect_same_column(const std::string& experiment, const std::string& csv, const std::string& name) const {
    const auto now = column(csv, name);
    const auto then = column(lines_with_index(expected("predict-" + experiment + ".csv")), name);
    ASSERT_EQ(now.size(), then.size());
    for (size_t i = 0; i < now.size(); ++i)
      EXPECT_NEAR(parse_double(now[i]).value(), parse_double(then[i]).value(), kTolerance) << experiment << ' ' << i;
  }

  bool has_rounds() const { return fs::exists(program_.folder() / "runs/rounds"); }

  Program program_;
};

TEST_P(StoredRuns, Evaluate) {
  for (const char* run : {"digits", "interrupted", "killed"}) expect_same_metrics(run, {});
  expect_same_metrics("waves", {"data.path=waves.csv", "--part", "all"});
  expect_same_metrics("pets", {"data.path=pets.csv", "--part", "all"});
  expect_same_metrics("rhyme", {"data.path=rhyme.txt", "--part", "all"});
}

// Rows of later versions are split in other ways (data.stratify, data.inputs_from).
TEST_P(StoredRuns, KeepTheirValidationPart) {
  for (const std::string experiment : {"pets", "waves"}) {
    const std::string run = only_run_of(experiment);
    const auto result = program_.run(
        {"evaluate", run, "--checkpoint", "last", "--part", "valid", "--json", "data.path=" + experiment + ".csv"}, 0);
    const std::string then = column(read_text(program_.folder() / run / "epochs.csv"), "valid_loss").back();
    EXPECT_NEAR(nlohmann::json::parse(result.output)["metrics"]["loss"].get<double>(), parse_double(then).value(),
                kTolerance)
        << experiment;
  }
}

TEST_P(StoredRuns, Predict) {
  const auto digits = program_.run({"predict", only_run_of("digits")}, 0);
  expect_same_column("digits", digits.output, "probability_3");
  const auto pets = program_.run({"predict", only_run_of("pets"), "data.path=pets.csv"}, 0);
  expect_same_column("pets", pets.output, "probability_cat");
  const auto waves = program_.run({"predict", only_run_of("waves"), "data.path=waves.csv"}, 0);
  expect_same_column("waves", lines_with_index(waves.output), "prediction");
  program_.run({"predict", only_run_of("rhyme"), "--prompt", "one "}, 0);
}

TEST_P(StoredRuns, Convert) {
  const auto result = program_.run({"convert", only_run_of("digits"), "-o", "digits.safetensors"}, 0);
  EXPECT_THAT(result.output, HasSubstr("6 tensors, 594 parameters"));
}

TEST_P(StoredRuns, Compare) {
  const auto result = program_.run({"compare", "runs/swept", "--json"}, 0);
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json["groups"].size(), 2U);
}

// The same settings have the same hashes in every version. The machine, build and losses of today may be others.
TEST_P(StoredRuns, CompareWithARunOfToday) {
  const std::string stored = only_run_of("digits");
  program_.run({"train", "--quiet", stored + "/config.yaml", "--out", "today"}, 0);
  const auto result = program_.run({"compare", stored, "today/digits", "--force"}, 0);
  for (const char* reason : {"  model: ", "training settings: ", "order of the samples", "initial weights"})
    EXPECT_THAT(result.output + result.errors, Not(HasSubstr(reason)));
}

TEST_P(StoredRuns, Report) {
  std::vector<std::string> arguments = {"report", "bench.json"};
  for (const char* run : {"digits", "waves", "pets", "rhyme", "diverged", "interrupted", "swept", "stopped"})
    arguments.push_back("runs/" + std::string(run));
  program_.run(arguments, 0);
  EXPECT_THAT(read_text(program_.folder() / "report.html"), HasSubstr("diverged"));
}

TEST_P(StoredRuns, Resume) {
  for (const auto& [run, epochs] : {std::pair("interrupted", 5), {"killed", 4}, {"digits", 5}}) {
    program_.run({"train", "--quiet", "--resume", only_run_of(run), "training.epochs=" + std::to_string(epochs)}, 0);
    const std::string csv = read_text(program_.folder() / only_run_of(run) / "epochs.csv");
    EXPECT_EQ(column(csv, "epoch").size(), static_cast<size_t>(epochs)) << run;
  }
}

TEST_P(StoredRuns, ResumeASweep) {
  std::vector<fs::path> sweeps;
  for (const auto& entry : fs::directory_iterator(program_.folder() / "runs"))
    if (entry.path().extension() == ".json") sweeps.push_back(entry.path());
  for (const fs::path& sweep : sweeps) {
    program_.run({"train", "--quiet", "--resume", sweep.string()}, 0);
    EXPECT_FALSE(fs::exists(sweep));
  }
  EXPECT_EQ(program_.run_folders("stopped").size(), 4U);
  // Before version 3 there were no rounds.
  if (!has_rounds()) return;
  EXPECT_EQ(program_.run_folders("stopped_rounds").size(), 6U);
}

TEST_P(StoredRuns, CompareRounds) {
  if (!has_rounds()) GTEST_SKIP() << "this version had no rounds";
  const auto result = program_.run({"compare", "runs/rounds", "--json"}, 0);
  EXPECT_EQ(nlohmann::json::parse(result.output)["groups"][1]["num_processes"], 3);
}

TEST_P(StoredRuns, BenchAgainst) {
  const auto result = program_.run({"bench", "device=cpu", "layer=naive,fused", "hidden_size=4", "num_steps=4",
                                    "batch_size=2", "num_threads=1", "repeats=3", "sample_seconds=1e-4", "--quiet",
                                    "--force", "--against", "bench.json"});
  EXPECT_THAT(result.exit_code, AnyOf(0, 7)) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("now over bench.json"));
}

TEST(StoredVersions, AreThere) { EXPECT_FALSE(stored_versions().empty()); }

INSTANTIATE_TEST_SUITE_P(Version, StoredRuns, ::testing::ValuesIn(stored_versions()),
                         [](const auto& version) { return version.param; });

}  // namespace
}  // namespace rnnlab
