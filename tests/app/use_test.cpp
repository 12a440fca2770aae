// SPDX-License-Identifier: Apache-2.0
// Tests evaluate, predict and convert, which use a trained run.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "app/program.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;
using testing::kPetsTable;
using testing::Program;
using testing::read_text;
using ::testing::StartsWith;
using testing::Words;

constexpr const char* kTableYaml = R"(name: pets
device: cpu
data: {source: csv, path: pets.csv, target: [kind], num_valid: 2}
model: {hidden_size: 4}
training: {epochs: 2, batch_size: 2}
)";

// A program with a trained run of it.
class UseModel : public ::testing::Test {
 protected:
  UseModel() {
    program_.write("pets.csv", kPetsTable);
    program_.write("pets.yaml", kTableYaml);
    program_.run({"train", "pets.yaml", "--quiet"}, 0);
    run_ = program_.run_folders("pets").at(0);
  }

  Program program_;
  std::string run_;
};

TEST_F(UseModel, EvaluatesOnTheValidationPart) {
  const auto result = program_.run({"evaluate", run_, "layer=naive"}, 0);
  EXPECT_THAT(result.output, StartsWith("model     pets from "));
  EXPECT_THAT(result.output, HasSubstr("\nlayer     naive on cpu, "));
  EXPECT_THAT(result.output, HasSubstr(": 2 validation samples\n"));
  EXPECT_THAT(result.output, HasSubstr("\nclass  precision  recall"));
  EXPECT_THAT(result.output, HasSubstr("\ntarget  cat  dog\n"));
  const auto json = nlohmann::json::parse(program_.run({"evaluate", run_, "--part", "all", "--json"}).output);
  EXPECT_EQ(json["samples"], 6);
  EXPECT_EQ(json["classes"][0]["name"], "cat");
  EXPECT_EQ(json["classes"][0]["samples"], 3);
  EXPECT_EQ(json["confusion_matrix"].size(), 2u);
  EXPECT_EQ(json["layer"], "fused");
}

