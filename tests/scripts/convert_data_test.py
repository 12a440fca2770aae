# SPDX-License-Identifier: Apache-2.0
"""scripts/convert-data on small files of each format; the printed lines of YAML train if the program is named.

usage: convert_data_test.py [FORMAT [PROGRAM]]      FORMAT is hdf5, images, parquet, wav, or all

The folder convert_data has the tests of each format. Exit code 77, with the reason, if FORMAT needs a Python package
that is missing. To run all of them, use a Python with numpy, pyarrow, h5py and Pillow.
"""

import importlib.util
import os
import sys
import unittest

sys.dont_write_bytecode = True  # the folder of the tests stays as it is

from convert_data.common import ROOT, ConvertTest  # noqa: E402
from convert_data.hdf5 import Hdf5Test  # noqa: E402
from convert_data.images import ImagesTest  # noqa: E402
from convert_data.parquet import ParquetTest  # noqa: E402
from convert_data.usage import UsageTest  # noqa: E402
from convert_data.wav import WavTest  # noqa: E402

PACKAGES = {"hdf5": ("numpy", "h5py"), "images": ("numpy", "PIL"), "parquet": ("pyarrow",), "wav": ("numpy",)}
TESTS = {"hdf5": Hdf5Test, "images": ImagesTest, "parquet": ParquetTest, "wav": WavTest}


def is_there(package):
    return importlib.util.find_spec(package) is not None


def missing_packages(name):
    return [package for package in PACKAGES[name] if not is_there(package)]


def suite_of(names):
    """The tests of these formats, without those whose packages are missing."""
    suite = unittest.TestSuite()
    for name in names:
        if missing := missing_packages(name):
            print(f"skipped {name}: these Python packages are missing: {', '.join(missing)}")
        else:
            suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(TESTS[name]))
    return suite


def main(arguments):
    if not is_there("numpy"):  # scripts/test installs NumPy there
        sys.path.append(str(ROOT / ".venv" / "test-packages"))
    name = arguments[0] if arguments else "all"
    ConvertTest.program = os.path.abspath(arguments[1]) if len(arguments) > 1 else None
    suite = suite_of(TESTS if name == "all" else [name])
    if suite.countTestCases() == 0:
        return 77
    suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(UsageTest))
    return 0 if unittest.TextTestRunner().run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
