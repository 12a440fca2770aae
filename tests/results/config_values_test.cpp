#include "results/config_values.h"

#include <gtest/gtest.h>

#include "results/expect_error.h"
#include "results/temporary_folder.h"

namespace rnnlab::testing {
namespace {

std::map<std::string, std::string> values_of(const std::string& yaml) {
  const TemporaryFolder folder;
  write_text(folder.path() / "config.yaml", yaml);
  return config_values(folder.path() / "config.yaml");
}

TEST(ConfigValues, AreDottedKeysWithTheirText) {
  const auto values = values_of(
      "# an experiment\n"
      "name: rows  # a comment\n"
      "model:  # what is trained\n"
      "  hidden_size: 128\n"
      "  head:\n"
      "    sizes: [64, 32]\n"
      "  # activation:  # none by default\n"
      "  dropout: 0\n"
      "data:\n"
      "  path: \"a # b: c\"\n"
      "  limit: null\n"
      "  id: []\n"
      "seed: 1\n");
  EXPECT_EQ(values, (std::map<std::string, std::string>{{"name", "rows"},
                                                        {"model.hidden_size", "128"},
                                                        {"model.head.sizes", "[64, 32]"},
                                                        {"model.dropout", "0"},
                                                        {"data.path", "\"a # b: c\""},
                                                        {"seed", "1"}}));
}

TEST(ConfigValues, OfADocumentInMemoryAreTheSame) {
  const std::string yaml = "name: rows\nmodel: {hidden_size: 8}\n";
  config::Findings findings;
  EXPECT_EQ(config_values(config::Document::from_text(yaml, "config.yaml", findings)), values_of(yaml));
  EXPECT_TRUE(findings.empty());
}

TEST(ConfigValues, TellPathsWithoutTheirFolders) {
  EXPECT_EQ(setting_without_folders("/srv/jane/x.csv"), "x.csv");
  EXPECT_EQ(setting_without_folders("\"/srv/jane doe/my: x.csv\""), "\"my: x.csv\"");
  EXPECT_EQ(setting_without_folders("../jane/mnist/"), "mnist");
  EXPECT_EQ(setting_without_folders("[speed in m/s, /srv/jane/x]"), "[speed in m/s, x]");
  for (const char* value : {"128", "/", "x.csv", "\"a # b: c\"", ""}) EXPECT_EQ(setting_without_folders(value), value);
}

TEST(ConfigValues, OfADamagedFileAreAnError) {
  const TemporaryFolder folder;
  write_text(folder.path() / "config.yaml", "name: rows\nmodel: {cell: lst");
  expect_error(ExitCode::kData,
               folder.name("config.yaml") + ":2:8: this '{' has no matching '}', or lacks a ',' between its members",
               [&] { config_values(folder.path() / "config.yaml"); });
  expect_error(ExitCode::kData, folder.name("none.yaml") + ": no such file",
               [&] { config_values(folder.path() / "none.yaml"); });
}

}  // namespace
}  // namespace rnnlab::testing
