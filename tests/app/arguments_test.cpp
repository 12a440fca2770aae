// SPDX-License-Identifier: Apache-2.0
// Results that are made for sharing must not contain data about the machine and its user, unless the user requests it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/program.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::kPetsTable;
using ::testing::MatchesRegex;
using ::testing::Not;
using testing::Program;
using testing::read_text;
using testing::with;
using testing::Words;

std::string host_name() {
  utsname names{};
  ::uname(&names);
  return names.nodename;
}

// A run whose data, experiment and folder are below a folder that nobody else is to know, with a space in its name.
class Sharing : public ::testing::Test {
 protected:
  Sharing() {
    fs::create_directories(program_.folder() / "jane doe/secret");
    program_.write("jane doe/secret/pets.csv", kPetsTable);
    program_.write("jane doe/secret/pets.yaml",
                   "name: pets\ndevice: cpu\ndata: {source: csv, target: [kind], num_valid: 2}\n"
                   "model: {hidden_size: 4}\ntraining: {epochs: 2, batch_size: 2, tensorboard: true}\n");
    run_ = train({});
  }

  std::string train(const Words& more) const {
    const std::string data = "data.path=" + home() + "/pets.csv";
    program_.run(with({"train", home() + "/pets.yaml", data, "--out", home() + "/runs", "--quiet"}, more), 0);
    std::string last;
    for (const auto& entry : fs::directory_iterator(home() + "/runs/pets"))
      if (!entry.is_symlink()) last = std::max(last, entry.path().string());
    return last;
  }

  std::string home() const { return (program_.folder() / "jane doe/secret").string(); }

  // The record is that of a run on that host.
  void rename_host(const std::string& name) const {
    auto json = nlohmann::ordered_json::parse(read_text(run_ + "/environment.json"));
    json["host"]["hostname"] = name;
    std::ofstream(run_ + "/environment.json") << json.dump(2);
  }

  static void expect_anonymous(const std::string& text, const std::string& what) {
    for (const char* word : {"jane", "secret", "janes-laptop", "pets.yaml"})
      EXPECT_THAT(text, Not(HasSubstr(word))) << what;
    EXPECT_THAT(text, Not(HasSubstr(fs::temp_directory_path().string() + "/"))) << what;
  }

  std::vector<std::string> event_files(const std::string& run) const {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(run))
      if (entry.path().filename().string().starts_with("events.")) files.push_back(entry.path().string());
    return files;
  }

  Program program_;
  std::string run_;
};

TEST_F(Sharing, AReportHasNoDataAboutTheUser) {
  rename_host("janes-laptop");
  const auto result = program_.run({"report", run_, "--markdown", "-o", "page.html"}, 0);
  expect_anonymous(result.output, "Markdown");
  const std::string page = read_text(program_.folder() / "page.html");
  expect_anonymous(page, "the page");
  EXPECT_THAT(page, HasSubstr("pets.csv"));
  EXPECT_THAT(page, HasSubstr("pets/" + fs::path(run_).filename().string()));
}

TEST_F(Sharing, AReportHasTheMachineOnRequest) {
  rename_host("janes-laptop");
  EXPECT_EQ(program_.run({"report", run_, "-o", "page.html", "--with-machine"}).exit_code, 0);
  const std::string page = read_text(program_.folder() / "page.html");
  for (const std::string& told : {std::string("janes-laptop"), run_, home() + "/pets.csv", home() + "/pets.yaml"})
    EXPECT_THAT(page, HasSubstr(told));
}

TEST_F(Sharing, AReportNamesSkippedRunsWithoutTheirFolders) {
  const std::string other = train({});
  std::ofstream(other + "/epochs.csv") << "nothing";
  const auto result = program_.run({"report", run_, other, "-o", "page.html"}, 3);
  EXPECT_THAT(result.errors, HasSubstr(other)) << "the terminal is the user's own";
  const std::string page = read_text(program_.folder() / "page.html");
  expect_anonymous(page, "the page");
  EXPECT_THAT(page, HasSubstr(fs::path(other).filename().string() + "/epochs.csv"));
}

TEST_F(Sharing, WeightsHaveNoDataAboutTheUser) {
  EXPECT_EQ(program_.run({"convert", run_, "-o", "a.safetensors"}).exit_code, 0);
  EXPECT_EQ(program_.run({"convert", run_, "--layout", "keras", "-o", "b.safetensors"}).exit_code, 0);
  for (const char* file : {"a.safetensors", "b.safetensors"})
    expect_anonymous(read_text(program_.folder() / file), file);
}

nlohmann::json metadata_in(const fs::path& file) {
  const std::string bytes = read_text(file);
  const auto length =
      static_cast<size_t>(static_cast<unsigned char>(bytes[0])) + 256 * static_cast<unsigned char>(bytes[1]);
  return nlohmann::json::parse(bytes.substr(8, length))["__metadata__"];
}

