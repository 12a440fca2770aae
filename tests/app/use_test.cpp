// SPDX-License-Identifier: Apache-2.0
// Tests evaluate, predict and convert, which use a trained run.
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
    const auto result = program_.run({"train", "pets.yaml", "--quiet"});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    run_ = program_.run_folders("pets").at(0);
  }

  Program program_;
  std::string run_;
};

TEST_F(UseModel, EvaluatesOnTheValidationPart) {
  const auto result = program_.run({"evaluate", run_, "layer=naive"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, StartsWith("model     pets from "));
  EXPECT_THAT(result.output, HasSubstr("\nlayer     naive on cpu, precision fp32\ndata      csv from "));
  EXPECT_THAT(result.output, HasSubstr(": 2 validation samples\nloss "));
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
  const auto result = program_.run({"predict", run_, "data.path=new.csv"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, StartsWith("index,row,prediction,probability_cat,probability_dog,reason\n0,1,"));
  EXPECT_THAT(program_.run({"predict", run_, "data.path=new.csv", "--out", "new.jsonl"}).output,
              StartsWith("new.jsonl: 2 samples in "));
  EXPECT_THAT(read_text(program_.folder() / "new.jsonl"), StartsWith(R"({"index":0,"row":1,"prediction":")"));
}

TEST_F(UseModel, PredictsEveryRowOfAFileByItsKey) {
  program_.write("new.csv", "key,b,a\n=7,5,1\nx,,4\n\"y,z\",8,4\n");
  const auto result = program_.run({"predict", run_, "data.path=new.csv", "data.id=[key]", "data.missing=drop"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, StartsWith("index,row,key,prediction,probability_cat,probability_dog,reason\n0,1,=7,"));
  EXPECT_THAT(result.output, HasSubstr("\n,2,x,,,,missing value in column 'b'\n1,3,\"y,z\","));
  expect_golden(result.errors);
  const auto mean = program_.run({"predict", run_, "data.path=new.csv", "data.missing=mean"});
  EXPECT_THAT(mean.output, HasSubstr("\n1,2,")) << mean.errors;
  EXPECT_EQ(program_.run({"predict", run_, "data.path=new.csv", "data.missing=drop", "data.id=[kee]"}).errors,
            "rnnlab: error: data.id: new.csv: no column is called 'kee' (did you mean 'key'?); the columns are 'key', "
            "'b', 'a'\n");
}

TEST_F(UseModel, PrintsTimesAsJson) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"evaluate", run_, "--passes", "3", "--json"},
                                             {"predict", run_, "--passes", "3", "--json", "--out", "kinds.npy"}}) {
    const auto result = program_.run(command);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    const auto json = nlohmann::json::parse(result.output);
    EXPECT_EQ(json["passes"], 3);
    EXPECT_EQ(json["samples"], 2);
    EXPECT_GE(json["seconds"], json["low_seconds"]);
    EXPECT_GT(json["microseconds_per_sample"], 0);
  }
  expect_golden(program_.run({"evaluate", run_, "--passes", "0"}).errors);
}

TEST_F(UseModel, SaysWhatItCannotPredict) {
  expect_golden(program_.run({"predict", run_, "--out", "a.txt"}).errors);
  expect_golden(program_.run({"predict", run_, "--prompt", "a"}).errors);
  expect_golden(program_.run({"predict"}).errors);
  expect_golden(program_.run({"predict", run_, "--prompt", "a", "--temperature", "-1"}).errors);
  expect_golden(program_.run({"evaluate", run_, "--part", "tset"}).errors);
}

// Most of the file was trained on, also if it is named differently.
TEST_F(UseModel, TakesOnlyTheValidationPartOfTrainingsOwnFile) {
  for (const std::string& path : {std::string("pets.csv"), (program_.folder() / "pets.csv").string()})
    EXPECT_THAT(program_.run({"evaluate", run_, "data.path=" + path}).output, HasSubstr(": 2 validation samples\n"));
  program_.write("copy.csv", kPetsTable);
  EXPECT_THAT(program_.run({"evaluate", run_, "data.path=copy.csv"}).output, HasSubstr(": 6 samples\n"));
}

TEST_F(UseModel, ReportsUnusedData) {
  expect_golden(program_.run({"predict", run_, "data.pth=new.csv"}).errors);
  expect_golden(program_.run({"evaluate", run_, "--part", "all", "data.num_valid=1"}).errors);
  const auto none = program_.run({"predict", run_, "data.num_valid=0"});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.errors,
              HasSubstr(": there are no validation samples to use: data.num_valid is 0; use --part all\n"));
}

