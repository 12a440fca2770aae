# SPDX-License-Identifier: Apache-2.0
"""What peers record of the formats that ran (experiments/peer_run.py)."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True  # the folder of the experiments stays as it is
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "experiments"))

from peer_run import precision_that_ran  # noqa: E402


class PrecisionThatRan(unittest.TestCase):
    def test_is_the_wanted_one_where_results_have_32_bits(self):
        self.assertEqual(precision_that_ran("tf32", set(), set()), "tf32")

    def test_is_the_format_of_all_results(self):
        self.assertEqual(precision_that_ran("bf16", {"bf16"}, {"bf16"}), "bf16")
        self.assertEqual(precision_that_ran("bf16", set(), {"bf16"}), "bf16")
        self.assertEqual(precision_that_ran("bf16", {"fp16"}, set()), "fp16")

    def test_names_recurrent_layers_in_another_format(self):
        self.assertEqual(precision_that_ran("bf16", {"fp16"}, {"bf16"}), "fp16 in recurrent layers, bf16 elsewhere")


if __name__ == "__main__":
    unittest.main()
