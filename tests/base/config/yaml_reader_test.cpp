// SPDX-License-Identifier: Apache-2.0
// Tests YAML that other readers accept or misread, and the messages of this reader.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/config/document.h"
#include "base/config/settings.h"
#include "golden.h"

namespace rnnlab::config::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct RefusedText {
  std::string text;
  std::string complaint;
};

void PrintTo(const RefusedText& refused, std::ostream* stream) { *stream << ::testing::PrintToString(refused.text); }

class Yaml : public ::testing::TestWithParam<RefusedText> {};

TEST_P(Yaml, IsRefusedAtItsPlace) { EXPECT_THAT(complaints(GetParam().text), ElementsAre(GetParam().complaint)); }

const std::string kNoAliases = "aliases (*name) are not supported; write the value out, or put quotes around the text";
const std::string kIndentation = "the indentation of this line matches no line above it";
const std::string kTab = "a tab in the indentation; use spaces";

INSTANTIATE_TEST_SUITE_P(
    BeyondPlainSettings, Yaml,
    ::testing::Values(
        RefusedText{"name: a\nname: b\n", "exp.yaml:2:1: key 'name' is given twice (first: exp.yaml:1:1)"},
        RefusedText{"training: {epochs: 2, \"epochs\": 3}",
                    "exp.yaml:1:23: key 'epochs' is given twice (first: exp.yaml:1:12)"},
        RefusedText{"name: &x a\n",
                    "exp.yaml:1:7: anchors (&x) are not supported; write the value out, or put quotes around the text"},
        RefusedText{"name: *x\n", "exp.yaml:1:7: " + kNoAliases},
        RefusedText{"name: *.csv\n", "exp.yaml:1:7: " + kNoAliases},
        RefusedText{"<<: {name: a}\n", "exp.yaml:1:1: merge keys (<<) are not supported; write the keys out"},
        RefusedText{"name: !!str 3\n", "exp.yaml:1:7: tags ('!!str') are not supported; leave it out"},
        RefusedText{"name: !local 3\n", "exp.yaml:1:7: tags ('!local') are not supported; leave it out"},
        RefusedText{"name: a\n---\nname: b\n", "exp.yaml:2:1: a second document begins here; only one is allowed"},
        RefusedText{"name: a\n...\nname: b\n", "exp.yaml:3:1: a second document begins here; only one is allowed"},
        RefusedText{"{name: a}\nseed: 2\n", "exp.yaml:2:1: a second document begins here; only one is allowed"},
        RefusedText{"? {a: 1}\n: 2\n", "exp.yaml:1:3: a map cannot be a key; or is its '}' missing?"},
        RefusedText{"[a]: 1\n", "exp.yaml:1:1: a list cannot be a key; or is its ']' missing?"},
        RefusedText{": 3\n", "exp.yaml:1:1: a key is missing before ':'"},
        RefusedText{"~: 3\n", "exp.yaml:1:1: a key is missing before ':'"},
        RefusedText{"name: \"a\\0b\"\n", "exp.yaml:1:7: the text contains a NUL character"}));

