// SPDX-License-Identifier: Apache-2.0
#include "golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace rnnlab {
namespace {

using Texts = std::vector<std::string>;  // of one test, in order

const char* const kGoldenFile = RNNLAB_GOLDEN;

bool is_recording() { return std::getenv("RNNLAB_RECORD") != nullptr; }

std::string name_of(const ::testing::TestInfo& test) { return std::string(test.test_suite_name()) + "." + test.name(); }

// ---- the file: the name of a test on a line, then its texts, whose first lines begin with "- " and others with "| "
// ----

// A trailing space, which editors remove, is "\s" there.
std::string line_text(std::string_view mark, std::string line) {
  if (line.ends_with(' ')) line.replace(line.size() - 1, 1, "\\s");
  return std::string(mark) + (line.empty() ? "" : " " + line) + "\n";
}

std::string line_of(std::string_view stored) {
  std::string line(stored.substr(std::min<size_t>(2, stored.size())));
  if (line.ends_with("\\s")) line.replace(line.size() - 2, 2, " ");
  return line;
}

std::map<std::string, Texts> read_golden() {
  std::map<std::string, Texts> all;
  Texts* texts = nullptr;
  std::ifstream file(kGoldenFile);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("- ") || line == "-")
      texts->push_back(line_of(line));
    else if (line.starts_with("| ") || line == "|")
      texts->back() += "\n" + line_of(line);
    else if (!line.empty() && line[0] != '#')
      texts = &all[line];
  }
  return all;
}

void write_golden(const std::map<std::string, Texts>& all) {
  std::ofstream file(kGoldenFile);
  file << "# The texts that tests expect (tests/golden.h). RNNLAB_RECORD=1 and the test program write this file.\n";
  for (const auto& [name, texts] : all) {
    file << "\n" << name << "\n";
    for (const std::string& text : texts) {
      std::istringstream lines(text + "\n");
      std::string_view mark = "-";
      for (std::string line; std::getline(lines, line); mark = "|") file << line_text(mark, line);
    }
  }
}

// ---- what is different at each time or place ----

std::string without_places(const std::string& text) {
  static const std::regex folder("(" + std::filesystem::temp_directory_path().string() +
                                 "|/tmp)/rnnlab[-_][a-z_-]+[-_][A-Za-z0-9]{6}(?![A-Za-z0-9])");
  static const std::regex sources(RNNLAB_SOURCE_DIR "(?![A-Za-z0-9_-])");
  static const std::regex time("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}Z(-[0-9]+(?=[.]json))?");
  const std::string without_folder = std::regex_replace(text, folder, "<folder>");
  return std::regex_replace(std::regex_replace(without_folder, sources, "<sources>"), time, "<time>");
}

class Golden : public ::testing::EmptyTestEventListener {
 public:
  std::string next(const std::string& text) {
    seen_.push_back(text);
    const auto found = stored_.find(current_);
    return found == stored_.end() || found->second.size() < seen_.size() ? "(no text)"
                                                                         : found->second[seen_.size() - 1];
  }

  void OnTestStart(const ::testing::TestInfo& test) override {
    current_ = name_of(test);
    seen_.clear();
  }

  void OnTestEnd(const ::testing::TestInfo& test) override {
    if (!test.result()->Passed()) return;
    if (is_recording()) return record();
    const auto found = stored_.find(current_);
    EXPECT_EQ(found == stored_.end() ? 0 : found->second.size(), seen_.size())
        << kGoldenFile << " has texts that " << current_ << " does not expect: RNNLAB_RECORD=1 writes it again";
  }

  void OnTestProgramEnd(const ::testing::UnitTest&) override {
    if (is_recording() && !stored_.empty()) write_golden(stored_);
  }

 private:
  void record() {
    if (seen_.empty())
      stored_.erase(current_);
    else
      stored_[current_] = seen_;
  }

  std::map<std::string, Texts> stored_ = read_golden();
  std::string current_;  // the running test
  Texts seen_;           // of it, so far
};

Golden* listening() {
  auto* const golden = new Golden;  // the list of listeners owns it
  ::testing::UnitTest::GetInstance()->listeners().Append(golden);
  return golden;
}

Golden* const golden = listening();

}  // namespace

void expect_golden(std::string_view text, std::source_location where) {
  const std::string got = without_places(std::string(text)), wanted = golden->next(got);
  if (is_recording() || got == wanted) return;
  const ::testing::ScopedTrace trace(where.file_name(), static_cast<int>(where.line()),
                                     std::string("a better text is recorded by RNNLAB_RECORD=1 in ") + kGoldenFile);
  EXPECT_EQ(got, wanted);
}

}  // namespace rnnlab
