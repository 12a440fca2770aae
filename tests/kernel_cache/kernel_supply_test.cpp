// Tests the sources of kernels (the build's folder, the cache, the compiler), and the notes for the user.
#include "kernel_cache/kernel_supply.h"

#include <gmock/gmock.h>

#include "kernel_cache/nvrtc.h"
#include "system/small_disk.h"
#include "system/temporary_folder.h"

namespace rnnlab {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::write_text;

const KernelProgram kProgram = {"__global__ void kernel() {}\n", {}, "sm_90", {"kernel"}};

size_t num_files(const std::filesystem::path& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

class KernelSupplyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = nvrtc_refusal()) GTEST_SKIP() << *reason;
  }

  TemporaryFolder folder_;
  std::filesystem::path cache_ = folder_.path() / "cache";
  const std::filesystem::path no_build_ = folder_.path() / "none";
};

TEST_F(KernelSupplyTest, CompilesOnceAndSaysSo) {
  KernelSupply first(no_build_, cache_);
  const CompiledKernels compiled = first.get(kProgram);
  EXPECT_THAT(first.take_notes(), ElementsAre(AllOf(StartsWith("compiled 1 kernels for this GPU in "),
                                                    EndsWith(" s; kept in " + cache_.string()))));
  EXPECT_THAT(first.take_notes(), IsEmpty());

  KernelSupply second(no_build_, cache_);
  EXPECT_EQ(second.get(kProgram), compiled);
  EXPECT_THAT(second.take_notes(), IsEmpty());
}

TEST_F(KernelSupplyTest, CompilesAgainWhatIsDamaged) {
  const CompiledKernels compiled = KernelSupply(no_build_, cache_).get(kProgram);
  for (const auto& entry : std::filesystem::directory_iterator(cache_)) write_text(entry, "damaged");
  KernelSupply supply(no_build_, cache_);
  EXPECT_EQ(supply.get(kProgram), compiled);
  EXPECT_EQ(supply.take_notes().size(), 1U);
  EXPECT_EQ(num_files(cache_), 1U);
}

TEST_F(KernelSupplyTest, TakesWhatTheBuildMadeWithoutACompiler) {
  const CompiledKernels made = {"made by the build", {"symbol"}};
  KernelCache(no_build_).add(key_of(kProgram), made);
  KernelSupply supply(no_build_, cache_);
  EXPECT_EQ(supply.refusal(), std::nullopt);
  EXPECT_EQ(supply.get(kProgram), made);
  EXPECT_THAT(supply.take_notes(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(cache_));
}

TEST_F(KernelSupplyTest, ACacheThatCannotBeWrittenCostsOneNote) {
  write_text(folder_.path() / "a file", "");
  KernelSupply supply(no_build_, folder_.path() / "a file" / "kernels");
  EXPECT_THAT(supply.get(kProgram).symbols, ElementsAre(HasSubstr("kernel")));
  EXPECT_THAT(supply.take_notes(),
              ElementsAre(::testing::MatchesRegex("compiled 1 kernels for this GPU in [0-9.]+ s"),
                          AllOf(StartsWith("the compiled kernels are not kept, so the next run compiles them again: "),
                                HasSubstr("Not a directory"))));
  KernelProgram another = kProgram;
  another.architecture = "sm_100";
  supply.get(another);
  EXPECT_THAT(supply.take_notes(), ElementsAre(HasSubstr("compiled 1 kernels")));
}

TEST_F(KernelSupplyTest, AFullDiskCostsOneNote) {
  const testing::SmallDisk disk;
  write_text(disk.path() / "all that fits", std::string(testing::SmallDisk::kBytes, 'x'));
  KernelSupply supply(no_build_, disk.path());
  KernelProgram large = kProgram;
  large.source += "__device__ int table[100000] = {1};\n";
  large.source += "__global__ void reader(int* to) { *to = table[*to]; }\n";
  large.names = {"reader"};
  EXPECT_THAT(supply.get(large).symbols, ElementsAre(HasSubstr("reader")));
  EXPECT_THAT(supply.take_notes(), ElementsAre(HasSubstr("compiled"), HasSubstr("not kept")));
}

TEST_F(KernelSupplyTest, WithoutAnyFolderKernelsAreCompiledAndNotKept) {
  KernelSupply supply(no_build_, {});
  supply.get(kProgram);
  EXPECT_THAT(supply.take_notes(),
              ElementsAre(HasSubstr("compiled"), EndsWith("neither RNNLAB_CACHE nor HOME names a folder")));
}

}  // namespace
}  // namespace rnnlab
