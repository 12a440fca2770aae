# SPDX-License-Identifier: Apache-2.0
"""experiments/pytorch_peers.py measures torch.nn's and rnnlab's layers on a CPU, and says which peers are missing."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import torch
except ImportError as error:
    print(f"skipped, because torch cannot be imported: {error}")
    sys.exit(77)

EXPERIMENTS = pathlib.Path(__file__).resolve().parents[2] / "experiments"
sys.path.insert(0, str(EXPERIMENTS))
import pytorch_peers as peers  # noqa: E402
import pytorch_peer_sides as sides  # noqa: E402


def measured(*arguments):
    """Returns the program's result and the rows that it saved."""
    with tempfile.NamedTemporaryFile("r", suffix=".jsonl") as file:
        command = [sys.executable, EXPERIMENTS / "pytorch_peers.py", file.name, "--device", "cpu", *arguments]
        result = subprocess.run(command, capture_output=True, text=True)
        return result, [json.loads(line) for line in file]


class Peers(unittest.TestCase):
    def test_both_sides_are_measured_and_agree(self):
        result, rows = measured("--sizes", "8/2/4", "--cells", "GRU", "--sides", "torch.nn,rnnlab auto")
        self.assertEqual(result.returncode, 0, result.stderr)
        found = {(row["side"], row["precision"], row["passes"]) for row in rows if "milliseconds" in row}
        for side in ("torch.nn", "rnnlab auto"):
            for passes in ("forward", "forward and backward"):
                self.assertIn((side, "fp32", passes), found)
        self.assertTrue(all(row["difference"] < 1e-5 for row in rows if row.get("precision") == "fp32"), rows)

    def test_a_peer_that_is_not_installed_is_one_line(self):
        result, rows = measured("--sizes", "8/2/4", "--sides", "no such side")
        self.assertEqual((result.returncode, rows), (2, []))
        self.assertIn("unknown side 'no such side'", result.stderr)
        result, rows = measured("--sizes", "8/2/4", "--sides", "haste")
        self.assertEqual((result.returncode, rows), (0, []))
        self.assertEqual(result.stdout.strip(), "haste: not installed")

    def test_a_side_that_cannot_run_has_the_reason(self):
        result, rows = measured("--sizes", "8/2/4", "--cells", "LSTM", "--sides", "rnnlab persistent")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(rows and all("needs a GPU" in row["missing"] for row in rows), rows)

    def test_the_reference_has_zero_states_at_resets(self):
        for cell in ("LSTM", "GRU"):
            case = sides.Case(cell, 8, 3, 6, "fp32", 0.3)
            wanted, marks, data = sides.reference_of(case, "cpu"), sides.marks_of(case), sides.data_of(case)
            self.assertGreater(int(marks[1:].sum()), 0)
            for row in range(case.batch_size):
                borders = [0, *(step for step in range(1, case.num_steps) if marks[step, row]), case.num_steps]
                for begin, end in zip(borders, borders[1:]):
                    with torch.no_grad():
                        output = sides.layer_of(case)(data[begin:end, row])[0]
                    torch.testing.assert_close(wanted[begin:end, row], output)

    def test_a_job_waits_for_its_builds(self):
        job = peers.Job("torchrl", "GRU", "256/128/64")
        builds = peers.builds_of([job])
        self.assertEqual({build.precisions for build in builds}, {("tf32",), ("bf16",), ("fp32",)})
        builders = peers.Builders(builds, 0, "cpu", peers.time.monotonic() + 200)
        self.assertIsNone(builders.ready(job))
        for build in builds:
            if build.precisions != ("fp32",):
                builders.ends[build].set()
        self.assertEqual(builders.ready(job).precisions, ("tf32", "bf16"))
        other = job._replace(side="torch.nn")
        self.assertEqual(builders.ready(other), other)


if __name__ == "__main__":
    unittest.main()
