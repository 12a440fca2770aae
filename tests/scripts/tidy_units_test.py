# SPDX-License-Identifier: Apache-2.0
"""scripts/tidy_units.py on a small repository: which units hold the chosen files, what clang gets, what is printed."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import tidy_units  # noqa: E402


class TidyUnitsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(setattr, tidy_units, "ROOT", tidy_units.ROOT)
        tidy_units.ROOT = Path(folder.name)

    def write(self, name, text=""):
        path = tidy_units.ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def unit(self, name, *sources):
        return tidy_units.Unit(Path(name), Path("."), [], list(sources))

    def test_clang_gets_no_flag_that_only_gcc_has(self):
        command = ("/usr/bin/env CCACHE_SLOPPINESS=pch_defines /usr/bin/ccache /usr/bin/c++ -DA=\\\"b\\\" -I/r/modules -O3 "
                   "-std=c++20 -fno-semantic-interposition -fopenmp -Wall -Werror -Winvalid-pch -include /r/cmake_pch.hxx "
                   "-o a.o -c /r/a.cpp")
        self.assertEqual(tidy_units.clang_arguments(command),
                         ['-DA="b"', "-I/r/modules", "-O3", "-std=c++20"])

    def test_a_generated_unit_has_the_sources_that_it_includes(self):
        source = self.write("modules/a/x.cpp")
        generated = self.write("build/release/sources.cpp")
        main = self.write("build/release/Unity/unity_0.cxx", f'#include "{source}"\n#include "{generated}"\n')
        self.assertEqual(tidy_units.sources_of_unit(main), ["modules/a/x.cpp"])
        self.assertEqual(tidy_units.sources_of_unit(source), ["modules/a/x.cpp"])

    def test_a_header_belongs_to_the_unit_of_its_source_or_to_one_that_includes_it(self):
        self.write("modules/a/x.cpp", '#include "a/x.h"\n')
        self.write("modules/a/x.h")
        self.write("modules/a/y.cpp", '#include "a/between.h"\n')
        self.write("modules/a/between.h", '#include "a/only_header.h"\n')
        self.write("modules/a/only_header.h")
        self.write("modules/a/unused.h")
        first, second = self.unit("first", "modules/a/x.cpp"), self.unit("second", "modules/a/y.cpp")
        chosen, left = tidy_units.files_of_units(
            ["modules/a/only_header.h", "modules/a/unused.h", "modules/a/x.h"], [first, second])
        self.assertEqual(chosen, [(second, ["modules/a/only_header.h"]), (first, ["modules/a/x.h"])])
        self.assertEqual(left, ["modules/a/unused.h"])

    def test_a_finding_has_its_lines_of_code(self):
        text = (f"noise\n{tidy_units.ROOT}/app/a.cpp:3:4: error: wrong [check]\n    3 | code\n"
                f"{tidy_units.ROOT}/app/b.cpp:1:1: error: wrong too [check]\n")
        self.assertEqual(tidy_units.findings_in(text),
                         ["app/a.cpp:3:4: error: wrong [check]\n    3 | code", "app/b.cpp:1:1: error: wrong too [check]"])

    def test_no_unit_starts_after_the_time_is_over(self):
        self.assertEqual(tidy_units.check_units([(self.unit("first", "app/a.cpp"), ["app/a.cpp"])], 1, -1), (0, ["app/a.cpp"]))

    def test_files_are_counted_by_folder(self):
        self.assertEqual(tidy_units.by_folder(["app/a.cpp", "tests/b/c.cpp", "app/d.cpp"]), "3 files (2 in app, 1 in tests/b)")


if __name__ == "__main__":
    unittest.main()
