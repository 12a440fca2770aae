// SPDX-License-Identifier: Apache-2.0
// Damages a valid file and its overrides at random: the result is always a finding or an experiment, never a crash or a
// hang.
#include <gmock/gmock.h>

#include <random>

#include "base/config/settings.h"
#include "base/config/sweep.h"
#include "base/error.h"

namespace rnnlab::config::testing {
namespace {

const std::string kValid =
    "# A trial\n"
    "name: 'trial'\n"
    "device: cuda:1\n"
    "features: [open, \"close\", 3]\n"
    "weights:\n"
    "  - 0.5\n"
    "  - 1e-3\n"
    "model: {cell: gru, hidden_size: 32}\n"
    "training:\n"
    "  epochs: 3\n"
    "  learning_rate: 1e-2\n"
    "  clip_norm: ~\n"
    "  deterministic: true\n"
    "sweep:\n"
    "  seed: [1, 2]\n"
    "  training: {batch_size: [64, 128]}\n";

const std::vector<std::string> kSyntax = {"[",    "]",    "{",     "}",     ":",    ": ", "- ", "\n",     "\n  ", "\t",
                                          "'",    "\"",   "#",     "&",     "&a ",  "*a", "!",  "!!x ",   "|",    ">",
                                          "?",    "%",    "---\n", "...\n", "<<: ", ",",  "~",  "\\",     "\xff", "\r",
                                          "\x01", "0x10", ".nan",  "yes",   "1e3",  "-",  "=",  "\u00e9", "."};

std::string damaged(std::string text, std::mt19937& random) {
  for (size_t i = 1 + random() % 4; i > 0 && !text.empty(); --i) {
    const size_t at = random() % text.size();
    const size_t length = random() % 8;
    switch (random() % 5) {
      case 0:
        text[at] = static_cast<char>(random() % 256);
        break;
      case 1:
        text.insert(at, kSyntax[random() % kSyntax.size()]);
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(random() % text.size(), text.substr(at, length * 4));
        break;
      default:
        text.resize(at);
        break;
    }
  }
  return text;
}

// Reads all of it as the program would, and returns what was found.
Findings read_everything(const std::string& text, const std::string& assignment) {
  Findings findings;
  Document document = Document::from_text(text, "exp.yaml", findings);
  document.apply_override(assignment, findings);
  const Sweep sweep(document, findings);
  for (size_t i = 0; i < sweep.num_cases(); ++i)
    print(read(sweep.document(i), Experiment::schema(), findings), Experiment::schema());
  return findings;
}

TEST(Mutation, StartsFromAValidFile) { EXPECT_THAT(read_everything(kValid, "seed=3").lines(), ::testing::IsEmpty()); }

TEST(Mutation, OfTheFileIsReadOrRefused) {
  std::mt19937 random(20240229);
  int num_refused = 0;
  for (int i = 0; i < 4000; ++i) {
    const Findings findings = read_everything(damaged(kValid, random), "training.epochs=5");
    if (findings.empty()) continue;
    ++num_refused;
    EXPECT_THROW(findings.throw_if_any(), UserError);
    for (const std::string& line : findings.lines())
      EXPECT_TRUE(line.starts_with("exp.yaml") || line.starts_with("argument '")) << line;
  }
  EXPECT_GT(num_refused, 2000);  // most damage matters
}

TEST(Mutation, OfTheOverrideIsReadOrRefused) {
  std::mt19937 random(7);
  int num_refused = 0;
  for (const char* assignment : {"training.epochs=5", "training={epochs: 5, decay_at: [1, 2]}", "features=[a, 'b']",
                                 "name=\"a\\n\"", "sweep.model={cell: [lstm, gru]}"})
    for (int i = 0; i < 300; ++i) num_refused += read_everything(kValid, damaged(assignment, random)).empty() ? 0 : 1;
  EXPECT_GT(num_refused, 500);
}

// What is accepted prints to a file that means the same.
TEST(Mutation, ThatIsAcceptedPrintsAndReadsBack) {
  std::mt19937 random(3);
  int num_accepted = 0;
  for (int i = 0; i < 4000; ++i) {
    Findings findings;
    const Document document = Document::from_text(damaged(kValid, random), "exp.yaml", findings);
    const Experiment experiment = read(document, Experiment::schema(), findings);
    if (!findings.empty()) continue;
    ++num_accepted;
    const std::string printed = print(experiment, Experiment::schema());
    EXPECT_EQ(accepted(printed), experiment) << printed;
  }
  EXPECT_GT(num_accepted, 100);
}

}  // namespace
}  // namespace rnnlab::config::testing
