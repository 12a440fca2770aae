// SPDX-License-Identifier: Apache-2.0
#include "data/readers/ts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/readers/reader_files.h"

namespace rnnlab {
namespace {

using testing::ElementsAre;

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
  EXPECT_EQ(error_in(text),
            "x.ts:3: dimension 1, step 2: the value is missing ('?'), expected a number: fill it, or set data.missing "
            "to previous or zero");
  EXPECT_EQ(error_in("@classLabel true a b\n@data\n?,1:a\n", MissingPolicy::kPrevious),
            "x.ts:3: dimension 1, step 1: the value is missing ('?'), expected a number: fill it, or set data.missing "
            "to zero, because no step is before the first");
  EXPECT_EQ(error_in("@classLabel true a b\n@data\n1,:a\n"),
            "x.ts:3: dimension 1, step 2: the value is missing (''), expected a number: fill it, or set data.missing "
            "to previous or zero");
}

TEST_F(TsTest, RefusesValuesThatAreNotFiniteFloats) {
  for (const std::string value : {"x", "inf", "-Infinity", "1e39", "1 2", "0x1"})
    EXPECT_EQ(
        error_in("@classLabel true a b\n@data\n1,2:3," + value + ":a\n"),
        "x.ts:3: dimension 2, step 2: got '" + value + "', expected a finite number within float32: correct the file");
}

TEST_F(TsTest, RefusesDimensionsThatDiffer) {
  EXPECT_EQ(error_in("@dimensions 3\n@classLabel true a b\n@data\n1:2:a\n"),
            "x.ts:4: got 2 dimensions before the class, expected 3: correct the line, or @dimensions in the header");
  EXPECT_EQ(error_in("@classLabel true a b\n@data\n1:2:a\n1:a\n"),
            "x.ts:4: got 1 dimension before the class, expected 2: correct the line, or @dimensions in the header");
  EXPECT_EQ(error_in("@univariate true\n@targetLabel true\n@data\n1:2:3\n"),
            "x.ts:4: got 2 dimensions before the target, expected 1: correct the line, or @dimensions in the header");
  EXPECT_EQ(error_in("@univariate true\n@dimensions 2\n@data\n1\n"),
            "x.ts:3: the header has @univariate true and @dimensions 2, which contradict each other: correct one of "
            "the two lines");
  EXPECT_EQ(error_in("@classLabel true a b\n@data\na\n"),
            "x.ts:3: got 0 dimensions before the class, expected 1: correct the line, or @dimensions in the header");
  EXPECT_EQ(error_in("@dimensions 1\n@classLabel true a b\n@data\na\n"),
            "x.ts:4: got 0 dimensions before the class, expected 1: correct the line, or @dimensions in the header");
}

TEST_F(TsTest, RefusesLengthsThatDiffer) {
  EXPECT_EQ(error_in("@classLabel true a b\n@data\n1,2:3:a\n"),
            "x.ts:3: dimension 2 has 1 step, but dimension 1 has 2: give all dimensions of a series the same "
            "length");
  EXPECT_EQ(error_in("@equalLength true\n@seriesLength 3\n@classLabel true a b\n@data\n1,2:a\n"),
            "x.ts:5: got 2 steps, expected 3, because the header has @equalLength true: correct the line, or set "
            "@equalLength false");
  EXPECT_EQ(error_in("@equalLength true\n@classLabel true a b\n@data\n1,2:a\n1:b\n"),
            "x.ts:5: got 1 step, expected 2, because the header has @equalLength true: correct the line, or set "
            "@equalLength false");
}

TEST_F(TsTest, RefusesAClassThatTheHeaderDoesNotName) {
  EXPECT_EQ(error_in("@classLabel true walk run\n@data\n1:wlak\n"),
            "x.ts:3: got the class 'wlak', expected one that @classLabel names (did you mean 'walk'?): correct the "
            "line, or name the class in the header");
}

TEST_F(TsTest, RefusesHeadersThatSayNoOrTwoThings) {
  EXPECT_EQ(error_in("@classLabel true a\n@data\n"),
            "x.ts:1: got 1 class, expected at least 2: name all classes after @classLabel true");
  EXPECT_EQ(error_in("@classLabel true a a\n@data\n"), "x.ts:1: the class 'a' occurs twice: name every class once");
  EXPECT_EQ(error_in("@classLabel true a \xff\n@data\n"),
            "x.ts:1: got the class '\\xff', expected UTF-8 without ':': give the class another name");
  EXPECT_EQ(error_in("@classLabel true a b\n@targetLabel true\n@data\n"),
            "x.ts:2: both @classLabel and @targetLabel are true, but a series has one of them: set one of the two to "
            "false");
  EXPECT_EQ(error_in("@missing false\n@missing true\n"), "x.ts:2: @missing occurs twice: remove one of the two lines");
  EXPECT_EQ(error_in("@univariate\n"), "x.ts:1: got '@univariate', expected true or false after it: correct the line");
  EXPECT_EQ(error_in("@dimensions 0\n"),
            "x.ts:1: got '@dimensions 0', expected an integer from 1 after it: correct the line");
  EXPECT_EQ(error_in("@timeStamps true\n"),
            "x.ts:1: the values have time stamps, which rnnlab does not read: write the values alone, in the order of "
            "time, and @timeStamps false");
  EXPECT_EQ(error_in("@frequency daily\n"),
            "x.ts:1: got '@frequency', expected @problemName, @timeStamps, @missing, @univariate, @dimensions, "
            "@equalLength, @seriesLength, @classLabel, @targetLabel or @data: remove the line if the values do not "
            "depend on it");
}

TEST_F(TsTest, RefusesFilesWithoutAHeaderOrSeries) {
  EXPECT_EQ(error_in(""),
            "x.ts:1: the file ends without a line @data: check that this is a .ts file of the UEA archive");
  EXPECT_EQ(error_in("1,2,3\n"),
            "x.ts:1: got '1,2,3', expected a line of the header such as @data: check that this is a .ts file of the "
            "UEA archive");
  EXPECT_EQ(error_in("@classLabel true a b\n@data\n"), "x.ts:2: no series follows @data: fetch the file again");
}

// Steps times dimensions of this line are 10^10 values, which the line does not have.
TEST_F(TsTest, AllocatesNoMoreThanALineHas) {
  const std::string line = std::string(100'000, ',') + std::string(100'000, ':') + "a\n";
  EXPECT_EQ(error_in("@classLabel true a b\n@data\n" + line),
            "x.ts:3: dimension 2 has 1 step, but dimension 1 has 100001: give all dimensions of a series the "
            "same length");
}

TEST_F(TsTest, RecognisesItsHeader) {
  EXPECT_TRUE(begins_like_ts("# text\n\n@problemName X\n"));
  EXPECT_FALSE(begins_like_ts("@data\n1\n"));
  EXPECT_FALSE(begins_like_ts("# only a comment"));
  EXPECT_FALSE(begins_like_ts("a,b\n1,2\n"));
}

}  // namespace
}  // namespace rnnlab
