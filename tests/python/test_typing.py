# SPDX-License-Identifier: Apache-2.0
"""What type checkers read of the package: its annotations, its names, and an example, if mypy is installed."""

import ast
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import rnnlab

PACKAGE = pathlib.Path(rnnlab.__file__).parent
EXAMPLE = """
import torch
import rnnlab
from rnnlab import functional

layer: rnnlab.LSTM = rnnlab.LSTM(3, 4, num_layers=2, implementation="hoisted")
y, (h, c) = layer(torch.randn(5, 2, 3), starts=torch.zeros(5, 2, dtype=torch.bool))
cell = rnnlab.Cell("f = sigmoid(f)\\nh = (1 - f) * h + f * tanh(n)", gates=["f", "n"], states=["h"])
own = rnnlab.Recurrent(cell, 3, 4, recompute=2)

@rnnlab.Cell
def leaky(x, h):
    return 0.9 * h + torch.tanh(x.n + h.n)

gates: list[str] = list(leaky.gates)
step: rnnlab.LSTMCell = rnnlab.LSTMCell(3, 4, implementation="hoisted")
h, c = step(torch.randn(2, 3), (torch.zeros(2, 4), torch.zeros(2, 4)))
rnnlab.SLSTM(3, 4, heads=2)
found: rnnlab.Verification = rnnlab.verify(layer)
largest: float = max(found.errors.values())
for choice in rnnlab.choices():
    steps: int = choice.work.num_steps
functional.lstm(torch.randn(5, 2, 3), None, dict(torch.nn.LSTM(3, 4).named_parameters()))
"""


class Annotations(unittest.TestCase):
    def test_are_announced(self):
        self.assertTrue((PACKAGE / "py.typed").exists())

    def test_have_the_names_that_the_package_has(self):
        """Those below `if TYPE_CHECKING`, which stand for __getattr__."""
        tree = ast.parse((PACKAGE / "__init__.py").read_text())
        block = next(node for node in tree.body if isinstance(node, ast.If))
        names = [alias.asname for statement in block.body for alias in statement.names]
        self.assertEqual(sorted(names), rnnlab.__all__)

    @unittest.skipUnless(importlib.util.find_spec("mypy") and importlib.util.find_spec("torch"), "mypy or torch is missing")
    def test_fit_an_example(self):
        with tempfile.TemporaryDirectory() as folder:
            example = pathlib.Path(folder) / "example.py"
            example.write_text(EXAMPLE)
            command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--no-incremental", str(example)]
            done = subprocess.run(command, capture_output=True, text=True,
                                  env={**os.environ, "MYPYPATH": str(PACKAGE.parent)})
            self.assertEqual((done.returncode, done.stdout), (0, "Success: no issues found in 1 source file\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
