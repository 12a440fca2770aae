# SPDX-License-Identifier: Apache-2.0
"""scripts/command-reference: docs/command-reference.md is what the program's help says. Argument: the program."""
import functools
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = sys.argv.pop(1)


def command_reference(program):
    script = ROOT / "scripts" / "command-reference"
    return subprocess.run([sys.executable, script, program], capture_output=True, text=True, check=False)


@functools.cache
def page():
    done = command_reference(PROGRAM)
    assert done.returncode == 0, done.stderr
    return done.stdout


class CommandReferenceTest(unittest.TestCase):
    def test_page_is_up_to_date(self):
        kept = (ROOT / "docs" / "command-reference.md").read_text()
        self.assertEqual(kept, page(),
                         "run: scripts/command-reference build/release/rnnlab > docs/command-reference.md")

    def test_has_every_verb_with_its_options(self):
        sections = dict(re.findall(r"^##+ (.*?)\n(.*?)(?=^##|\Z)", page(), re.MULTILINE | re.DOTALL))
        for verb in ("train", "compare", "bench", "sweep plan", "data inspect", "completion"):
            self.assertIn(verb, sections)
            help_text = subprocess.run([PROGRAM, *verb.split(), "--help"], capture_output=True, text=True,
                                       check=True).stdout
            for option in re.findall(r"^  (?:-\w,)?(--[\w-]+)", help_text, re.MULTILINE):
                self.assertIn(option, sections[verb])

    def test_says_that_the_program_does_not_run(self):
        done = command_reference("/no/rnnlab")
        self.assertEqual(done.returncode, 4)
        self.assertIn("/no/rnnlab", done.stderr)


if __name__ == "__main__":
    unittest.main()
