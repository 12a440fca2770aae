// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/program.h"
#include "base/system/small_disk.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Program;
using testing::with;
using testing::Words;

const Words kTiny = {"bench",       "device=cpu", "hidden_size=4",       "batch_size=2",     "num_layers=1",
                     "num_steps=3", "repeats=6",  "sample_seconds=1e-6", "layer=naive,fused"};

// Makes every stored time a millionth of what it was, or a million times as long.
void scale_samples(const Program& program, double factor) {
  const auto file = program.folder() / "old.json";
  auto json = nlohmann::ordered_json::parse(testing::read_text(file));
  for (auto& row : json["rows"]) {
    for (auto& [name, samples] : row["measurement"]["samples"].items())
      for (auto& sample : samples) sample = sample.get<double>() * factor;
    for (auto& [name, seconds] : row["measurement"]["seconds"].items())
      for (auto& [key, value] : seconds.items()) value = value.get<double>() * factor;
  }
  program.write("old.json", json.dump());
}

TEST(Bench, PrintsATableAndWritesCsvAndJson) {
  const Program program;
  const auto result = program.run(with(kTiny, {"--csv", "a.csv", "--json", "a.json"}), 0);
  EXPECT_THAT(result.output, HasSubstr("cpu eager fp32 lstm"));
  EXPECT_THAT(result.output, HasSubstr("naive ran native loop"));
  EXPECT_THAT(result.errors, HasSubstr("2 layers in 1 combination"));
  EXPECT_THAT(result.errors, HasSubstr("[1/1] cpu eager "));
  EXPECT_THAT(testing::read_text(program.folder() / "a.csv"),
              HasSubstr("\nfused,cpu,eager,fp32,lstm,auto,4,2,3,1,4,0,1,,0,,"));
  const auto json = nlohmann::json::parse(testing::read_text(program.folder() / "a.json"));
  EXPECT_EQ(json["schema_version"], 3);
  EXPECT_EQ(json["rows"][1]["measurement"]["samples"]["all"].size(), 6u);
}

TEST(Bench, MeasuresStartsWithTheLayersThatHaveThem) {
  const Program program;
  const auto result =
      program.run({"bench", "layer=naive,fused", "hidden_size=4", "batch_size=2", "num_steps=3", "num_layers=1",
                   "device=cpu", "repeats=1", "sample_seconds=1e-6", "starts=0.5", "--json", "a.json"},
                  0);
  EXPECT_THAT(result.output, HasSubstr("starts 0.5"));
  const auto json = nlohmann::json::parse(testing::read_text(program.folder() / "a.json"));
  EXPECT_EQ(json["rows"][0]["starts"], 0.5);
  EXPECT_EQ(json["rows"][0]["reason"], "");
  EXPECT_NE(json["rows"][1]["reason"], "");
}

TEST(Bench, ReadsAFileUnderTheArguments) {
  const Program program;
  program.write("bench.yaml", "hidden_size: [4, 8]\nlayer: naive\nbatch_size: 2\nnum_steps: 3\n");
  const auto result = program.run(
      {"bench", "bench.yaml", "num_layers=1", "device=cpu", "repeats=1", "layer=fused", "sample_seconds=1e-6", "-q"},
      0);
  EXPECT_THAT(result.errors, IsEmpty());
  EXPECT_THAT(result.output, HasSubstr("\n8  fused "));
  EXPECT_THAT(result.output, HasSubstr("fewer than six samples"));
}

TEST(Bench, AnUnknownKeyIsNamedWithItsPlace) { Program().expect_error(2, {"bench", "hiden_size=4"}); }

TEST(Bench, ListsEachKeyOnceAndHasNoSweep) { Program().expect_error(2, {"bench", "wibble=4", "wobble=4"}); }

