// SPDX-License-Identifier: Apache-2.0
#include "data/inspect.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <regex>

#include "base/text.h"
#include "data/readers/reader_files.h"
#include "data_test.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;

constexpr size_t kUnbroken = 1000;  // wider than any line

class Inspect : public DataTest {
 protected:
  static nlohmann::ordered_json json_of(const std::filesystem::path& file) {
    return inspection_json(inspect_file(file));
  }
  std::string text_of(const std::string& name) const { return inspection_text(inspect_file(path(name)), kUnbroken); }

  // Returns what the file's name or its content suggests: the hints, and the lines of YAML without the path.
  std::vector<std::string> advice_on(const std::string& name) const {
    auto json = json_of(path(name));
    std::vector<std::string> advice;
    if (json.contains("hints")) advice = json["hints"].get<std::vector<std::string>>();
    std::string lines;
    for (const std::string line : json["yaml"])
      if (line.find("path:") == std::string::npos) lines += std::string(trim(line.substr(0, line.find('#')))) + "|";
    advice.push_back(lines);
    return advice;
  }
  std::vector<std::string> advice_on_table(const std::string& text) const {
    write("a.csv", text);
    return advice_on("a.csv");
  }
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
  EXPECT_THAT(json["validation"], ::testing::Eq(nlohmann::ordered_json{{"samples", 0}}));
  EXPECT_THAT(inspection_text(inspection), HasSubstr("\nvalidation\n  none\n"));
}

TEST_F(Inspect, DrawsAnImage) {
  const Inspection inspection = inspect(parse_settings("num_train: 10\nnum_valid: 10"));
  const auto json = inspection_json(inspection);
  const std::string picture = json["picture"];
  EXPECT_EQ(std::ranges::count(picture, '\n'), 28);
  EXPECT_THAT(inspection_text(inspection), HasSubstr("\nthe first training sample\n" + picture));
}

// Where lines are wrapped depends on the length of the folder's name.
std::string unwrapped(const std::string& text) {
  static const std::regex wrap("\n    +(?=[^ ])");
  return std::regex_replace(text, wrap, " ");
}

TEST_F(Inspect, ShowsAVocabularyAndHowTargetsWereScaled) {
  write("a.txt", "to be\nor not to be");
  write("a.csv", "x\n1\n?\n3\n4\n5\n6\n");
  for (const char* yaml : {"source: text\npath: {}/a.txt\nsequence_length: 5",
                           "source: csv\npath: {}/a.csv\ntarget: [x]\nwindow: 1\nnum_valid: 1\nnormalize: minmax\n"
                           "missing: mean"})
    expect_golden(
        unwrapped(inspection_text(inspect(parse_settings(fmt::format(fmt::runtime(yaml), folder().string()))))));
}

TEST_F(Inspect, TakesAShortTextThatIsNoUtf8AsBytes) {
  write("a.txt", "one line \xff without an end");
  EXPECT_EQ(json_of(path("a.txt"))["tokens"], "bytes");
}

// ---- what a table suggests ----

