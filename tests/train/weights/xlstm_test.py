# SPDX-License-Identifier: Apache-2.0
"""Weights of the package xlstm in rnnlab: both compute the same outputs.

usage: xlstm_test.py PROGRAM              PROGRAM is rnnlab
       xlstm_test.py --golden FOLDER      writes the files for the tests in C++

The package computes by its backend `vanilla` on the CPU, rnnlab by `layer: naive`. The test needs
torch, numpy, safetensors and xlstm: exit code 77, with the reason, if one is missing.
"""

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
    return outputs.transpose(1, 2).flatten(2).contiguous()


def hidden_of_layer(layer, inputs):
    """Returns what the layer's cell gives to its group norm."""
    seen = []
    layer.slstm_cell.register_forward_hook(lambda module, arguments, result: seen.append(result[0]))
    with torch.no_grad():
        layer(inputs)
    return in_order(seen[0])


def hidden_of_cell(cell, inputs):
    with torch.no_grad():
        return in_order(cell(inputs)[0])


def with_backend_cuda(vanilla):
    """Returns the same cell in the order of the other backend, which needs no GPU for this."""
    cuda = sLSTMCell_cuda(cell_config("cuda"), skip_backend_init=True)
    cuda.recurrent_kernel[:] = vanilla.recurrent_kernel.clone()
    cuda.bias[:] = vanilla.bias.clone()
    return cuda


def write(tensors, path, metadata=None):
    contiguous = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    save_file(contiguous, path, metadata)


def write_golden(folder):
    """Writes weights, inputs and outputs of a layer, and of a cell in the order of `cuda`."""
    layer, cell = layer_of(), randomised(sLSTMCell_vanilla(cell_config()), 2)
    inputs = torch.randn(2, 9, HIDDEN), torch.randn(2, 9, 4 * HIDDEN)
    outputs = hidden_of_layer(layer, inputs[0]), hidden_of_cell(cell, inputs[1])
    weights = layer.state_dict(), with_backend_cuda(cell).state_dict()
    for number, name in enumerate(("xlstm_layer", "xlstm_cell")):
        golden = {"golden.inputs": inputs[number], "golden.outputs": outputs[number]}
        write(weights[number] | golden, folder / f"{name}.safetensors")


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

    def expect_refused(self, tensors, message, *overrides):
        write(tensors, self.root / "theirs.safetensors")
        result = self.train(torch.zeros(SAMPLES, STEPS, HIDDEN), *overrides)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn(message, result.stderr)

    def converted(self, tensors):
        write(tensors, self.root / "theirs.safetensors")
        result = self.run_program("convert", "theirs.safetensors", "-o", "ours.safetensors")
        self.assertEqual(result.returncode, 0, result.stderr)
        return load_file(self.root / "ours.safetensors")

    def test_a_layer_without_convolution(self):
        layer, inputs = layer_of(), torch.randn(SAMPLES, STEPS, HIDDEN)
        theirs = self.root / "theirs.safetensors"
        write(layer.state_dict(), theirs, {"xlstm.function": "slstm"})
        self.expect_equal(inputs, hidden_of_layer(layer, inputs))

    def test_a_cell_alone(self):
        cell = randomised(sLSTMCell_vanilla(cell_config()), 2)
        inputs = torch.randn(SAMPLES, STEPS, 4 * HIDDEN)
        write(cell.state_dict(), self.root / "theirs.safetensors")
        self.expect_equal(inputs, hidden_of_cell(cell, inputs))

    def test_weights_of_the_other_backend_are_the_same(self):
        vanilla = randomised(sLSTMCell_vanilla(cell_config()), 3)
        kernel, bias = vanilla.recurrent_kernel.clone(), vanilla.bias.clone()
        of_cuda = with_backend_cuda(vanilla).state_dict()
        expected = self.converted(vanilla.state_dict())
        self.assertEqual(len(expected), 3)
        self.assertNotEqual(vanilla._recurrent_kernel_.shape, of_cuda["_recurrent_kernel_"].shape)
        for tensors in (of_cuda, {"_recurrent_kernel_": kernel, "_bias_": bias}):
            found = self.converted(tensors)
            self.assertTrue(all(torch.equal(found[name], expected[name]) for name in expected))

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
    if sys.argv[1] == "--golden":
        write_golden(Path(sys.argv[2]))
        sys.exit()
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=2)
