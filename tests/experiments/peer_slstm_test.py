# SPDX-License-Identifier: Apache-2.0
"""experiments/peer_slstm.py on a CPU: xlstm's own operations if it is installed, and a reason.

It needs torch: exit code 77 if it cannot be imported.
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "experiments" / "peer_slstm.py"
SIZES = "--hidden-size 16 --heads 2 --batch-size 3 --num-steps 5 --repeats 2 --device cpu".split()

try:
    import torch  # noqa: F401
except ImportError as error:
    print(f"skipped, because torch cannot be imported: {error}")
    sys.exit(77)


class PeerSlstmTest(unittest.TestCase):
    def rows(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "rows.json"
            command = [sys.executable, str(SCRIPT), *SIZES, *arguments, "--out", str(out)]
            result = subprocess.run(command, capture_output=True, text=True, timeout=300)
            self.assertEqual(result.returncode, 0, result.stderr)
            return json.loads(out.read_text())["rows"]

    def test_a_package_that_cannot_run_has_its_reason(self):
        (row,) = self.rows("--programs", "flashrnn_cuda", "--precisions", "tf32")
        self.assertEqual((row["program"], row["precision"]), ("flashrnn_cuda", "tf32"))
        self.assertEqual(len(row["reason"].splitlines()), 1)

    def test_a_process_that_takes_too_long_is_ended(self):
        arguments = "--programs xlstm_vanilla --precisions fp32 --timeout 0".split()
        self.assertEqual(self.rows(*arguments)[0]["reason"], "no result after 0 s")

    @unittest.skipUnless(importlib.util.find_spec("xlstm"), "xlstm is not installed")
    def test_xlstm_computes_what_rnnlab_computes(self):
        for row in self.rows("--programs", "xlstm_vanilla"):
            self.assertLess(row["difference"], 0.02 if row["precision"] == "bf16" else 1e-6)
            self.assertLessEqual(row["least"], row["milliseconds"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