TEST_F(Inspect, SuggestsTheSettingsOfATable) {
  for (const char* text :
       {"1,2\n3,4\n",                                     // no header
        "x,y\n1.5,0\n2.5,1\n3.5,0\n4.5,1\n",              // few integers that repeat are classes
        "x,y\n1.5,10\n2.5,31\n3.5,42\n4.5,13\n",          // and these are not
        "day,price\n1/2,1.5\n2/2,?\n3/2,3.5\n4/2,4.5\n",  // a single column of numbers is a series
        "name,town\nann,rome\nbob,oslo\n",                // nothing can be trained
        "x;y\n1,5;1\n2,5;0\n3,5;1\n4,5;0\n",              // decimal commas
        "1,5;2,5;3\n2,5;3,5;4\n",                         // also in the first row
        "x,y;z\n1,2\n3,4\n",
        "x;y\n1,5;1.5\n2,5;0\n3,5;1\n4,5;0\n",                 // decimal commas beside points
        "x;y\n1.326,67;1,5\n998,10;2,5\n12.001.326,67;3,5\n",  // points between thousands
        "day,visits,sales\n1,12.500,998\n2,1.326,1.002\n3,8.214,12.001\n",
        "day;visits\n1;12,500\n2;1,326\n",
        "day,visits,sales\n1,12.500,998\n2,1.326,1.002\n3,8.214,887\n",  // 1.002 alone shows no decimal point
        "visits;price\n12.500;1,25\n1.326;3,5\n",  // without the points there are decimal commas only
        "day,x\n1/2,3\n2/2,unknown\n3/2,4\n",      // texts in a column of numbers
        "everything\n1;2\n3;4\n",                  // a delimiter that the header lacks
        "x,kind\n1.5,Red\n2.5,red\n3.5,NA\n4.5,Red\n5.5,NA\n6.5,red\n",
        "sentence,word,tag\n0,on,N\n0,red,V\n0,on,N\n1,red,V\n1,on,N\n",  // rows that are steps of sequences
        "sentence,size,tag\na,1.5,N\na,2.5,V\nb,1.5,N\nb,3.5,V\n",
        "sentence,size,tag\na,1.5,N\nb,2.5,V\na,1.5,N\nb,3.5,V\n"})  // rows of a group that are apart
    expect_golden(advice_on_table(text));
}

// Numbers below 1, other numbers of digits, large integers and numbers without a point do not look like thousands.
TEST_F(Inspect, TakesOrdinaryNumbersForWhatTheyAre) {
  const auto no_decimals = ::testing::Not(HasSubstr("read as decimals"));
  for (const std::string column : {"0.125 1.326 2.500", "1.326 2.5 3.125", "1.326 2.125 1326", "998 1 12",
                                   "1.326 2.125 3.1250", "1326.125 1.125 2.125", "-0.326 -1.326 -2.326"}) {
    std::string table = "x,y\n";
    for (const std::string& cell : split(column, ' ')) table += cell + ",1\n";
    EXPECT_THAT(advice_on_table(table), ::testing::Each(no_decimals)) << column;
  }
  EXPECT_THAT(advice_on_table("visits,price\n12.500,1.25\n1.326,3.5\n"), ::testing::Each(no_decimals)) << "a point";
}

TEST_F(Inspect, HintsAtNumbersThatMayMeanAMissingValue) {
  const auto hint = [&](const std::string& number) {
    return advice_on_table("x,y\n1.5,2\n2.5,4\n" + number + ",6\n4.5,8.5\n")[0];
  };
  for (const std::string number : {"-999", "99.0"}) EXPECT_THAT(hint(number), HasSubstr("'x' has " + number + " once"));
  for (const char* number : {"3.5", "-9.99"}) EXPECT_THAT(hint(number), ::testing::Not(HasSubstr("missing_words")));
}