TEST_F(UseModel, ReplacesNothingThatWouldBeMissed) {
  expect_golden(program_.run({"predict", run_, "data.path=pets.csv", "--out", "./pets.csv"}).errors);
  program_.write("new.csv", "b,a\n5,1\n");
  expect_golden(program_.run({"predict", run_, "data.path=new.csv", "--out", "pets.csv"}).errors);
  const std::string rest = ": belongs to a run and writing it would damage the run; choose a different output file\n";
  EXPECT_EQ(program_.run({"predict", run_, "--out", run_ + "/epochs.csv"}).errors,
            "rnnlab: error: " + run_ + "/epochs.csv" + rest);
  for (const auto& step : std::filesystem::directory_iterator(program_.folder() / run_ / "checkpoints")) {
    if (!step.is_directory()) continue;
    const std::string model = (step.path() / "model.safetensors").string();
    EXPECT_EQ(program_.run({"convert", run_, "-o", model}).errors, "rnnlab: error: " + model + rest);
  }
  EXPECT_EQ(program_.run({"predict", run_, "--out", run_ + "/predictions.csv"}).exit_code, 0);
}

TEST_F(UseModel, ReplacesNoDataThatAreFoundElsewhere) {
  const std::filesystem::path root = program_.folder() / "root";
  std::filesystem::create_directory(root);
  program_.write("root/found.csv", kPetsTable);
  const auto result =
      program_.run_in_shell("RNNLAB_DATA=root \"$0\" predict '" + run_ + "' data.path=found.csv --out root/found.csv");
  EXPECT_EQ(result.exit_code, 2);
  expect_golden(result.errors);
  EXPECT_EQ(read_text(root / "found.csv"), kPetsTable);
}

TEST_F(UseModel, GivesSafetensorsNoNameOfAnotherFormat) {
  const auto result = program_.run({"convert", run_, "-o", "weights.pt"});
  EXPECT_EQ(result.exit_code, 2);
  expect_golden(result.errors);
}

TEST_F(UseModel, SaysThatARunHasNoCheckpointYet) {
  std::filesystem::remove_all(program_.folder() / run_ / "checkpoints");
  expect_golden(program_.run({"evaluate", run_}).errors);
}

