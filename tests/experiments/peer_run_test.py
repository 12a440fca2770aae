# SPDX-License-Identifier: Apache-2.0
"""What peers refuse, and what they record of the formats that ran (experiments/peer_run.py)."""
import contextlib
import io
import pathlib
import sys
import types
import unittest

sys.dont_write_bytecode = True  # the folder of the experiments stays as it is
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "experiments"))

from peer_run import USAGE, precision_that_ran, require_supported  # noqa: E402


class RequireSupported(unittest.TestCase):
    def refusal_of(self, settings, supported):
        """What is printed before the exit; "" if the peer can do the settings."""
        work = types.SimpleNamespace(settings=settings, defaults={}, tensors={}, identity={"placement": "device"},
                                     shape={"total_steps": 2}, steps_per_epoch=1)
        printed = io.StringIO()
        try:
            with contextlib.redirect_stderr(printed):
                require_supported(work, "a peer", supported)
        except SystemExit as end:
            self.assertEqual(end.code, USAGE)
        return printed.getvalue()

    def test_refuses_a_value_that_is_not_listed(self):
        supported = {"model.dense_activation": ("relu", "tanh")}
        self.assertEqual(self.refusal_of({"model.dense_activation": "tanh"}, supported), "")
        self.assertIn("model.dense_activation: gelu, expected relu or tanh",
                      self.refusal_of({"model.dense_activation": "gelu"}, supported))

    def test_refuses_a_key_that_is_not_listed(self):
        self.assertIn("model.zoneout: 0.1, expected nothing", self.refusal_of({"model.zoneout": "0.1"}, {}))


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
