# SPDX-License-Identifier: Apache-2.0
"""The tests of the command line, which need no package: help, wrong arguments, and packages that are missing."""

import builtins
import os
import signal
import subprocess
import sys
from unittest import mock

from convert_data.common import ROOT, SCRIPT, ConvertTest

sys.path.insert(0, str(ROOT / "scripts"))
from convert.outputs import Outputs  # noqa: E402
from user_errors import Stopped, stop  # noqa: E402

FORMATS = ("hdf5", "images", "parquet", "wav")


class UsageTest(ConvertTest):
    """Needs no package."""

    def run_without_packages(self, *arguments):
        """Runs a symbolic link to the script, with a Python that finds no installed package."""
        link = self.root / "link"
        if not link.exists():
            link.symlink_to(SCRIPT)
        return subprocess.run([sys.executable, "-I", "-S", link, *arguments], cwd=self.root, capture_output=True,
                              text=True, timeout=60)

    def test_help_has_examples_and_needs_no_package(self):
        for arguments in ([], *([name] for name in FORMATS)):
            result = self.run_without_packages(*arguments, "--help")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn(f"scripts/convert-data {' '.join(arguments)}", result.stdout)

    def test_a_wrong_command_is_exit_code_2(self):
        for arguments in ([], ["csv", "a"], ["images", "a", "--out", "b", "--size", "28"],
                          ["wav", "a", "--out", "b", "--frame", "1"],
                          ["parquet", "a", "--out", "a.csv", "--columns", "a\rb"]):
            code, output, errors = self.run_script(*arguments)
            self.assertEqual((code, output), (2, ""), errors)

    def test_a_missing_package_is_named_with_the_environment_of_the_document(self):
        environment = "python3 -m venv ~/convert-venv && . ~/convert-venv/bin/activate"
        self.assertIn(environment + "\npython3 -m pip install ", (ROOT / "docs" / "convert.md").read_text("utf-8"))
        for name, package in {"hdf5": "h5py", "images": "numpy", "parquet": "pyarrow", "wav": "numpy"}.items():
            files = {"hdf5": ["a"], "parquet": ["a", "--out", "a.csv"]}.get(name, ["a", "--out", "b"])
            result = self.run_without_packages(name, *files)
            self.assertEqual((result.returncode, result.stdout), (4, ""))
            self.assertIn(f"the Python package {package} (No module named '{package}'); install it in a virtual "
                          f"environment: {environment} && python3 -m pip install {package}\n", result.stderr)

    def test_a_signal_just_after_a_file_is_made_leaves_no_files(self):
        earlier = signal.signal(signal.SIGTERM, stop)
        self.addCleanup(signal.signal, signal.SIGTERM, earlier)

        def open_and_be_stopped(*arguments, make=open):
            stream = make(*arguments)
            os.kill(os.getpid(), signal.SIGTERM)
            return stream
        with self.assertRaises(Stopped), Outputs(self.root / "out", ("x.npy",), force=False) as outputs, \
                mock.patch.object(builtins, "open", open_and_be_stopped):
            outputs.open("x.npy")
        self.assertEqual(self.files(), set())