TEST(Bench, PrintsReasonsOnceAndFailsIfNoLayerSupportsTheWork) {
  for (const std::string processes : {"processes=1", "processes=3"}) {
    const auto result = Program().run(with(kTiny, {"mode=graph", processes}), 2);
    EXPECT_THAT(result.output, HasSubstr("naive and fused (mode: graph"));
    EXPECT_THAT(result.errors, HasSubstr("nothing was measured: "));
    EXPECT_THAT(result.errors, Not(HasSubstr("process 2 of 3")));
  }
}

TEST(Bench, ChecksForAMissingFolderBeforeMeasuring) {
  Program().expect_error(2, with(kTiny, {"--json", "nowhere/a.json"}));
}

TEST(Bench, RefusesOneNameForTwoFilesOrAnInput) {
  const Program program;
  program.expect_error(2, with(kTiny, {"--csv", "a.json", "--json", "./a.json"}));
  program.write("before.json", "{}");
  program.expect_error(2, with(kTiny, {"--against", "before.json", "--json", "before.json"}));
}

TEST(Bench, RefusesAnOutputThatIsNotAFile) {
  const Program program;
  std::filesystem::create_directory(program.folder() / "results");
  program.expect_error(2, with(kTiny, {"--csv", "results"}));
}

TEST(Bench, WritesTheOtherResultsIfTheCsvCannotBeWritten) {
  const testing::SmallDisk disk;
  const std::string full = "No space left on device";
  if (!disk.reason().starts_with(full)) GTEST_SKIP() << "a full disk needs the right to mount one";
  testing::write_text(disk.path() / "all", std::string(2 * testing::SmallDisk::kBytes, 'x'));
  const Program program;
  const auto result =
      program.run(with(kTiny, {"-q", "--csv", (disk.path() / "a.csv").string(), "--json", "a.json"}), 4);
  EXPECT_THAT(result.errors, HasSubstr(full));
  EXPECT_THAT(result.output, HasSubstr("naive ran "));
  const auto json = nlohmann::json::parse(testing::read_text(program.folder() / "a.json"));
  EXPECT_EQ(json["rows"][1]["measurement"]["samples"]["all"].size(), 6u);
}

TEST(Bench, TimesACellOfEquationsInTheLayersThatHaveIt) {
  const Program program("gates: [n]\nstates: [h]\nequations: h = 0.5 * h + tanh(n)\n", "leaky.yaml");
  const Words arguments = {"layer=naive,blocked,fused", "cell=rnn_tanh,leaky.yaml", "--json", "a.json"};
  program.run(with(kTiny, arguments), 0);
  const auto rows = nlohmann::json::parse(testing::read_text(program.folder() / "a.json"))["rows"];
  ASSERT_EQ(rows.size(), 6u);
  for (size_t i = 0; i < 5; ++i) EXPECT_FALSE(rows[i]["measurement"].is_null()) << rows[i];
  EXPECT_THAT(rows[3]["cell"].get<std::string>(), ::testing::StartsWith("leaky "));
  EXPECT_THAT(rows[5]["reason"].get<std::string>(), HasSubstr("layer: fused"));
  program.expect_error(2, {"bench", "cell=missing.yaml"});
}

TEST(Bench, AgainstAnotherBuildItIsRefusedBeforeMeasuring) {
  const Program program;
  program.run(with(kTiny, {"device=auto", "--json", "old.json"}), 0);
  auto json = nlohmann::ordered_json::parse(testing::read_text(program.folder() / "old.json"));
  json["environment"]["build"]["type"] = "Another";
  program.write("old.json", json.dump());
  const auto result = program.run(with(kTiny, {"device=auto", "--against", "old.json", "--json", "new.json"}), 2);
  EXPECT_THAT(result.errors, HasSubstr("\n  build: "));
  EXPECT_EQ(result.output, "");
  EXPECT_FALSE(std::filesystem::exists(program.folder() / "new.json"));
}

