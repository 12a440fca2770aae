// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "app/program.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;
using testing::kTinyYaml;
using testing::Program;

TEST(Check, PrintsAFileThatIsValidAndEqual) {
  const Program program(kTinyYaml);
  const auto first = program.run({"check", "tiny.yaml", "seed=7"}, 0);
  EXPECT_THAT(first.output, HasSubstr("seed: 7"));
  program.write("printed.yaml", first.output);
  const auto second = program.run({"check", "printed.yaml"}, 0);
  EXPECT_EQ(second.output, first.output);
}

TEST(Check, KeepsTheSweep) {
  const Program program;
  program.write("sweep.yaml",
                std::string(kTinyYaml) + "sweep: {layer: [naive, fused], training.batch_size: [10, 20]}\n");
  const auto first = program.run({"check", "sweep.yaml"});
  EXPECT_THAT(first.output, HasSubstr("  training.batch_size: [10, 20]\n"));
  program.write("printed.yaml", first.output);
  EXPECT_EQ(program.run({"check", "printed.yaml"}).output, first.output);
}

TEST(Check, ReportsEveryMistakeWithItsPlace) {
  const Program program;
  program.write("bad.yaml", "name: tiny\ntraining:\n  epoch: 3\n  batch_size: many\n");
  program.expect_error(2, {"check", "bad.yaml", "seed=-1"});
  EXPECT_EQ(program.run({"check", "bad.yaml", "--json"}, 2).output, "");
}

TEST(Check, NotesWhatThisMachineCannotRun) {
  const Program program(kTinyYaml);
  const auto result = program.run({"check", "tiny.yaml", "device=cuda:99"}, 0);
  EXPECT_THAT(result.errors, HasSubstr("argument 'device=cuda:99': "));
  if (program.run({"info"}).output.find("device:     cpu\n") == std::string::npos) GTEST_SKIP() << "there is a GPU";
  EXPECT_THAT(program.run({"check", "tiny.yaml", "device=auto", "data.num_train=1000000000"}).errors,
              HasSubstr("data.num_train: this run ("));
  program.expect_error(0, {"check", "tiny.yaml", "device=auto", "layer=cudnn"});
  program.expect_error(0, {"check", "tiny.yaml", "device=auto", "precision=fp16"});
}

TEST(Check, KeepsItsLinesTo120Columns) {
  const std::string file = std::string(RNNLAB_SOURCE_DIR) + "/experiments/quickstart.yaml";
  std::istringstream lines(Program().run({"check", file}).output);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120u) << line;
}

TEST(Check, NeedsAFile) { Program().expect_error(2, {"check"}); }

TEST(Check, JsonSchemaHasEveryKey) {
  const auto schema = nlohmann::json::parse(Program().run({"check", "--json-schema"}).output);
  std::istringstream described(Program().run({"check", "--schema"}).output);
  int num_keys = 0;
  for (std::string line; std::getline(described, line);) {
    const std::string key = line.substr(0, line.find(' '));
    if (key.empty() || line == "An experiment") continue;
    std::string pointer = "/properties/" + key;
    for (size_t dot; (dot = pointer.find('.')) != std::string::npos;) pointer.replace(dot, 1, "/properties/");
    // The equations of a cell may stand in place of its name.
    constexpr std::string_view kCell = "/model/properties/cell/";
    if (const size_t at = pointer.find(kCell); at != std::string::npos) pointer.insert(at + kCell.size(), "anyOf/1/");
    EXPECT_TRUE(schema.contains(nlohmann::json::json_pointer(pointer))) << key;
    ++num_keys;
  }
  EXPECT_GT(num_keys, 50);
  EXPECT_TRUE(schema["properties"]["sweep"]["properties"].contains("training.batch_size"));
}

TEST(Check, ListsOfKeysTakeNoFile) {
  for (const char* option : {"--schema", "--json-schema", "--markdown"}) {
    Program().expect_error(2, {"check", option, "tiny.yaml"});
  }
}

TEST(Check, TheReferencePageInDocsIsUpToDate) {
  const std::string page = std::string(RNNLAB_SOURCE_DIR) + "/docs/experiment-reference.md";
  EXPECT_EQ(testing::read_text(page), Program().run({"check", "--markdown"}).output)
      << "run: build/release/rnnlab check --markdown > docs/experiment-reference.md";
}

TEST(Check, TheExperimentInTheReadmeIsTheOneInTheFolder) {
  const std::string root = RNNLAB_SOURCE_DIR;
  const std::string readme = testing::read_text(root + "/README.md");
  const size_t begin = readme.find("name: mnist_rows\n");
  const Program program;
  program.write("readme.yaml", readme.substr(begin, readme.find("```", begin) - begin));
  EXPECT_EQ(program.run({"check", "readme.yaml"}).output,
            program.run({"check", root + "/experiments/mnist_rows.yaml"}).output);
}

TEST(Check, PrintsTheSettingsOfEveryCaseAsJson) {
  const Program program;
  program.write("sweep.yaml", std::string(kTinyYaml) + "repeats: 5\nsweep: {layer: [naive, fused]}\n");
  const auto plain = program.run({"check", "sweep.yaml", "--json"}, 0);
  const auto json = nlohmann::json::parse(plain.output);
  const auto& file = json.at("files").at(0);
  EXPECT_EQ(file.at("file"), "sweep.yaml");
  EXPECT_EQ(file.at("repeats"), 5);
  ASSERT_EQ(file.at("cases").size(), 2u);
  const auto& second = file.at("cases").at(1);
  EXPECT_EQ(second.at("label"), "layer=fused");
  EXPECT_EQ(second.at("settings").at("layer"), "fused");
  EXPECT_EQ(second.at("settings").at("training").at("epochs"), 3);
  EXPECT_EQ(second.at("settings").at("devices"), nullptr);
  EXPECT_EQ(second.at("settings").at("strict"), false);
  EXPECT_TRUE(json.at("cannot_run_here").empty());
}

TEST(Check, NotesWhatAStrictRunRefuses) {
  const Program program(kTinyYaml);
  const auto result = program.run({"check", "tiny.yaml", "strict=true", "precision=tf32", "--json"}, 0);
  const std::string reason = nlohmann::json::parse(result.output).at("cannot_run_here").at(0);
  EXPECT_THAT(reason, ::testing::StartsWith("argument 'precision=tf32': "));
  EXPECT_THAT(result.errors, HasSubstr(reason));
}

}  // namespace
}  // namespace rnnlab
