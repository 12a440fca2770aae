// SPDX-License-Identifier: Apache-2.0
#include "data/inspect.h"

#include <fmt/format.h>

#include "base/text.h"
#include "data/readers/reader_files.h"
#include "data_test.h"
#include "golden.h"

namespace rnnlab {
namespace {

using testing::HasSubstr;

constexpr size_t kUnbroken = 1000;  // wider than any line

class Inspect : public DataTest {
 protected:
  static nlohmann::ordered_json json_of(const std::filesystem::path& file) {
    return inspection_json(inspect_file(file));
  }
  std::string text_of(const std::string& name) const { return inspection_text(inspect_file(path(name)), kUnbroken); }
};

TEST_F(Inspect, ShowsTheDataOfAnExperiment) {
  write("a.csv", "length,kind\n1,rose\n2,lily\n3,rose\n4,lily\n5,rose\n");
  const Inspection inspection = inspect(parse_settings(fmt::format(
      "source: csv\npath: {}\ntarget: [kind]\nsplit: ordered\nnum_valid: 2\nnormalize: minmax", path("a.csv"))));
  const auto json = inspection_json(inspection);
  EXPECT_EQ(json["training"]["samples"], 3);
  EXPECT_EQ(json["training"]["classes"][1]["class"], "rose");
  EXPECT_EQ(json["training"]["classes"][1]["samples"], 2);
  EXPECT_EQ(json["validation"]["inputs"]["maximum"], 2);
  expect_golden(inspection_text(inspection, kUnbroken));
}

TEST_F(Inspect, SaysThatThereIsNoValidation) {
  const Inspection inspection = inspect(parse_settings("num_train: 10\nnum_valid: 0"));
  const auto json = inspection_json(inspection);
  EXPECT_THAT(json["validation"], testing::Eq(nlohmann::ordered_json{{"samples", 0}}));
  EXPECT_THAT(inspection_text(inspection), HasSubstr("\nvalidation\n  none\n"));
}

TEST_F(Inspect, DrawsAnImage) {
  const Inspection inspection = inspect(parse_settings("num_train: 10\nnum_valid: 10"));
  const auto json = inspection_json(inspection);
  const std::string picture = json["picture"];
  EXPECT_EQ(std::ranges::count(picture, '\n'), 28);
  EXPECT_THAT(inspection_text(inspection), HasSubstr("\nthe first training sample\n" + picture));
}

TEST_F(Inspect, ShowsAVocabularyAndTheFirstWindows) {
  write("a.txt", "to be\nor not to be");
  const std::string text = inspection_text(
      inspect(parse_settings(fmt::format("source: text\npath: {}\nsequence_length: 5", path("a.txt")))));
  EXPECT_THAT(text, HasSubstr("vocabulary of 8\n  '\\x0a' ' ' 'b' 'e' 'n' 'o' 'r' 't'\n"));
  EXPECT_THAT(text, HasSubstr("  'to be'\n  '\\x0aor n'\n"));
}

TEST_F(Inspect, TakesAShortTextThatIsNoUtf8AsBytes) {
  write("a.txt", "one line \xff without an end");
  EXPECT_EQ(json_of(path("a.txt"))["tokens"], "bytes");
}

TEST_F(Inspect, SaysHowTargetsWereScaled) {
  write("a.csv", "x\n1\n3\n2\n4\n5\n");
  const std::string text = inspection_text(inspect(parse_settings(
      fmt::format("source: csv\npath: {}\ntarget: [x]\nwindow: 1\nnum_valid: 1\nnormalize: minmax", path("a.csv")))));
  EXPECT_THAT(text, HasSubstr("\ntargets are scaled: value = scaled x scale + offset\n  x: scale 3, offset 1\n"));
}

TEST_F(Inspect, KnowsIdxByItsContent) {
  write_idx("images", {2, 8, 8}, std::string(64, '\0') + std::string(64, '\xff'));
  EXPECT_THAT(text_of("images"),
              testing::StartsWith(fmt::format(
                  "{}: idx, 2 x 8 x 8 u8, from 0 to 255, mean 127.5, standard deviation 127.5\n", path("images"))));
  EXPECT_THAT(text_of("images"), HasSubstr("\nthe first image\n"));
  EXPECT_THAT(
      text_of("images"),
      HasSubstr(fmt::format(
          "\nto train on it, put this into a .yaml file (--yaml prints such a file):\n  data:\n    source: idx\n    "
          "path: \"{}\"\n    "
          "train_inputs: "
          "\"images\"\n    train_targets: FILL_IN   # the file's name\n  model:\n    kind: sequence_classifier\n",
          folder().string())));
}

TEST_F(Inspect, CountsTheClassesOfALabelFile) {
  write_idx("labels", {5}, std::string("\0\1\1\1\2", 5));
  EXPECT_THAT(text_of("labels"), HasSubstr("\nclasses 0: 1, 1: 3, 2: 1\n"));
}

TEST_F(Inspect, KnowsNpyAndCountsWhatIsNotFinite) {
  write_npy<float>("a", "<f4", "2, 2", {1, 2, 3, NAN});
  EXPECT_THAT(text_of("a"),
              HasSubstr("npy, 2 x 2 f32, from 1 to 3, mean 2, standard deviation 0.8165, 1 NaN or Inf\n"));
}

TEST_F(Inspect, KnowsCsvWhateverItsDelimiter) {
  write("a", "when;value;state\nmon;1;on\ntue;NA;off\nwed;3;on\n");
  expect_golden(text_of("a"));
}

TEST_F(Inspect, NamesAFormatThatIsNotRead) {
  const auto refusal = [&](std::string_view bytes) {
    write("a", bytes);
    return error_of(ExitCode::kData, [&] { inspect_file(path("a")); });
  };
  expect_golden(refusal(zip_of({{.name = "sheet.xml", .content = "x"}})));
  expect_golden(refusal(gzip(gzip("x,y\n1,2\n"))));
  EXPECT_EQ(refusal("\xfd"
                    "7zXZ"),
            "{}/a: is packed by xz, which rnnlab does not read; unpack it (unxz), or pack it by gzip");
  expect_golden(refusal("\x89HDF\r\n\x1a\n"));
  expect_golden(refusal("RIFF$\x08\x01 WAVEfmt "));
  expect_golden(refusal("\x89PNG\r\n\x1a\n"));
}

TEST_F(Inspect, ShowsNamesOfColumnsOnOneLine) {
  write("a.csv", "a\x1b]0;pwn\x07,\"b\nc\",kind\n1,2,\u202ex\n2,3,y\u0085\n3,4,\u202ex\n4,5,y\u0085\n");
  const std::string table = text_of("a.csv");
  EXPECT_THAT(table, HasSubstr("\n  a\\x1b]0;pwn\\x07: 4 numbers"));
  EXPECT_THAT(table, HasSubstr("\n  b\\x0ac: 4 numbers"));
  EXPECT_EQ(without_controls(table), table);
}

TEST_F(Inspect, ShowsNamesOfClassesOnOneLine) {
  write("a.csv", "x,kind\n1,\u202ex\n2,y\u0085\n3,\u202ex\n4,y\u0085\n");
  const std::string text = inspection_text(
      inspect(parse_settings(fmt::format("source: csv\npath: {}\ntarget: [kind]\nnum_valid: 1", path("a.csv")))),
      kUnbroken);
  EXPECT_THAT(text, HasSubstr("\\xe2\\x80\\xaex: "));
  EXPECT_EQ(without_controls(text), text);
}

TEST_F(Inspect, SeesThatThereIsNoHeader) {
  write("a.csv", "1,2\n3,4\n");
  const Inspection inspection = inspect_file(path("a.csv"));
  const auto json = inspection_json(inspection);
  EXPECT_EQ(json["rows"], 2);
  EXPECT_EQ(json["header"], false);
  EXPECT_THAT(inspection_text(inspection),
              HasSubstr("    header: false\n    target: [\"column2\"]\n    task: regression\n"
                        "  model:\n    kind: sequence_regressor\n"));
}

// The lines of YAML without the path, joined by '|'.
std::string advice_for(const nlohmann::ordered_json& json) {
  std::string all;
  for (const std::string line : json["yaml"])
    if (line.find("path:") == std::string::npos) all += std::string(trim(line.substr(0, line.find('#')))) + "|";
  return all;
}

TEST_F(Inspect, TakesFewIntegersThatRepeatForClasses) {
  write("a.csv", "x,y\n1.5,0\n2.5,1\n3.5,0\n4.5,1\n");
  expect_golden(advice_for(json_of(path("a.csv"))));
  write("b.csv", "x,y\n1.5,10\n2.5,31\n3.5,42\n4.5,13\n");
  expect_golden(advice_for(json_of(path("b.csv"))));
}

TEST_F(Inspect, TakesASingleColumnOfNumbersForASeries) {
  write("a.csv", "day,price\n1/2,1.5\n2/2,?\n3/2,3.5\n4/2,4.5\n");
  expect_golden(advice_for(json_of(path("a.csv"))));
}

TEST_F(Inspect, SuggestsNothingWhereNothingCanBeTrained) {
  write("a.csv", "name,town\nann,rome\nbob,oslo\n");
  EXPECT_THAT(text_of("a.csv"),
              testing::EndsWith("\n\nhint: no column has numbers or repeated texts: there is no target to predict\n"));
}

TEST_F(Inspect, FindsTheColumnOfSeveralSeries) {
  std::string text = "time,station,x\n";
  for (int i = 1; i <= 30; ++i) text += fmt::format("2026-01-{0:02},north,{0}\n2026-01-{0:02},south,{0}.5\n", i);
  write("a.csv", text);
  EXPECT_THAT(text_of("a.csv"), HasSubstr("    group: \"station\"  # the series of a row\n"
                                          "    id: [\"station\", \"time\"]\n"));
}

TEST_F(Inspect, ReadsDecimalCommas) {
  write("a.csv", "x;y\n1,5;1\n2,5;0\n3,5;1\n4,5;0\n");
  const std::string text = text_of("a.csv");
  EXPECT_THAT(text, HasSubstr("with a header, delimiter ';', decimal ','\n"));
  EXPECT_THAT(text, HasSubstr("    delimiter: \";\"\n    decimal: \",\"\n"));
}

TEST_F(Inspect, ReadsDecimalCommasInTheFirstRowOfAFileWithoutHeader) {
  write("a.csv", "1,5;2,5;3\n2,5;3,5;4\n");
  EXPECT_THAT(text_of("a.csv"), HasSubstr("without a header, delimiter ';', decimal ','\n"));
  write("a.csv", "x,y;z\n1,2\n3,4\n");
  EXPECT_THAT(text_of("a.csv"), HasSubstr("delimiter ','"));
}

// The second series of each class is one step shorter than the first.
TEST_F(Inspect, TakesMissingValuesAtTheEndOfSeriesForTheirEnds) {
  std::string rows;
  for (int i = 0; i < 6; ++i) rows += fmt::format("{0}\t0.{1}1\t-0.{1}2\t{2}\n", i / 2, i, i % 2 == 0 ? "0.5" : "NaN");
  write("gestures.tsv", rows);
  EXPECT_THAT(text_of("gestures.tsv"), HasSubstr("    target: [\"column1\"]\n    task: classification\n"
                                                 "    missing: zero        # shorter series end in missing values\n"));
}

TEST_F(Inspect, HintsAtDecimalCommasBesidePoints) {
  write("a.csv", "x;y\n1,5;1.5\n2,5;0\n3,5;1\n4,5;0\n");
  EXPECT_THAT(text_of("a.csv"),
              HasSubstr("\nhint: numbers with a decimal comma (1,5) and with a decimal point (1.5) are "
                        "mixed in the file, the former in 'x': write all of them alike\n"));
}

TEST_F(Inspect, HintsAtPointsBetweenThousands) {
  write("a.csv", "x;y\n1.326,67;1,5\n998,10;2,5\n12.001.326,67;3,5\n");
  expect_golden(json_of(path("a.csv"))["hints"][0].get<std::string>());
  EXPECT_THAT(text_of("a.csv"), testing::Not(HasSubstr("to train on it")));
}

TEST_F(Inspect, HintsAtNumbersThatMayHaveMarksOfThousands) {
  write("a.csv", "day,visits,sales\n1,12.500,998\n2,1.326,1.002\n3,8.214,12.001\n");
  expect_golden(json_of(path("a.csv"))["hints"][0].get<std::string>());
  write("b.csv", "day;visits\n1;12,500\n2;1,326\n");
  expect_golden(json_of(path("b.csv"))["hints"][0].get<std::string>());
}

// A single number such as 1.002 does not show that a point is decimal.
TEST_F(Inspect, HintsAtThousandsBesideOneSuchNumberInAnotherColumn) {
  write("a.csv", "day,visits,sales\n1,12.500,998\n2,1.326,1.002\n3,8.214,887\n");
  expect_golden(json_of(path("a.csv"))["hints"][0].get<std::string>());
}

// With the points removed, the file has decimal commas only.
TEST_F(Inspect, HintsAtThousandsBesideDecimalCommas) {
  write("a.csv", "visits;price\n12.500;1,25\n1.326;3,5\n");
  const auto hints = json_of(path("a.csv"))["hints"];
  expect_golden(hints[0].get<std::string>());
  EXPECT_THAT(hints[1].get<std::string>(), HasSubstr("the former in 'price'"));
}

// Numbers below 1, other numbers of digits, large integers and numbers without a point do not look like thousands.
TEST_F(Inspect, TakesOrdinaryNumbersForWhatTheyAre) {
  for (const std::string column : {"0.125 1.326 2.500", "1.326 2.5 3.125", "1.326 2.125 1326", "998 1 12",
                                   "1.326 2.125 3.1250", "1326.125 1.125 2.125", "-0.326 -1.326 -2.326"}) {
    std::string table = "x,y\n";
    for (const std::string& cell : split(column, ' ')) table += cell + ",1\n";
    write("a.csv", table);
    EXPECT_THAT(json_of(path("a.csv")).dump(), testing::Not(HasSubstr("are read as decimals"))) << column;
  }
  write("a.csv", "visits,price\n12.500,1.25\n1.326,3.5\n");
  EXPECT_THAT(json_of(path("a.csv")).dump(), testing::Not(HasSubstr("are read as decimals"))) << "a point is decimal";
}

TEST_F(Inspect, HintsAtTextsInAColumnOfNumbers) {
  write("a.csv", "day,x\n1/2,3\n2/2,unknown\n3/2,4\n");
  expect_golden(json_of(path("a.csv"))["hints"][0].get<std::string>());
}

TEST_F(Inspect, HintsAtASeriesThatEndsWithTexts) {
  std::string table = "date,x,weekday\n";
  for (int i = 10; i < 30; ++i) table += fmt::format("2026-01-{0},{0}.5,{1}\n", i, i % 7 == 0 ? "Mo" : "Tu");
  write("a.csv", table);
  EXPECT_THAT(text_of("a.csv"), HasSubstr("\nhint: the rows have times: to forecast 'x', write target: [\"x\"], task: "
                                          "regression and window: 1 instead"));
}

TEST_F(Inspect, HintsAtADelimiterThatTheHeaderLacks) {
  write("a.csv", "everything\n1;2\n3;4\n");
  expect_golden(json_of(path("a.csv"))["hints"][0].get<std::string>());
}

TEST_F(Inspect, KeepsToAWidthAndShowsTheFirstOfManyTexts) {
  std::string table = "a_column_with_a_long_name,y\n";
  for (int i = 0; i < 60; ++i) table += fmt::format("text number {},{}\n", i % 30, i);
  write("a.csv", table);
  const std::string text = inspection_text(inspect_file(path("a.csv")), 60);
  EXPECT_THAT(text, HasSubstr(" and 20 more\n"));
  for (const std::string& line : split(text.substr(0, text.find("to train on it")), '\n'))
    EXPECT_TRUE(line.size() <= 60 || line.find(path("a.csv")) != std::string::npos) << line;
}

TEST_F(Inspect, CountsWhatIsMissingInASeriesOnce) {
  write("a.csv", "x\n1\n?\n3\n4\n5\n6\n");
  const Inspection inspection = inspect(parse_settings(
      fmt::format("source: csv\npath: {}\ntarget: [x]\nwindow: 1\nnum_valid: 1\nmissing: mean", path("a.csv"))));
  const auto json = inspection_json(inspection);
  expect_golden(json["notes"][0].get<std::string>());
}

TEST_F(Inspect, FindsTheOtherHalfByItsName) {
  write_idx("train-images-idx3", {2, 8, 8}, std::string(128, '\xff'));
  write_idx("train-labels-idx1", {2}, std::string("\0\1", 2));
  for (const char* name : {"train-images-idx3", "train-labels-idx1"}) expect_golden(advice_for(json_of(path(name))));
}

TEST_F(Inspect, SaysWhatIsWrongWithAFileThatIsCalledCsv) {
  write("a.csv", "x,y\n1,2\n3\n");
  EXPECT_THAT(error_of(ExitCode::kData, [&] { inspect_file(path("a.csv")); }), testing::StartsWith("{}/a.csv:3: "));
}

TEST_F(Inspect, TakesTheRestForText) {
  write("a.txt", "It was a dark,\nstormy night\n");
  EXPECT_THAT(text_of("a.txt"), testing::StartsWith(fmt::format("{}: text, 28 characters\n  'It was a dark,\\x0astormy "
                                                                "night\\x0a'\n\nvocabulary of ",
                                                                path("a.txt"))));
  EXPECT_EQ(json_of(path("a.txt"))["yaml"][1], "  source: text");
}

TEST_F(Inspect, TakesATextInOneLongLineForAText) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "one, two, three ";
  for (const char* name : {"a.txt", "a"}) {
    write(name, text + "\n");
    EXPECT_EQ(json_of(path(name))["format"], "text") << name;
  }
  write("b.txt", "x,y\n1,2\n3,4\n");
  EXPECT_EQ(json_of(path("b.txt"))["format"], "text") << "by its name";
}

TEST_F(Inspect, ShowsTheFirstOfManyColumns) {
  std::string header, row;
  for (int i = 0; i < 100; ++i) {
    header += fmt::format("{}c{}", i > 0 ? "," : "", i);
    row += fmt::format("{}{}.5", i > 0 ? "," : "", i);
  }
  write("a.csv", header + "\n" + row + "\n" + row + "\n");
  const std::string text = text_of("a.csv");
  EXPECT_THAT(text, HasSubstr("csv, 2 rows, 100 columns, "));
  EXPECT_THAT(text, HasSubstr("\n  c19: 2 numbers, from 19.5 to 19.5, mean 19.5, standard deviation 0\n"
                              "  and 80 columns more (--json has all of them)\n"));
  EXPECT_THAT(text, HasSubstr(" '11.5' and 88 more\n"));
  EXPECT_EQ(json_of(path("a.csv"))["columns"].size(), 100u);
}

TEST_F(Inspect, TakesATableThatBeginsWithDatesForASeries) {
  std::string table = "date,hour,temperature,pressure\n";
  for (int i = 0; i < 60; ++i) table += fmt::format("2026-01-{:02},{},{}.5,{}.25\n", 1 + i / 24, i % 24, i, 1000 - i);
  write("a.csv", table);
  expect_golden(advice_for(json_of(path("a.csv"))));
}

TEST_F(Inspect, FindsTheTimesBehindATextAndTakesThePastOfTheTarget) {
  std::string table = "station,date,note,rain,wind\n";
  for (int i = 1; i <= 30; ++i)
    table += fmt::format("north,2026-01-{0:02},n{0},{0}.5,{1}.25\nsouth,2026-01-{0:02},s{0},{0}.75,{1}.5\n", i, 99 - i);
  write("a.csv", table);
  expect_golden(advice_for(json_of(path("a.csv"))));
}

TEST_F(Inspect, TakesTimesOfAnyFormForTimesByTheNameOfTheirColumn) {
  std::string rows;
  for (int i = 0; i < 60; ++i) rows += fmt::format("day {} {:02}:00,{}.5,{}.25\n", i / 24, i % 24, i, 99 - i);
  write("a.csv", "time,rain,wind\n" + rows);
  expect_golden(advice_for(json_of(path("a.csv"))));
  write("b.csv", "candidate,rain,wind\n" + rows);
  EXPECT_THAT(advice_for(json_of(path("b.csv"))), HasSubstr("features: [\"rain\"]|target: [\"wind\"]"));
}

TEST_F(Inspect, HintsAtThePastOfTheTargetWhereAColumnOfTextsIsLeftOut) {
  std::string table = "day,address,wind,rain\n";
  for (int i = 10; i < 40; ++i) table += fmt::format("{0},10.0.0.{0},{0}.5,{1}.25\n", i, 99 - i);
  write("a.csv", table);
  expect_golden(advice_for(json_of(path("a.csv"))));
  EXPECT_THAT(text_of("a.csv"), HasSubstr("add window: 1 (rows that make one sample) to data, and \"rain\" to "
                                          "features, because its own past"));
}

TEST_F(Inspect, AsksWhetherPositiveIntegersAreLengths) {
  write_npy<int64_t>("n.npy", "<i8", "3,", {5, 1, 2});
  expect_golden(json_of(path("n.npy"))["hints"][0].get<std::string>());
  write_npy<int64_t>("y.npy", "<i8", "3,", {0, 1, 2});
  EXPECT_FALSE(json_of(path("y.npy")).contains("hints"));
}

TEST_F(Inspect, FindsTheLengthsBesideTheInputs) {
  write_npy<float>("x.npy", "<f4", "2, 2, 1", {1, 0, 3, 4});
  write_npy<int64_t>("y.npy", "<i8", "2,", {0, 1});
  expect_golden(json_of(path("x.npy"))["hints"][0].get<std::string>());
  write_npy<int64_t>("n.npy", "<i8", "3,", {1, 2, 2});
  EXPECT_TRUE(json_of(path("x.npy")).contains("hints")) << "lengths of three other samples";
  write_npy<int64_t>("n.npy", "<i8", "2,", {1, 2});
  EXPECT_FALSE(json_of(path("x.npy")).contains("hints"));
  for (const char* file : {"x.npy", "y.npy"}) expect_golden(advice_for(json_of(path(file))));
}

TEST_F(Inspect, SeesTargetsOfSteps) {
  write_npy<float>("x.npy", "<f4", "2, 2, 1", {1, 2, 3, 4});
  write_npy<int64_t>("y.npy", "<i8", "2, 2", {0, 1, 1, 0});
  for (const char* name : {"x.npy", "y.npy"})
    EXPECT_THAT(text_of(name), HasSubstr("\n    target_per: step\n  model:\n    kind: sequence_classifier\n"));
  write_npy<float>("y.npy", "<f4", "2, 2, 3", {0, 1, 1, 0, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_THAT(text_of("x.npy"), HasSubstr("\n    target_per: step\n  model:\n    kind: sequence_regressor\n"));
  write_npy<int64_t>("y.npy", "<i8", "2,", {0, 1});
  EXPECT_THAT(text_of("x.npy"), testing::Not(HasSubstr("target_per")));
}

TEST_F(Inspect, HintsAtRowsThatAreStepsOfSequences) {
  write("a.csv", "sentence,word,tag\n0,on,N\n0,red,V\n0,on,N\n1,red,V\n1,on,N\n");
  EXPECT_THAT(
      text_of("a.csv"),
      HasSubstr("if each row is a step of a sequence, such as a word of a sentence, add target_per: step and "
                "group: \"sentence\" and categories: [\"word\"] to data, and remove \"sentence\" from features"));
  write("a.csv", "sentence,size,tag\na,1.5,N\na,2.5,V\nb,1.5,N\nb,3.5,V\n");
  EXPECT_THAT(text_of("a.csv"), HasSubstr("add target_per: step and group: \"sentence\" to data\n"));
  write("a.csv", "sentence,size,tag\na,1.5,N\nb,2.5,V\na,1.5,N\nb,3.5,V\n");
  EXPECT_THAT(text_of("a.csv"), testing::Not(HasSubstr("target_per"))) << "rows of a group are apart";
}

TEST_F(Inspect, ShowsCharactersWithoutAWidthByTheirBytes) {
  write("a.txt", "a\u200db\n");
  EXPECT_THAT(text_of("a.txt"), HasSubstr("'\\x0a' 'a' 'b' '\\xe2\\x80\\x8d'\n"));
}

TEST_F(Inspect, ShowsOfASampleWhatItsLengthCovers) {
  write_npy<float>("x.npy", "<f4", "2, 2, 1", {1, 2, 3, 4});
  write_npy<int64_t>("y.npy", "<i8", "2,", {0, 1});
  write_npy<int64_t>("n.npy", "<i8", "2,", {1, 2});
  const std::string text = inspection_text(inspect(parse_settings(
      fmt::format("source: npy\npath: {}\ntrain_inputs: x.npy\ntrain_targets: y.npy\ntrain_lengths: n.npy\nnum_valid: "
                  "0\nsplit: ordered\nnormalize: none",
                  folder().string()))));
  EXPECT_THAT(text, HasSubstr("  class 0\n    1\n  class 1\n    3\n    4\n"));
}

TEST_F(Inspect, NamesAFileThatIsNotThere) {
  EXPECT_THAT(error_of(ExitCode::kData, [&] { inspect_file(path("none")); }), HasSubstr("{}/none"));
}

TEST_F(Inspect, TellsTheOrderAndTheGapsOfTimes) {
  std::string table = "date,x,y\n";
  for (int i = 28; i > 0; --i)
    if (i < 12 || i > 14) table += fmt::format("2026-01-{:02},{}.5,{}.25\n", i, i * i % 7, i);
  write("a.csv", table);
  const auto json = json_of(path("a.csv"));
  EXPECT_EQ(json["time"]["column"], "date");
  EXPECT_EQ(json["time"]["order"], "newest first");
  EXPECT_EQ(json["time"]["usual_step"], "1 day");
  EXPECT_EQ(json["time"]["gaps"], 1);
  EXPECT_EQ(json["time"]["first"], "'2026-01-01'");
  EXPECT_THAT(advice_for(json), HasSubstr("time: \"date\"|unsorted: sort|gaps: split|"));
  EXPECT_THAT(text_of("a.csv"),
              HasSubstr("\ntimes in 'date': from '2026-01-01' to '2026-01-28', newest first, usual step "
                        "1 day, 1 longer step\n"));
  expect_golden(json["hints"].dump());
}

TEST_F(Inspect, SuggestsNeitherTimesNorNumbersOfRowsAsInputs) {
  std::string table = ",quarter,epoch_time,rain,wind\n";
  for (int i = 0; i < 24; ++i)
    table += fmt::format("{0},{1} Q{2},{3},{0}.5,{4}.25\n", i, 1970 + i / 4, 1 + i % 4, 1'700'000'000 + 7'776'000 * i,
                         i * i % 5);
  write("a.csv", table);
  const auto json = json_of(path("a.csv"));
  EXPECT_THAT(advice_for(json), HasSubstr("features: [\"rain\", \"wind\"]|target: [\"rain\"]|task: regression|"));
  EXPECT_THAT(json["hints"].dump(), HasSubstr("'column1' numbers the rows"));
  EXPECT_TRUE(json["columns"][1]["times"].get<bool>());
}

TEST_F(Inspect, TellsOfWordsAndSpellings) {
  write("a.csv", "x,kind\n1.5,Red\n2.5,red\n3.5,NA\n4.5,Red\n5.5,NA\n6.5,red\n");
  const auto json = json_of(path("a.csv"));
  expect_golden(json["hints"].dump());
  expect_golden(json["hints"].dump());
  EXPECT_EQ(json["columns"][1]["missing_words"][0]["cells"], 2);
  EXPECT_THAT(advice_for(json), HasSubstr("task: classification|missing_words: []|"));
}

TEST_F(Inspect, FindsDatesInDigitsInAColumnOfAnyName) {
  std::string table = "day,x\n";
  for (int i = 28; i > 0; --i) table += fmt::format("202401{:02},{}.5\n", i, i * i % 7);
  write("a.csv", table);
  const auto json = json_of(path("a.csv"));
  EXPECT_EQ(json["time"]["order"], "newest first");
  EXPECT_THAT(advice_for(json), HasSubstr("features: [\"x\"]|target: [\"x\"]|"));
}

TEST_F(Inspect, HintsAtNumbersThatMayMeanAMissingValue) {
  const auto hints = [&](const std::string& number) {
    write("a.csv", "x,y\n1.5,2\n2.5,4\n" + number + ",6\n4.5,8.5\n");
    return json_of(path("a.csv"))["hints"].dump();
  };
  EXPECT_THAT(hints("-999"), HasSubstr("'x' has -999 once"));
  EXPECT_THAT(hints("99.0"), HasSubstr("'x' has 99.0 once"));
  EXPECT_EQ(hints("3.5").find("data.missing_words"), std::string::npos);
  EXPECT_EQ(hints("-9.99").find("data.missing_words"), std::string::npos);
}

TEST_F(Inspect, ReadsArchivesInTimeThatTheirSizeLimits) {
  const std::string array = npy_file("|u1", "3,", std::vector<uint8_t>{1, 2, 3});
  std::string archive = zip_of({{.name = "x.npy", .content = array}, {.name = "y.npy", .content = array}});
  write("a.npz", archive);
  EXPECT_EQ(json_of(path("a.npz"))["arrays"].size(), 2u);
}

// 70 MiB of zeros are packed in 70 KB.
TEST_F(Inspect, LeavesOutArraysThatUnpackToManyTimesTheirArchive) {
  constexpr size_t kBytes = size_t{70} << 20;
  const std::string bomb = npy_file("|u1", std::to_string(kBytes) + ",", std::vector<uint8_t>(kBytes));
  const std::string array = npy_file("|u1", "3,", std::vector<uint8_t>{1, 2, 3});
  write("a.npz", zip_of({{.name = "x.npy", .content = array},
                         {.name = "bomb.npy", .content = bomb, .method = 8},
                         {.name = "y.npy", .content = array}}));
  const auto json = json_of(path("a.npz"));
  EXPECT_EQ(json["arrays"].size(), 2u);
  expect_golden(json["hints"].dump());
}

}  // namespace
}  // namespace rnnlab
