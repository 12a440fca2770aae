# SPDX-License-Identifier: Apache-2.0
"""scripts/python-api: docs/python-api.md is what the docstrings of python/rnnlab say."""
import ast
import functools
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def python_api(*arguments, script=ROOT / "scripts" / "python-api"):
    return subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, check=False)


@functools.cache
def page():
    done = python_api()
    assert done.returncode == 0, done.stderr
    return done.stdout


class PythonApiTest(unittest.TestCase):
    def test_the_page_is_what_the_docstrings_say(self):
        stored = (ROOT / "docs" / "python-api.md").read_text(encoding="utf-8")
        self.assertEqual(stored, page(), "run: scripts/python-api > docs/python-api.md")

    def test_has_every_public_name(self):
        tree = ast.parse((ROOT / "python/rnnlab/__init__.py").read_text(encoding="utf-8"))
        block = next(node for node in tree.body if isinstance(node, ast.If))
        names = {alias.asname for statement in block.body for alias in statement.names}
        headings = set(re.findall(r"^### (\w+)$", page(), re.MULTILINE))
        self.assertEqual(headings, names - {"functional"})
        self.assertIn("\n### functional.lstm\n", page())

    def test_has_the_arguments_of_constructors(self):
        section = page().partition("### LSTM\n")[2].partition("\n### ")[0]
        self.assertIn("proj_size: int = 0", section)
        self.assertIn('implementation: str = "auto")', section)
        self.assertIn("\n- `hx`: the pair", section)

    def test_lines_fit_and_begin_no_list_by_chance(self):
        is_code = False
        for line in page().splitlines():
            is_code ^= line.startswith("```")
            if not is_code:
                self.assertLessEqual(len(line), 100, line)
                self.assertNotRegex(line, r"^([+*] |- [^`])")

    def test_refuses_a_name_without_a_docstring(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "scripts" / "python-api"
            package = Path(folder) / "python" / "rnnlab"
            for made in (copy.parent, package):
                made.mkdir(parents=True)
            copy.write_text((ROOT / "scripts" / "python-api").read_text())
            for file in (ROOT / "python" / "rnnlab").glob("*.py"):
                (package / file.name).write_text(file.read_text())
            file = package / "measured.py"
            docstring = '    """Returns every choice of "auto" in this process, oldest first."""\n'
            file.write_text(file.read_text().replace(docstring, ""))
            done = python_api(script=copy)
            self.assertEqual((done.returncode, done.stderr), (1, "error: choices has no docstring\n"))

    def test_says_how_to_use_it(self):
        self.assertEqual((python_api("--help").returncode, python_api("--what").returncode), (0, 2))


if __name__ == "__main__":
    unittest.main()
