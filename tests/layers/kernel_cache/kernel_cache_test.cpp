// SPDX-License-Identifier: Apache-2.0
// Tests compiled kernels on the disk (they are found unchanged, never found if damaged, and never larger than the
// limit), the sources of kernels (the build's folder, the cache, the compiler), and the notes for the user.
#include "layers/kernel_cache/kernel_cache.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "base/error.h"
#include "base/system/small_disk.h"
#include "base/system/temporary_folder.h"
#include "layers/kernel_cache/nvrtc.h"

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

class KernelCacheTest : public ::testing::Test {
 protected:
  std::filesystem::path only_file() const { return std::filesystem::directory_iterator(folder_.path())->path(); }

  TemporaryFolder folder_;
  const KernelCache cache_{folder_.path(), /*most_bytes=*/3000};
};

TEST_F(KernelCacheTest, FindsWhatWasAdded) {
  const KernelCache cache(folder_.path() / "made" / "when needed");
  cache.add("a key", kKernels);
  EXPECT_EQ(cache.find("a key"), kKernels);
  EXPECT_EQ(cache.find("another key"), std::nullopt);
}

TEST_F(KernelCacheTest, HasNothingWhereTheFolderIsMissing) {
  EXPECT_EQ(KernelCache("/nowhere/at/all").find("key"), std::nullopt);
}

TEST_F(KernelCacheTest, AnEntryThatIsCutOffAnywhereIsNone) {
  cache_.add("key", kKernels);
  const std::string whole = read_text(only_file());
  for (size_t length = 0; length < whole.size(); ++length) {
    write_text(only_file(), whole.substr(0, length));
    EXPECT_EQ(cache_.find("key"), std::nullopt) << length;
  }
}

TEST_F(KernelCacheTest, AnEntryWithAnyOtherByteIsNone) {
  cache_.add("key", kKernels);
  const std::string whole = read_text(only_file());
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    write_text(only_file(), damaged);
    EXPECT_EQ(cache_.find("key"), std::nullopt) << i;
  }
  write_text(only_file(), whole + "more");
  EXPECT_EQ(cache_.find("key"), std::nullopt);
}

TEST_F(KernelCacheTest, ADamagedEntryIsReplaced) {
  cache_.add("key", kKernels);
  write_text(only_file(), "damaged");
  cache_.add("key", kKernels);
  EXPECT_EQ(cache_.find("key"), kKernels);
}

TEST_F(KernelCacheTest, TheEntryUsedLongestAgoMakesRoom) {
  cache_.add("first", kernels_of(1000));
  cache_.add("second", kernels_of(1000));
  // Times of files may be a few milliseconds coarse.
  const auto now = std::filesystem::file_time_type::clock::now();
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    std::filesystem::last_write_time(entry, now - std::chrono::hours(1));
  EXPECT_TRUE(cache_.find("first"));
  cache_.add("third", kernels_of(1000));
  EXPECT_TRUE(cache_.find("first"));
  EXPECT_FALSE(cache_.find("second"));
  EXPECT_TRUE(cache_.find("third"));
}

