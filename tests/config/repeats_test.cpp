// How often each case is measured.
#include "config/repeats.h"

#include <gmock/gmock.h>

#include "config/settings.h"

namespace rnnlab::config::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Read {
  Repeats repeats;
  std::vector<std::string> complaints;
};

Read read_repeats(const std::string& text) {
  Findings findings;
  const Document document = Document::from_text(text, "exp.yaml", findings);
  const Repeats repeats = repeats_of(document, findings);
  return {repeats, findings.lines()};
}

TEST(Repeats, IsOnceByDefault) {
  EXPECT_EQ(read_repeats("seed: 1\n").repeats, Repeats{});
  EXPECT_EQ(read_repeats("repeats: null\n").repeats, Repeats{});
  EXPECT_EQ(print_repeats({}), "");
}

TEST(Repeats, IsANumber) {
  const Read read = read_repeats("repeats: 5\n");
  EXPECT_THAT(read.complaints, IsEmpty());
  EXPECT_EQ(read.repeats, (Repeats{.at_most = 5, .until = std::nullopt}));
  EXPECT_EQ(print_repeats(read.repeats), "repeats: 5\n");
}

TEST(Repeats, IsABoundOfPrecision) {
  const Read read = read_repeats("repeats: {until: 1 %, at_most: 12}\n");
  EXPECT_THAT(read.complaints, IsEmpty());
  EXPECT_EQ(read.repeats, (Repeats{.at_most = 12, .until = 0.01}));
  EXPECT_EQ(print_repeats(read.repeats), "repeats: {until: 1 %, at_most: 12}\n");
  EXPECT_EQ(read_repeats("repeats: {until: 0.01, at_most: 12}\n").repeats, read.repeats);
  EXPECT_EQ(read_repeats("repeats: {until: 2.5%}\n").repeats, (Repeats{.at_most = 20, .until = 0.025}));
}

TEST(Repeats, IsPrintedSoThatItReadsBack) {
  for (const Repeats& repeats : {Repeats{.at_most = 3, .until = {}}, Repeats{.at_most = 40, .until = 0.005}})
    EXPECT_EQ(read_repeats(print_repeats(repeats)).repeats, repeats);
}

TEST(Repeats, RefusesWhatMakesNoSense) {
  EXPECT_THAT(
      read_repeats("repeats: often\n").complaints,
      ElementsAre("exp.yaml:1:10: repeats: got 'often', expected a whole number from 1 to 1000, or a map such as "
                  "{until: 1 %, at_most: 20}"));
  EXPECT_THAT(read_repeats("repeats: 0\n").complaints, ElementsAre(HasSubstr("repeats: got '0', expected")));
  EXPECT_THAT(read_repeats("repeats: {until: 0 %}\n").complaints,
              ElementsAre(HasSubstr("repeats.until: got '0 %', expected a part such as 1 %")));
  EXPECT_THAT(read_repeats("repeats: {at_most: 1001}\n").complaints,
              ElementsAre(HasSubstr("repeats.at_most: got '1001', expected a whole number from 1 to 1000")));
  EXPECT_THAT(read_repeats("repeats: {times: 5}\n").complaints,
              ElementsAre(HasSubstr("unknown key 'times' in repeats; its keys are until and at_most")));
}

TEST(Repeats, LeavesTheRestOfTheDocument) {
  Findings findings;
  const Document document = Document::from_text("seed: 7\nrepeats: 5\n", "exp.yaml", findings);
  EXPECT_EQ(read(without_repeats(document), Experiment::schema(), findings).seed, 7);
  EXPECT_THAT(findings.lines(), IsEmpty());
}

}  // namespace
}  // namespace rnnlab::config::testing
