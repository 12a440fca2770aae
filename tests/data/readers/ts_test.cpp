// SPDX-License-Identifier: Apache-2.0
#include "data/readers/ts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/readers/reader_files.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

class TsTest : public ReaderFiles {
 protected:
  TsFile read(std::string_view text, MissingPolicy missing = MissingPolicy::kError) const {
    return read_ts(write("x.ts", text), missing);
  }
  std::string error_in(std::string_view text, MissingPolicy missing = MissingPolicy::kError) const {
    return error_of([&] { read(text, missing); });
  }
};

TEST_F(TsTest, ReadsSeriesOfTwoDimensionsAndDifferentLengths) {
  const TsFile file = read(
      "# Two dimensions\n% and two classes\n@problemName Small\n@timeStamps false\n@missing false\n@univariate false\n"
      "@dimensions 2\n@equalLength false\n@classLabel true walk run\n\n@data\n1,2,3:10,20,30:run\n4:40:walk\n");
  EXPECT_EQ(file.target, TsTarget::kClass);
  EXPECT_THAT(file.labels, ElementsAre("walk", "run"));
  EXPECT_EQ(file.num_dimensions, 2);
  ASSERT_EQ(file.series.size(), 2U);
  EXPECT_EQ(file.series[0].line, 12);
  EXPECT_EQ(file.series[0].label, 1);
  EXPECT_EQ(file.series[1].label, 0);
  EXPECT_THAT(file.values_of(file.series[0]), ElementsAre(1, 10, 2, 20, 3, 30));
  EXPECT_THAT(file.values_of(file.series[1]), ElementsAre(4, 40));
  EXPECT_EQ(file.fewest_steps(), 1);
  EXPECT_EQ(file.most_steps(), 3);
}

TEST_F(TsTest, ReadsKeysInAnyCaseAndLinesThatEndInCrLf) {
  const TsFile file = read("\xEF\xBB\xBF@UNIVARIATE True\r\n@ClassLabel TRUE a b\r\n@DATA\r\n1, 2 : b\r\n");
  EXPECT_EQ(file.series[0].label, 1);
  EXPECT_THAT(file.values, ElementsAre(1, 2));
}

TEST_F(TsTest, ReadsANumberAsTheTarget) {
  const TsFile file = read("@univariate true\n@classLabel false\n@targetLabel true\n@data\n1,2:0.5\n3,4:?\n");
  EXPECT_EQ(file.target, TsTarget::kNumber);
  EXPECT_FLOAT_EQ(file.series[0].target, 0.5F);
  EXPECT_TRUE(std::isnan(file.series[1].target));
}

TEST_F(TsTest, ReadsSeriesWithoutATarget) {
  const TsFile file = read("@univariate false\n@classLabel false\n@data\n1,2:3,4\n");
  EXPECT_EQ(file.target, TsTarget::kNone);
  EXPECT_EQ(file.num_dimensions, 2);
}

TEST_F(TsTest, LeavesAClassThatIsMissingUnknown) {
  EXPECT_EQ(read("@classLabel true a b\n@data\n1:?\n").series[0].label, -1);
  EXPECT_EQ(read("@classLabel true a ?\n@data\n1:?\n").series[0].label, 1);
}

TEST_F(TsTest, UnpacksGzip) {
  EXPECT_THAT(read(gzip("@classLabel true a b\n@data\n1,2:a\n")).values, ElementsAre(1, 2));
}

TEST_F(TsTest, FillsMissingValuesByThePolicy) {
  const std::string text = "@classLabel true a b\n@data\n1,?,NaN,4:5,6,7,?:a\n";
  EXPECT_THAT(read(text, MissingPolicy::kZero).values, ElementsAre(1, 5, 0, 6, 0, 7, 4, 0));
  EXPECT_THAT(read(text, MissingPolicy::kPrevious).values, ElementsAre(1, 5, 1, 6, 1, 7, 4, 7));
  EXPECT_EQ(read(text, MissingPolicy::kZero).num_missing, 3);
  expect_golden(error_in(text));
  expect_golden(error_in("@classLabel true a b\n@data\n?,1:a\n", MissingPolicy::kPrevious));
  expect_golden(error_in("@classLabel true a b\n@data\n1,:a\n"));
}

TEST_F(TsTest, RefusesValuesThatAreNotFiniteFloats) {
  for (const std::string value : {"x", "inf", "-Infinity", "1e39", "1 2", "0x1"})
    expect_golden(error_in("@classLabel true a b\n@data\n1,2:3," + value + ":a\n"));
}

TEST_F(TsTest, RefusesSeriesThatAreNotAsTheHeaderSays) {
  for (const char* text :
       {"@dimensions 3\n@classLabel true a b\n@data\n1:2:a\n", "@classLabel true a b\n@data\n1:2:a\n1:a\n",
        "@univariate true\n@targetLabel true\n@data\n1:2:3\n", "@univariate true\n@dimensions 2\n@data\n1\n",
        "@classLabel true a b\n@data\na\n", "@dimensions 1\n@classLabel true a b\n@data\na\n",
        "@classLabel true a b\n@data\n1,2:3:a\n",
        "@equalLength true\n@seriesLength 3\n@classLabel true a b\n@data\n1,2:a\n",
        "@equalLength true\n@classLabel true a b\n@data\n1,2:a\n1:b\n", "@classLabel true walk run\n@data\n1:wlak\n"})
    expect_golden(error_in(text));
}

TEST_F(TsTest, RefusesHeadersThatSayNoOrTwoThings) {
  for (const char* text :
       {"@classLabel true a\n@data\n", "@classLabel true a a\n@data\n", "@classLabel true a \xff\n@data\n",
        "@classLabel true a b\n@targetLabel true\n@data\n", "@missing false\n@missing true\n", "@univariate\n",
        "@dimensions 0\n", "@timeStamps true\n", "@frequency daily\n", "", "1,2,3\n", "@classLabel true a b\n@data\n"})
    expect_golden(error_in(text));
}

// Steps times dimensions of this line are 10^10 values, which the line does not have.
TEST_F(TsTest, AllocatesNoMoreThanALineHas) {
  const std::string line = std::string(100'000, ',') + std::string(100'000, ':') + "a\n";
  expect_golden(error_in("@classLabel true a b\n@data\n" + line));
}

TEST_F(TsTest, RecognisesItsHeader) {
  EXPECT_TRUE(begins_like_ts("# text\n\n@problemName X\n"));
  EXPECT_FALSE(begins_like_ts("@data\n1\n"));
  EXPECT_FALSE(begins_like_ts("# only a comment"));
  EXPECT_FALSE(begins_like_ts("a,b\n1,2\n"));
}

}  // namespace
}  // namespace rnnlab