TEST_F(UseModel, ConvertsAndStartsFromTheResult) {
  const auto result = program_.run({"convert", run_, "--part", "recurrent", "-o", "lstm.safetensors"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, StartsWith("lstm.safetensors: 4 tensors, 112 parameters of "));
  EXPECT_THAT(result.output, HasSubstr("\nfor torch.nn.LSTM(1, 4)\n"));
  EXPECT_EQ(program_.run({"train", "pets.yaml", "--quiet", "model.initial_weights=lstm.safetensors"}).exit_code, 0);
  expect_golden(program_.run({"convert", run_}).errors);
  expect_golden(program_.run({"convert", run_, "device=cpu", "-o", "a.safetensors"}).errors);
}

TEST_F(UseModel, PrintsWhatItConvertedAsJson) {
  const auto result = program_.run({"convert", run_, "--part", "recurrent", "-o", "lstm.safetensors", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json.at("file"), "lstm.safetensors");
  EXPECT_EQ(json.at("num_tensors"), 4);
  EXPECT_EQ(json.at("num_parameters"), 112);
  EXPECT_EQ(json.at("module"), "torch.nn.LSTM(1, 4)");
  EXPECT_EQ(json.at("warning"), "");
}

TEST_F(UseModel, ConvertsToKerasAndBack) {
  const auto result = program_.run({"convert", run_, "--layout", "keras", "-o", "keras.safetensors"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, StartsWith("keras.safetensors: 5 tensors, 106 parameters of "));
  EXPECT_THAT(result.output, HasSubstr("\nfor keras.layers.LSTM(4)\n"));
  EXPECT_EQ(program_.run({"convert", "keras.safetensors", "--from", "keras", "-o", "ours.safetensors"}).output,
            "ours.safetensors: 6 tensors, 122 parameters of keras.safetensors\n");
  EXPECT_EQ(program_.run({"train", "pets.yaml", "--quiet", "model.initial_weights=keras.safetensors"}).exit_code, 0);
}

TEST_F(UseModel, WarnsOfWeightsThatAreNotFinite) {
  program_.run({"convert", run_, "-o", "ours.safetensors"});
  std::string bytes = read_text(program_.folder() / "ours.safetensors");
  for (size_t byte = bytes.size() - 64; byte < bytes.size(); ++byte) bytes[byte] = '\xff';
  program_.write("nan.safetensors", bytes);
  const auto result = program_.run({"convert", "nan.safetensors", "-o", "copy.safetensors"});
  EXPECT_EQ(result.exit_code, 0);
  expect_golden(result.errors);
  EXPECT_EQ(program_.run({"train", "pets.yaml", "--quiet", "model.initial_weights=nan.safetensors"}).exit_code, 5);
}

TEST_F(UseModel, SaysWhatItCannotConvert) {
  program_.run({"convert", run_, "-o", "ours.safetensors"});
  EXPECT_EQ(program_.run({"convert", "ours.safetensors", "--checkpoint", "best", "-o", "a.safetensors"}).errors,
            "rnnlab: error: --checkpoint: ours.safetensors is a file and has no checkpoints to choose from; leave it "
            "out\n");
  expect_golden(program_.run({"convert", "theirs.safetensors", "-o", "a.safetensors"}).errors);
  expect_golden(program_.run({"convert", run_, "--from", "keras", "-o", "a.safetensors"}).errors);
  expect_golden(program_.run({"convert", run_, "--layout", "onnx", "-o", "a.safetensors"}).errors);
}

TEST_F(UseModel, ADamagedCheckpointHasItsExitCode) {
  program_.write(run_ + "/checkpoints/best.json", "{}");
  EXPECT_EQ(program_.run({"evaluate", run_}).exit_code, 6);
  program_.write("bad.safetensors", "nothing");
  const auto result = program_.run({"train", "pets.yaml", "--quiet", "model.initial_weights=bad.safetensors"});
  EXPECT_EQ(result.exit_code, 6);
  EXPECT_THAT(result.errors, HasSubstr("bad.safetensors: 7 bytes, expected at least 8; it is not a safetensors file"));
}

// The folder of a run that has learnt "abc" in text.txt.
std::string train_language_model(const Program& program) {
  program.write("text.txt", "abcabcabcabcabcabcabcabcabcabcabcabcabcabc");
  program.write("text.yaml",
                "name: text\ndevice: cpu\ndata: {source: text, path: text.txt, sequence_length: 5}\n"
                "model: {kind: language_model, hidden_size: 8}\ntraining: {epochs: 2, batch_size: 2}\n");
  const auto result = program.run({"train", "text.yaml", "--quiet"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  return program.run_folders("text").at(0);
}

TEST(UseLanguageModel, ContinuesAPrompt) {
  const Program program;
  const std::string run = train_language_model(program);
  const auto text = program.run({"predict", run, "--prompt", "ab", "--length", "7", "--seed", "3"}).output;
  EXPECT_THAT(text, StartsWith("ab"));
  EXPECT_EQ(text.size(), 10u) << "and a line end";
  expect_golden(program.run({"predict", run}).errors);
  expect_golden(program.run({"predict", run, "--prompt", "ab", "--out", "more.txt", "--json"}).errors);
}

TEST(UseLanguageModel, TakesNoMemoryForDataThatItDoesNotRead) {
  const Program program;
  const std::string run = train_language_model(program);
  std::filesystem::resize_file(program.folder() / "text.txt", uintmax_t{1} << 43);  // sparse: takes no room
  const auto converted = program.run({"convert", run, "-o", "a.safetensors"});
  EXPECT_EQ(converted.exit_code, 0) << converted.errors;
  const auto text = program.run({"predict", run, "--prompt", "ab"});
  EXPECT_EQ(text.exit_code, 0) << text.errors;
  const auto evaluated = program.run({"evaluate", run});
  EXPECT_EQ(evaluated.exit_code, 4);
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
  const auto predicted = program.run({"predict", run, "--part", "test"});
  EXPECT_EQ(predicted.exit_code, 0) << predicted.errors;
  EXPECT_EQ(std::ranges::count(predicted.output, '\n'), 3);
  EXPECT_THAT(program.run({"evaluate", run, "--part", "test", "data.num_test=3"}).errors,
              HasSubstr("data.num_test is fixed by training"));
}

}  // namespace
}  // namespace rnnlab
