// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "golden.h"
#include "scripts/script_box.h"

namespace rnnlab {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A machine on which everything is as it should be, but nothing is set up. Its pip keeps a list of what it was asked
// for.
class Bootstrap : public ::testing::Test {
 protected:
  Bootstrap() {
    box.file("requirements.txt",
             "# a comment\ncmake==1 \\\n    --hash=sha256:c1\nninja==1 \\\n    --hash=sha256:n1\n"
             "torch==2.11.0 \\\n    --hash=sha256:t1 \\\n    --hash=sha256:t2\n");
    box.file("requirements-headers.txt", "nvidia-nvml-dev==1 \\\n    --hash=sha256:h1\n");
    box.file("requirements-cuda.txt", "nvidia-cuda-nvcc==1 \\\n    --hash=sha256:v1\n");
    box.command("uname", "[[ $1 == -s ]] && echo Linux || echo x86_64");
    box.command("id", "echo 0");
    box.command("df", "printf 'head\\nfs 0 0 99000000 0 /\\n'");
    box.command("g++", "[[ $1 == -dumpversion ]] && echo 12 || cat >/dev/null");
    box.command("apt-get", "echo \"$*\" >>\"$HOME/apt.log\"");
    box.command("python3", kPython);
  }

  ScriptResult run(const std::string& settings = "") {
    return box.run("RNNLAB_ALLOW_NO_AVX2=1 " + settings + " scripts/bootstrap");
  }

  void expect_refusal(const ScriptResult& result) {
    EXPECT_EQ(result.exit_code, 4);
    expect_golden(result.output);
    EXPECT_FALSE(box.exists(".venv/ready"));
  }

  static constexpr const char* kPython = R"(
case "$*" in
  "-c import ensurepip, venv") exit 0 ;;
  "-c import sys"*) echo "${PYTHON_VERSION:-3.11}" ;;
  "-m venv "*)
    site="$3/lib/python3.11/site-packages"
    mkdir -p "$3/bin" "$site/cmake/data/bin" "$site/torch/lib" "$site/nvidia/cu13/lib" "$site/nvidia/cu13/bin" "$site/nvidia/cu13/include"
    touch "$site/nvidia/cu13/include/nvml.h"
    cat "${BASH_SOURCE[0]}" >"$3/bin/python"
    for tool in "$3/bin/python" "$3/bin/ninja" "$site/cmake/data/bin/cmake" "$site/nvidia/cu13/bin/nvcc"; do
      touch "$tool"
      chmod +x "$tool"
    done
    touch "$site/nvidia/cu13/lib/libcudart.so.13" "$site/nvidia/cu13/lib/libnvrtc-builtins.so.13.0" ;;
  "-m pip "*)
    read -r line <"${*: -1}"
    echo "$0 ${*:3} $line" >>"$HOME/pip.log"
    [[ ${line%% *} != "${PIP_FAILS_AT:-}" ]] || { echo "pip is lost"; exit 1; } ;;
  *) exit 1 ;;
esac)";

  ScriptBox box;
};

TEST_F(Bootstrap, RefusesAnotherProcessor) {
  box.command("uname", "[[ $1 == -s ]] && echo Linux || echo aarch64");
  expect_refusal(run());
}

TEST_F(Bootstrap, RefusesAProcessorWithoutAvx2) {
  box.remove("bin/grep");
  box.command("grep", "exit 1");
  expect_refusal(box.run("scripts/bootstrap"));
}

TEST_F(Bootstrap, NamesThePackagesWhereThereIsNoApt) {
  box.remove("bin/apt-get");
  box.remove("bin/g++");
  expect_refusal(run());
}

TEST_F(Bootstrap, NamesTheOneHeaderThatIsMissing) {
  box.remove("bin/apt-get");
  box.command("g++", "cat >/dev/null; echo 'needs zlib1g-dev'");
  EXPECT_THAT(run().output, HasSubstr(": zlib1g-dev\n"));
}

TEST_F(Bootstrap, AsksForAnAdministratorWithoutRootAndSudo) {
  box.command("id", "echo 1000");
  box.command("g++", "cat >/dev/null; echo 'needs zlib1g-dev'");
  expect_refusal(run());
}

TEST_F(Bootstrap, NeverWaitsForAPasswordThatNobodyCanType) {
  box.command("id", "echo 1000");
  box.command("g++", "cat >/dev/null; echo 'needs zlib1g-dev'");
  box.command("sudo", "echo \"$*\" >>\"$HOME/sudo.log\"; echo 'sudo: a password is required'; exit 1");
  expect_refusal(run());
  EXPECT_THAT(box.text("sudo.log"), StartsWith("-n apt-get -q update\n"));
}

