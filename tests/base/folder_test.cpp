// SPDX-License-Identifier: Apache-2.0
#include "base/folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>

#include "base/system/temporary_folder.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

TEST(SiblingNames, AreThoseInTheFolderOfThePath) {
  const testing::TemporaryFolder temporary;
  const fs::path& folder = temporary.path();
  for (const char* name : {"a.csv", "b.csv"}) std::ofstream(folder / name) << "x";
  std::vector<std::string> names = sibling_names(folder / "c.csv");
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"a.csv", "b.csv"}));
}

TEST(CacheFolder, IsTheProgramsOwnThenTheUsers) {
  const auto with = [](const char* own, const char* caches, const char* home) {
    ::setenv("RNNLAB_CACHE", own, 1);
    ::setenv("XDG_CACHE_HOME", caches, 1);
    ::setenv("HOME", home, 1);
    return cache_folder();
  };
  const std::string home_before = ::getenv("HOME") == nullptr ? "" : ::getenv("HOME");
  EXPECT_EQ(with("/own", "/caches", "/home/ada"), "/own");
  EXPECT_EQ(with("", "/caches", "/home/ada"), "/caches/rnnlab");
  EXPECT_EQ(with("", "", "/home/ada"), "/home/ada/.cache/rnnlab");
  EXPECT_EQ(with("", "", ""), "");
  ::unsetenv("RNNLAB_CACHE");
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", home_before.c_str(), 1);
}

TEST(SiblingNames, AreEmptyIfTheFolderIsMissing) { EXPECT_TRUE(sibling_names("/no/such/folder/a.csv").empty()); }

TEST(FoldersWith, AreThoseThatHoldOneOfTheNames) {
  const testing::TemporaryFolder temporary;
  const fs::path& folder = temporary.path();
  for (const char* run : {"third", "first", "none"}) fs::create_directory(folder / run);
  std::ofstream(folder / "first" / "a.csv") << "x";
  fs::create_directory(folder / "third" / "b");
  std::ofstream(folder / "a.csv") << "x";
  fs::create_directory_symlink("first", folder / "latest");
  EXPECT_EQ(folders_with(folder, {"a.csv", "b"}), (std::vector<fs::path>{folder / "first", folder / "third"}));
  EXPECT_TRUE(folders_with(folder / "missing", {"a.csv"}).empty());
}

TEST(NormalizedPath, IsOneSpelling) {
  const fs::path wanted = fs::current_path() / "runs" / "one";
  for (const char* given : {"runs/one", "runs/one/", "./runs//two/../one/"}) EXPECT_EQ(normalized_path(given), wanted);
  EXPECT_EQ(normalized_path(wanted / ""), wanted);
  EXPECT_EQ(normalized_path("/"), "/");
}

}  // namespace
}  // namespace rnnlab
