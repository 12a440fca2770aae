# SPDX-License-Identifier: Apache-2.0
"""experiments/learning_path.py on runs whose losses are written here."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "experiments" / "learning_path.py"


class LearningPathTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def add(self, layer, seed, losses):
        run = self.root / f"{len(list(self.root.iterdir()))}"
        run.mkdir()
        (run / "summary.json").write_text(json.dumps({"name": "rows", "device": "cpu", "layer": layer, "seed": seed}))
        rows = "".join(f"{i},{loss},\n" for i, loss in enumerate(losses, 1))
        (run / "epochs.csv").write_text("epoch,train_loss,valid_loss\n" + rows)

    def rows(self):
        result = subprocess.run([sys.executable, str(SCRIPT), str(self.root)], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in result.stdout.splitlines()[2:]]

    def test_a_path_that_only_falls_is_smooth(self):
        self.add("naive", 1, [4, 2, 1])
        self.assertEqual(self.rows(), [["rows, cpu naive", "train_loss", "1", "0", "0 (0 .. 0)", "0.333 (0.333 .. 0.333)",
                                        "", "", ""]])

    def test_a_path_that_goes_twice_as_far_as_it_gets_has_roughness_1(self):
        self.add("naive", 1, [4, 1, 2, 2, 0])  # 3 down, 1 up, 2 down, where 4 are needed
        self.assertEqual(self.rows()[0][3:5], ["1", "0.5 (0.5 .. 0.5)"])
        self.add("naive", 2, [4, 0, 2, 2, 0])
        self.assertEqual(self.rows()[0][4], "0.75 (0.5 .. 1)")

    def test_sides_are_compared_seed_by_seed(self):
        for seed in (1, 2, 3):
            self.add("naive", seed, [4, 1, 2, 2, 0])
            self.add("fused", seed, [4, 1, 2, 2, 0])
        self.assertEqual(self.rows()[1][6:], ["+0 (+0 .. +0)", "+0 (+0 .. +0)", "0"])

    def test_losses_that_differ_are_told(self):
        self.add("naive", 1, [4, 2, 1])
        self.add("fused", 1, [4, 2, 0.5])
        self.assertEqual(self.rows()[1][8], "0.5")

    def test_a_folder_without_runs_is_an_error(self):
        result = subprocess.run([sys.executable, str(SCRIPT), str(self.root)], capture_output=True, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, f"error: no finished runs in {self.root}\n")


unittest.main()
