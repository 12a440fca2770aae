// Tests compiled kernels on the disk: they are found unchanged, never found if damaged, and never larger than the
// limit.
#include "kernel_cache/kernel_cache.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "base/error.h"
#include "system/small_disk.h"
#include "system/temporary_folder.h"

namespace rnnlab {
namespace {

using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;

const CompiledKernels kKernels = {std::string("\x7f"
                                              "ELF\0 code\n",
                                              11),
                                  {"_Z4passv", "_Z4packv"}};

CompiledKernels kernels_of(size_t bytes) { return {std::string(bytes, 'x'), {"kernel"}}; }

std::filesystem::path only_file(const std::filesystem::path& folder) {
  return std::filesystem::directory_iterator(folder)->path();
}

TEST(KernelCache, FindsWhatWasAdded) {
  const TemporaryFolder folder;
  const KernelCache cache(folder.path() / "made" / "when needed");
  cache.add("a key", kKernels);
  EXPECT_EQ(cache.find("a key"), kKernels);
  EXPECT_EQ(cache.find("another key"), std::nullopt);
}

TEST(KernelCache, HasNothingWhereTheFolderIsMissing) {
  EXPECT_EQ(KernelCache("/nowhere/at/all").find("key"), std::nullopt);
}

TEST(KernelCache, AnEntryThatIsCutOffAnywhereIsNone) {
  const TemporaryFolder folder;
  const KernelCache cache(folder.path());
  cache.add("key", kKernels);
  const std::string whole = read_text(only_file(folder.path()));
  for (size_t length = 0; length < whole.size(); ++length) {
    write_text(only_file(folder.path()), whole.substr(0, length));
    EXPECT_EQ(cache.find("key"), std::nullopt) << length;
  }
}

TEST(KernelCache, AnEntryWithAnyOtherByteIsNone) {
  const TemporaryFolder folder;
  const KernelCache cache(folder.path());
  cache.add("key", kKernels);
  const std::string whole = read_text(only_file(folder.path()));
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    write_text(only_file(folder.path()), damaged);
    EXPECT_EQ(cache.find("key"), std::nullopt) << i;
  }
  write_text(only_file(folder.path()), whole + "more");
  EXPECT_EQ(cache.find("key"), std::nullopt);
}

TEST(KernelCache, ADamagedEntryIsReplaced) {
  const TemporaryFolder folder;
  const KernelCache cache(folder.path());
  cache.add("key", kKernels);
  write_text(only_file(folder.path()), "damaged");
  cache.add("key", kKernels);
  EXPECT_EQ(cache.find("key"), kKernels);
}

TEST(KernelCache, TheEntryUsedLongestAgoMakesRoom) {
  const TemporaryFolder folder;
  const KernelCache cache(folder.path(), /*most_bytes=*/3000);
  cache.add("first", kernels_of(1000));
  cache.add("second", kernels_of(1000));
  // Times of files may be a few milliseconds coarse.
  const auto now = std::filesystem::file_time_type::clock::now();
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    std::filesystem::last_write_time(entry, now - std::chrono::hours(1));
  EXPECT_TRUE(cache.find("first"));
  cache.add("third", kernels_of(1000));
  EXPECT_TRUE(cache.find("first"));
  EXPECT_FALSE(cache.find("second"));
  EXPECT_TRUE(cache.find("third"));
}

TEST(KernelCache, WhatAKilledProcessLeftMakesRoomToo) {
  const TemporaryFolder folder;
  const KernelCache cache(folder.path(), /*most_bytes=*/3000);
  const auto left = folder.path() / ".key.kernels.4711.tmp";
  write_text(left, std::string(2500, 'x'));
  std::filesystem::last_write_time(left, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  cache.add("key", kernels_of(1000));
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(cache.find("key"));
}

TEST(KernelCache, AFullDiskIsAnErrorAndLeavesNothing) {
  testing::SmallDisk disk;
  const KernelCache cache(disk.path());
  EXPECT_THROW(cache.add("key", kernels_of(100'000)), UserError);
  EXPECT_EQ(cache.find("key"), std::nullopt);
  EXPECT_TRUE(std::filesystem::is_empty(disk.path()));
}

// Every process finds either nothing or a whole entry, whatever the others are doing.
TEST(KernelCache, ServesSeveralProcessesAtOnce) {
  const TemporaryFolder folder;
  constexpr int kProcesses = 4, kRounds = 50;
  std::array<pid_t, kProcesses> processes = {};
  for (pid_t& process : processes) {
    process = ::fork();
    if (process != 0) continue;
    const KernelCache cache(folder.path(), /*most_bytes=*/60'000);
    for (int i = 0; i < kRounds; ++i) {
      const std::string key = std::to_string(i % 4);
      const auto found = cache.find(key);
      if (found && *found != kernels_of(20'000)) ::_exit(1);
      cache.add(key, kernels_of(20'000));
    }
    ::_exit(0);
  }
  for (const pid_t process : processes) {
    int status = 0;
    ::waitpid(process, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST(KernelKey, ChangesWithAllThatACompilerReads) {
  const std::array<KernelHeader, 1> headers = {{{"a.h", "text"}}}, other = {{{"a.h", "Text"}}};
  const KernelProgram program = {"source", headers, "sm_90", {"kernel"}};
  const auto changed = [&](const auto& change) {
    KernelProgram different = program;
    change(different);
    return key_of(different);
  };
  EXPECT_EQ(key_of(program), changed([](KernelProgram&) {}));
  EXPECT_NE(key_of(program), changed([](KernelProgram& p) { p.source = "Source"; }));
  EXPECT_NE(key_of(program), changed([](KernelProgram& p) { p.architecture = "sm_90a"; }));
  EXPECT_NE(key_of(program), changed([](KernelProgram& p) { p.names = {"kern", "el"}; }));
  EXPECT_NE(key_of(program), changed([](KernelProgram& p) { p.headers = {}; }));
  EXPECT_NE(key_of(program), changed([&](KernelProgram& p) { p.headers = other; }));
}

}  // namespace
}  // namespace rnnlab
