# SPDX-License-Identifier: Apache-2.0
"""rnnlab.Cell: equations from Python, from files and of rnnlab's own cells, and the messages about mistakes."""

import copy
import pathlib
import pickle
import sys
import tempfile
import unittest

try:
    import torch  # noqa: F401  rnnlab.Cell needs it
except ImportError as error:
    print(f"skipped, because torch cannot be imported: {error}")
    sys.exit(77)

import rnnlab

EXPERIMENTS = pathlib.Path(__file__).parents[2] / "experiments" / "cells"
MGU = """
    f = sigmoid(f)
    n = tanh(x.n + f * h.n)
    h = (1 - f) * h + f * n
"""


def mgu(**changes):
    return rnnlab.Cell(**{"equations": MGU, "gates": ["f", "n"], "states": ["h"], "name": "mgu", **changes})


class Cells(unittest.TestCase):
    def test_keeps_what_was_given(self):
        cell = mgu(gates=("f", "n"))
        self.assertEqual((cell.name, cell.gates, cell.states, cell.vectors), ("mgu", ("f", "n"), ("h",), ()))
        self.assertEqual(cell.equations, "f = sigmoid(f)\nn = tanh(x.n + f * h.n)\nh = (1 - f) * h + f * n\n")
        with self.assertRaises(AttributeError):
            cell.name = "other"

    def test_a_file_is_the_same_cell(self):
        for file in (EXPERIMENTS / "mgu.yaml", str(EXPERIMENTS / "mgu.yaml")):
            self.assertEqual(rnnlab.Cell.from_file(file), mgu())
        for file in EXPERIMENTS.glob("*.yaml"):
            self.assertEqual(rnnlab.Cell.from_file(file).name, file.stem)

    def test_cells_of_rnnlab_by_name(self):
        slstm = rnnlab.Cell.named("slstm")
        self.assertEqual((slstm.states, slstm.biases, slstm.heads), (("h", "c", "n", "m"), "one", True))
        self.assertEqual(rnnlab.Cell.named("lstm_peephole").vectors, ("peephole.i", "peephole.f", "peephole.o"))

    def test_repr_is_the_cell_as_a_program(self):
        self.assertEqual(repr(mgu()), f'Cell("""{MGU}    """, gates=[\'f\', \'n\'], states=[\'h\'], name=\'mgu\')')
        for name in ("lstm", "gru", "rnn_tanh", "rnn_relu", "min_gru", "min_lstm", "lstm_peephole", "slstm"):
            cell = rnnlab.Cell.named(name)
            self.assertEqual(eval(repr(cell), {"Cell": rnnlab.Cell}), cell)

    def test_copies_are_equal_and_may_be_keys(self):
        cell = mgu(vectors=[], biases="one")
        for twin in (copy.deepcopy(cell), pickle.loads(pickle.dumps(cell))):
            self.assertEqual((twin, hash(twin)), (cell, hash(cell)))
        self.assertNotEqual(cell, mgu())

    def test_comments_and_text_beyond_ascii(self):
        cell = mgu(equations="f = sigmoid(f)  # σ \"gate\" 🙂\nh = (1 - f) * h + f * tanh(n)", name="mgu: π")
        self.assertIn("σ", cell.equations)
        self.assertEqual((cell.name, cell.layers()), ("mgu: π", mgu().layers()))

    def test_says_which_layers_compute_it(self):
        self.assertEqual(mgu().layers(), ["naive", "grouped", "fused_pointwise", "pretransposed", "hoisted", "blocked"])
        self.assertIn("wavefront", mgu().layers("cuda"))
        self.assertIsNone(mgu().why_not("blocked"))
        self.assertIn("the gradients of a gate's two sides differ", mgu().why_not("diagonal", "cuda"))
        waiting = mgu(equations="f = sigmoid(f)\nh = (1 - f) * h + f * tanh(x.n + h.n(f * h))")
        self.assertEqual(waiting.layers(), ["naive", "grouped", "fused_pointwise", "pretransposed", "hoisted"])
        with self.assertRaisesRegex(ValueError, "did you mean 'blocked'"):
            mgu().why_not("bloked")


class Mistakes(unittest.TestCase):
    def check(self, message, make):
        with self.assertRaises(ValueError) as caught:
            make()
        self.assertEqual(str(caught.exception), message)

    def test_of_equations_have_their_lines_and_columns(self):
        self.check("rnnlab: the cell: equations: line 2, column 9: unknown function sigmiod (did you mean 'sigmoid'?)\n"
                   "the cell: equations: line 4, column 27: unknown name m",
                   lambda: mgu(equations="""
    f = sigmiod(f)
    n = tanh(x.n + f * h.n)
    h = (1 - f) * h + f * m
"""))

    def test_of_the_lists(self):
        self.check("rnnlab: the cell: gates: the gate r is never read", lambda: mgu(gates=["f", "n", "r"]))
        self.check("rnnlab: the cell: states: the state c is never assigned", lambda: mgu(states=["h", "c"]))
        self.check("rnnlab: the cell: biases: got the text 'three', expected two or one",
                   lambda: mgu(biases="three"))
        self.check("rnnlab: the cell: name: got the text '', expected text that is not empty", lambda: mgu(name=""))

    def test_of_files_have_their_places(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "cell.yaml"
            file.write_text("gates: [n]\nstates: [h]\nequations: |\n  h = tahn(n)\n")
            self.check(f"rnnlab: {file}:4:7: equations: unknown function tahn (did you mean 'tanh'?)",
                       lambda: rnnlab.Cell.from_file(file))
            self.check(f"rnnlab: {folder}/none.yaml: no such file",
                       lambda: rnnlab.Cell.from_file(f"{folder}/none.yaml"))

    def test_of_names(self):
        self.check('rnnlab: cell is "lsmt"; use lstm, gru, rnn_tanh, rnn_relu, min_gru, min_lstm, lstm_peephole or slstm',
                   lambda: rnnlab.Cell.named("lsmt"))
        with self.assertRaises(TypeError):
            rnnlab.Cell(MGU)


if __name__ == "__main__":
    unittest.main()
