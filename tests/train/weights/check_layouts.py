# SPDX-License-Identifier: Apache-2.0
"""Checks rnnlab's layouts of weights against the real Keras, TensorFlow and PyTorch, both ways, for every cell, one layer
and two bidirectional ones. scripts/check-layouts runs it.

For each: weights that rnnlab trained give the library's model rnnlab's outputs; weights that the library's model has give
rnnlab the library's outputs; and a file of the library comes back from rnnlab's own file bit for bit.
Usage: check_layouts.py RNNLAB [--golden FOLDER], which leaves the library's weights, inputs and outputs for the tests.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy
from safetensors.numpy import load_file, save_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts"))
from library_models import CELLS, DENSE, HIDDEN, INPUTS, MODELS, OUTPUTS, randomised

TOLERANCE = 1e-5  # float32
STACKS = {"": (1, False), "_stack": (2, True)}


class Rnnlab:
    """The program, and one data set for it in a folder of its own."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        random = numpy.random.default_rng(7)
        self.inputs = random.uniform(-1, 1, (6, 5, INPUTS)).astype(numpy.float32)
        numpy.save(folder / "x.npy", self.inputs)
        numpy.save(folder / "y.npy", random.uniform(-1, 1, (6, OUTPUTS)).astype(numpy.float32))

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"rnnlab {' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stderr}")
        return done.stdout

    def train(self, name, cell, stack, initial_weights=""):
        """The folder of a run; one with initial weights keeps them, for its learning rate is too small for float32."""
        num_layers, bidirectional = STACKS[stack]
        model = {"kind": "sequence_regressor", "cell": cell.removesuffix("_before"), "hidden_size": HIDDEN, "num_layers": num_layers,
                 "bidirectional": str(bidirectional).lower(), "dense": f"[{DENSE}]", "dense_activation": "tanh"}
        if cell == "gru_before":
            model["reset_gate"] = "before"
        if initial_weights:
            model["initial_weights"] = initial_weights
        settings = ", ".join(f"{key}: {value}" for key, value in model.items())
        (self.folder / f"{name}.yaml").write_text(
            f"name: {name}\ndevice: cpu\nlayer: naive\nmodel: {{{settings}}}\n"
            "data: {source: npy, path: ., train_inputs: x.npy, train_targets: y.npy, num_valid: 1}\n"
            f"training: {{epochs: 3, batch_size: 5, optimizer: sgd, learning_rate: {1e-30 if initial_weights else 0.05}}}\n")
        self.run("train", f"{name}.yaml", "--quiet", "--out", "runs")
        return next((self.folder / "runs" / name).iterdir())

    def predict(self, run):
        self.run("predict", run, "--part", "all", "--out", "outputs.npy")
        return numpy.load(self.folder / "outputs.npy")


def difference(a, b):
    assert a.shape == b.shape, (a.shape, b.shape)
    return float(numpy.abs(a - b).max())


def same_bits(a, b):
    return set(a) == set(b) and all(a[name].tobytes() == b[name].tobytes() for name in a)


def check(rnnlab, layout, cell, stack, seed):
    """The library's golden tensors, and the differences there and back."""
    name = f"{layout}_{cell}{stack}"
    theirs, back = f"{name}.safetensors", f"{name}_back.safetensors"
    model = MODELS[layout](cell, *STACKS[stack])

    trained = rnnlab.train(f"{name}_ours", cell, stack)
    rnnlab.run("convert", trained, "--layout", layout, "-o", theirs)
    model.assign(load_file(rnnlab.folder / theirs))
    there = difference(model.outputs(rnnlab.inputs), rnnlab.predict(trained))

    drawn = randomised(model.tensors(), seed)
    model.assign(drawn)
    save_file(drawn, rnnlab.folder / theirs)
    outputs = numpy.ascontiguousarray(model.outputs(rnnlab.inputs))
    home = difference(rnnlab.predict(rnnlab.train(f"{name}_theirs", cell, stack, initial_weights=theirs)), outputs)

    rnnlab.run("convert", theirs, "--from", layout, "-o", "ours.safetensors")
    rnnlab.run("convert", "ours.safetensors", "--layout", layout, "-o", back)
    # PyTorch's tensors of a GRU are the same for both places of the reset gate; a file of ours says which.
    assert same_bits(load_file(rnnlab.folder / back), drawn), f"{name}: not the same file after the way through rnnlab's"
    assert there <= TOLERANCE and home <= TOLERANCE, f"{name}: outputs differ by {there:.1e} and {home:.1e}"
    return drawn | {"golden.inputs": rnnlab.inputs, "golden.outputs": outputs}, there, home


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rnnlab", type=pathlib.Path)
    parser.add_argument("--golden", type=pathlib.Path)
    arguments = parser.parse_args()
    worst = 0.0
    print(f"{'layout':<12}{'cell':<12}{'layers':<18}{'ours there':>12}{'theirs here':>14}")
    with tempfile.TemporaryDirectory() as folder:
        rnnlab = Rnnlab(arguments.rnnlab.resolve(), pathlib.Path(folder))
        for seed, (layout, cell, stack) in enumerate((l, c, s) for l in MODELS for c in CELLS for s in STACKS):
            if (layout, cell) == ("pytorch", "gru_before"):
                continue  # torch.nn has none
            golden, there, home = check(rnnlab, layout, cell, stack, seed)
            worst = max(worst, there, home)
            print(f"{layout:<12}{cell:<12}{'2, bidirectional' if stack else '1':<18}{there:12.1e}{home:14.1e}", flush=True)
            if arguments.golden:
                save_file(golden, arguments.golden / f"{layout}_{cell}{stack}.safetensors")
    print(f"largest difference {worst:.1e}, allowed {TOLERANCE:.0e}; every file came back bit for bit")


main()
