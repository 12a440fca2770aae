// SPDX-License-Identifier: Apache-2.0
// Tests the form of a printed configuration, and that the printed text has the same meaning when it is read again.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <random>

#include "base/config/settings.h"
#include "base/config/sweep.h"
#include "base/config/value.h"
#include "base/text.h"
#include "golden.h"

namespace rnnlab::config::testing {
namespace {

using ::testing::HasSubstr;

TEST(Print, CommentsEveryKey) { expect_golden(print(Experiment{}, Experiment::schema())); }

TEST(Print, KeepsCommentsTo120Columns) {
  Experiment experiment;
  experiment.features = {std::string(100, 'x')};
  experiment.name = std::string(60, 'n');
  const std::string text = print(experiment, Experiment::schema());
  EXPECT_THAT(text, HasSubstr(" each text)\nfeatures: [xxx"));
  EXPECT_THAT(text, HasSubstr("nnn  # names the run folder "));
  for (const std::string& line : split(text, '\n'))
    EXPECT_TRUE(line.size() <= 120u || line.starts_with("features: [xxx")) << line;
}

TEST(Print, ContinuesBelowWithALongComment) {
  struct Wordy {
    int64_t n = 1;
  };
  Schema<Wordy> schema("Words");
  schema.field("n", &Wordy::n, std::string("a meaning") + std::string(60, '.') + " of " + std::string(60, '.'));
  EXPECT_EQ(print(Wordy{}, schema), "# Words\nn: 1  # a meaning" + std::string(60, '.') + " of\n      # " +
                                        std::string(60, '.') + " (default 1)\n");
}

Experiment printed_and_read(const Experiment& experiment) { return accepted(print(experiment, Experiment::schema())); }

TEST(Print, OfTheDefaultsReadsBack) { EXPECT_EQ(printed_and_read(Experiment{}), Experiment{}); }

// Equations of a cell, for instance.
TEST(Print, WritesLinesAsABlockThatReadsBack) {
  for (const char* text : {"a = b\n", "# one\na = b\n\nc = d +\n    e\n", "a: b\n- c\n"}) {
    Experiment experiment;
    experiment.name = text;
    EXPECT_THAT(print(experiment, Experiment::schema()), HasSubstr("name: |\n  ")) << text;
    EXPECT_EQ(printed_and_read(experiment), experiment) << text;
  }
  for (const char* text : {"a", "a\nb", " a\nb\n", "a\n\n", "\n", "\na\n", "a\tb\n"}) {
    Experiment experiment;
    experiment.name = text;
    EXPECT_EQ(print(experiment, Experiment::schema()).find("name: |"), std::string::npos) << text;
    EXPECT_EQ(printed_and_read(experiment), experiment) << text;
  }
}

TEST(Print, DistinguishesAnAbsentOptionalFromItsDefault) {
  Experiment experiment;
  experiment.limit.reset();
  EXPECT_THAT(print(experiment, Experiment::schema()), HasSubstr("limit: null"));
  EXPECT_EQ(printed_and_read(experiment), experiment);
}

TEST(Print, QuotesWhatAReaderCouldTakeForSomethingElse) {
  for (const char* text : {"rows", "cuda:1", "data/a-b_c.csv", "../x", "v1.2", "a+b", "..."})
    EXPECT_EQ(yaml_text(text), text);
  for (const char* text :
       {"",  " ",   "a b", "3",  "1e3", "0x10", "yes", "No",  "null", "NULL", "~", ".nan", "a: b", "a:",     ":a", "#x",
        "-", "- a", "*x",  "&x", "!x",  "[a]",  "{a}", "a,b", "%x",   "@x",   "|", ">",    "?",    "\u00e9", "<<"})
    EXPECT_EQ(yaml_text(text), "\"" + std::string(text) + "\"");
  EXPECT_EQ(yaml_text("a\"\\\n\r\t\x01\x7f"), R"("a\"\\\n\r\t\x01\x7f")");
  EXPECT_EQ(yaml_text("\u0085\u00a0\u2028\u2029\ufeff\u20ac"), "\"\\x85\u00a0\\u2028\\u2029\\ufeff\u20ac\"");
}

const std::vector<std::string> kAwkward = {
    "",       " ",        "null", "~",      "yes",    "010",     "1e3",        ".inf",      "- a",    "a: b",
    "a #b",   "#",        "'",    "\"",     "\\",     "\\n",     "two\nlines", "tab\there", "trail ", "\r\n",
    "{a: 1}", "[1]",      "a, b", "&a",     "*a",     "!!str",   "%x",         "@x",        "`",      "|",
    ">-",     "?",        "<<",   "\u00e9", "\u2028", "\ufeffa", "\x01\x7f",   "cuda:1",    "a:",     "---",
    "...",    "a\u0085b", "-1",   "-",      "--x",    "+x",      "x:y:z",      "C:\\data",  "=",      "\U0001F600"};

TEST(Print, OfAwkwardTextsReadsBack) {
  for (const std::string& text : kAwkward) {
    Experiment experiment;
    experiment.name = text;
    experiment.features = {text, "x", text};
    EXPECT_EQ(printed_and_read(experiment), experiment) << ::testing::PrintToString(text);
  }
}

TEST(Print, OfExtremeNumbersReadsBack) {
  using Doubles = std::numeric_limits<double>;
  for (const double value :
       {0.1, 1.0 / 3.0, 1e-300, 1e300, Doubles::max(), Doubles::min(), Doubles::denorm_min(), 3.0, 123456789.0}) {
    Experiment experiment;
    experiment.training.learning_rate = value;
    experiment.training.clip_norm = value;
    EXPECT_EQ(printed_and_read(experiment), experiment) << value;
  }
  Experiment experiment;
  experiment.training.epochs = std::numeric_limits<int64_t>::max();
  experiment.seed = std::numeric_limits<int>::min();
  experiment.weights = {0.0, 0.1, std::nextafter(1.0, 0.0)};
  EXPECT_EQ(printed_and_read(experiment), experiment);
}

std::string random_text(std::mt19937& random) {
  const std::vector<std::string> pieces = {
      "a", "Z", "0", "9", ".", "-", "_", ":", " ", "#", ",", "'", "\"", "\\", "\n",     "\t",     "[",
      "]", "{", "}", "&", "*", "!", "%", "@", "|", ">", "?", "~", "=",  "\r", "\u00e9", "\u20ac", "\u2028"};
  std::string text;
  for (size_t i = random() % 6; i > 0; --i) text += pieces[random() % pieces.size()];
  return text;
}

Experiment random_experiment(std::mt19937& random) {
  std::uniform_real_distribution<double> fraction(0.0, 1.0);
  Experiment e;
  e.name = random_text(random);
  e.features = {random_text(random), random_text(random)};
  for (size_t i = random() % 3; i > 0; --i) e.weights.push_back(fraction(random));
  for (size_t i = random() % 3; i > 0; --i) e.cells.push_back(static_cast<Cell>(random() % 3));
  if (random() % 2)
    e.limit = static_cast<int64_t>(random() % 1000) + 1;
  else
    e.limit.reset();
  e.seed = static_cast<int>(random());
  e.model.kind = "k" + random_text(random);
  e.training.epochs = static_cast<int64_t>(random()) + 2;
  e.training.learning_rate = std::pow(10.0, 600.0 * fraction(random) - 300.0);
  if (random() % 2) e.training.clip_norm = 1.0 + fraction(random);
  e.training.deterministic = random() % 2 == 0;
  for (size_t i = random() % 4; i > 0; --i) e.training.decay_at.push_back(static_cast<int64_t>(random()) + 1);
  return e;
}

TEST(Print, OfAnyExperimentReadsBack) {
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    const Experiment experiment = random_experiment(random);
    const std::string printed = print(experiment, Experiment::schema());
    EXPECT_EQ(accepted(printed), experiment) << printed;
    EXPECT_EQ(print(accepted(printed), Experiment::schema()), printed);
  }
}

TEST(Print, OfAGroupWhoseKeysAreAllAbsentReadsBack) {
  struct Inner {
    std::optional<int64_t> limit;
  };
  struct Outer {
    Inner inner;
  };
  Schema<Inner> inner("Inner");
  inner.field("limit", &Inner::limit, "none by default,\nin two lines");
  Schema<Outer> outer("Outer");
  outer.group("inner", &Outer::inner, "a group", inner);
  const std::string printed = print(Outer{}, outer);
  expect_golden(printed);
  Findings findings;
  read(Document::from_text(printed, "exp.yaml", findings), outer, findings);
  EXPECT_THAT(findings.lines(), ::testing::IsEmpty());
}

TEST(Describe, ListsEveryKey) {
  expect_golden(describe(Training::schema()));
  EXPECT_THAT(describe(Experiment::schema()), HasSubstr("\nmodel.hidden_size       units a layer\n"));
}

TEST(Markdown, HasATableForEveryGroup) {
  const std::string page = markdown(Experiment::schema());
  expect_golden(page.substr(0, page.find("| `device`")));
  const size_t model = page.find("\n## `model`");
  expect_golden(page.substr(model, page.find("| `hidden_size`") - model));
}

// The first example of a section of the page.
std::string example_in(const std::string& page, const std::string& section) {
  const std::string opening = "```yaml\n";
  const size_t begin = page.find(opening, page.find("\n## `" + section + "`: ")) + opening.size();
  return page.substr(begin, page.find("```", begin) - begin);
}

TEST(Markdown, DescribesSweepsAndRepeatsByExamplesThatRead) {
  const std::string page = markdown(Experiment::schema());
  Findings findings;
  const auto sweep = Document::from_text(example_in(page, "sweep"), "page", findings);
  EXPECT_EQ(Sweep(sweep, findings).num_cases(), 4u);
  const auto repeats = Document::from_text(example_in(page, "repeats"), "page", findings);
  EXPECT_EQ(repeats_of(repeats, findings), (Repeats{.at_most = 20, .until = 0.01}));
  EXPECT_THAT(findings.lines(), ::testing::IsEmpty());
}

TEST(Markdown, LeavesOutAMissingSweep) {
  Schema<Model> schema("Fixed");
  schema.refuse_sweep();
  schema.field("kind", &Model::kind, "what it is");
  EXPECT_THAT(markdown(schema), ::testing::Not(HasSubstr("sweep")));
  expect_golden(describe(schema));
}

TEST(Markdown, EscapesWhatWouldEndACell) {
  Schema<Model> schema("Piped");
  schema.field("kind", &Model::kind, "a | b");
  EXPECT_THAT(markdown(schema), HasSubstr("| `kind` | a \\| b | `classifier` | text |\n"));
}

// ---- JSON Schema ----

using nlohmann::json;

json schema_of_experiment() { return json::parse(json_schema(Experiment::schema())); }

TEST(JsonSchema, SaysWhichDraftItIsAndTakesNoUnknownKeys) {
  const json schema = schema_of_experiment();
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema["title"], "An experiment");
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["properties"]["training"]["additionalProperties"], false);
  EXPECT_EQ(schema["properties"]["training"]["description"], "how the weights are fitted");
}

