// SPDX-License-Identifier: Apache-2.0
#include "data/readers/text_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/readers/reader_files.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

class TextFileTest : public ReaderFiles {
 protected:
  Text read(std::string_view content, TextUnit unit) const { return read_text(write("x.txt", content), unit); }
  std::string error_in(std::string_view content, TextUnit unit) const {
    return error_of([&] { read(content, unit); });
  }
};

TEST_F(TextFileTest, SortsCodePointsByValue) {
  const Text text = read("b\u20aca\u00e9\U0001F600a", TextUnit::kCodePoint);
  EXPECT_THAT(text.vocabulary, ElementsAre("a", "b", "\u00e9", "\u20ac", "\U0001F600"));
  EXPECT_THAT(text.tokens, ElementsAre(1, 3, 0, 2, 4, 0));
}

TEST_F(TextFileTest, TakesTheFirstAndTheLastCodePoint) {
  const Text text = read_text(write("x.txt", bytes("\U0010FFFF\0\uFFFF\U00010000")), TextUnit::kCodePoint);
  EXPECT_THAT(text.tokens, ElementsAre(3, 0, 1, 2));
  EXPECT_THAT(text.vocabulary, ElementsAre(bytes("\0"), "\uFFFF", "\U00010000", "\U0010FFFF"));
}

TEST_F(TextFileTest, ReadsBytesThatAreNoText) {
  const Text text = read(bytes("\xff\0\xff"), TextUnit::kByte);
  EXPECT_THAT(text.vocabulary, ElementsAre(bytes("\0"), "\xff"));
  EXPECT_THAT(text.tokens, ElementsAre(1, 0, 1));
}

TEST_F(TextFileTest, KeepsLineEndsAndByteOrderMarks) {
  EXPECT_THAT(read("\xEF\xBB\xBF\r\n", TextUnit::kCodePoint).vocabulary, ElementsAre("\n", "\r", "\uFEFF"));
}

TEST_F(TextFileTest, NamesTheByteThatIsNoUtf8) {
  for (const char* text : {"caf\xe9 au lait", "ab\xed\xa0\x80", "ab\xe2\x82"})
    expect_golden(error_in(text, TextUnit::kCodePoint));
}

TEST_F(TextFileTest, RefusesAnEmptyFile) {
  for (const TextUnit unit : {TextUnit::kByte, TextUnit::kCodePoint}) expect_golden(error_in("", unit));
}

TEST_F(TextFileTest, RefusesAVocabularyOfOne) {
  expect_golden(error_in("aaaa", TextUnit::kByte));
  expect_golden(error_in("\u00e9\u00e9", TextUnit::kCodePoint));
}

TEST_F(TextFileTest, EncodesAnotherTextInAKnownVocabulary) {
  const std::vector<std::string> vocabulary = {"a", "\u00e9"};
  EXPECT_THAT(read_text_as(write("y.txt", "\u00e9a\u00e9"), TextUnit::kCodePoint, vocabulary), ElementsAre(1, 0, 1));
}

TEST_F(TextFileTest, NamesTheCharacterThatTrainingNeverSaw) {
  const std::vector<std::string> vocabulary = {"a", "\u00e9"};
  write("y.txt", "a\u00e9\u20ac");
  expect_golden(error_of([&] { read_text_as(path("y.txt"), TextUnit::kCodePoint, vocabulary); }));
  write("z.txt", "a\x07");
  expect_golden(error_of([&] { read_text_as(path("z.txt"), TextUnit::kByte, {"a", "b"}); }));
}

TEST_F(TextFileTest, RefusesAVocabularyOfOtherUnits) {
  write("y.txt", "ab");
  EXPECT_THROW(read_text_as(path("y.txt"), TextUnit::kByte, {"ab"}), InvariantError);
}

}  // namespace
}  // namespace rnnlab
