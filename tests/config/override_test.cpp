// Tests overrides on the command line: key=value with the checks of the file.
#include <gmock/gmock.h>

#include "config/settings.h"

namespace rnnlab::config::testing {
namespace {

using ::testing::ElementsAre;

const std::string kFile = "name: a\nfeatures: [x]\ntraining: {epochs: 3, batch_size: 7}\n";

TEST(Override, SetsADottedKey) {
  EXPECT_EQ(accepted(kFile, {"training.epochs=5"}).training.epochs, 5);
  EXPECT_EQ(accepted(kFile, {"training.epochs=5"}).training.batch_size, 7);
  EXPECT_EQ(accepted(kFile, {" training.epochs = 5 "}).training.epochs, 5);
  EXPECT_EQ(accepted(kFile, {"model.cell=gru"}).model.cell, Cell::kGru);
  EXPECT_EQ(accepted("training:\n", {"training.epochs=5"}).training.epochs, 5);
}

TEST(Override, LaterOnesWin) {
  EXPECT_EQ(accepted(kFile, {"training.epochs=5", "training.epochs=6"}).training.epochs, 6);
}

TEST(Override, TakesListsMapsAndQuotesAsAFileDoes) {
  EXPECT_EQ(accepted(kFile, {"features=[a, 'b, c']"}).features, (std::vector<std::string>{"a", "b, c"}));
  EXPECT_EQ(accepted(kFile, {"name=\"tab\\there\""}).name, "tab\there");
  EXPECT_EQ(accepted(kFile, {"limit=null"}).limit, std::nullopt);
  EXPECT_EQ(accepted(kFile, {"limit="}).limit, std::nullopt);
}

TEST(Override, TakesAnythingElseAsItStands) {
  EXPECT_EQ(accepted(kFile, {"name=run: #3, *all*"}).name, "run: #3, *all*");
  EXPECT_EQ(accepted(kFile, {"name=a=b"}).name, "a=b");
}

TEST(Override, OfAGroupReplacesAllOfIt) {
  const Experiment experiment = accepted(kFile, {"training={epochs: 4}"});
  EXPECT_EQ(experiment.training.epochs, 4);
  EXPECT_EQ(experiment.training.batch_size, Training{}.batch_size);
}

struct Refused {
  std::string assignment;
  std::string complaint;
};

void PrintTo(const Refused& refused, std::ostream* stream) { *stream << refused.assignment; }

class RefusedOverride : public ::testing::TestWithParam<Refused> {};

TEST_P(RefusedOverride, IsNamed) {
  EXPECT_THAT(complaints(kFile, {GetParam().assignment}),
              ElementsAre("argument '" + GetParam().assignment + "': " + GetParam().complaint));
}

INSTANTIATE_TEST_SUITE_P(
    Malformed, RefusedOverride,
    ::testing::Values(Refused{"training.epochs", "no '='; expected key=value, such as training.epochs=3"},
                      Refused{"", "no '='; expected key=value, such as training.epochs=3"},
                      Refused{"=3", "no key before '='"},
                      Refused{"training..epochs=3", "key 'training..epochs' has an empty part"},
                      Refused{"training.=3", "key 'training.' has an empty part"},
                      Refused{"name.x=3", "'name.x' cannot be set, because 'name' is 'a' (exp.yaml:1:7)"},
                      Refused{"features.0=b",
                              "features is a list (exp.yaml:2:11), whose items cannot be set one by one; "
                              "write features=[...]"},
                      Refused{"features[0]=b", "items of a list cannot be set one by one; write features=[...]"},
                      Refused{"features=[a, b", "this '[' has no matching ']', or lacks a ',' between its items"},
                      Refused{"training={epochs: 4",
                              "this '{' has no matching '}', or lacks a ',' between its members"},
                      Refused{"features=[a]]", "this closing bracket was never opened"},
                      Refused{"features=[a] [b]", "unexpected text after the value"},
                      Refused{"features=[a], b", "unexpected text after the value"},
                      Refused{"name='a' b", "unexpected text after the value"},
                      Refused{"name='a", "this quoted text has no closing quote"},
                      Refused{"training={epochs: 4, epochs: 5}", "key 'epochs' is given twice"}));

INSTANTIATE_TEST_SUITE_P(
    AgainstTheSchema, RefusedOverride,
    ::testing::Values(
        Refused{"training.epochs=x", "training.epochs: got 'x', expected an integer, at least 1"},
        Refused{"training.epochs=1e3", "training.epochs: got '1e3', expected an integer, at least 1 (write 1000)"},
        Refused{"training.epochs=", "training.epochs: got nothing, expected an integer, at least 1"},
        Refused{"training.epoch=3", "unknown key 'epoch' in training (did you mean 'epochs'?)"},
        Refused{"epochs=3", "unknown key 'epochs' (did you mean 'training.epochs'?)"},
        Refused{"training=3", "training: got '3', expected a map of keys"},
        Refused{"training.decay_at=10,20",
                "training.decay_at: got '10,20', expected a list, each an integer, at least 1 (write [10,20])"}));

TEST(Override, ShowsHostileTextSafely) {
  EXPECT_THAT(complaints(kFile, {"name='a'\nseed: 3"}),
              ElementsAre("argument 'name='a'\\x0aseed: 3': unexpected text after the value"));
  EXPECT_THAT(complaints(kFile, {"fea\ntures[0]=b"}),
              ElementsAre("argument 'fea\\x0atures[0]=b': items of a list cannot be set one by one; write "
                          "fea\\x0atures=[...]"));
  EXPECT_THAT(complaints(kFile, {"name=\xff"}), ElementsAre("argument 'name=\\xff': not valid UTF-8 text"));
  EXPECT_THAT(complaints(kFile, {std::string("name=\0", 6)}),
              ElementsAre("argument 'name=\\x00': not valid UTF-8 text"));
}

TEST(Override, AreAllReported) {
  EXPECT_THAT(
      complaints(kFile, {"training.epochs=x", "oops", "seed=1.5"}),
      ElementsAre(
          "argument 'training.epochs=x': training.epochs: got 'x', expected an integer, at least 1",
          "argument 'oops': no '='; expected key=value, such as training.epochs=3",
          "argument 'seed=1.5': seed: got '1.5', expected an integer, at least -2147483648 and at most 2147483647"));
}

}  // namespace
}  // namespace rnnlab::config::testing
