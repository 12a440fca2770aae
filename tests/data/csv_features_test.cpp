// SPDX-License-Identifier: Apache-2.0
// Tests what the words of a CSV file mean: missing values, spellings of one value, true and false, and the numbers of
// rows.
#include <fmt/format.h>

#include "csv_data.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

class CsvWords : public CsvData {
 protected:
  CsvWords() : CsvData("normalize: none\n") {}
};

constexpr const char* kWordsOfTags =
    "target_per: step\ngroup: line\ntarget: [tag]\nnum_valid: 0\ncategories: [word]\nfeatures: [n]\n";

TEST_F(CsvWords, OfACategoryAreValuesOrMissing) {
  write("a.csv", "line,n,word,tag\n1,5,?,x\n1,6,null,y\n2,5,a,x\n2,7,NA,y\n");
  expect_golden(load_error(kWordsOfTags));
  const Dataset as_values = load(std::string(kWordsOfTags) + "missing_words: []\n");
  EXPECT_THAT(as_values.categories.at(0).values, ElementsAre("?", "NA", "a", "null"));
  const Dataset some = load(std::string(kWordsOfTags) + "missing_words: [\"?\"]\nmissing: zero\n");
  EXPECT_THAT(some.categories.at(0).values, ElementsAre("NA", "a", "null"));
  expect_golden(some.notes);
}

TEST_F(CsvWords, OfAClassMayBeItsName) {
  write("a.csv", "x,country\n1.5,ZA\n2.5,NA\n3.5,ZA\n4.5,NA\n");
  expect_golden(load_error("target: [country]\n"));
  EXPECT_THAT(load("target: [country]\nmissing_words: []\n").vocabulary, ElementsAre("NA", "ZA"));
  expect_golden(load("target: [country]\nmissing: drop\nnum_valid: 0\n").notes);
}

TEST_F(CsvWords, OfYourOwnMeanMissingNumbers) {
  write("a.csv", "x,y\n1,2\n-999,3\nnone,4\n5,6\n");
  const std::string common = "target: [y]\ntask: regression\nnum_valid: 0\nsplit: ordered\nmissing: zero\n";
  EXPECT_THAT(values_of<float>(load(common).train.inputs), ElementsAre(1, -999, 0, 5));
  EXPECT_THAT(values_of<float>(load(common + "missing_words: [none, \"-999\"]\n").train.inputs),
              ElementsAre(1, 0, 0, 5));
  expect_golden(load_error(common + "missing_words: [NONE]\n"));
}

TEST_F(CsvWords, OfSpreadsheetsAreMissingOrErrors) {
  write("a.csv", "p,y\n#N/A,1\n0.2,2\n0.3,3\n");
  expect_golden(load_error("target: [y]\ntask: regression\n"));
  const std::string without = "target: [y]\ntask: regression\nmissing: drop\nnum_valid: 0\n";
  EXPECT_EQ(load(without).train.size(), 2);
  write("a.csv", "p,y\n#DIV/0!,1\n0.2,2\n0.3,3\n");
  expect_golden(load_error("target: [y]\ntask: regression\n"));
}

TEST_F(CsvWords, TrueAndFalseAreNumbers) {
  write("a.csv", "x,holiday,y\n1,True,5\n2,false,6\n3,TRUE,7\n");
  const Dataset data = load("target: [y]\ntask: regression\nnum_valid: 0\nsplit: ordered\n");
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 1, 2, 0, 3, 1));
  expect_golden(data.notes);
  write("a.csv", "x,holiday,y\n1,True,5\n2,0,6\n3,1,7\n");
  expect_golden(load_error("target: [y]\ntask: regression\n"));
}

constexpr const char* kDemand = "features: [x]\ntarget: [x]\nwindow: 1\ncategories: [day]\nnum_valid: 1\n";

TEST_F(CsvWords, AreOneCategoryInAllSpellingsOfANumber) {
  write("a.csv", "x,day\n10,6\n11,6.0\n12,5\n13,+6\n14,5\n15,6\n");
  const Dataset data = load(kDemand);
  EXPECT_THAT(data.categories.at(0).values, ElementsAre("5", "6"));
  write("a.csv", "x,day\n10,6.0\n11,5e0\n12,6.0\n");
  const InferenceData other = use(kDemand, data);
  EXPECT_THAT(values_of<float>(other.samples.inputs), ElementsAre(10, 2, 11, 1, 12, 2));
}

TEST_F(CsvWords, AreCountedWhereTheyAreUnknown) {
  write("a.csv", "x,day\n10,mon\n11,tue\n12,mon\n13,tue\n14,mon\n15,tue\n");
  const Dataset data = load(kDemand);
  write("a.csv", "x,day\n10,mon\n11,sun\n12,mon\n");
  const InferenceData some = use(kDemand, data);
  expect_golden(some.notes);
  write("a.csv", "x,day\n10,1\n11,2\n12,1\n");
  expect_golden(error_of(ExitCode::kData, [&] { use(kDemand, data); }));
}

TEST_F(CsvWords, AreTheClassesOfTrainingInOtherSpellings) {
  write("a.csv", "x,y\n1,6\n2,7\n3,6.0\n4,7\n");
  const Dataset data = load("target: [y]\nnum_valid: 0\nsplit: ordered\n");
  EXPECT_THAT(data.vocabulary, ElementsAre("6", "7"));
  write("a.csv", "x,y\n1,7.0\n2,6.0\n");
  const InferenceData other = use("target: [y]\n", data, DataPart::kAll, Targets::kRequired);
  EXPECT_THAT(values_of<int64_t>(other.samples.targets), ElementsAre(1, 0));
}

TEST_F(CsvWords, OfAnIndexAreNoInputs) {
  write("a.csv", ",x,label\n0,1.5,well\n1,2.5,sick\n2,0.5,well\n3,1.5,sick\n");
  expect_golden(load_error("target: [label]\n"));
  EXPECT_EQ(load("target: [label]\nid: [column1]\n").shape.sequence_length, 1);
  EXPECT_EQ(load("target: [label]\nfeatures: [column1, x]\n").shape.sequence_length, 2);
}

TEST_F(CsvWords, OfTimesAreShownByOneThatIsKnown) {
  write("a.csv", "timestamp,x\n,1.5\n1700003600,2.5\n1700007200,3.5\n1700010800,3.5\n");
  expect_golden(load_error("target: [x]\nwindow: 1\n"));
}

TEST_F(CsvWords, OfTimesAreNoInputs) {
  write("a.csv", "timestamp,x\n1700000000,1.5\n1700003600,2.5\n1700007200,3.5\n1700010800,3.5\n");
  expect_golden(load_error("target: [x]\nwindow: 1\n"));
  const std::string with_times = "target: [x]\nwindow: 1\ntime: timestamp\nnum_valid: 0\n";
  EXPECT_EQ(load(with_times).shape.input_size, 1);
}

TEST_F(CsvWords, LeaveOutTheColumnAfterTheLastDelimiter) {
  for (const char* header : {"x,y,label,\n", "x,y,label\n"}) {
    write("a.csv", header + std::string("1,2,a,\n3,4,b,\n5,6,a,\n"));
    const Dataset data = load("target: [label]\nnum_valid: 0\nsplit: ordered\n");
    EXPECT_EQ(data.shape.sequence_length, 2) << header;
    expect_golden(data.notes);
  }
}

}  // namespace
}  // namespace rnnlab