INSTANTIATE_TEST_SUITE_P(
    Malformed, Yaml,
    ::testing::Values(
        RefusedText{"training:\n\tepochs: 3\n", "exp.yaml:2:8: " + kTab},
        RefusedText{"training:\n  seed: 3\n\tx: 3\n", "exp.yaml:3:1: " + kTab},
        RefusedText{"features:\n\t- a\n", "exp.yaml:2:2: " + kTab},
        RefusedText{"training:\n  seed: 3\n \tx: 3\n", "exp.yaml:3:2: " + kTab},
        RefusedText{"training:\n   epochs: 3\n  batch_size: 2\n", "exp.yaml:3:3: " + kIndentation},
        RefusedText{"features:\n  - a\n - b\n", "exp.yaml:3:2: " + kIndentation},
        RefusedText{"name: a\n seed: 2\n",
                    "exp.yaml:2:6: ':' is not allowed here; check the indentation, or put quotes around the text"},
        RefusedText{
            "name: a: b\n",
            "exp.yaml:1:8: a second ':' in one line; write name: {a: b} if these are keys of name, or put quotes "
            "around a text"},
        RefusedText{
            "name: x\ntraining: epochs: 3, batch_size: 7\n",
            "exp.yaml:2:17: a second ':' in one line; write training: {epochs: 3, batch_size: 7} if these are keys "
            "of training, or put quotes around a text"},
        RefusedText{"name: \"a\": b\n",
                    "exp.yaml:1:10: ':' is not allowed here; check the indentation, or put quotes around the text"},
        RefusedText{"name: - a\n", "exp.yaml:1:7: a list of '- ' items must begin on a new line"},
        RefusedText{"features: [a, b\n",
                    "exp.yaml:1:11: this '[' has no matching ']', or lacks a ',' between its items"},
        RefusedText{"features: [a, b", "exp.yaml:1:11: this '[' has no matching ']', or lacks a ',' between its items"},
        RefusedText{"training: {epochs: 3\nname: x\n",
                    "exp.yaml:1:11: this '{' has no matching '}', or lacks a ',' between its members"},
        RefusedText{"features: [a]\n]\n", "exp.yaml:2:1: this closing bracket was never opened"},
        RefusedText{"name: 'a\n", "exp.yaml:1:7: this quoted text has no closing quote"},
        RefusedText{"name: \"a\\\"", "exp.yaml:1:7: this quoted text has no closing quote"},
        RefusedText{"name: 'it''s", "exp.yaml:1:7: this quoted text has no closing quote"},
        RefusedText{"name: \"a\" b\n", "exp.yaml:1:11: unexpected text after the value"},
        RefusedText{"name: @home\n",
                    "exp.yaml:1:7: a value cannot begin with '@'; put quotes around it: name: \"@home\""},
        RefusedText{"training:\n  name: ,  # a comma\n  seed: 1\n",
                    "exp.yaml:2:9: a value cannot begin with ','; put quotes around it: name: \",\""},
        RefusedText{"name: ,5\n", "exp.yaml:1:7: a value cannot begin with ','; put quotes around it: name: \",5\""},
        RefusedText{"name: :\n", "exp.yaml:1:7: a value cannot begin with ':'; put quotes around it: name: \":\""},
        RefusedText{"name: -\n", "exp.yaml:1:7: a value cannot begin with '-'; put quotes around it: name: \"-\""},
        RefusedText{"name: &\n", "exp.yaml:1:8: a value cannot begin with '&'; put quotes around it: name: \"&\""},
        RefusedText{"name: |\nseed: 1\n",
                    "exp.yaml:1:7: '|' begins a text of several lines, but none follows; put quotes around the "
                    "character: \"|\""},
        RefusedText{"features: [@a]\n",
                    "exp.yaml:1:12: a value cannot begin with this character; put quotes around it"},
        RefusedText{"name: \"\\q\"\n", "exp.yaml:1:10: not valid YAML: unknown escape character: q"},
        RefusedText{"name: \"\\ud800\"\n", "exp.yaml:1:14: not valid YAML: invalid unicode: 55296"},
        RefusedText{"%YAML 3.0\n---\nname: a\n", "exp.yaml:1:1: not valid YAML: YAML major version too large"}));

INSTANTIATE_TEST_SUITE_P(
    NoSettings, Yaml,
    ::testing::Values(RefusedText{"", "exp.yaml: the file is empty, expected keys, such as 'name: trial'"},
                      RefusedText{"# nothing yet\n",
                                  "exp.yaml: the file is empty, expected keys, such as 'name: trial'"},
                      RefusedText{"~\n", "exp.yaml: the file is empty, expected keys, such as 'name: trial'"},
                      RefusedText{"trial\n", "exp.yaml:1:1: got 'trial', expected keys, such as 'name: trial'"},
                      RefusedText{"- a\n", "exp.yaml:1:1: got a list, expected keys, such as 'name: trial'"}));

