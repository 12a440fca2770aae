# SPDX-License-Identifier: Apache-2.0
"""Weights of the package xlstm in rnnlab: both compute the same outputs.

usage: xlstm_test.py PROGRAM      PROGRAM is rnnlab

The package computes by its backend `vanilla` on the CPU, rnnlab by `layer: naive`. The test needs
torch, numpy, safetensors and xlstm: exit code 77, with the reason, if one is missing.
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy
    import torch
    from safetensors.torch import load_file, save_file
    from xlstm.blocks.slstm.cell import sLSTMCell_cuda, sLSTMCell_vanilla, sLSTMCellConfig
    from xlstm.blocks.slstm.layer import sLSTMLayer, sLSTMLayerConfig
except ImportError as error:
    print(f"skipped, because a package cannot be imported: {error}")
    sys.exit(77)

HIDDEN, HEADS, SAMPLES, STEPS = 12, 3, 6, 20
TOLERANCE = 1e-5  # float32, outputs of order one
EXPERIMENT = """device: cpu
layer: naive
data: {source: npy, train_inputs: x.npy, train_targets: y.npy, target_per: step, num_valid: 1}
model:
  kind: sequence_regressor
  cell: slstm
  hidden_size: 12
  heads: 3
  initial_weights: theirs.safetensors
training: {epochs: 1, batch_size: 5, optimizer: sgd, learning_rate: 1e-30, num_threads: 1}
"""
PROGRAM = None


def randomised(module, seed):
    """Draws every parameter: the package starts with recurrent weights of zero."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.7)
    return module


def layer_of(kernel_size=0, has_norm_weight=False):
    return randomised(
        sLSTMLayer(
            sLSTMLayerConfig(
                embedding_dim=HIDDEN,
                num_heads=HEADS,
                conv1d_kernel_size=kernel_size,
                group_norm_weight=has_norm_weight,
                backend="vanilla",
                dtype="float32",
            )
        ),
        1,
    )


def cell_config(backend="vanilla"):
    return sLSTMCellConfig(
        hidden_size=HIDDEN, num_heads=HEADS, backend=backend, dtype="float32", batch_size=SAMPLES
    )


def in_order(outputs):
    """Returns (samples, steps, hidden); the package has (samples, heads, steps, units)."""
    return outputs.transpose(1, 2).reshape(SAMPLES, STEPS, HIDDEN)


class XlstmTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def run_program(self, *arguments):
        return subprocess.run(
            [PROGRAM, *map(str, arguments)],
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=300,
        )

    def train(self, inputs, *overrides):
        """Trains with a learning rate that changes no weight."""
        (self.root / "e.yaml").write_text(EXPERIMENT)
        numpy.save(self.root / "x.npy", inputs.numpy())
        numpy.save(self.root / "y.npy", numpy.zeros((SAMPLES, STEPS, HIDDEN), numpy.float32))
        return self.run_program("train", "e.yaml", "--quiet", "--out", "runs", *overrides)

    def predictions(self, inputs):
        """Returns what rnnlab predicts from the file's weights, and its output layer."""
        result = self.train(inputs)
        self.assertEqual(result.returncode, 0, result.stderr)
        run = next(self.root.glob("runs/*/*/config.yaml")).parent
        for arguments in (
            ("predict", run, "--part", "all", "--out", "out.npy"),
            ("convert", run, "-o", "ours.safetensors"),
        ):
            result = self.run_program(*arguments)
            self.assertEqual(result.returncode, 0, result.stderr)
        ours = load_file(self.root / "ours.safetensors")
        output = torch.from_numpy(numpy.load(self.root / "out.npy")).reshape(SAMPLES, STEPS, HIDDEN)
        return output, lambda hidden: hidden @ ours["output.weight"].t() + ours["output.bias"]

    def expect_equal(self, inputs, hidden):
        output, output_layer = self.predictions(inputs)
        expected = output_layer(hidden)
        self.assertGreater(expected.std().item(), 0.1)
        self.assertLess((output - expected).abs().max().item(), TOLERANCE)

    def expect_refused(self, tensors, message, *overrides, metadata=None):
        save_file(
            {name: tensor.contiguous() for name, tensor in tensors.items()},
            self.root / "theirs.safetensors",
            metadata,
        )
        result = self.train(torch.zeros(SAMPLES, STEPS, HIDDEN), *overrides)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn(message, result.stderr)

    def test_a_layer_without_convolution(self):
        layer, inputs, seen = layer_of(), torch.randn(SAMPLES, STEPS, HIDDEN), []
        layer.slstm_cell.register_forward_hook(
            lambda module, arguments, result: seen.append(in_order(result[0]))
        )
        save_file(layer.state_dict(), self.root / "theirs.safetensors", {"xlstm.function": "slstm"})
        with torch.no_grad():
            layer(inputs)
        self.expect_equal(inputs, seen[0])

    def test_a_cell_alone(self):
        cell, inputs = randomised(sLSTMCell_vanilla(cell_config()), 2), torch.randn(
            SAMPLES, STEPS, 4 * HIDDEN
        )
        save_file(cell.state_dict(), self.root / "theirs.safetensors")
        with torch.no_grad():
            hidden = in_order(cell(inputs)[0])
        self.expect_equal(inputs, hidden)

    def test_weights_of_the_other_backend_are_the_same(self):
        vanilla = randomised(sLSTMCell_vanilla(cell_config()), 3)
        cuda = sLSTMCell_cuda(cell_config("cuda"), skip_backend_init=True)
        cuda.recurrent_kernel[:] = vanilla.recurrent_kernel.clone()
        cuda.bias[:] = vanilla.bias.clone()
        proxies = {
            "_recurrent_kernel_": vanilla.recurrent_kernel.clone(),
            "_bias_": vanilla.bias.clone(),
        }
        files = {"vanilla": vanilla.state_dict(), "cuda": cuda.state_dict(), "proxies": proxies}
        converted = []
        for name, tensors in files.items():
            save_file(
                {key: value.detach().contiguous() for key, value in tensors.items()},
                self.root / f"{name}.safetensors",
            )
            result = self.run_program(
                "convert", f"{name}.safetensors", "-o", f"{name}_ours.safetensors", "--json"
            )
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(json.loads(result.stdout)["num_tensors"], 3)
            converted.append(load_file(self.root / f"{name}_ours.safetensors"))
        self.assertNotEqual(
            files["vanilla"]["_recurrent_kernel_"].shape, files["cuda"]["_recurrent_kernel_"].shape
        )
        for other in converted[1:]:
            self.assertTrue(
                all(torch.equal(other[name], tensor) for name, tensor in converted[0].items())
            )

    def test_refuses_what_its_cell_does_not_compute(self):
        self.expect_refused(
            layer_of(kernel_size=4).state_dict(),
            "is a convolution before the input and forget gates",
        )
        self.expect_refused(
            layer_of(has_norm_weight=True).state_dict(), "normalizes the layer's outputs"
        )
        self.expect_refused(layer_of().state_dict(), "set model.heads=3", "model.heads=2")
        self.expect_refused(
            layer_of().state_dict(), "set model.cell=slstm", "model.cell=lstm", "model.heads=1"
        )


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=2)
