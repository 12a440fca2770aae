# SPDX-License-Identifier: Apache-2.0
"""scripts/man-page: the man page has every verb and option of the program. Argument: the program."""
import functools
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "man-page"
PROGRAM = sys.argv.pop(1)


@functools.cache
def page():
    return subprocess.run([sys.executable, SCRIPT, PROGRAM], capture_output=True, text=True, check=True).stdout


class ManPageTest(unittest.TestCase):
    def test_has_every_verb_with_its_options(self):
        text = page()
        sections = dict(re.findall(r'^\.SS "rnnlab (.*?)"\n(.*?)(?=^\.S|\Z)', text, re.MULTILINE | re.DOTALL))
        for verb in ("train", "compare", "bench", "sweep plan", "data inspect", "completion"):
            self.assertIn(verb, sections)
            help_text = subprocess.run([PROGRAM, *verb.split(), "--help"], capture_output=True, text=True, check=True).stdout
            for option in re.findall(r"^  (?:-\w,)?(--[\w-]+)", help_text, re.MULTILINE):
                self.assertIn(option.replace("-", "\\-"), sections[verb])

    def test_has_the_exit_codes(self):
        self.assertIn(".SH EXIT STATUS\n0 done, 1 internal error,", page())

    def test_is_valid_for_groff(self):
        if shutil.which("groff") is None:
            self.skipTest("groff is not installed")
        done = subprocess.run(["groff", "-man", "-ww", "-z"], input=page(), capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_says_that_the_program_does_not_run(self):
        done = subprocess.run([sys.executable, SCRIPT, "/no/rnnlab"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 4)
        self.assertIn("/no/rnnlab", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
