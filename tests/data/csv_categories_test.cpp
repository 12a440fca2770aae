// SPDX-License-Identifier: Apache-2.0
// Tests inputs that are categories: data.categories of a CSV file.
#include <fmt/format.h>

#include "csv_data.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Categories : public CsvData {
 protected:
  // The validation part has a word that the training part has not.
  void write_words() const {
    write("a.csv", "sentence,length,word,tag\na,1,red,N\na,3,blue,V\nb,5,red,V\nc,9,green,N\nc,7,,N\n");
  }
};

constexpr const char* kTags =
    "target_per: step\ngroup: sentence\ntarget: [tag]\nsplit: ordered\nnum_valid: 1\ncategories: [word]\nmissing: "
    "zero\n";

TEST_F(Categories, AreNumbersOfTheValuesOfTheTrainingPart) {
  write_words();
  const Dataset data = load(std::string(kTags) + "normalize: none\n");
  ASSERT_EQ(data.categories.size(), 1u);
  EXPECT_THAT(data.categories[0].values, ElementsAre("blue", "red"));
  EXPECT_THAT(data.shape.category_sizes, ElementsAre(3));
  EXPECT_EQ(data.shape.input_size, 2);
  EXPECT_EQ(data.shape.num_numbers(), 1);
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 2, 3, 1, 5, 2, 0, 0));
  EXPECT_THAT(values_of<float>(data.valid.inputs), ElementsAre(9, 0, 7, 0));
  expect_golden(data.notes);
}

TEST_F(Categories, AreNotScaled) {
  write_words();
  const Dataset data = load(std::string(kTags) + "normalize: minmax\n");
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(0, 2, .5, 1, 1, 2, 0, 0));
  EXPECT_THAT(values_of<float>(data.valid.inputs), ElementsAre(2, 0, 1.5, 0));
}

TEST_F(Categories, MayBeTheOnlyInputs) {
  write("a.csv", "word,y\nb,1\na,2\nb,3\na,4\nb,5\na,6\nb,7\n");
  const Dataset data =
      load("window: 2\nfeatures: [y]\ntarget: [y]\ncategories: [word]\nnormalize: none\nnum_valid: 1\n");
  EXPECT_THAT(values_of<float>(data.train.inputs.narrow(0, 0, 1)), ElementsAre(1, 2, 2, 1));
  write("a.csv", "word,tag\nb,N\na,V\nb,N\na,V\n");
  const Dataset alone = load("window: 2\ntarget_per: step\ntarget: [tag]\ncategories: [word]\n");
  EXPECT_EQ(alone.shape.input_size, 1);
  EXPECT_EQ(alone.shape.num_numbers(), 0);
}

// No number is missing where there is none; the missing tag has no class.
TEST_F(Categories, MayBeTheOnlyInputsOfStepsWithAMissingTarget) {
  write("a.csv", "sentence,word,tag\na,red,N\na,blue,\nb,red,V\nb,blue,N\n");
  const std::string drop =
      "target_per: step\ngroup: sentence\ntarget: [tag]\nsplit: ordered\nnum_valid: 1\ncategories: [word]\n"
      "missing: drop\n";
  const Dataset data = load(drop);
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(2, 1));
  EXPECT_THAT(values_of<int64_t>(data.train.targets), ElementsAre(0, -1));
  EXPECT_THAT(values_of<int64_t>(data.valid.targets), ElementsAre(1, 0));
  EXPECT_EQ(use(drop, data).samples.size(), 2);
}

TEST_F(Categories, AndClassesOfSeveralSpellingsAreNoted) {
  write("a.csv", "s,word,tag\na,1.1,6\na,1.10,6.0\na,7,8\nb,07,6\nb,7.0,8\n");
  const Dataset data = load("target_per: step\ngroup: s\ntarget: [tag]\ncategories: [word]\nnum_valid: 0\n");
  EXPECT_THAT(data.categories[0].values, ElementsAre("07", "1.1", "1.10", "7"));
  EXPECT_THAT(data.vocabulary, ElementsAre("6", "8"));
  expect_golden(data.notes);
}

TEST_F(Categories, OfOtherFilesHaveTheNumbersOfTraining) {
  write_words();
  const Dataset data = load(std::string(kTags) + "normalize: none\n");
  write("new.csv", "word,sentence,length\nviolet,a,1\nblue,a,2\n");
  const InferenceData loaded = use(fmt::format("{}train_file: {}\n", kTags, path("new.csv")), data);
  EXPECT_THAT(values_of<float>(loaded.samples.inputs), ElementsAre(1, 0, 2, 1));
  expect_golden(loaded.notes);
}

TEST_F(Categories, AreRefusedWhereAStepHasOneValue) {
  for (const char* more :
       {"categories: [word]\n", "categories: [word]\nwindow: 2\nfeatures: [word]\n", "categories: [w, w]\nwindow: 2\n",
        "categories: [word]\nwindow: 2\nnormalize: column_minmax\n"})
    expect_golden(usage_error(std::string("target: [tag]\n") + more));
}

TEST_F(Categories, AreCheckedInACheckpoint) {
  write_words();
  const DataSettings of_words = settings(std::string(kTags));
  Dataset data = load_dataset(of_words);
  EXPECT_THAT(fault_of(data, of_words), IsEmpty());
  Dataset more = data;
  more.shape.input_size = 0;
  EXPECT_FALSE(fault_of(more, of_words).empty());
  data.categories[0].name = "other";
  expect_golden(fault_of(data, of_words));
}

}  // namespace
}  // namespace rnnlab