TEST_F(Sharing, WeightsHaveTheMachineOnRequest) {
  EXPECT_EQ(program_.run({"convert", run_, "-o", "a.safetensors", "--with-machine"}).exit_code, 0);
  const auto metadata = metadata_in(program_.folder() / "a.safetensors");
  EXPECT_EQ(metadata["rnnlab.host"], host_name());
  EXPECT_THAT(metadata["rnnlab.command_line"].get<std::string>(), HasSubstr(" -o a.safetensors --with-machine"));
  EXPECT_THAT(metadata["rnnlab.source"].get<std::string>(), ::testing::StartsWith(run_ + "/checkpoints/step-"));
  EXPECT_EQ(metadata["rnnlab.data"], home() + "/pets.csv");

  EXPECT_EQ(program_.run({"convert", "a.safetensors", "-o", "b.safetensors"}).exit_code, 0);
  EXPECT_EQ(metadata_in(program_.folder() / "b.safetensors").dump(),
            R"({"format":"pt","rnnlab.activation":"tanh","rnnlab.cell":"lstm","rnnlab.layout":"pytorch"})");
  EXPECT_EQ(program_.run({"convert", "a.safetensors", "-o", "c.safetensors", "--with-machine"}).exit_code, 0);
  EXPECT_EQ(metadata_in(program_.folder() / "c.safetensors")["rnnlab.source"],
            (program_.folder() / "a.safetensors").string());
}

TEST_F(Sharing, AnEvaluationHasNoDataAboutTheUser) {
  const auto text = program_.run({"evaluate", run_}, 0);
  expect_anonymous(text.output, "the text");
  EXPECT_THAT(text.output, HasSubstr(" from pets/" + fs::path(run_).filename().string() + "/checkpoints/"));
  EXPECT_THAT(text.output, HasSubstr(" csv from pets.csv: "));
  const auto other = program_.run({"evaluate", run_, "data.path=jane doe/secret/pets.csv", "--json"});
  expect_anonymous(other.output, "the JSON");
  EXPECT_FALSE(nlohmann::json::parse(other.output).contains("machine"));
}

TEST_F(Sharing, AnEvaluationHasTheMachineOnRequest) {
  const auto json =
      nlohmann::json::parse(program_.run({"evaluate", run_, "--json", "--with-machine"}).output)["machine"];
  EXPECT_EQ(json["host"], host_name());
  EXPECT_EQ(json["data"], home() + "/pets.csv");
  EXPECT_THAT(json["source"].get<std::string>(), ::testing::StartsWith(run_ + "/checkpoints/step-"));
  EXPECT_THAT(json["command_line"].get<std::string>(), ::testing::EndsWith(" --json --with-machine"));
  const auto text = program_.run({"evaluate", run_, "--with-machine"}).output;
  EXPECT_THAT(text, HasSubstr("\nhost          " + host_name() + "\ncommand_line  "));
  EXPECT_THAT(text, HasSubstr("\ndata          " + home() + "/pets.csv\n"));
}

TEST_F(Sharing, AnEvaluationNamesTheFileOfTheData) {
  const auto result = program_.run_in_shell(
      "RNNLAB_DATA='" + home() + "' \"$0\" evaluate '" + run_ + "' data.path=pets.csv --json --with-machine", 0);
  EXPECT_EQ(nlohmann::json::parse(result.output)["machine"]["data"], home() + "/pets.csv");
}

TEST_F(Sharing, PredictionsHaveNoDataAboutTheUser) {
  const auto result = program_.run({"predict", run_, "--json", "--out", home() + "/kinds.csv"}, 0);
  expect_anonymous(result.output, "the JSON");
  EXPECT_EQ(nlohmann::json::parse(result.output)["out"], "kinds.csv");
  expect_anonymous(read_text(home() + "/kinds.csv"), "the predictions");
}

TEST_F(Sharing, AnEventFileHasNoDataAboutTheUser) {
  const auto files = event_files(run_);
  ASSERT_EQ(files.size(), 1U);
  EXPECT_THAT(fs::path(files[0]).filename().string(), MatchesRegex("events.out.tfevents.[0-9]{10}.rnnlab.[0-9]+"));
  expect_anonymous(read_text(files[0]), files[0]);
}

TEST_F(Sharing, AnEventFileHasTheMachineOnRequest) {
  const auto files = event_files(train({"training.tensorboard_machine=true"}));
  ASSERT_EQ(files.size(), 1U);
  EXPECT_THAT(fs::path(files[0]).filename().string(), HasSubstr("." + host_name() + "."));
  EXPECT_THAT(read_text(files[0]), HasSubstr(home() + "/pets.csv"));
}

TEST_F(Sharing, ARunFolderKeepsEverything) {
  EXPECT_THAT(read_text(run_ + "/environment.json"), HasSubstr("\"hostname\": \"" + host_name() + "\""));
  EXPECT_THAT(read_text(run_ + "/environment.json"), HasSubstr(home() + "/pets.yaml"));
  EXPECT_THAT(read_text(run_ + "/config.yaml"), HasSubstr(home() + "/pets.csv"));
  EXPECT_THAT(read_text(run_ + "/train.log"), HasSubstr(home() + "/pets.csv"));
}

}  // namespace
}  // namespace rnnlab