INSTANTIATE_TEST_SUITE_P(
    NoText, Yaml,
    ::testing::Values(
        RefusedText{"name: \xff\n", "exp.yaml:1:7: byte 0xff at offset 6 is not valid UTF-8"},
        RefusedText{"name: \xc3\xa9\xc0\n", "exp.yaml:1:8: byte 0xc0 at offset 8 is not valid UTF-8"},
        RefusedText{std::string("name: a\0\n", 9),
                    "exp.yaml:1:8: control character 0x00 at offset 7; expected plain text"},
        RefusedText{"name: a\nseed: \x1b[2J\n",
                    "exp.yaml:2:7: control character 0x1b at offset 14; expected plain text"},
        RefusedText{"name: a\rseed: 2\r", "exp.yaml:1:8: control character 0x0d at offset 7; expected plain text"},
        RefusedText{std::string("\xff\xfen\0a\0", 6), "exp.yaml: this looks like UTF-16; save it as UTF-8"},
        RefusedText{std::string("\0n\0a", 4), "exp.yaml: this looks like UTF-16; save it as UTF-8"}));

// YAML takes each of these for a part of a text, so its own errors name another line, or a key that looks right.
const std::string kOrQuotes = ", or put quotes around the text if it belongs to it";
const std::string kNoBreakSpace = "a no-break space (U+00A0) is here; write a space" + kOrQuotes;
const std::string kInvisible = "an invisible space (U+200B) is here; remove it" + kOrQuotes;
const std::string kCurlyQuote = "a curly quote (U+201C) is here; write '\"'" + kOrQuotes;
const std::string kWideColon = "a full-width colon (U+FF1A) is here; write ':' and a space" + kOrQuotes;
const std::string kDash = "a dash (U+2013) is here; write '-'" + kOrQuotes;

INSTANTIATE_TEST_SUITE_P(
    Lookalikes, Yaml,
    ::testing::Values(
        RefusedText{"name:\u00a0y\ndevice: cpu\n", "exp.yaml:1:6: " + kNoBreakSpace},
        RefusedText{"name\u00a0: y\n", "exp.yaml:1:5: " + kNoBreakSpace},
        RefusedText{"name: \u00a0y\n", "exp.yaml:1:7: " + kNoBreakSpace},
        RefusedText{"device: cpu\u00a0\n", "exp.yaml:1:12: " + kNoBreakSpace},
        RefusedText{"seed: 1\u00a0# first\n", "exp.yaml:1:8: " + kNoBreakSpace},
        RefusedText{"training:\n\u00a0\u00a0epochs: 3\n", "exp.yaml:2:1: " + kNoBreakSpace},
        RefusedText{"training:\n  \u00a0epochs: 3\n", "exp.yaml:2:3: " + kNoBreakSpace},
        RefusedText{"training: {epochs: 3,\u00a0batch_size: 4}\n", "exp.yaml:1:22: " + kNoBreakSpace},
        RefusedText{"features:\n  -\u00a0a\n", "exp.yaml:2:4: " + kNoBreakSpace},
        RefusedText{"features: [a,\u00a0b]\n", "exp.yaml:1:14: " + kNoBreakSpace},
        RefusedText{"# \u00a0\nname: \"\u00a0\"\nseed:\u00a01\n", "exp.yaml:3:6: " + kNoBreakSpace},
        RefusedText{"seed: \u30001\n", "exp.yaml:1:7: a full-width space (U+3000) is here; write a space" + kOrQuotes},
        RefusedText{"seed:\u20091\n", "exp.yaml:1:6: a narrow space (U+2009) is here; write a space" + kOrQuotes},
        RefusedText{"na\u200bme: y\n", "exp.yaml:1:3: " + kInvisible},
        RefusedText{"device: cp\u200bu\n", "exp.yaml:1:11: " + kInvisible},
        RefusedText{"name: y\n\uFEFFseed: 1\n",
                    "exp.yaml:2:1: an invisible byte order mark (U+FEFF) is here; remove it" + kOrQuotes},
        RefusedText{"name: y\u2028seed: 1\n",
                    "exp.yaml:1:8: a line separator (U+2028) is here; write an ordinary line end" + kOrQuotes},
        RefusedText{"name: \u201cy\u201d\n", "exp.yaml:1:7: " + kCurlyQuote},
        RefusedText{"features: [\u201ca\u201d]\n", "exp.yaml:1:12: " + kCurlyQuote},
        RefusedText{"name\uff1ay\n", "exp.yaml:1:5: " + kWideColon},
        RefusedText{"training: {epochs\uff1a3}\n", "exp.yaml:1:18: " + kWideColon},
        RefusedText{"training:\n  epochs\uff1a 3\n", "exp.yaml:2:9: " + kWideColon},
        RefusedText{"features: [a\uff0cb]\n",
                    "exp.yaml:1:13: a full-width comma (U+FF0C) is here; write ','" + kOrQuotes},
        RefusedText{"features: \uff3ba]\n",
                    "exp.yaml:1:11: a full-width bracket (U+FF3B) is here; write '['" + kOrQuotes},
        RefusedText{"features:\n  \u2013 a\n", "exp.yaml:2:3: " + kDash},
        RefusedText{"seed: \u22125\n", "exp.yaml:1:7: a minus sign (U+2212) is here; write '-'" + kOrQuotes}));