TEST_F(Bootstrap, ShowsTheLastWordsOfAFailingApt) {
  box.command("g++", "cat >/dev/null; echo 'needs zlib1g-dev'");
  box.command("apt-get", "echo 'E: Unable to fetch some archives'; exit 100");
  expect_refusal(run());
}

TEST_F(Bootstrap, SaysWhenAptHelpedNothing) {
  box.command("g++", "cat >/dev/null; echo 'needs zlib1g-dev'");
  expect_refusal(run());
}

TEST_F(Bootstrap, LeavesAptAloneWhenNothingIsMissing) {
  EXPECT_EQ(run().exit_code, 0);
  EXPECT_FALSE(box.exists("apt.log"));
}

TEST_F(Bootstrap, RefusesAnOldCompiler) {
  box.command("g++", "[[ $1 == -dumpversion ]] && echo 11.4.0 || cat >/dev/null");
  expect_refusal(run());
}

TEST_F(Bootstrap, RefusesAnOldPython) { expect_refusal(run("PYTHON_VERSION=3.9")); }

TEST_F(Bootstrap, RefusesAFullDisk) {
  box.command("df", "printf 'head\\nfs 0 0 7900000 0 /\\n'");
  expect_refusal(run("RNNLAB_CUDA=ON"));
}

TEST_F(Bootstrap, InstallsNothingOfCudaWithoutAGpu) {
  const ScriptResult result = run();
  EXPECT_EQ(result.exit_code, 0);
  expect_golden(result.output);
  EXPECT_TRUE(box.exists(".venv/torch/lib"));
  EXPECT_FALSE(box.exists(".venv/cuda"));
}

TEST_F(Bootstrap, InstallsCudaOnceThereIsAGpu) {
  run();
  box.command("nvidia-smi", "echo 'GPU 0: NVIDIA H200'");
  const ScriptResult result = run();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr(" nvidia-cuda-nvcc==1\n"));
  EXPECT_THAT(result.output, Not(HasSubstr("torch==2.11.0\n")));
  EXPECT_TRUE(box.exists(".venv/cuda/bin/nvcc"));
  EXPECT_EQ(run().output, "");
}

TEST_F(Bootstrap, AddsTheHeaderThatAnOlderVersionDidWithout) {
  run();
  box.remove(".venv/nvml/nvml.h");
  box.remove(".venv/installed/nvidia-nvml-dev==1");
  const ScriptResult result = run();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr(" nvidia-nvml-dev==1\n"));
  EXPECT_THAT(result.output, Not(HasSubstr("torch==2.11.0\n")));
  EXPECT_TRUE(box.exists(".venv/nvml/nvml.h"));
}

TEST_F(Bootstrap, RefusesAnotherAnswerThanOnOrOff) { expect_refusal(run("RNNLAB_CUDA=yes")); }

TEST_F(Bootstrap, InstallsEveryLineAndLinksWhatThePresetsName) {
  const ScriptResult result = run("RNNLAB_CUDA=ON");
  EXPECT_EQ(result.exit_code, 0);
  expect_golden(result.output);
  for (const char* path : {".venv/torch/lib", ".venv/cuda/bin/nvcc", ".venv/cuda/lib64/libcudart.so",
                           ".venv/cuda/lib/libnvrtc-builtins.so", ".venv/bin/cmake", ".venv/ready"}) {
    EXPECT_TRUE(box.exists(path)) << path;
  }
}

TEST_F(Bootstrap, HasPipCheckTheHashesOfEveryPackage) {
  run();
  const std::string asked =
      "/.venv/bin/python --disable-pip-version-check install --quiet --no-cache-dir --no-deps --only-binary=:all: "
      "--require-hashes --ignore-installed -r ";
  const std::string log = box.text("pip.log");
  EXPECT_EQ(std::ranges::count(log, '\n'), 4);
  EXPECT_EQ(log.find(asked), log.find(" --disable") - std::string("/.venv/bin/python").size())
      << "another Python's packages are not ours to change: " << log;
  EXPECT_THAT(log, HasSubstr("/.venv/tmp/requirement.txt cmake==1 --hash=sha256:c1\n"));
  EXPECT_THAT(log, HasSubstr("/.venv/tmp/requirement.txt torch==2.11.0 --hash=sha256:t1 --hash=sha256:t2\n"));
}

