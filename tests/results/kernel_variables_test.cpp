#include "results/kernel_variables.h"

#include <gtest/gtest.h>

namespace rnnlab {
namespace {

TEST(KernelVariables, AreThoseOfTheLibrariesAndNoOthers) {
  const char* environment[] = {"OMP_PROC_BIND=true", "HOME=/home/me",  "PATH=/bin", "MY_OMP_X=1",
                               "MALLOC_ARENA_MAX=1", "no equals sign", nullptr};
  EXPECT_EQ(kernel_variables(environment), (Variables{{"MALLOC_ARENA_MAX", "1"}, {"OMP_PROC_BIND", "true"}}));
}

TEST(KernelVariables, NameNobodysFolders) {
  const char* environment[] = {"LD_PRELOAD=/home/me/libclock.so:/home/me/b c/libother.so", "CUDA_HOME=/home/me/cuda/",
                               nullptr};
  EXPECT_EQ(kernel_variables(environment),
            (Variables{{"CUDA_HOME", "cuda"}, {"LD_PRELOAD", "libclock.so:b libother.so"}}));
}

TEST(KernelVariables, LeaveSecretsOut) {
  const char* environment[] = {"NVIDIA_API_KEY=1234", "TORCH_HUB_TOKEN=1234", nullptr};
  EXPECT_EQ(kernel_variables(environment), Variables());
}

TEST(KernelVariables, ChangeKernelsUnlessTheyAreKnownNotTo) {
  for (const char* name : {"ONEDNN_MAX_CPU_ISA", "MKL_CBWR", "NVIDIA_TF32_OVERRIDE", "OMP_WAIT_POLICY", "LD_PRELOAD"})
    EXPECT_TRUE(changes_kernels(name)) << name;
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "NCCL_DEBUG", "PYTORCH_VERSION"})
    EXPECT_FALSE(changes_kernels(name)) << name;
}

TEST(DifferingVariables, AreNamedFromEachSide) {
  const Variables one = {{"MKL_CBWR", "AVX2"}, {"OMP_NUM_THREADS", "2"}, {"OMP_PROC_BIND", "true"}};
  const Variables other = {{"KMP_BLOCKTIME", "0"}, {"OMP_NUM_THREADS", "4"}, {"OMP_PROC_BIND", "true"}};
  EXPECT_EQ(differing_variables(one, other), "no KMP_BLOCKTIME, MKL_CBWR=AVX2");
  EXPECT_EQ(differing_variables(other, one), "KMP_BLOCKTIME=0, no MKL_CBWR");
  EXPECT_EQ(differing_notes(one, other), "OMP_NUM_THREADS=2");
  EXPECT_EQ(differing_variables(one, one), "");
}

}  // namespace
}  // namespace rnnlab