TEST(Yaml, MayHaveLookalikesWithinTexts) {
  for (const std::string text :
       {"a\u00a0b", "don\u2019t", "\u5b9e\u9a8c\uff1a\u4e00", "a\u2013b", "5\u20137", "\u2014"})
    EXPECT_EQ(accepted("name: " + text + "\n").name, text);
  for (const char* text : {"\u00a0a", "\u201ca\u201d", "a\u200b", "\u2013 a"}) {
    EXPECT_EQ(accepted(fmt::format("name: '{}'\n", text)).name, text);
    EXPECT_EQ(accepted(fmt::format("name: \"{}\" # \u00a0\n", text)).name, text);
  }
  EXPECT_EQ(accepted("name: |\n  \u00a0a\n\n  \u201cb\nseed: 2\n").name, "\u00a0a\n\n\u201cb\n");
}

TEST(Yaml, HasNoLookalikesInArguments) {
  EXPECT_THAT(complaints("name: a\n", {"seed=3\u00a0"}), ElementsAre("argument 'seed=3\u00a0': " + kNoBreakSpace));
  EXPECT_THAT(complaints("name: a\n", {"features=[a,\u00a0b]"}),
              ElementsAre("argument 'features=[a,\u00a0b]': " + kNoBreakSpace));
}

TEST(Yaml, KnowsPlacesWithinTexts) {
  EXPECT_THAT(complaints("name: ab(!)\n"), ElementsAre("exp.yaml:1:9: name: a name warns nobody"));
  EXPECT_THAT(complaints("name: 'ab(!)'\n"), ElementsAre("exp.yaml:1:10: name: a name warns nobody"));
  EXPECT_THAT(complaints("seed: 3\nname: |  # two lines\n   a\n   b(!)\n"),
              ElementsAre("exp.yaml:4:5: name: a name warns nobody"));
  EXPECT_THAT(complaints("name: |\r\n\r\n  a\r\n    b(!)\r\n"), ElementsAre("exp.yaml:4:6: name: a name warns nobody"));
}

// The lines of the text are not those of the file, or have spaces of their own.
TEST(Yaml, KnowsPlacesWithinTheTextAlone) {
  for (const std::string text : {"name: >\n a\n\n b(!)\n", "name: \"a\\nb(!)\"\n", "name: |1\n a\n b(!)\n"})
    EXPECT_THAT(complaints(text), ElementsAre("exp.yaml:1:7: name: line 2, column 2: a name warns nobody")) << text;
  EXPECT_THAT(complaints("seed: 3\n", {"name=ab(!)"}),
              ElementsAre("argument 'name=ab(!)': name: line 1, column 3: a name warns nobody"));
}

