#include "results/config_values.h"

#include <gtest/gtest.h>

namespace rnnlab {
namespace {

TEST(ConfigValues, AreDottedKeysWithTheirText) {
  const auto values = config_values(
      "# an experiment\n"
      "name: rows  # a comment\n"
      "model:  # what is trained\n"
      "  hidden_size: 128\n"
      "  head:\n"
      "    sizes: [64, 32]\n"
      "  dropout: 0\n"
      "data:\n"
      "  path: \"a # b: c\"\n"
      "seed: 1\n");
  EXPECT_EQ(values, (std::map<std::string, std::string>{{"name", "rows"},
                                                        {"model.hidden_size", "128"},
                                                        {"model.head.sizes", "[64, 32]"},
                                                        {"model.dropout", "0"},
                                                        {"data.path", "\"a # b: c\""},
                                                        {"seed", "1"}}));
}

TEST(ConfigValues, OfNothingAreNone) { EXPECT_TRUE(config_values("\n# only a comment\n").empty()); }

}  // namespace
}  // namespace rnnlab
