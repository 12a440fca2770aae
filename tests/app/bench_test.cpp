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
using ::testing::StartsWith;

const std::vector<std::string> kTiny = {"bench",        "device=cpu",          "hidden_size=4",
                                        "batch_size=2", "num_layers=1",        "num_steps=3",
                                        "repeats=6",    "sample_seconds=1e-6", "layer=naive,fused"};

std::vector<std::string> tiny_with(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = kTiny;
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

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
  const auto result = program.run(tiny_with({"--csv", "a.csv", "--json", "a.json"}));
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("cpu eager fp32 lstm H 4 B 2 T 3 L 1\n"));
  EXPECT_THAT(result.output, HasSubstr("naive ran native loop, 8 GEMMs a step\n"));
  EXPECT_THAT(result.errors, HasSubstr("The benchmark measures 2 layers in 1 combination, which takes at least "));
  EXPECT_THAT(result.errors, HasSubstr("[1/1] cpu eager fp32 lstm H 4 B 2 T 3 L 1: naive "));
  EXPECT_THAT(testing::read_text(program.folder() / "a.csv"),
              HasSubstr("\nfused,cpu,eager,fp32,lstm,auto,4,2,3,1,4,0,1,,,"));
  const auto json = nlohmann::json::parse(testing::read_text(program.folder() / "a.json"));
  EXPECT_EQ(json["schema_version"], 3);
  EXPECT_EQ(json["rows"][1]["measurement"]["samples"]["all"].size(), 6u);
}

