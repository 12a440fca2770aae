# SPDX-License-Identifier: Apache-2.0
"""scripts/stand-in-for-cuda, with a libtorch_cuda.so of this test's own that calls cuBLAS and looks for it where torch's does.

The numbers in the names of CUDA's libraries are such that no system has them.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "stand-in-for-cuda"
TORCH = r"""
#include <exception>
#include <string>
extern "C" int cublasCreate_v2();
extern "C" int ncclGetUniqueId();
extern "C" const char* ask() {
  static std::string text;
  try {
    text = std::to_string(cublasCreate_v2());
  } catch (const std::exception& error) {
    text = error.what();
  }
  return text.c_str();
}
extern "C" int ask_nccl() { return ncclGetUniqueId(); }
"""
ASK = """
import ctypes, sys
torch = ctypes.CDLL(sys.argv[1])
torch.ask.restype = ctypes.c_char_p
print(torch.ask().decode())
"""


def compile_library(path, source, *options):
    path.parent.mkdir(parents=True, exist_ok=True)
    command = [os.environ.get("CXX", "g++"), "-shared", "-fPIC", "-o", path, f"-Wl,-soname,{path.name}", *options, "-x", "c++", "-"]
    subprocess.run(command, input=source, text=True, check=True)


class StandInForCuda(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        site = pathlib.Path(folder.name)
        self.torch, self.cublas = site / "torch" / "lib", site / "nvidia" / "cu13" / "lib" / "libcublas.so.99"
        self.nccl = site / "nvidia" / "nccl" / "lib" / "libnccl.so.99"
        self.install_cuda()
        places = "-Wl,--disable-new-dtags,-rpath,$ORIGIN/../../nvidia/nccl/lib:$ORIGIN/../../nvidia/cu13/lib:$ORIGIN"
        (site / "torch.cpp").write_text(TORCH)
        self.torch.mkdir(parents=True)
        subprocess.run([os.environ.get("CXX", "g++"), "-shared", "-fPIC", "-o", self.torch / "libtorch_cuda.so", places,
                        site / "torch.cpp", self.cublas, self.nccl], check=True)

    def install_cuda(self):
        compile_library(self.cublas, 'extern "C" int cublasCreate_v2() { return 7; }')
        compile_library(self.nccl, 'extern "C" int ncclGetUniqueId() { return 8; }')

    def remove_cuda(self):
        self.cublas.unlink()
        self.nccl.unlink()

    def run_script(self, **variables):
        return subprocess.run([SCRIPT, self.torch], env={**os.environ, **variables}, capture_output=True, text=True)

    def ask(self):
        """What torch hears from cuBLAS, in a process of its own; "" if torch cannot be loaded."""
        command = [sys.executable, "-c", ASK, self.torch / "libtorch_cuda.so"]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()

    def test_torch_can_be_loaded_without_cuda_and_gets_an_exception_from_it(self):
        self.remove_cuda()
        self.assertEqual(self.ask(), "")
        self.assertEqual(self.run_script().returncode, 0)
        self.assertEqual(self.ask(), "torch called CUDA, whose libraries are not installed here; `RNNLAB_CUDA=ON "
                                     "scripts/bootstrap` installs them")
        self.assertLess((self.torch / "librnnlab_stand_in_for_cuda.so").stat().st_size, 100_000)

    def test_cuda_that_is_installed_later_is_found_first(self):
        self.remove_cuda()
        self.run_script()
        self.install_cuda()
        self.assertEqual(self.ask(), "7")

    def test_makes_nothing_where_cuda_is_installed(self):
        self.assertEqual(self.run_script().returncode, 0)
        self.assertEqual(os.listdir(self.torch), ["libtorch_cuda.so"])

    def test_stands_in_only_for_what_is_missing(self):
        self.nccl.unlink()
        self.assertEqual(self.run_script().returncode, 0)
        self.assertFalse((self.torch / "libcublas.so.99").exists())
        self.assertEqual(self.ask(), "7")

    def test_fails_as_the_compiler_fails(self):
        self.remove_cuda()
        self.assertNotEqual(self.run_script(CXX="false").returncode, 0)
        self.assertEqual(os.listdir(self.torch), ["libtorch_cuda.so"])


if __name__ == "__main__":
    unittest.main()
