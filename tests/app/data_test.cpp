// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/program.h"
#include "base/text.h"
#include "data/npy_file.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;
using testing::Program;

TEST(DataInspect, ShowsWhatAnExperimentWouldTrainOn) {
  const Program program(testing::kTinyYaml);
  const auto result = program.run({"data", "inspect", "tiny.yaml", "data.num_train=30"}, 0);
  EXPECT_THAT(result.output, HasSubstr("30"));
  EXPECT_THAT(result.output, HasSubstr("28"));
}

TEST(DataInspect, GuessesWhatALoneFileIs) {
  const Program program;
  program.write("a.csv", "x,y\n1,2\n3,4\n");
  const auto result = program.run({"data", "inspect", "a.csv"}, 0);
  EXPECT_THAT(result.output, HasSubstr("csv"));
}

TEST(DataInspect, TakesAFileWithAnEqualsSignInItsName) {
  const Program program;
  program.write("a=b.csv", "x,y\n1,2\n3,4\n");
  EXPECT_THAT(program.run({"data", "inspect", "a=b.csv"}).output, ::testing::StartsWith("a=b.csv: csv, 2 rows"));
  program.write("seed=3", "x,y\n1,2\n3,4\n");
  program.write("tiny.yaml", testing::kTinyYaml);
  EXPECT_EQ(program.run({"data", "inspect", "tiny.yaml", "seed=3"}).exit_code, 0) << "a key stays a key";
  EXPECT_THAT(program.run({"data", "inspect", "./seed=3"}).output, ::testing::StartsWith("./seed=3: csv, 2 rows"));
}

// Returns the lines below "to train on it", without their indentation.
std::string suggested_lines(const std::string& output) {
  std::string lines;
  for (const std::string& line : split(output.substr(output.find("to train on it")), '\n'))
    if (line.starts_with("  ")) lines += line.substr(2) + "\n";
  return lines;
}

// A table with dates, texts, missing values and integer labels; a series; a text.
TEST(DataInspect, SuggestsLinesThatRunAsTheyAre) {
  const Program program;
  std::string table = "day,speed,colour,kind\n";
  std::string series = "day;price\n";
  for (int i = 0; i < 40; ++i) {
    table += fmt::format("2026-01-{:02},{},{},{}\n", i, i % 9 == 0 ? "NA" : fmt::format("{}.5", i), "red", i % 3);
    series += fmt::format("2026-01-{:02};{}.25\n", i, i);
  }
  program.write("table.csv", table);
  program.write("series.csv", series);
  program.write("text.txt", std::string(400, 'a') + std::string(400, 'b'));
  for (const std::string file : {"table.csv", "series.csv", "text.txt"}) {
    SCOPED_TRACE(file);
    const std::string suggested = suggested_lines(program.run({"data", "inspect", file}).output);
    program.write("pasted.yaml", suggested);
    const std::string yaml = program.run({"data", "inspect", file, "--yaml"}).output;
    EXPECT_THAT(yaml, ::testing::StartsWith("# " + file + ": "));
    EXPECT_THAT(yaml, ::testing::EndsWith("\n" + suggested));
    program.write("printed.yaml", yaml);
    for (const char* experiment : {"printed.yaml", "pasted.yaml"}) program.run({"check", experiment}, 0);
    program.run({"train", "pasted.yaml", "device=cpu", "training.epochs=1", "model.hidden_size=4"}, 0);
  }
}

struct SuggestedFile {
  std::string name, content;
};

