# SPDX-License-Identifier: Apache-2.0
"""scripts/record-terminal: pictures of commands and of recorded output."""
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "record-terminal"
SVG = "{http://www.w3.org/2000/svg}"


class RecordTerminalTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "picture.svg"

    def run_script(self, *arguments, output=""):
        return subprocess.run([sys.executable, SCRIPT, "-o", self.file, *arguments], input=output.encode(), capture_output=True)

    def texts(self, *arguments, output=""):
        """The text elements of the picture after its heading."""
        result = self.run_script(*arguments, output=output)
        self.assertEqual(result.returncode, 0, result.stderr)
        return ElementTree.parse(self.file).findall(f".//{SVG}text")[1:]

    def lines(self, *arguments, output):
        return [text.text for text in self.texts("--title", "recorded", *arguments, output=output)]

    def test_draws_what_a_command_prints(self):
        texts = self.texts("--", sys.executable, "-c", "print('a < b & \"c\"')")
        self.assertEqual([text.text for text in texts], ['a < b & "c"'])

    def test_heading_is_the_command_or_the_title(self):
        self.run_script("--", "echo", "two words")
        self.assertEqual(ElementTree.parse(self.file).find(f"{SVG}title").text, "echo 'two words'")
        self.run_script("--title", "rnnlab <info>")
        picture = ElementTree.parse(self.file)
        self.assertEqual(picture.find(f"{SVG}title").text, "rnnlab <info>")
        self.assertEqual(picture.find(f".//{SVG}text").text, "$ rnnlab <info>")

    def test_the_command_has_a_terminal_of_that_width(self):
        command = "import os; print(os.isatty(1), os.get_terminal_size().columns)"
        self.assertEqual(self.texts("--", sys.executable, "-c", command)[0].text, "True 100")
        self.assertEqual(self.texts("--columns", "70", "--", sys.executable, "-c", command)[0].text, "True 70")

    def test_exit_code_is_that_of_the_command(self):
        result = self.run_script("--", sys.executable, "-c", "print('before'); raise SystemExit(5)")
        self.assertEqual(result.returncode, 5)
        self.assertIn("before", self.file.read_text())
        self.assertEqual(self.run_script("--", "/no/such/program").returncode, 127)
        self.assertIn("/no/such/program: No such file or directory", self.file.read_text())

    def test_long_lines_continue_or_are_cut(self):
        self.assertEqual(self.lines("--columns", "5", output="abcdefg\nabcde\n"), ["abcde", "fg", "abcde"])
        self.assertEqual(self.lines("--columns", "5", "--cut", output="abcdefg\nabcde\n"), ["abcd…", "abcde"])

    def test_last_lines_alone(self):
        self.assertEqual(self.lines("--last", "2", output="a\nb\nc\n\n"), ["b", "c"])

    def test_a_progress_bar_leaves_its_last_state(self):
        self.assertEqual(self.lines(output="10 %\r100 %\r\x1b[Kdone\nup\n\x1b[1A\x1b[2Kover\n"), ["done", "over"])

    def test_colours_and_bold(self):
        plain, red, bold, orange = self.texts("--title", "colours", output="a\x1b[31mb\x1b[0;1mc\x1b[0;38;5;208md\x1b[0m")
        self.assertEqual([plain.get("fill"), plain.get("font-weight")], [None, None])
        self.assertEqual([red.text, red.get("fill")], ["b", "#ff7b72"])
        self.assertEqual([bold.text, bold.get("fill"), bold.get("font-weight")], ["c", None, "bold"])
        self.assertEqual([orange.text, orange.get("fill")], ["d", "#ff8700"])

    def test_columns_stay_aligned_in_any_font(self):
        first, second = self.texts("--title", "a table", output="ab  1\n    2\n")
        self.assertEqual(first.get("x"), second.get("x"))
        self.assertEqual([first.get("textLength"), second.get("textLength")], ["40", "40"])

    def test_bytes_that_are_not_text_stay_well_formed(self):
        command = "import os; os.write(1, bytes(range(256)))"
        self.run_script("--", sys.executable, "-c", command)
        ElementTree.parse(self.file)

    def test_the_file_is_checked_before_the_command_runs(self):
        self.file = self.file.parent / "nowhere" / "x.svg"
        result = self.run_script("--", "echo", "hi")
        self.assertEqual((result.returncode, result.stdout), (2, b""))
        self.assertIn(f"{self.file}: No such file or directory: name another file with -o".encode(), result.stderr)

    def test_the_command_has_no_input(self):
        result = subprocess.run([sys.executable, SCRIPT, "-o", self.file, "--", "cat"], stdin=subprocess.DEVNULL,
                                capture_output=True, timeout=60)
        self.assertEqual((result.returncode, result.stdout), (0, b""))

    def test_the_cursor_does_not_move_without_end(self):
        self.assertEqual(len(self.lines("--last", "1", output="a\x1b[900000000B\x1b[900000000C\x1b[900000000Gb")), 1)

    def test_wide_characters_take_two_columns(self):
        wide, after = self.texts("--title", "字", output="字é\x1b[31mb\x1b[0m\n")
        self.assertEqual((wide.text, wide.get("textLength"), after.get("x")), ("字é", "24", str(16 + 3 * 8)))
        self.assertEqual(self.lines("--columns", "3", output="字字\n"), ["字", "字"])
        self.assertEqual(self.lines("--columns", "4", "--cut", output="字字字\n"), ["字 …"])
        accent, = self.texts("--title", "e", output="e\u0301e\n")
        self.assertEqual(accent.get("textLength"), "16")

    def test_needs_a_title_for_recorded_output(self):
        result = self.run_script(output="text")
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"without a command, --title is needed", result.stderr)

    def test_the_picture_in_docs_is_well_formed(self):
        picture = ElementTree.parse(ROOT / "docs" / "images" / "first-run.svg")
        self.assertIn("cpu fused", "".join(picture.getroot().itertext()))


if __name__ == "__main__":
    unittest.main()