TEST_F(KernelCacheTest, WhatAKilledProcessLeftMakesRoomToo) {
  const auto left = folder_.path() / ".key.kernels.4711.tmp";
  write_text(left, std::string(2500, 'x'));
  std::filesystem::last_write_time(left, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  cache_.add("key", kernels_of(1000));
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(cache_.find("key"));
}

TEST_F(KernelCacheTest, AFullDiskIsAnErrorAndLeavesNothing) {
  testing::SmallDisk disk;
  const KernelCache cache(disk.path());
  EXPECT_THROW(cache.add("key", kernels_of(100'000)), UserError);
  EXPECT_EQ(cache.find("key"), std::nullopt);
  EXPECT_TRUE(std::filesystem::is_empty(disk.path()));
}

// Every process finds either nothing or a whole entry, whatever the others are doing.
TEST_F(KernelCacheTest, ServesSeveralProcessesAtOnce) {
  constexpr int kProcesses = 4, kRounds = 50;
  std::array<pid_t, kProcesses> processes = {};
  for (pid_t& process : processes) {
    process = ::fork();
    if (process != 0) continue;
    const KernelCache cache(folder_.path(), /*most_bytes=*/60'000);
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

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const KernelProgram kProgram = {"__global__ void kernel() {}\n", {}, "sm_90", {"kernel"}};

size_t num_files(const std::filesystem::path& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

class KernelSupplyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = nvrtc_unavailable_reason()) GTEST_SKIP() << *reason;
  }

  TemporaryFolder folder_;
  std::filesystem::path cache_ = folder_.path() / "cache";
  const std::filesystem::path no_build_ = folder_.path() / "none";
};

TEST_F(KernelSupplyTest, CompilesOnceAndSaysSo) {
  KernelProvider first(no_build_, cache_);
  const CompiledKernels compiled = first.get(kProgram);
  EXPECT_THAT(first.take_notes(), ElementsAre(AllOf(HasSubstr("compiled 1 kernels"), EndsWith(cache_.string()))));
  EXPECT_THAT(first.take_notes(), IsEmpty());

  KernelProvider second(no_build_, cache_);
  EXPECT_EQ(second.get(kProgram), compiled);
  EXPECT_THAT(second.take_notes(), IsEmpty());
}

TEST_F(KernelSupplyTest, CompilesAgainWhatIsDamaged) {
  const CompiledKernels compiled = KernelProvider(no_build_, cache_).get(kProgram);
  for (const auto& entry : std::filesystem::directory_iterator(cache_)) write_text(entry, "damaged");
  KernelProvider provider(no_build_, cache_);
  EXPECT_EQ(provider.get(kProgram), compiled);
  EXPECT_EQ(provider.take_notes().size(), 1U);
  EXPECT_EQ(num_files(cache_), 1U);
}

TEST_F(KernelSupplyTest, TakesWhatTheBuildMadeWithoutACompiler) {
  const CompiledKernels made = {"made by the build", {"symbol"}};
  KernelCache(no_build_).add(key_of(kProgram), made);
  KernelProvider provider(no_build_, cache_);
  EXPECT_EQ(provider.unavailable_reason(), std::nullopt);
  EXPECT_EQ(provider.get(kProgram), made);
  EXPECT_THAT(provider.take_notes(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(cache_));
}

TEST_F(KernelSupplyTest, ACacheThatCannotBeWrittenCostsOneNote) {
  write_text(folder_.path() / "a file", "");
  KernelProvider provider(no_build_, folder_.path() / "a file" / "kernels");
  EXPECT_THAT(provider.get(kProgram).symbols, ElementsAre(HasSubstr("kernel")));
  EXPECT_THAT(provider.take_notes(),
              ElementsAre(HasSubstr("compiled 1 kernels"), AllOf(HasSubstr("not kept"), HasSubstr("Not a directory"))));
  KernelProgram another = kProgram;
  another.architecture = "sm_100";
  provider.get(another);
  EXPECT_THAT(provider.take_notes(), ElementsAre(HasSubstr("compiled 1 kernels")));
}

TEST_F(KernelSupplyTest, AFullDiskCostsOneNote) {
  const testing::SmallDisk disk;
  write_text(disk.path() / "all that fits", std::string(testing::SmallDisk::kBytes, 'x'));
  KernelProvider provider(no_build_, disk.path());
  KernelProgram large = kProgram;
  large.source += "__device__ int table[100000] = {1};\n";
  large.source += "__global__ void reader(int* to) { *to = table[*to]; }\n";
  large.names = {"reader"};
  EXPECT_THAT(provider.get(large).symbols, ElementsAre(HasSubstr("reader")));
  EXPECT_THAT(provider.take_notes(), ElementsAre(HasSubstr("compiled"), HasSubstr("not kept")));
}

TEST_F(KernelSupplyTest, WithoutAnyFolderKernelsAreCompiledAndNotKept) {
  KernelProvider provider(no_build_, {});
  provider.get(kProgram);
  EXPECT_THAT(provider.take_notes(), ElementsAre(HasSubstr("compiled"), HasSubstr("RNNLAB_CACHE")));
}

}  // namespace
}  // namespace rnnlab