TEST(Bench, OfSeveralProcessesHasAVerdictAgainstAnother) {
  const Program program;
  const auto first = program.run(with(kTiny, {"processes=5", "--json", "old.json"}), 0);
  EXPECT_THAT(first.errors, HasSubstr("=== process 5 of 5\n[1/1] "));
  EXPECT_THAT(first.output, HasSubstr("\n5 processes: "));
  const auto json = nlohmann::json::parse(testing::read_text(program.folder() / "old.json"));
  EXPECT_EQ(json["rows"][1]["measurement"]["rounds_by_process"], (std::vector<int>{6, 6, 6, 6, 6}));
  EXPECT_EQ(json["rows"][1]["measurement"]["samples"]["all"].size(), 30u);
  EXPECT_GT(json["rows"][1]["measurement"]["cpu_seconds"], 0);
  const auto command_line = json["environment"]["command_line"].get<std::vector<std::string>>();
  EXPECT_THAT(command_line, ::testing::Contains("processes=5")) << "the user's, and not that of a process";

  scale_samples(program, 1e-6);
  const auto slower = program.run(with(kTiny, {"-q", "processes=5", "--against", "old.json"}), 7);
  EXPECT_THAT(slower.output, HasSubstr("SLOWER"));
  EXPECT_EQ(slower.errors, "");
}

TEST(Bench, ChecksTheBaselineFileBeforeMeasuring) {
  const Program program;
  program.write("old.json", "[]");
  program.expect_error(3, with(kTiny, {"--against", "old.json"}));
}

TEST(Bench, ForceIsForAgainst) { EXPECT_EQ(Program().run({"bench", "--force"}).exit_code, 2); }

// A benchmark that a signal ends as soon as one of its files has a text.
struct EndedBench {
  Words settings;
  std::string file, text;
  int signal, exit_code;
};

// Returns what the benchmark had written then.
nlohmann::json report_of(const EndedBench& ended) {
  const Program program;
  const auto has_text = [&] {
    return testing::read_text(program.folder() / ended.file).find(ended.text) != std::string::npos;
  };
  const Words bench = {"bench", "device=cpu", "layer=naive", "num_layers=1", "--json", "a.json"};
  const auto result = program.run_and_signal(with(bench, ended.settings), ended.signal, has_text);
  EXPECT_EQ(result.exit_code, ended.exit_code) << result.errors;
  return nlohmann::json::parse(testing::read_text(program.folder() / "a.json"));
}

constexpr const char* kMeasured = "\"measurement\": {";

TEST(Bench, ASignalEndsItWithWhatWasMeasured) {
  const Words sizes = {"hidden_size=4,512", "batch_size=2,256", "repeats=3", "num_steps=100", "min_seconds=1"};
  EXPECT_TRUE(report_of({sizes, "stderr.txt", "[1/", SIGINT, 130})["rows"][0]["measurement"].is_object());
  const Words processes = {"hidden_size=4", "batch_size=2", "processes=3", "num_steps=10", "min_seconds=1"};
  const auto of_processes = report_of({processes, "stderr.txt", "=== process 2", SIGTERM, 143});
  EXPECT_TRUE(of_processes["rows"][0]["measurement"].is_object());
  EXPECT_EQ(of_processes["warnings"].front()["kind"], "unfinished");
}

TEST(Bench, AKillLosesNoFinishedCombination) {
  const Words sizes = {"hidden_size=4", "batch_size=2,3", "num_steps=10"};
  for (const Words& more : {Words{"repeats=3", "min_seconds=2"}, Words{"processes=3", "min_seconds=1"}}) {
    const auto report = report_of({with(sizes, more), "a.json", kMeasured, SIGKILL, -SIGKILL});
    EXPECT_TRUE(report["rows"][0]["measurement"].is_object());
    expect_golden(report["warnings"].front()["text"].get<std::string>());
  }
}

TEST(Bench, AListOfKeysTakesNoArguments) { Program().expect_error(2, {"bench", "--schema", "layer=nonsense"}); }

TEST(Bench, ListsItsKeys) {
  const auto result = Program().run({"bench", "--schema"}, 0);
  EXPECT_THAT(result.output, HasSubstr("sample_seconds"));
}

}  // namespace
}  // namespace rnnlab