TEST_F(UseModel, PredictsNewRowsWithoutTargets) {
  program_.write("new.csv", "b,a\n5,1\n8,4\n");
  const auto result = program_.run({"predict", run_, "data.path=new.csv"}, 0);
  EXPECT_THAT(result.output, StartsWith("index,row,prediction,probability_cat,probability_dog,reason\n0,1,"));
  EXPECT_THAT(program_.run({"predict", run_, "data.path=new.csv", "--out", "new.jsonl"}).output,
              StartsWith("new.jsonl: 2 samples in "));
  EXPECT_THAT(read_text(program_.folder() / "new.jsonl"), StartsWith(R"({"index":0,"row":1,"prediction":")"));
}

TEST_F(UseModel, PredictsASeriesWithALineForEachDateAndHorizon) {
  std::string text = "day,x\n";
  for (int day = 1; day <= 30; ++day) text += fmt::format("2026-01-{:02},{}\n", day, day % 5);
  program_.write("days.csv", text);
  program_.write(
      "days.yaml",
      "name: days\ndevice: cpu\ndata: {source: csv, path: days.csv, features: [x], target: [x], time: day, window: 3, "
      "horizon: 1..3}\n"
      "model: {kind: sequence_regressor, hidden_size: 4}\ntraining: {epochs: 1, batch_size: 8}\n");
  program_.run({"train", "days.yaml", "--quiet"}, 0);
  const auto result = program_.run({"predict", "days", "--part", "all", "--long"}, 0);
  EXPECT_THAT(result.output, StartsWith("index,row,time,horizon,target,prediction\n0,4,2026-01-04,1,4,"));
  EXPECT_THAT(result.output, HasSubstr("\n27,31,2026-01-31,1,,"));
  EXPECT_THAT(result.output, HasSubstr("\n27,33,2026-02-02,3,,"));
  program_.run({"predict", "days", "--part", "all", "--long", "--out", "days.jsonl"}, 0);
  EXPECT_THAT(read_text(program_.folder() / "days.jsonl"),
              HasSubstr(R"("time":"2026-02-02","horizon":3,"target":null)"));
  program_.expect_error(2, {"predict", "days", "--long", "--out", "days.npy"});
  program_.expect_error(2, {"predict", run_, "--long"});
}

TEST_F(UseModel, PredictsEveryRowOfAFileByItsKey) {
  program_.write("new.csv", "key,b,a\n=7,5,1\nx,,4\n\"y,z\",8,4\n");
  const auto result = program_.run({"predict", run_, "data.path=new.csv", "data.id=[key]", "data.missing=drop"}, 0);
  EXPECT_THAT(result.output, StartsWith("index,row,key,prediction,probability_cat,probability_dog,reason\n0,1,=7,"));
  EXPECT_THAT(result.output, HasSubstr("\n1,3,\"y,z\","));
  expect_golden(result.errors);
  const auto mean = program_.run({"predict", run_, "data.path=new.csv", "data.missing=mean"});
  EXPECT_THAT(mean.output, HasSubstr("\n1,2,")) << mean.errors;
  program_.expect_error(3, {"predict", run_, "data.path=new.csv", "data.missing=drop", "data.id=[kee]"});
}

TEST_F(UseModel, PrintsTimesAsJson) {
  for (const Words& command : {Words{"evaluate", run_, "--passes", "3", "--json"},
                               Words{"predict", run_, "--passes", "3", "--json", "--out", "kinds.npy"}}) {
    const auto result = program_.run(command, 0);
    const auto json = nlohmann::json::parse(result.output);
    EXPECT_EQ(json["passes"], 3);
    EXPECT_EQ(json["samples"], 2);
    EXPECT_GE(json["seconds"], json["low_seconds"]);
    EXPECT_GT(json["microseconds_per_sample"], 0);
  }
  program_.expect_error(2, {"evaluate", run_, "--passes", "0"});
}

TEST_F(UseModel, SaysWhatItCannotPredict) {
  program_.expect_error(2, {"predict", run_, "--out", "a.txt"});
  program_.expect_error(2, {"predict", run_, "--prompt", "a"});
  program_.expect_error(2, {"predict"});
  program_.expect_error(2, {"predict", run_, "--prompt", "a", "--temperature", "-1"});
  program_.expect_error(2, {"evaluate", run_, "--part", "tset"});
}

// Most of the file was trained on, also if it is named differently.
TEST_F(UseModel, TakesOnlyTheValidationPartOfTrainingsOwnFile) {
  for (const std::string& path : {std::string("pets.csv"), (program_.folder() / "pets.csv").string()})
    EXPECT_THAT(program_.run({"evaluate", run_, "data.path=" + path}).output, HasSubstr(": 2 validation samples\n"));
  program_.write("copy.csv", kPetsTable);
  EXPECT_THAT(program_.run({"evaluate", run_, "data.path=copy.csv"}).output, HasSubstr(": 6 samples\n"));
}

TEST_F(UseModel, ReportsUnusedData) {
  program_.expect_error(2, {"predict", run_, "data.pth=new.csv"});
  program_.expect_error(2, {"evaluate", run_, "--part", "all", "data.num_valid=1"});
  const auto none = program_.run({"predict", run_, "data.num_valid=0"}, 3);
  EXPECT_THAT(none.errors, HasSubstr("data.num_valid is 0; "));
}

TEST_F(UseModel, ReplacesNothingThatWouldBeMissed) {
  program_.expect_error(2, {"predict", run_, "data.path=pets.csv", "--out", "./pets.csv"});
  program_.write("new.csv", "b,a\n5,1\n");
  program_.expect_error(2, {"predict", run_, "data.path=new.csv", "--out", "pets.csv"});
  program_.expect_error(2, {"predict", run_, "--out", run_ + "/epochs.csv"});
  for (const auto& step : std::filesystem::directory_iterator(program_.folder() / run_ / "checkpoints")) {
    if (!step.is_directory()) continue;
    program_.run({"convert", run_, "-o", (step.path() / "model.safetensors").string()}, 2);
  }
  EXPECT_EQ(program_.run({"predict", run_, "--out", run_ + "/predictions.csv"}).exit_code, 0);
}

TEST_F(UseModel, ReplacesNoDataThatAreFoundElsewhere) {
  const std::filesystem::path root = program_.folder() / "root";
  std::filesystem::create_directory(root);
  program_.write("root/found.csv", kPetsTable);
  const auto result = program_.run_in_shell(
      "RNNLAB_DATA=root \"$0\" predict '" + run_ + "' data.path=found.csv --out root/found.csv", 2);
  expect_golden(result.errors);
  EXPECT_EQ(read_text(root / "found.csv"), kPetsTable);
}

TEST_F(UseModel, GivesSafetensorsNoNameOfAnotherFormat) {
  program_.expect_error(2, {"convert", run_, "-o", "weights.pt"});
}

TEST_F(UseModel, SaysThatARunHasNoCheckpointYet) {
  std::filesystem::remove_all(program_.folder() / run_ / "checkpoints");
  program_.expect_error(2, {"evaluate", run_});
}

TEST_F(UseModel, ConvertsAndStartsFromTheResult) {
  const auto result = program_.run({"convert", run_, "--part", "recurrent", "-o", "lstm.safetensors"}, 0);
  EXPECT_THAT(result.output, StartsWith("lstm.safetensors: 4 tensors, 112 "));
  EXPECT_THAT(result.output, HasSubstr("\nfor torch.nn.LSTM(1, 4)\n"));
  EXPECT_EQ(program_.run({"train", "pets.yaml", "--quiet", "model.initial_weights=lstm.safetensors"}).exit_code, 0);
  program_.expect_error(2, {"convert", run_});
  program_.expect_error(2, {"convert", run_, "device=cpu", "-o", "a.safetensors"});
}

TEST_F(UseModel, PrintsWhatItConvertedAsJson) {
  const auto result = program_.run({"convert", run_, "--part", "recurrent", "-o", "lstm.safetensors", "--json"}, 0);
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json.at("file"), "lstm.safetensors");
  EXPECT_EQ(json.at("num_tensors"), 4);
  EXPECT_EQ(json.at("num_parameters"), 112);
  EXPECT_EQ(json.at("module"), "torch.nn.LSTM(1, 4)");
  EXPECT_EQ(json.at("warning"), "");
}