// Returns files with obstacles that data inspect sees and its lines treat.
std::vector<SuggestedFile> files_with_obstacles() {
  SuggestedFile newest_first{"newest_first.csv", "date,rain,wind\n"}, gap{"gap.csv", "time,load\n"};
  SuggestedFile index{"index.csv", ",x,label\n"}, country{"country.csv", "x,y,country\n"};
  SuggestedFile booleans{"booleans.csv", "x,holiday,y\n"}, errors{"errors.csv", "p,y\n#N/A,1\n0.2,2\n0.3,3\n0.4,4\n"};
  SuggestedFile commas{"commas.csv", "x,y,label,\n"}, commas_of_rows{"commas_of_rows.csv", "x,y,label\n"};
  SuggestedFile short_series{"short_series.csv", "station,day,x\n"}, doubled{"doubled.csv", "day,x\n"};
  SuggestedFile no_class{"no_class.csv", "x,label\n"}, quarters{"quarters.csv", "quarter,a,b\n"};
  SuggestedFile leading{"leading.csv", "date,x,change\n"};
  for (int i = 0; i < 60; ++i) {
    const std::string day = fmt::format("2026-{:02}-{:02}", 1 + i / 28, 1 + i % 28);
    newest_first.content += fmt::format("2026-{:02}-{:02},{}.5,{}.25\n", 3 - i / 28, 28 - i % 28, i % 7, i);
    gap.content += fmt::format("2026-01-{:02} {:02}:00:00,{}\n", 1 + i / 24 + (i < 30 ? 0 : 7), i % 24, 100 + i % 5);
    index.content += fmt::format("{},{}.5,{}\n", i, i % 9, i % 2 == 0 ? "well" : "sick");
    country.content += fmt::format("{}.5,{},{}\n", i % 9, i, i % 2 == 0 ? "ZA" : "NA");
    booleans.content += fmt::format("{}.5,{},{}.25\n", i % 9, i % 2 == 0 ? "True" : "False", i);
    commas.content += fmt::format("{}.5,{}.5,{},\n", i % 9, i, i % 2 == 0 ? "a" : "b");
    commas_of_rows.content += fmt::format("{}.5,{}.5,{},\n", i % 9, i, i % 2 == 0 ? "a" : "b");
    short_series.content += fmt::format("s{},2026-01-{:02},{}.5\n", i / 6, 1 + i % 6, i % 11);
    doubled.content += fmt::format("{},{}.5\n", i == 30 ? "2026-02-02" : day, i % 11);
    no_class.content += fmt::format("{}.5,{}\n", i, i % 10 == 0 ? "" : i % 2 == 0 ? "a" : "b");
    quarters.content += fmt::format("{} Q{},{}.5,{}\n", 1970 + i / 4, 1 + i % 4, i, i % 10 == 5 ? "NA" : "2.5");
    leading.content += fmt::format("{},{}.5,{}\n", day, i, i == 0 ? "" : "1.5");
  }
  return {newest_first,   gap,          index,   country,  booleans, errors, commas,
          commas_of_rows, short_series, doubled, no_class, quarters, leading};
}

TEST(DataInspect, SuggestsLinesThatTrainOnFilesWithObstacles) {
  const Program program;
  for (const auto& [name, content] : files_with_obstacles()) {
    SCOPED_TRACE(name);
    program.write(name, content);
    const auto inspected = program.run({"data", "inspect", name}, 0);
    program.write(name + ".yaml", suggested_lines(inspected.output));
    program.run({"train", name + ".yaml", "device=cpu", "training.num_threads=1", "layer=naive", "training.epochs=1",
                 "model.hidden_size=2"},
                0);
  }
}

// The files have the shapes of data sets of the UCR and UEA archives.
TEST(DataInspect, SuggestsLinesThatTrainOnFilesOfTheArchives) {
  const Program program;
  program.run_in_shell("python3 " RNNLAB_EXPERIMENTS "/make_ucr.py . --divide 10", 0);
  for (const std::string name : {"ECG5000", "JapaneseVowels", "BasicMotions"}) {
    const std::string ending = name == "ECG5000" ? ".tsv" : ".ts";
    const auto inspected = program.run({"data", "inspect", name + "/" + name + "_TRAIN" + ending});
    program.write(name + ".yaml", suggested_lines(inspected.output));
    program.run({"train", name + ".yaml", "name=" + name, "device=cpu", "training.num_threads=1", "training.epochs=1"},
                0);
    const std::string run = program.run_folders(name).at(0);
    EXPECT_EQ(program.run({"evaluate", run, "--part", "test"}).exit_code, 0) << name;
    EXPECT_THAT(program.run({"predict", run, "--part", "test"}).output, HasSubstr("index,row,target,prediction,"));
  }
}

TEST(DataInspect, SaysWhyThereIsNoExperimentToPrint) {
  const Program program(testing::kTinyYaml);
  program.expect_error(2, {"data", "inspect", "tiny.yaml", "--yaml"});
}

TEST(DataInspect, TakesOneFileThatIsThere) {
  Program().run({"data", "inspect", "nowhere.csv"}, 3);
  Program().run({"data", "inspect", "a", "b"}, 2);
}

TEST(DataInspect, NotesWhichLineOfTheExperimentMustBeFilledIn) {
  const Program program;
  program.write("images.npy", npy_file("<f8", "20, 9, 3", std::vector<double>(20 * 9 * 3, 0.5)));
  const auto result = program.run({"data", "inspect", "images.npy", "--yaml"}, 0);
  expect_golden(result.errors);
  EXPECT_THAT(result.output, HasSubstr("\n  train_targets: FILL_IN"));
}

TEST(DataInspect, KeysBelongToExperiments) { Program().expect_error(2, {"data", "inspect", "a.csv", "data.window=3"}); }

}  // namespace
}  // namespace rnnlab
