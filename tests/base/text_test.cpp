// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

#include "golden.h"

namespace rnnlab {
namespace {

using Words = std::vector<std::string>;

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("a,,b,", ','), (Words{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), Words{""});
}

TEST(FirstLine, IsTheWholeIfThereIsNoOther) {
  EXPECT_EQ(first_line("what happened\nadvice\nmore"), "what happened");
  EXPECT_EQ(first_line("what happened"), "what happened");
  EXPECT_EQ(first_line("\nadvice"), "");
}

TEST(DidYouMean, FindsTyposAndSwaps) {
  const Words keys = {"batch_size", "epochs", "optimizer"};
  expect_golden(did_you_mean("bacth_size", keys));
  EXPECT_EQ(did_you_mean("epoch", keys), " (did you mean 'epochs'?)");
  EXPECT_EQ(did_you_mean("color", keys), "");
  EXPECT_EQ(did_you_mean(std::string(100000, 'x'), keys), "");
}

TEST(DidYouMean, KnowsOtherLettersCaseButNotOtherLetters) {
  const Words columns = {"x", "OT", "HUFL"};
  EXPECT_EQ(did_you_mean("ot", columns), " (did you mean 'OT'?)");
  EXPECT_EQ(did_you_mean("X", columns), " (did you mean 'x'?)");
  EXPECT_EQ(did_you_mean("z", columns), "") << "every letter is one edit away from every other";
}

// It stays one line, whatever a stranger's file is made of.
TEST(DidYouMean, ShowsLineEndsAsNumbers) {
  const Words columns = {"no such c,\nmn"};
  expect_golden(did_you_mean("no such column", columns));
}

// The header of a stranger's CSV file: a table of edits would take 35 GB.
TEST(DidYouMean, PassesOverCandidatesOfMegabytes) {
  const Words keys = {std::string(1 << 26, 'x'), std::string(64, 'y')};
  EXPECT_EQ(did_you_mean(std::string(63, 'y'), keys), " (did you mean '" + keys[1] + "'?)");
}

TEST(IsValidUtf8, FollowsTheStandardsTable) {
  EXPECT_TRUE(is_valid_utf8("a\u00e9\u20ac\U0001F600"));
  for (const char* bad : {"\xC0\x80", "\xED\xA0\x80", "\xF5\x80\x80\x80", "\xE2\x82", "\x80", "\xFF"})
    EXPECT_FALSE(is_valid_utf8(bad)) << bad;
}

TEST(FirstInvalidUtf8, NamesTheOffset) {
  EXPECT_EQ(first_invalid_utf8("caf\u00e9"), std::nullopt);
  EXPECT_EQ(first_invalid_utf8(""), std::nullopt);
  EXPECT_EQ(first_invalid_utf8("caf\xe9!"), 3u);
  EXPECT_EQ(first_invalid_utf8("ab\u20ac\xe2\x82"), 5u);
}

TEST(InQuotes, ShowsHostileBytesSafely) {
  EXPECT_EQ(in_quotes("plain"), "'plain'");
  EXPECT_EQ(in_quotes("a\nb\x1b[31m\xff"), "'a\\x0ab\\x1b[31m\\xff'");
  EXPECT_EQ(in_quotes("abcdefgh", 4), "'abcd...'");
}

TEST(WithoutControls, KeepsLinesAndTabs) {
  EXPECT_EQ(without_controls("a\tb\n\x1b[2J\r\x7f\u00e9"), "a\tb\n\\x1b[2J\\x0d\\x7f\u00e9");
}

TEST(LastName, IsWhatStandsBehindTheLastSlash) {
  EXPECT_EQ(last_name("/data/my x.csv"), "my x.csv");
  EXPECT_EQ(last_name("../data/x//"), "x");
  EXPECT_EQ(last_name("x.csv"), "x.csv");
  EXPECT_EQ(last_name("/home/jane/"), "~");
  EXPECT_EQ(last_name("/"), "");
}

TEST(WithoutFolders, CutsAbsolutePathsToTheirLastName) {
  for (const char* text :
       {"/srv/jane/x.csv", "/srv/jane/x.csv:3:9: got 'a'", "cannot read /srv/jane/x.csv: no such file",
        "from /srv/jane/a, /srv/jane/b and /srv/jane/c", "(/srv/jane/runs/) [/srv/jane/a]",
        "at file:///srv/jane/x.html or file:/srv/jane/y", "data.path=/srv/jane/x.csv\n//srv//jane//y.csv",
        "'/srv/jane doe/my data.csv' is empty", "\"/srv/o'brien/x.csv\", '/srv/o'brien/x.csv'",
        "/srv/jane van doe/my data.csv: empty", "/srv/jane,doe/o'brien (a)/x.csv"})
    expect_golden(without_folders(text));
}

TEST(WithoutFolders, NamesNobodysHome) {
  EXPECT_EQ(without_folders("/home/jane is full"), "~ is full");
  EXPECT_EQ(without_folders("'/home/jane/', /Users/jane, /root"), "'~', ~, ~");
  EXPECT_EQ(without_folders("/home/jane/x.csv"), "x.csv");
}

TEST(WithoutFolders, KeepsTextWithoutAbsolutePaths) {
  for (const char* text :
       {"runs/tiny/2026", "3.1 MB/s of 4 / 5", "https://example.org/a/b", "and/or", "/", "a // b", "", "5 it/s, m/s"})
    EXPECT_EQ(without_folders(text), text);
}

// C1 by itself, as UTF-8 and in an overlong form that some terminals read.
TEST(WithoutControls, ShowsTheControlsBeyondAscii) {
  EXPECT_EQ(without_controls("\x9b"
                             "2J \u009b2J \xC0\x9b"
                             "2J"),
            "\\x9b2J \\xc2\\x9b2J \\xc0\\x9b2J");
}

TEST(WithoutControls, ShowsWhatTurnsOrBreaksALine) {
  for (const char* mark : {"\u061c", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u202e", "\u2066", "\u2069"}) {
    EXPECT_EQ(without_controls(mark).substr(0, 2), "\\x") << mark;
    EXPECT_EQ(in_quotes(mark).substr(0, 3), "'\\x") << mark;
  }
  for (const char* letter : {"\u200d", "\u2027", "\u202f", "\u2065", "\u206a", "\u061b", "\U0001F600"})
    EXPECT_EQ(without_controls(letter), letter);
}

TEST(OnOneLine, ShowsLineEndsAndTabsToo) { EXPECT_EQ(on_one_line("a\tb\nc\u00e9\x07"), "a\\x09b\\x0ac\u00e9\\x07"); }

TEST(ForPeople, CutsLongLinesAtACharacter) {
  EXPECT_EQ(for_display("short\n\x1b\n"), "short\n\\x1b\n");
  const std::string letters = "x" + std::string(4094, 'y');
  EXPECT_EQ(for_display(letters + "\u00e9more\nnext"), letters + "... (6 more bytes)\nnext");
}

TEST(CodePoint, IsTheNumberOfASequence) {
  EXPECT_EQ(code_point("a"), U'a');
  EXPECT_EQ(code_point("\u00e9"), U'\u00e9');
  EXPECT_EQ(code_point("\u202e"), U'\u202e');
  EXPECT_EQ(code_point("\U0001F600"), U'\U0001F600');
}

TEST(ShellQuoted, IsOneWordThatATerminalShows) {
  EXPECT_EQ(shell_quoted("runs/a-b_1.5"), "runs/a-b_1.5");
  EXPECT_EQ(shell_quoted("it's $HOME\n"), "'it'\\''s $HOME\n'");
  EXPECT_EQ(shell_quoted("it's\\ \x1b[31m\u202ea\n\u00e9\xff"),
            "$'it\\047s\\134 \\033[31m\\342\\200\\256a\\012\u00e9\\377'");
  EXPECT_EQ(command_text({"rnnlab", "train", "a b.yaml"}), "rnnlab train 'a b.yaml'");
}

TEST(OneOf, ReadsAsProse) {
  EXPECT_EQ(join_with_or(Words{"a"}), "a");
  EXPECT_EQ(join_with_or(Words{"a", "b", "c"}), "a, b or c");
  EXPECT_EQ(join_with_or(Words{}), "");
}

TEST(EachOf, ReadsAsProse) {
  EXPECT_EQ(join_with_and(Words{"a"}), "a");
  EXPECT_EQ(join_with_and(Words{"a", "b"}), "a and b");
  EXPECT_EQ(join_with_and(Words{"a", "b", "c"}), "a, b and c");
}

TEST(AddOnce, LeavesOutWhatIsThereAndWhatIsEmpty) {
  Words list = {"a"};
  for (const char* text : {"b", "", "a", "b"}) add_once(list, text);
  EXPECT_EQ(list, (Words{"a", "b"}));
}

TEST(LowerCase, ChangesAsciiLettersAlone) { EXPECT_EQ(lower_case("LSTM-2 \u00c4"), "lstm-2 \u00c4"); }

TEST(Trim, TakesSpaceAndLineEndsOffBothEnds) {
  EXPECT_EQ(trim(" \ta b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(DisplayWidth, CountsCodePoints) { EXPECT_EQ(display_width("\u00b1 1.5"), 5u); }

TEST(Wrap, CutsAtSpaces) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(wrap("", 5), Lines{""});
  EXPECT_EQ(wrap("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(wrap("one two three", 6), (Lines{"one", "two", "three"}));
  EXPECT_EQ(wrap("\u00e9\u00e9 x incomparable y", 4), (Lines{"\u00e9\u00e9 x", "incomparable", "y"}));
}

}  // namespace
}  // namespace rnnlab
