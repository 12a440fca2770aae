# SPDX-License-Identifier: Apache-2.0
"""What "auto" chose: seen, logged, saved, fixed, forgotten, and not asked where PyTorch is deterministic."""

import dataclasses
import json
import math
import pathlib
import sys
import tempfile
import unittest

try:
    import torch
except ImportError as error:
    print(f"skipped, because torch cannot be imported: {error}")
    sys.exit(77)

import rnnlab
from rnnlab import measured


def x(num_steps=5):
    return torch.zeros(num_steps, 3, 2)


class Choices(unittest.TestCase):
    def setUp(self):
        rnnlab.forget_choices()
        self.addCleanup(rnnlab.forget_choices)

    def test_are_seen(self):
        layer = rnnlab.LSTM(2, 4)
        layer(x())
        layer(x(num_steps=6))  # rounded up, the same number of steps
        layer(x(num_steps=9))
        first, second = rnnlab.choices()
        self.assertEqual((first.work.cell, first.work.num_steps, second.work.num_steps), ("LSTM", 8, 16))
        self.assertEqual(second.implementation, layer.implementation_used)
        self.assertEqual(set(first.seconds), {"torch", "blocked", "hoisted"})
        self.assertEqual(first.seconds[first.implementation], min(first.seconds.values()))

    def test_are_of_the_gradients_that_a_call_needs(self):
        for layer in (rnnlab.LSTM(2, 4), rnnlab.Recurrent("gru", 2, 4)):
            rnnlab.forget_choices()
            states = [torch.zeros(1, 3, 4, requires_grad=True)] * (2 if isinstance(layer, rnnlab.LSTM) else 1)
            with torch.no_grad():
                layer(x())
            layer(x())
            layer(x().requires_grad_(), states)
            layer(x())
            found = [choice.work.gradients for choice in rnnlab.choices()]
            self.assertEqual(found, [(), ("weights",), ("weights", "input", "states")])

    def test_of_frozen_layers_are_of_their_own(self):
        frozen = rnnlab.LSTM(2, 4).requires_grad_(False)
        frozen(x())
        rnnlab.LSTM(2, 4)(x())
        self.assertEqual([choice.work.gradients for choice in rnnlab.choices()], [(), ("weights",)])

    def test_are_logged(self):
        with self.assertLogs("rnnlab", "INFO") as logs:
            rnnlab.Recurrent("slstm", 2, 4)(x())
            rnnlab.GRU(2, 4)(x())
        self.assertRegex(logs.output[0], r"auto: \w+ for slstm, 1 x 4 units, 8 steps of 4 sequences, float32 on cpu \(.*hoisted [\d.e-]+ ms")
        self.assertRegex(logs.output[1], r"auto: \w+ for GRU, ")

    def test_are_kept_in_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "choices.json"
            rnnlab.LSTM(2, 4)(x())
            rnnlab.Recurrent("lstm", 2, 4)(x(), all_states=True)
            found = rnnlab.choices()
            rnnlab.save_choices(file)
            rnnlab.forget_choices()
            self.assertEqual(rnnlab.choices(), [])
            self.assertEqual(rnnlab.load_choices(file), 2)
            self.assertEqual(rnnlab.choices(), found)
            with self.assertNoLogs("rnnlab", "INFO"):
                rnnlab.LSTM(2, 4)(x())

    def test_of_another_machine_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "choices.json"
            rnnlab.LSTM(2, 4)(x())
            rnnlab.save_choices(file)
            content = json.loads(file.read_text())
            content["machine"]["threads"] += 1
            file.write_text(json.dumps(content))
            with self.assertRaisesRegex(ValueError, "has choices for .*measure here instead"):
                rnnlab.load_choices(file)
            for text in ("", "[]", "{}", '{"machine": {}, "choices": [{}]}'):
                file.write_text(text)
                with self.assertRaisesRegex(ValueError, "has no choices that save_choices wrote"):
                    rnnlab.load_choices(file)

    def test_can_be_fixed(self):
        layer = rnnlab.LSTM(2, 4)
        layer(x())
        found = rnnlab.choices()[0]
        for implementation in ("hoisted", "torch"):
            rnnlab.fix_choice(found, implementation)
            layer(x())
            self.assertEqual(layer.implementation_used, implementation)
        with self.assertRaisesRegex(ValueError, "the candidates are torch, blocked and hoisted"):
            rnnlab.fix_choice(found, "fused")

    def test_of_compiled_code_are_those_that_were_fixed_or_loaded(self):
        layer = rnnlab.GRU(2, 4)
        layer(x())
        names = []

        def graph_of(module, inputs):
            names.append("recurrent" in str(module.graph))
            return module.forward

        for implementation, is_ours in (("hoisted", True), ("torch", False)):
            rnnlab.fix_choice(rnnlab.choices()[0], implementation)
            torch._dynamo.reset()
            names.clear()
            torch.compile(layer, backend=graph_of)(x())
            self.assertEqual(any(names), is_ours)
            self.assertEqual(layer.implementation_used, implementation)

    def test_of_compiled_code_count_the_time_around_an_operator(self):
        layer = rnnlab.GRU(2, 4)
        layer(x())
        first = rnnlab.choices()[0]
        for gain, wanted in ((1e-4, "torch"), (1e-3, "hoisted")):
            seconds = {"torch": 2e-3, "blocked": math.inf, "hoisted": 2e-3 - gain}
            measured.add(dataclasses.replace(first, implementation="hoisted", seconds=seconds))
            torch._dynamo.reset()
            torch.compile(layer, backend="eager")(x())
            self.assertEqual(layer.implementation_used, wanted)
            layer(x())
            self.assertEqual(layer.implementation_used, "hoisted")

    def test_of_the_last_call_are_left_when_something_changes(self):
        layer = rnnlab.LSTM(2, 4, num_layers=2, implementation="hoisted")
        layer(x())
        torch.func.jvp(lambda one: layer(one)[0], (x(),), (x(),))
        self.assertEqual(layer.implementation_used, "naive")
        of_torch = rnnlab.LSTM(2, 4, implementation="torch")
        of_torch(x())
        torch.func.jvp(lambda one: of_torch(one)[0], (x(),), (x(),))
        layer(x())
        self.assertEqual(layer.implementation_used, "hoisted")
        layer.dropout = 1.0
        layer(x())
        self.assertEqual(layer.implementation_used, "torch")

    def test_are_the_same_where_pytorch_is_deterministic(self):
        torch.use_deterministic_algorithms(True)
        self.addCleanup(torch.use_deterministic_algorithms, False)
        layer = rnnlab.LSTM(2, 4)
        layer(x())
        self.assertEqual((layer.implementation_used, rnnlab.choices()), ("torch", []))


if __name__ == "__main__":
    unittest.main()