TEST(Yaml, CountsColumnsInCharacters) { expect_golden(complaints("training: {\u00e9\u00e9: 1, ephocs: 2}\n")); }

TEST(Yaml, ContinuesAfterAnErrorThatCanBeSkipped) {
  EXPECT_THAT(
      complaints("name: &x a\ndevice: *x\n<<: {a: 1}\nseed: !!int 3\nname: b\ntraining: {epochs: 0}\n"),
      ElementsAre("exp.yaml:1:7: anchors (&x) are not supported; write the value out, or put quotes around the text",
                  "exp.yaml:2:9: " + kNoAliases, "exp.yaml:3:1: merge keys (<<) are not supported; write the keys out",
                  "exp.yaml:4:7: tags ('!!int') are not supported; leave it out",
                  "exp.yaml:5:1: key 'name' is given twice (first: exp.yaml:1:1)",
                  "exp.yaml:6:20: training.epochs: got '0', expected an integer, at least 1"));
}

TEST(Yaml, MayBeWrittenInManyWays) {
  Experiment expected;
  expected.name = "a";
  expected.features = {"x", "y"};
  for (const char* text :
       {"name: a\r\nfeatures: [x, y]\r\n", "\xEF\xBB\xBFname: a\nfeatures: [x, y]\n",
        "%YAML 1.2\n---\nname: a\nfeatures:\n- x\n- y\n...\n", "{\"name\": \"a\", \"features\": [\"x\", \"y\"]}",
        "'name' : 'a' # comment\nfeatures:\n    - x\n    - y", "features: [x,\n  y,]\n? name\n: a\n"})
    EXPECT_EQ(accepted(text), expected) << text;
  EXPECT_EQ(accepted("name: |\n  two\n  lines\n").name, "two\nlines\n");
  EXPECT_EQ(accepted("name: two\n  lines\n").name, "two lines");
  EXPECT_EQ(accepted("name: a#b").name, "a#b");
}

std::string repeated(const std::string& piece, size_t times) {
  std::string text;
  for (size_t i = 0; i < times; ++i) text += piece;
  return text;
}

TEST(Yaml, IsBoundedInDepthAndNumber) {
  expect_golden(complaints("name: " + repeated("[", 40) + repeated("]", 40)));
  expect_golden(complaints("name:\n " + repeated("- ", 40)));
  expect_golden(complaints("features:\n" + repeated("- a\n", 10000)));
}

// Each alias of the last level would stand for 10^9 texts.
TEST(Yaml, ExpandsNothing) {
  std::string bomb = "a0: &a0 x\n";
  for (int i = 1; i < 10; ++i) {
    const std::string alias = "*a" + std::to_string(i - 1) + ", ";
    bomb += fmt::format("a{}: &a{} [{}]\n", i, i, repeated(alias, 10));
  }
  EXPECT_THAT(complaints(bomb), ::testing::Contains("exp.yaml:10:55: " + kNoAliases));
}

// Inputs of 1 MiB that send careless scanners into quadratic time or endless documents.
TEST(Yaml, SurvivesLongRepetitions) {
  for (const char* piece : {"[",    "{",    "- ", "? ",   "a: ",  "&a ",   "*a ",   "!a ", "'",   "\"",  "a: 1\n",
                            "{a: ", "[a, ", "\n", "a\n",  "%A\n", "---\n", "...\n", "| ",  "|\n", "? [", "[?",
                            "[:",   "{:",   ": ", "a:\n", "!<",   "[\n",   "[,",    "}",   "\t",  "# "}) {
    const std::string text = repeated(piece, kMaxFileBytes / std::string(piece).size());
    EXPECT_THAT(complaints(text), ::testing::Not(IsEmpty())) << piece;
  }
}

}  // namespace
}  // namespace rnnlab::config::testing