TEST(Bench, ReadsAFileUnderTheArguments) {
  const Program program;
  program.write("bench.yaml", "hidden_size: [4, 8]\nlayer: naive\nbatch_size: 2\nnum_steps: 3\n");
  const auto result = program.run(
      {"bench", "bench.yaml", "num_layers=1", "device=cpu", "repeats=1", "layer=fused", "sample_seconds=1e-6", "-q"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.errors, IsEmpty());
  EXPECT_THAT(result.output, HasSubstr("\n8  fused "));
  EXPECT_THAT(result.output, HasSubstr("fewer than six samples"));
}

TEST(Bench, AnUnknownKeyIsNamedWithItsPlace) {
  const auto result = Program().run({"bench", "hiden_size=4"});
  EXPECT_EQ(result.exit_code, 2);
  expect_golden(result.errors);
}

TEST(Bench, ListsEachKeyOnceAndHasNoSweep) {
  const std::string errors = Program().run({"bench", "wibble=4", "wobble=4"}).errors;
  EXPECT_THAT(errors, HasSubstr("unknown key 'wibble' (keys here: layer, device, "));
  EXPECT_THAT(errors, HasSubstr(", seed, num_threads)\nargument 'wobble=4': unknown key 'wobble'\n"));
}

TEST(Bench, PrintsReasonsAndFailsIfNoLayerSupportsTheWork) {
  const auto result = Program().run(tiny_with({"mode=graph"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(
      result.output,
      HasSubstr("not measured: naive and fused (mode: graph needs CUDA; device: cpu has no graphs; use mode=eager)\n"));
  EXPECT_THAT(result.errors, HasSubstr("rnnlab: error: nothing was measured: mode: graph needs CUDA; device: cpu has no"
                                       " graphs; use mode=eager\n"));
}

TEST(Bench, ChecksForAMissingFolderBeforeMeasuring) {
  const auto result = Program().run(tiny_with({"--json", "nowhere/a.json"}));
  EXPECT_EQ(result.exit_code, 2);
  expect_golden(result.errors);
}

TEST(Bench, RefusesOneNameForTwoFilesOrAnInput) {
  const Program program;
  const auto same = program.run(tiny_with({"--csv", "a.json", "--json", "./a.json"}));
  EXPECT_EQ(same.exit_code, 2);
  expect_golden(same.errors);
  program.write("before.json", "{}");
  const auto over = program.run(tiny_with({"--against", "before.json", "--json", "before.json"}));
  EXPECT_EQ(over.exit_code, 2);
  expect_golden(over.errors);
}

TEST(Bench, RefusesAnOutputThatIsNotAFile) {
  const Program program;
  std::filesystem::create_directory(program.folder() / "results");
  const auto result = program.run(tiny_with({"--csv", "results"}));
  EXPECT_EQ(result.exit_code, 2);
  expect_golden(result.errors);
}

TEST(Bench, WritesTheOtherResultsIfTheCsvCannotBeWritten) {
  const testing::SmallDisk disk;
  const std::string full = "No space left on device";
  if (!disk.reason().starts_with(full)) GTEST_SKIP() << "a full disk needs the right to mount one";
  testing::write_text(disk.path() / "all", std::string(2 * testing::SmallDisk::kBytes, 'x'));
  const Program program;
  const auto result = program.run(tiny_with({"-q", "--csv", (disk.path() / "a.csv").string(), "--json", "a.json"}));
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.errors, HasSubstr(full));
  EXPECT_THAT(result.output, HasSubstr("naive ran "));
  const auto json = nlohmann::json::parse(testing::read_text(program.folder() / "a.json"));
  EXPECT_EQ(json["rows"][1]["measurement"]["samples"]["all"].size(), 6u);
}

TEST(Bench, AgainstAnotherBuildItIsRefusedBeforeMeasuring) {
  const Program program;
  ASSERT_EQ(program.run(tiny_with({"device=auto", "--json", "old.json"})).exit_code, 0);
  auto json = nlohmann::ordered_json::parse(testing::read_text(program.folder() / "old.json"));
  json["environment"]["build"]["type"] = "Another";
  program.write("old.json", json.dump());
  const auto result = program.run(tiny_with({"device=auto", "--against", "old.json", "--json", "new.json"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, StartsWith("rnnlab: error: old.json cannot be compared with:\n  build: "));
  EXPECT_EQ(result.output, "");
  EXPECT_FALSE(std::filesystem::exists(program.folder() / "new.json"));
}

TEST(Bench, OfSeveralProcessesHasAVerdictAgainstAnother) {
  const Program program;
  const auto first = program.run(tiny_with({"processes=5", "--json", "old.json"}));
  ASSERT_EQ(first.exit_code, 0) << first.errors;
  EXPECT_THAT(first.errors, HasSubstr("=== process 5 of 5\n[1/1] cpu eager fp32 lstm H 4"));
  EXPECT_THAT(first.errors, HasSubstr("; 4 more take about "));
  EXPECT_THAT(first.output,
              HasSubstr("\n5 processes: the times are means over processes, with 95 % intervals of the mean.\n"));
  EXPECT_THAT(first.output, HasSubstr("naive ran native loop, 8 GEMMs a step\n"));
  const auto json = nlohmann::json::parse(testing::read_text(program.folder() / "old.json"));
  EXPECT_EQ(json["rows"][1]["measurement"]["rounds_by_process"], (std::vector<int>{6, 6, 6, 6, 6}));
  EXPECT_EQ(json["rows"][1]["measurement"]["samples"]["all"].size(), 30u);
  EXPECT_GT(json["rows"][1]["measurement"]["cpu_seconds"], 0);
  const auto command_line = json["environment"]["command_line"].get<std::vector<std::string>>();
  EXPECT_THAT(command_line, ::testing::Contains("processes=5")) << "the user's, and not that of a process";

  scale_samples(program, 1e-6);
  const auto slower = program.run(tiny_with({"-q", "processes=5", "--against", "old.json"}));
  EXPECT_EQ(slower.exit_code, 7) << slower.errors;
  EXPECT_THAT(slower.output, HasSubstr("SLOWER"));
  EXPECT_EQ(slower.errors, "");
}

TEST(Bench, HasNoVerdictAgainstOneProcess) {
  const Program program;
  ASSERT_EQ(program.run(tiny_with({"--json", "old.json"})).exit_code, 0);
  scale_samples(program, 1e-6);
  const auto result = program.run(tiny_with({"--against", "old.json"}));
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("now over old.json, "));
  EXPECT_THAT(result.output, HasSubstr("1 process now and 1 process before: no interval and no verdict"));
}

TEST(Bench, ReportsWhatNoProcessCanDoOnce) {
  const auto result = Program().run(tiny_with({"mode=graph", "processes=3"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("not measured: naive and fused (mode: graph needs CUDA"));
  EXPECT_THAT(result.errors,
              HasSubstr("rnnlab: error: nothing was measured: mode: graph needs CUDA; device: cpu has no"));
  EXPECT_THAT(result.errors, Not(HasSubstr("process 2 of 3")));
}

TEST(Bench, ASignalEndsSeveralProcessesWithWhatWasMeasured) {
  const Program program;
  const auto in_second_process = [&] {
    return testing::read_text(program.folder() / "stderr.txt").find("=== process 2") != std::string::npos;
  };
  const auto result =
      program.run_and_signal({"bench", "device=cpu", "layer=naive", "hidden_size=4", "batch_size=2", "num_layers=1",
                              "processes=3", "num_steps=10", "min_seconds=1", "--json", "a.json"},
                             SIGTERM, in_second_process);
  EXPECT_EQ(result.exit_code, 143) << result.errors;
  const auto json = nlohmann::json::parse(testing::read_text(program.folder() / "a.json"));
  EXPECT_TRUE(json["rows"][0]["measurement"].is_object());
  EXPECT_EQ(json["warnings"].front()["kind"], "unfinished");
}

TEST(Bench, AKillOfSeveralProcessesLosesNoFinishedCombination) {
  const Program program;
  const auto has_one = [&] {
    return testing::read_text(program.folder() / "a.json").find("\"measurement\": {") != std::string::npos;
  };
  const auto result =
      program.run_and_signal({"bench", "device=cpu", "layer=naive", "hidden_size=4", "batch_size=2,3", "num_layers=1",
                              "processes=3", "num_steps=10", "min_seconds=1", "--json", "a.json"},
                             SIGKILL, has_one);
  EXPECT_EQ(result.exit_code, -SIGKILL) << result.errors;
  const auto json = nlohmann::json::parse(testing::read_text(program.folder() / "a.json"));
  EXPECT_TRUE(json["rows"][0]["measurement"].is_object());
  expect_golden(json["warnings"].front()["text"].get<std::string>());
}

TEST(Bench, ChecksTheBaselineFileBeforeMeasuring) {
  const Program program;
  program.write("old.json", "[]");
  const auto result = program.run(tiny_with({"--against", "old.json"}));
  EXPECT_EQ(result.exit_code, 3);
  expect_golden(result.errors);
}

TEST(Bench, ForceIsForAgainst) { EXPECT_EQ(Program().run({"bench", "--force"}).exit_code, 2); }

TEST(Bench, ASignalEndsItWithWhatWasMeasured) {
  const Program program;
  const auto has_first = [&] {
    return testing::read_text(program.folder() / "stderr.txt").find("[1/") != std::string::npos;
  };
  const auto result =
      program.run_and_signal({"bench", "device=cpu", "layer=naive", "hidden_size=4,512", "batch_size=2,256",
                              "num_layers=1", "repeats=3", "num_steps=100", "min_seconds=1", "--json", "a.json"},
                             SIGINT, has_first);
  EXPECT_EQ(result.exit_code, 130) << result.errors;
  const auto json = nlohmann::json::parse(testing::read_text(program.folder() / "a.json"));
  EXPECT_TRUE(json["rows"][0]["measurement"].is_object());
}

TEST(Bench, AKillLosesNoFinishedCombination) {
  const Program program;
  const auto is_second_under_way = [&] {
    return testing::read_text(program.folder() / "a.json").find("\"measurement\": {") != std::string::npos;
  };
  const auto result =
      program.run_and_signal({"bench", "device=cpu", "layer=naive", "hidden_size=4", "batch_size=2,3", "num_layers=1",
                              "repeats=3", "num_steps=10", "min_seconds=2", "--json", "a.json"},
                             SIGKILL, is_second_under_way);
  EXPECT_EQ(result.exit_code, -SIGKILL) << result.errors;
  const auto json = nlohmann::json::parse(testing::read_text(program.folder() / "a.json"));
  EXPECT_TRUE(json["rows"][0]["measurement"].is_object());
  expect_golden(json["warnings"].front()["text"].get<std::string>());
}

TEST(Bench, AListOfKeysTakesNoArguments) {
  const auto result = Program().run({"bench", "--schema", "layer=nonsense"});
  EXPECT_EQ(result.exit_code, 2);
  expect_golden(result.errors);
}

TEST(Bench, ListsItsKeys) {
  const auto result = Program().run({"bench", "--schema"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("sample_seconds"));
}

}  // namespace
}  // namespace rnnlab
