# SPDX-License-Identifier: Apache-2.0
"""experiments/keras_lstm_table.py with a program in rnnlab's place that trains nothing."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "experiments" / "keras_lstm_table.py"
PROGRAM = f"""#!{sys.executable}
import json, os, sys
verb, *words = sys.argv[1:]
settings = dict(word.split("=", 1) for word in words if "=" in word)
if verb == "train":
    run = os.path.join(words[words.index("--out") + 1], "keras_lstm", settings["device"] + "-" + settings["layer"])
    os.makedirs(run)
    seconds = {{"naive": 8.0, "fused": 2.0}}[settings["layer"]]
    metrics = dict.fromkeys(["train_loss", "train_accuracy", "valid_loss", "valid_accuracy"], 0.5)
    with open(os.path.join(run, "summary.json"), "w") as file:
        json.dump({{"epoch_time": {{"median_seconds": seconds}}, "final_metrics": metrics}}, file)
elif verb == "compare":
    texts = ["the machine is slow"] + (["cpu naive: it waited"] if words[0].endswith("naive") else [])
    print(json.dumps({{"warnings": [{{"kind": "other", "text": text}} for text in texts]}}))
else:
    print(json.dumps({{"seconds": 0.25}}))
"""


class KerasLstmTableTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.program = Path(folder.name) / "rnnlab"
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)
        self.runs = folder.name

    def table(self, *arguments):
        command = [sys.executable, str(SCRIPT), "--program", str(self.program), "--out", self.runs, "--samples", "1000",
                   "--rows", "cpu:naive", "cpu:fused", *arguments]
        result = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_a_row_has_the_numbers_of_its_warnings(self):
        heading, _, naive, fused = self.table().splitlines()[:4]
        self.assertTrue(heading.endswith("| over CPU | over naive | warnings |"))
        self.assertEqual(naive, "| naive | cpu | 8 | 8000 | 0.5000 | 0.5000 | 0.5000 | 0.5000 | 0.25 | 0.25 | 1x | 1x | 1, 2 |")
        self.assertEqual(fused, "| fused | cpu | 2 | 2000 | 0.5000 | 0.5000 | 0.5000 | 0.5000 | 0.25 | 0.25 | 4x | 4x | 1 |")

    def test_the_warnings_stand_below_the_table_each_once(self):
        self.assertTrue(self.table().endswith("Warnings:\n\n1. the machine is slow\n2. cpu naive: it waited\n"))

    def test_a_row_of_a_part_is_scaled_and_marked(self):
        text = self.table("--part", "cpu:naive=10")
        self.assertIn("| naive | cpu | 80* | 8e+04* | 0.5000* |", text)
        self.assertIn("trained on a part of the sequences (cpu:naive 1/10)", text)


unittest.main()
