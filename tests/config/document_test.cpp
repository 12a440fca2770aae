// Tests files that are not configuration files, and findings about them.
#include "config/document.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "config/yaml_reader.h"

namespace rnnlab::config {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

class DocumentFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "rnnlab-config-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

  static std::vector<std::string> complaints(const std::string& path) {
    Findings findings;
    Document::from_file(path, findings);
    return findings.lines();
  }

  fs::path folder_;
};

TEST_F(DocumentFile, KnowsThePlaceOfEveryValue) {
  const std::string file = write("exp.yaml", "name: trial\ntraining:\n  epochs: 3\n");
  Findings findings;
  const Document document = Document::from_file(file, findings);
  EXPECT_THAT(findings.lines(), IsEmpty());
  EXPECT_EQ(to_string(find_path(document.root(), "training.epochs")->value.place), file + ":3:11");
  EXPECT_EQ(to_string(find_path(document.root(), "training.epochs")->key_place), file + ":3:3");
  EXPECT_EQ(find_path(document.root(), "training.epoch"), nullptr);
  EXPECT_EQ(find_path(document.root(), "name.epochs"), nullptr);
}

TEST_F(DocumentFile, ThatIsMissingIsGuessed) {
  write("mnist.yaml", "name: a\n");
  EXPECT_THAT(complaints(path("mnsit.yaml")),
              ElementsAre(path("mnsit.yaml") + ": no such file (did you mean '" + path("mnist.yaml") + "'?)"));
  EXPECT_THAT(complaints(path("nowhere/else")), ElementsAre(path("nowhere/else") + ": no such file"));
}

TEST_F(DocumentFile, MustBeARegularFile) {
  EXPECT_THAT(complaints(folder_.string()), ElementsAre(folder_.string() + ": a folder, expected a YAML file"));
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(complaints(path("pipe")), ElementsAre(path("pipe") + ": a pipe or device, expected a regular YAML file"));
  EXPECT_THAT(complaints("/dev/zero"), ElementsAre("/dev/zero: a pipe or device, expected a regular YAML file"));
}

TEST_F(DocumentFile, MustBeReadable) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const std::string file = write("exp.yaml", "name: a\n");
  fs::permissions(file, fs::perms::none);
  EXPECT_THAT(complaints(file), ElementsAre(file + ": cannot be read (Permission denied)"));
}

TEST_F(DocumentFile, MustBeSmall) {
  const std::string small = write("small.yaml", "name: a\n#" + std::string(kMaxFileBytes - 9, 'x'));
  EXPECT_THAT(complaints(small), IsEmpty());
  const std::string large = write("large.yaml", "name: a\n#" + std::string(kMaxFileBytes - 8, 'x'));
  EXPECT_THAT(complaints(large),
              ElementsAre(large + ": 1,048,577 bytes, expected at most 1,048,576; is this a configuration file?"));
}

TEST_F(DocumentFile, ThatCannotBeReadStillHasItsOverridesChecked) {
  Findings findings;
  Document document = Document::from_file(path("none.yaml"), findings);
  document.apply_override("training.epochs=3", findings);
  document.apply_override("oops", findings);
  EXPECT_FALSE(document.is_whole());
  EXPECT_EQ(find_path(document.root(), "training.epochs")->value.text, "3");
  EXPECT_THAT(findings.lines(), ElementsAre(path("none.yaml") + ": no such file",
                                            "argument 'oops': no '='; expected key=value, such as training.epochs=3"));
}

TEST(Findings, AreSortedAndTold) {
  Findings findings;
  EXPECT_NO_THROW(findings.throw_if_any());
  findings.add({"argument 'b'", 0, 0, 2}, "fifth");
  findings.add({"argument 'a'", 0, 0, 1}, "fourth");
  findings.add({"exp.yaml", 2, 10}, "third");
  findings.add({"exp.yaml", 2, 9}, "second");
  findings.add({"exp.yaml"}, "first");
  findings.add({"exp.yaml"}, "first");
  try {
    findings.throw_if_any();
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    EXPECT_STREQ(
        error.what(),
        "exp.yaml: first\nexp.yaml:2:9: second\nexp.yaml:2:10: third\nargument 'a': fourth\nargument 'b': fifth");
  }
}

TEST(Findings, TellOfAFloodItsBeginning) {
  Findings findings;
  for (int line = 1; line <= 150; ++line) findings.add({"exp.yaml", line, 1}, "wrong");
  try {
    findings.throw_if_any();
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), ::testing::EndsWith("exp.yaml:100:1: wrong\nand 50 more"));
  }
}

}  // namespace
}  // namespace rnnlab::config