// With the real pip and a wheel of this test's own.
class CheckedInstallation : public Bootstrap {
 protected:
  CheckedInstallation() {
    const std::string real = std::string(RNNLAB_SOURCE_DIR) + "/.venv/bin/python";
    box.file("make_wheel.py",
             "import zipfile\n"
             "with zipfile.ZipFile('wheels/cmake-1-py3-none-any.whl', 'w') as wheel:\n"
             "  wheel.writestr('cmake_is_here.py', '')\n"
             "  wheel.writestr('cmake-1.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: cmake\\nVersion: 1\\n')\n"
             "  wheel.writestr('cmake-1.dist-info/WHEEL', 'Wheel-Version: 1.0\\nTag: py3-none-any\\n')\n"
             "  wheel.writestr('cmake-1.dist-info/RECORD', '')\n");
    box.file("wheels/readme", "");
    EXPECT_EQ(box.run(real + " make_wheel.py").exit_code, 0);
    std::string python = kPython;
    const std::string fake_pip = "echo \"$0 ${*:3} $line\" >>\"$HOME/pip.log\"";
    python.replace(python.find(fake_pip), fake_pip.size(),
                   "[[ $line == cmake* ]] && { " + real + " \"$@\" --target \"$HOME/installed\"; exit; }");
    box.command("python3", python);
  }

  std::string hash_of_the_wheel() const {
    return box.run("sha256sum wheels/cmake-1-py3-none-any.whl").output.substr(0, 64);
  }

  ScriptResult run_with(const std::string& hash) {
    box.file("requirements.txt", "cmake==1 \\\n    --hash=sha256:" + hash + "\nninja==1\ntorch==2.11.0\n");
    return run("PIP_NO_INDEX=1 PIP_FIND_LINKS=wheels");
  }
};

TEST_F(CheckedInstallation, TakesAPackageWithTheRightHash) {
  const ScriptResult result = run_with(hash_of_the_wheel());
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_TRUE(box.exists("installed/cmake_is_here.py"));
}

TEST_F(CheckedInstallation, RefusesAPackageWithAnotherHash) {
  const ScriptResult result = run_with(std::string(64, '0'));
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.output, HasSubstr("Expected sha256 " + std::string(64, '0')));
  expect_golden(result.output.substr(result.output.find("error: pip was given ")));
  EXPECT_FALSE(box.exists("installed/cmake_is_here.py"));
  EXPECT_FALSE(box.exists(".venv/installed/cmake==1"));
  EXPECT_FALSE(box.exists(".venv/ready"));
}

TEST_F(CheckedInstallation, RefusesAPackageWithoutAHash) {
  box.file("requirements.txt", "cmake==1\nninja==1\ntorch==2.11.0\n");
  const ScriptResult result = run("PIP_NO_INDEX=1 PIP_FIND_LINKS=wheels");
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_FALSE(box.exists("installed/cmake_is_here.py"));
}

TEST_F(Bootstrap, SaysNothingAndDoesNothingTheSecondTime) {
  run();
  box.remove("pip.log");
  const ScriptResult second = run();
  EXPECT_EQ(second.exit_code, 0);
  EXPECT_EQ(second.output, "");
  EXPECT_FALSE(box.exists("pip.log"));
}

TEST_F(Bootstrap, GoesOnWhereAFailureStoppedIt) {
  const ScriptResult broken = run("PIP_FAILS_AT=ninja==1");
  expect_refusal(broken);

  const ScriptResult repaired = run();
  EXPECT_EQ(repaired.exit_code, 0);
  EXPECT_THAT(repaired.output, AllOf(HasSubstr(" ninja==1\n"), Not(HasSubstr("cmake==1")), Not(HasSubstr("Making"))));
  EXPECT_TRUE(box.exists(".venv/ready"));
}

TEST_F(Bootstrap, StartsAfreshAVenvThatWasLeftHalfMade) {
  box.file(".venv/leftover", "");
  EXPECT_EQ(run().exit_code, 0);
  EXPECT_FALSE(box.exists(".venv/leftover"));
}

TEST_F(Bootstrap, StartsAfreshWhenTheRequirementsChange) {
  run();
  box.file("requirements.txt", "cmake==2\nninja==2\ntorch==2.11.0\n");
  EXPECT_THAT(run().output, HasSubstr(" cmake==2\n"));
}

TEST_F(Bootstrap, UsesTheCudaCompilerOnPath) {
  box.file("toolkit/include/cuda_runtime.h", "");
  box.file("toolkit/lib64/libcudart.so", "");
  box.file("toolkit/bin/nvcc", "");
  box.command("nvcc", "echo 'Cuda compilation tools, release 13.0, V13.0.88'");
  box.command("realpath", "echo \"$HOME/toolkit/bin/nvcc\"");
  EXPECT_THAT(run("RNNLAB_CUDA=ON").output, HasSubstr("site-packages/torch, CUDA in BOX/toolkit\n"));
}

}  // namespace
}  // namespace rnnlab