TEST(JsonSchema, GivesBoundsChoicesDefaultsAndMeaning) {
  const json training = schema_of_experiment()["properties"]["training"]["properties"];
  EXPECT_EQ(training["batch_size"], (json{{"type", "integer"},
                                          {"minimum", 1},
                                          {"maximum", 4096},
                                          {"default", 128},
                                          {"description", training["batch_size"]["description"]}}));
  EXPECT_EQ(training["learning_rate"]["exclusiveMinimum"], 0.0);
  EXPECT_EQ(training["deterministic"]["type"], "boolean");
  const json cell = schema_of_experiment()["properties"]["model"]["properties"]["cell"];
  EXPECT_EQ(cell["enum"], json::parse(R"(["lstm", "gru", "rnn_tanh"])"));
  EXPECT_EQ(cell["default"], "lstm");
}

TEST(JsonSchema, KnowsListsAndWhatMayBeAbsent) {
  const json properties = schema_of_experiment()["properties"];
  EXPECT_EQ(properties["limit"]["anyOf"], json({{{"type", "integer"}, {"minimum", 1}}, {{"type", "null"}}}));
  EXPECT_EQ(properties["limit"]["default"], 5);
  EXPECT_EQ(properties["training"]["properties"]["clip_norm"]["default"], nullptr);
  EXPECT_EQ(properties["features"]["minItems"], 1);
  EXPECT_EQ(properties["features"]["default"], json::parse(R"(["x"])"));
  EXPECT_EQ(properties["weights"]["items"]["exclusiveMaximum"], 1.0);
  EXPECT_EQ(properties["model"]["properties"]["kind"]["minLength"], 1);
}

TEST(JsonSchema, TakesPlainNumbersForTextAsTheReaderDoes) {
  EXPECT_EQ(accepted("name: 2024").name, "2024");
  EXPECT_EQ(schema_of_experiment()["properties"]["name"]["type"], json::parse(R"(["string", "number", "boolean"])"));
}

TEST(JsonSchema, AllowsSweepsOfEveryKey) {
  const json sweep = schema_of_experiment()["properties"]["sweep"];
  const json& cell = sweep["properties"]["model.cell"]["oneOf"];
  EXPECT_EQ(cell[0]["items"]["enum"].size(), 3u);
  EXPECT_EQ(cell[1]["type"], "object") << "a distribution";
  EXPECT_EQ(sweep["properties"]["training.decay_at"]["oneOf"][0]["items"]["type"], "array") << "a list of lists";
  EXPECT_EQ(sweep["additionalProperties"], json::parse(R"({"type": "object"})")) << "nested: {training: {epochs: []}}";
}

}  // namespace
}  // namespace rnnlab::config::testing
