# SPDX-License-Identifier: Apache-2.0
"""scripts/check-tables on small documents: right tables pass, and each kind of wrong one is named with its line."""

import datetime
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check-tables"
RATIO = """<!-- table: "ratio" = "ours" / "theirs" -->
| work | ours | theirs | ratio |
|---|---|---|---|
| LSTM | 1.50 | 3.00 | 0.50 |
"""
RESULTS = """# Measured: 2026-11-21
One NVIDIA H200, LibTorch 2.11.0, by `rnnlab bench layer=naive`.
"""


class CheckTablesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def check(self, text, name="README.md"):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        result = subprocess.run([sys.executable, str(SCRIPT), "--root", str(self.root)], capture_output=True, text=True)
        self.assertEqual(result.stderr, "")
        *mistakes, summary = result.stdout.splitlines()
        self.assertEqual(result.returncode, 1 if mistakes else 0)
        self.assertEqual(summary, f"1 documents, {len(mistakes)} mistakes")
        return mistakes

    # ---- quotients ----

    def test_a_right_quotient_passes(self):
        self.assertEqual(self.check(RATIO), [])

    def test_a_wrong_quotient_is_named_with_the_right_one(self):
        self.assertEqual(self.check(RATIO.replace("0.50 |", "0.45 |")),
                         ["README.md:4: '0.45' should be 0.5, by \"ratio\" = \"ours\" / \"theirs\""])

    def test_a_quotient_may_be_that_of_the_numbers_before_they_were_rounded(self):
        self.assertEqual(self.check(RATIO.replace("1.50", "0.2").replace("3.00", "0.3").replace("0.50 |", "0.71 |")), [])
        exact = RATIO.replace("1.50", "0.200").replace("3.00", "0.300")
        self.assertEqual(len(self.check(exact.replace("0.50 |", "0.71 |"))), 1)

    def test_each_number_of_a_cell_has_its_quotient(self):
        text = RATIO.replace("1.50", "1.50 / 2.00").replace("3.00", "3.00 / 8.00 (7.5 .. 9)")
        self.assertEqual(self.check(text.replace("0.50 |", "0.50 / 0.25 |")), [])
        self.assertEqual(len(self.check(text.replace("0.50 |", "0.50 / 0.35 |"))), 1)
        self.assertEqual(self.check(text), ["README.md:4: 1 numbers, but 2 in what they are computed from, by "
                                            "\"ratio\" = \"ours\" / \"theirs\""])

    def test_a_gain_may_be_over_another_row(self):
        text = ('<!-- table: "gain" = "s"["naive"] / "s" -->\n| layer | s | gain |\n|---|---|---|\n| naive | 8.0 | 1 |\n'
                "| fused | 2.0 | {} |\n")
        self.assertEqual(self.check(text.format("4.0x")), [])
        self.assertEqual(len(self.check(text.format("5.0x"))), 1)

    def test_a_row_may_be_the_quotient_of_two_others(self):
        text = ('<!-- table: row "ratio" = row "slow" / row "fast" -->\n| | K80 | P100 |\n|---|---|---|\n'
                "| slow | 984.2 | 496.8 |\n| fast | 130.8 | 39.8 |\n| ratio | 7.5 | {} |\n")
        self.assertEqual(self.check(text.format("12.5")), [])
        self.assertEqual(len(self.check(text.format("11.5"))), 1)

    def test_a_column_that_is_not_there_is_named(self):
        self.assertEqual(self.check(RATIO.replace('/ "theirs"', '/ "hers"')),
                         ["README.md:4: 0 columns have \"hers\", by \"ratio\" = \"ours\" / \"hers\""])

    def test_a_check_without_anything_to_check_is_a_mistake(self):
        self.assertEqual(self.check(RATIO.replace("0.50 |", "- |")),
                         ["README.md:2: nothing to check by \"ratio\" = \"ours\" / \"theirs\""])

    def test_the_programs_own_table_is_checked(self):
        text = ("```\nrun        s/epoch     ratio\n---------  -------  --------\ncpu naive    2.000  baseline\n"
                "cpu fused    0.500     {}\n```\n")
        self.assertEqual(self.check(text.format("0.250")), [])
        self.assertEqual(self.check(text.format("0.300")),
                         ["README.md:5: '0.300' is not the quotient of the seconds of cpu fused and the baseline"])

    # ---- tables without a check ----

    def test_a_table_of_figures_without_a_comment_is_a_mistake(self):
        self.assertIn("a table of figures without a comment", self.check(RATIO.partition("\n")[2])[0])

    def test_a_table_of_words_needs_none(self):
        self.assertEqual(self.check("| key | meaning |\n|---|---|\n| `seed` | of everything random |\n"), [])

    def test_a_reason_stands_for_a_check(self):
        table = RATIO.partition("\n")[2]
        self.assertEqual(self.check("<!-- table: not checked: no cell is computed from other cells -->\n" + table), [])
        self.assertEqual(self.check("<!-- table: not checked: no -->\n" + table),
                         ["README.md:2: 'not checked' needs a reason"])

    def test_a_comment_without_a_table_is_a_mistake(self):
        self.assertEqual(self.check(RATIO.replace("-->\n", "-->\n\n"))[0], "README.md:1: no table follows this comment")

    # ---- samples of an epoch ----

    EPOCHS = """An epoch has 7,843 samples.

<!-- table: "ratio" = "ours" / "theirs"; samples 7,843 = 7,843 -->
| work | ours, s/epoch | theirs | ratio |
|---|---|---|---|
| char LM | 1.50 | 3.00 | 0.50 |
"""

    def test_epochs_of_equal_samples_pass(self):
        self.assertEqual(self.check(self.EPOCHS), [])

    def test_epochs_of_unequal_samples_are_a_mistake(self):
        self.assertEqual(self.check(self.EPOCHS.replace("= 7,843", "= 8,704")),
                         ["README.md:4: an epoch has 7,843 samples on one side and 8,704 on the other"])

    def test_times_of_epochs_without_their_samples_are_a_mistake(self):
        self.assertEqual(self.check(self.EPOCHS.replace("; samples 7,843 = 7,843", "")),
                         ["README.md:4: divides times of epochs, but does not tell the samples of an epoch"])

    def test_the_reader_is_told_the_samples_too(self):
        self.assertEqual(self.check(self.EPOCHS.replace("An epoch has 7,843 samples.", "An epoch.")),
                         ["README.md:4: the text around the table does not say that an epoch has 7,843 samples"])

    # ---- dates, machines ----

    def results(self, text, date="2026-11-21"):
        return [mistake.partition(".md:")[2] for mistake in self.check(text, f"docs/results/{date}-steps.md")]

    def test_a_results_file_with_all_that_it_needs_passes(self):
        self.assertEqual(self.results(RESULTS), [])

    def test_a_results_file_needs_the_date_of_its_name(self):
        self.assertEqual(self.results(RESULTS.replace("-21", "-20")),
                         ["1: the date of the name, 2026-11-21, is not in the text"])

    def test_a_results_file_needs_a_machine_a_version_and_a_command(self):
        self.assertEqual(self.results("# Measured: 2026-11-21\n"),
                         ["1: no command", "1: no machine", "1: no version of LibTorch"])
        simulation = "# Simulated: 2026-11-21\n`scripts/test --long`\n<!-- results: no machine: a simulation -->\n"
        self.assertEqual(self.results(simulation), [])

    def test_a_date_in_the_future_is_a_mistake(self):
        now = datetime.datetime.now(datetime.timezone.utc)
        today, later = (f"{day:%Y-%m-%d}" for day in (now, now + datetime.timedelta(days=2)))
        self.assertEqual(self.results(RESULTS + f"Corrected on {later}.\n"),
                         [f"3: {later} is later than the file itself, {today}"])

    def test_the_last_commit_of_a_file_is_its_date(self):
        def git(*arguments):
            dates = {"GIT_AUTHOR_DATE": "2026-11-20T12:00:00Z", "GIT_COMMITTER_DATE": "2026-11-20T12:00:00Z"}
            identity = ["-c", "user.name=Nobody", "-c", "user.email=nobody@localhost"]
            subprocess.run(["git", "-C", str(self.root), *identity, *arguments], env={**os.environ, **dates}, check=True,
                           capture_output=True)

        self.assertEqual(self.results(RESULTS), [])
        git("init")
        git("add", ".")
        git("commit", "-m", "Results")
        self.assertEqual(self.results(RESULTS), ["1: 2026-11-21 is later than the file itself, 2026-11-20"])


unittest.main()