TEST_F(UseModel, ConvertsToKerasAndBack) {
  const auto result = program_.run({"convert", run_, "--layout", "keras", "-o", "keras.safetensors"}, 0);
  EXPECT_THAT(result.output, StartsWith("keras.safetensors: 5 tensors, 106 "));
  EXPECT_THAT(result.output, HasSubstr("\nfor keras.layers.LSTM(4)\n"));
  EXPECT_THAT(program_.run({"convert", "keras.safetensors", "--from", "keras", "-o", "ours.safetensors"}).output,
              StartsWith("ours.safetensors: 6 tensors, 122 "));
  EXPECT_EQ(program_.run({"train", "pets.yaml", "--quiet", "model.initial_weights=keras.safetensors"}).exit_code, 0);
}

TEST_F(UseModel, WarnsOfWeightsThatAreNotFinite) {
  program_.run({"convert", run_, "-o", "ours.safetensors"});
  std::string bytes = read_text(program_.folder() / "ours.safetensors");
  for (size_t byte = bytes.size() - 64; byte < bytes.size(); ++byte) bytes[byte] = '\xff';
  program_.write("nan.safetensors", bytes);
  program_.expect_error(0, {"convert", "nan.safetensors", "-o", "copy.safetensors"});
  EXPECT_EQ(program_.run({"train", "pets.yaml", "--quiet", "model.initial_weights=nan.safetensors"}).exit_code, 5);
}

TEST_F(UseModel, WritesTheWholeModelAndItsCard) {
  const auto result = program_.run({"convert", run_, "--whole", "-o", "pets.safetensors", "--card", "pets.md"}, 0);
  EXPECT_THAT(result.output, HasSubstr("rnnlab predict pets.safetensors\n"));
  EXPECT_THAT(read_text(program_.folder() / "pets.md"),
              HasSubstr("    rnnlab predict pets.safetensors data.path=NEW\n"));
  program_.write("new.csv", "b,a\n5,1\n8,4\n");
  const auto of_run = program_.run({"predict", run_, "data.path=new.csv"}, 0);
  std::filesystem::remove_all(program_.folder() / "runs");
  EXPECT_EQ(program_.run({"predict", "pets.safetensors", "data.path=new.csv"}, 0).output, of_run.output);
  EXPECT_THAT(program_.run({"evaluate", "pets.safetensors"}, 0).output,
              StartsWith("model     pets from pets.safetensors\n"));
  EXPECT_THAT(program_.run({"cell", "pets.safetensors"}, 0).output, StartsWith("lstm: "));
  program_.run({"convert", "pets.safetensors", "--layout", "keras", "-o", "keras.safetensors"}, 0);
  const auto card = program_.run({"convert", "pets.safetensors", "--card", "again.md", "--json"}, 0);
  EXPECT_EQ(nlohmann::json::parse(card.output), (nlohmann::json{{"card", "again.md"}}));
  program_.run({"train", "pets.yaml", "model.initial_weights=pets.safetensors", "--quiet"}, 0);
}

