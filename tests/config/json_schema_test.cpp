#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "config/settings.h"

namespace rnnlab::config::testing {

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
  EXPECT_EQ(training["batch_size"],
            (json{{"type", "integer"},
                  {"minimum", 1},
                  {"maximum", 4096},
                  {"default", 128},
                  {"description", "samples a step [samples] (default 128; at least 1 and at most 4096)"}}));
  EXPECT_EQ(training["learning_rate"]["exclusiveMinimum"], 0.0);
  EXPECT_EQ(training["deterministic"]["type"], "boolean");
  const json cell = schema_of_experiment()["properties"]["model"]["properties"]["cell"];
  EXPECT_EQ(cell["enum"], json::parse(R"(["lstm", "gru", "rnn_tanh"])"));
  EXPECT_EQ(cell["default"], "lstm");
}

TEST(JsonSchema, KnowsListsAndWhatMayBeAbsent) {
  const json properties = schema_of_experiment()["properties"];
  EXPECT_EQ(properties["limit"]["anyOf"], json::parse(R"([{"type": "integer", "minimum": 1}, {"type": "null"}])"));
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
  EXPECT_EQ(sweep["properties"]["model.cell"]["items"]["enum"].size(), 3u);
  EXPECT_EQ(sweep["properties"]["training.decay_at"]["items"]["type"], "array") << "a list of lists";
  EXPECT_EQ(sweep["additionalProperties"], json::parse(R"({"type": "object"})")) << "nested: {training: {epochs: []}}";
}

}  // namespace rnnlab::config::testing