// The tables have these first lines, and then a row for each day of a month.
TEST_F(Inspect, SuggestsTheSettingsOfASeries) {
  const auto days = [](std::string table, const std::function<std::string(int)>& row) {
    for (int day = 1; day <= 28; ++day) table += row(day);
    return table;
  };
  const std::string tables[] = {
      days("time,station,x\n",
           [](int day) { return fmt::format("2026-01-{0:02},north,{0}\n2026-01-{0:02},south,{0}.5\n", day); }),
      days("date,x,weekday\n",
           [](int day) { return fmt::format("2026-01-{0:02},{0}.5,{1}\n", day, day % 7 == 0 ? "Mo" : "Tu"); }),
      days("date,hour,temperature,pressure\n",
           [](int hour) {
             return fmt::format("2026-01-{:02},{},{}.5,{}.25\n", 1 + hour / 24, hour % 24, hour, 99 - hour);
           }),
      days("station,date,note,rain,wind\n",  // times behind a text
           [](int day) {
             return fmt::format("north,2026-01-{0:02},n{0},{0}.5,{1}.25\nsouth,2026-01-{0:02},s{0},{0}.75,{1}.5\n", day,
                                99 - day);
           }),
      days("time,rain,wind\n",  // a time by the name of its column
           [](int day) { return fmt::format("day {} 00:00,{}.5,{}.25\n", day, day, 99 - day); }),
      days("candidate,rain,wind\n",
           [](int day) { return fmt::format("day {} 00:00,{}.5,{}.25\n", day, day, 99 - day); }),
      days("day,address,wind,rain\n",  // a column of texts that is left out
           [](int day) { return fmt::format("{0},10.0.0.{0},{0}.5,{1}.25\n", day + 9, 90 - day); }),
      days(",quarter,epoch_time,rain,wind\n",  // neither times nor numbers of rows are inputs
           [](int i) {
             return fmt::format("{0},{1} Q{2},{3},{0}.5,{4}.25\n", i, 1970 + i / 4, 1 + i % 4,
                                1'700'000'000 + 7'776'000 * i, i * i % 5);
           }),
      days("day,x\n", [](int day) { return fmt::format("202401{:02},{}.5\n", 29 - day, day * day % 7); }),
      days("date,x,y\n",  // the newest rows first, with a gap
           [](int day) {
             if (day > 25) return std::string();
             const int shown = day > 14 ? 26 - day : 29 - day;
             return fmt::format("2026-01-{:02},{}.5,{}.25\n", shown, shown * shown % 7, shown);
           })};
  for (const std::string& table : tables) expect_golden(advice_on_table(table));
  const auto time = json_of(path("a.csv"))["time"];
  EXPECT_EQ(time["column"], "date");
  EXPECT_EQ(time["order"], "newest first");
  EXPECT_EQ(time["usual_step"], "1 day");
  EXPECT_EQ(time["gaps"], 1);
  EXPECT_EQ(time["first"], "'2026-01-01'");
}

// The second series of each class is one step shorter than the first.
TEST_F(Inspect, TakesMissingValuesAtTheEndOfSeriesForTheirEnds) {
  std::string rows;
  for (int i = 0; i < 6; ++i) rows += fmt::format("{0}\t0.{1}1\t-0.{1}2\t{2}\n", i / 2, i, i % 2 == 0 ? "0.5" : "NaN");
  write("gestures.tsv", rows);
  expect_golden(advice_on("gestures.tsv"));
}

// ---- files ----

TEST_F(Inspect, KnowsFilesByTheirContent) {
  write_idx("images", {2, 8, 8}, std::string(64, '\0') + std::string(64, '\xff'));
  write_idx("labels", {5}, std::string("\0\1\1\1\2", 5));
  write_npy<float>("a", "<f4", "2, 2", {1, 2, 3, NAN});
  write("a.txt", "It was a dark,\nstormy night\na\u200db\n");
  for (const char* name : {"images", "labels", "a", "a.txt"}) expect_golden(text_of(name));
}

TEST_F(Inspect, NamesAFileThatIsNotRead) {
  const std::pair<const char*, std::string> files[] = {{"a.zip", zip_of({{.name = "sheet.xml", .content = "x"}})},
                                                       {"a.gz", gzip(gzip("x,y\n1,2\n"))},
                                                       {"a.xz",
                                                        "\xfd"
                                                        "7zXZ"},
                                                       {"a.h5", "\x89HDF\r\n\x1a\n"},
                                                       {"a.wav", "RIFF$\x08\x01 WAVEfmt "},
                                                       {"a.png", "\x89PNG\r\n\x1a\n"},
                                                       {"a.csv", "x,y\n1,2\n3\n"}};
  for (const auto& [name, content] : files) {
    write(name, content);
    expect_golden(error_of(ExitCode::kData, [&] { inspect_file(path(name)); }));
  }
  expect_golden(error_of(ExitCode::kData, [&] { inspect_file(path("none")); }));
}

TEST_F(Inspect, ShowsTheFirstOfManyColumns) {
  std::string header, row;
  for (int i = 0; i < 100; ++i) {
    header += fmt::format("{}c{}", i > 0 ? "," : "", i);
    row += fmt::format("{}{}.5", i > 0 ? "," : "", i);
  }
  write("a.csv", header + "\n" + row + "\n" + row + "\n");
  for (const char* part : {" 100 columns, ", "\n  and 80 columns more (", " '11.5' and 88 more\n"})
    EXPECT_THAT(text_of("a.csv"), HasSubstr(part));
  EXPECT_EQ(json_of(path("a.csv"))["columns"].size(), 100u);
}

TEST_F(Inspect, SeesLengthsAndTargetsOfSteps) {
  write_npy<int64_t>("n.npy", "<i8", "3,", {5, 1, 2});
  expect_golden(advice_on("n.npy"));
  write_npy<float>("x.npy", "<f4", "2, 2, 1", {1, 2, 3, 4});
  write_npy<int64_t>("y.npy", "<i8", "2, 2", {0, 1, 1, 0});
  for (const char* name : {"x.npy", "y.npy"}) expect_golden(advice_on(name));
  write_npy<float>("y.npy", "<f4", "2, 2, 3", {0, 1, 1, 0, 2, 3, 4, 5, 6, 7, 8, 9});
  expect_golden(advice_on("x.npy"));
  write_npy<int64_t>("y.npy", "<i8", "2,", {0, 1});
  expect_golden(advice_on("x.npy"));
  write_npy<uint8_t>("x.npy", "|u1", "2, 2", {0, 16, 8, 4});
  expect_golden(advice_on("x.npy"));
}

TEST_F(Inspect, KnowsCsvWhateverItsDelimiter) {
  write("a", "when;value;state\nmon;1;on\ntue;NA;off\nwed;3;on\n");
  expect_golden(text_of("a"));
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

TEST_F(Inspect, KeepsToAWidthAndShowsTheFirstOfManyTexts) {
  std::string table = "a_column_with_a_long_name,y\n";
  for (int i = 0; i < 60; ++i) table += fmt::format("text number {},{}\n", i % 30, i);
  write("a.csv", table);
  const std::string text = inspection_text(inspect_file(path("a.csv")), 60);
  EXPECT_THAT(text, HasSubstr(" and 20 more\n"));
  for (const std::string& line : split(text.substr(0, text.find("to train on it")), '\n'))
    EXPECT_TRUE(line.size() <= 60 || line.find(path("a.csv")) != std::string::npos) << line;
}

TEST_F(Inspect, FindsTheOtherHalfByItsName) {
  write_idx("train-images-idx3", {2, 8, 8}, std::string(128, '\xff'));
  write_idx("train-labels-idx1", {2}, std::string("\0\1", 2));
  for (const char* name : {"train-images-idx3", "train-labels-idx1"}) expect_golden(advice_on(name));
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

TEST_F(Inspect, FindsTheLengthsBesideTheInputs) {
  write_npy<float>("x.npy", "<f4", "2, 2, 1", {1, 0, 3, 4});
  write_npy<int64_t>("y.npy", "<i8", "2,", {0, 1});
  expect_golden(advice_on("x.npy"));
  write_npy<int64_t>("n.npy", "<i8", "3,", {1, 2, 2});
  EXPECT_TRUE(json_of(path("x.npy")).contains("hints")) << "lengths of three other samples";
  write_npy<int64_t>("n.npy", "<i8", "2,", {1, 2});
  EXPECT_FALSE(json_of(path("x.npy")).contains("hints"));
  for (const char* file : {"x.npy", "y.npy"}) expect_golden(advice_on(file));
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