TEST_F(UseModel, SaysWhatIsNoWholeModel) {
  program_.run({"convert", run_, "-o", "weights.safetensors"}, 0);
  for (const Words& command :
       {Words{"convert", run_, "--whole", "-o", "pets.weights"}, Words{"convert", run_, "--whole", "--card", "pets.md"},
        Words{"convert", run_, "--whole", "--layout", "keras", "-o", "a.safetensors"},
        Words{"convert", run_, "--card", "card.html"},
        Words{"convert", run_, "--card", "card.md", "--part", "recurrent"},
        Words{"convert", run_, "--card", "card.md", "--with-machine"},
        Words{"convert", "weights.safetensors", "--whole", "-o", "a.safetensors"},
        Words{"convert", "weights.safetensors", "--card", "card.md"}})
    program_.expect_error(2, command);
  program_.expect_error(6, {"predict", "weights.safetensors", "data.path=pets.csv"});
}

TEST_F(UseModel, SaysWhatItCannotConvert) {
  program_.run({"convert", run_, "-o", "ours.safetensors"});
  program_.expect_error(2, {"convert", "ours.safetensors", "--checkpoint", "best", "-o", "a.safetensors"});
  program_.expect_error(2, {"convert", "theirs.safetensors", "-o", "a.safetensors"});
  program_.expect_error(2, {"convert", run_, "--from", "keras", "-o", "a.safetensors"});
  program_.expect_error(2, {"convert", run_, "--layout", "onnx", "-o", "a.safetensors"});
}

TEST_F(UseModel, ADamagedCheckpointHasItsExitCode) {
  program_.write(run_ + "/checkpoints/best.json", "{}");
  EXPECT_EQ(program_.run({"evaluate", run_}).exit_code, 6);
  program_.write("bad.safetensors", "nothing");
  program_.expect_error(6, {"train", "pets.yaml", "--quiet", "model.initial_weights=bad.safetensors"});
}

// The folder of a run that has learnt "abc" in text.txt.
std::string train_language_model(const Program& program) {
  program.write("text.txt", "abcabcabcabcabcabcabcabcabcabcabcabcabcabc");
  program.write("text.yaml",
                "name: text\ndevice: cpu\ndata: {source: text, path: text.txt, sequence_length: 5}\n"
                "model: {kind: language_model, hidden_size: 8}\ntraining: {epochs: 2, batch_size: 2}\n");
  program.run({"train", "text.yaml", "--quiet"}, 0);
  return program.run_folders("text").at(0);
}

TEST(UseLanguageModel, ContinuesAPrompt) {
  const Program program;
  const std::string run = train_language_model(program);
  const auto text = program.run({"predict", run, "--prompt", "ab", "--length", "7", "--seed", "3"}).output;
  EXPECT_THAT(text, StartsWith("ab"));
  EXPECT_EQ(text.size(), 10u) << "and a line end";
  program.expect_error(2, {"predict", run});
  program.expect_error(2, {"predict", run, "--prompt", "ab", "--out", "more.txt", "--json"});
}

TEST(UseLanguageModel, TakesNoMemoryForDataThatItDoesNotRead) {
  const Program program;
  const std::string run = train_language_model(program);
  std::filesystem::resize_file(program.folder() / "text.txt", uintmax_t{1} << 43);  // sparse: takes no room
  program.run({"convert", run, "-o", "a.safetensors"}, 0);
  program.run({"predict", run, "--prompt", "ab"}, 0);
  const auto evaluated = program.run({"evaluate", run}, 4);
  EXPECT_THAT(evaluated.errors, HasSubstr("data.path: this run ("));
}

TEST(UseOfATestPart, IsOfEvaluateAndPredictAlone) {
  Program program;
  program.write("pets.csv", kPetsTable);
  program.write("pets.yaml", kTableYaml);
  EXPECT_EQ(program.run({"train", "pets.yaml", "--quiet", "data.num_valid=1", "data.num_test=2"}).exit_code, 0);
  const std::string run = program.run_folders("pets").at(0);
  EXPECT_THAT(program.run({"evaluate", run}).output, HasSubstr(": 1 validation sample\n"));
  EXPECT_THAT(program.run({"evaluate", run, "--part", "test"}).output, HasSubstr(": 2 test samples\n"));
  const auto predicted = program.run({"predict", run, "--part", "test"}, 0);
  EXPECT_EQ(std::ranges::count(predicted.output, '\n'), 3);
  EXPECT_THAT(program.run({"evaluate", run, "--part", "test", "data.num_test=3"}).errors,
              HasSubstr("data.num_test is "));
}

}  // namespace
}  // namespace rnnlab
