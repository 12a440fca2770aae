# SPDX-License-Identifier: Apache-2.0
"""scripts/export-onnx on small runs; `--check` compares each model with the program.

usage: export_onnx_test.py GROUP PROGRAM      GROUP is refusals or models; PROGRAM is rnnlab

refusals needs no package. models needs numpy, onnx and onnxruntime: exit code 77, with the reason, if one is missing.
"""

import importlib.util
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "export-onnx"
PACKAGES = ("numpy", "onnx", "onnxruntime")
SYNTHETIC = """device: cpu
layer: naive
data: {source: synthetic, num_train: 32, num_valid: 8, sequence_length: 5, num_features: 3, num_classes: 3}
model: {hidden_size: 4}
training: {epochs: 1, batch_size: 16, num_threads: 1, learning_rate: 0.05}
"""
ARRAYS = """device: cpu
layer: naive
data: {source: npy, train_inputs: x.npy, train_targets: y.npy, train_lengths: n.npy, task: regression}
model: {kind: sequence_regressor, hidden_size: 4}
training: {epochs: 1, batch_size: 16, num_threads: 1, learning_rate: 0.05}
"""
TEXT = """device: cpu
layer: naive
data: {source: text, path: text.txt, sequence_length: 6, num_train: 40, num_valid: 10}
model: {kind: language_model, hidden_size: 4}
training: {epochs: 1, batch_size: 16, num_threads: 1, learning_rate: 0.05}
"""
TAGS = """device: cpu
layer: naive
data: {source: csv, path: tags.csv, target: [tag], features: [kind], categories: [word], target_per: step, group: s}
model: {hidden_size: 4, embedding_size: 3}
training: {epochs: 1, batch_size: 16, num_threads: 1, learning_rate: 0.05}
"""
TABLE = """device: cpu
layer: naive
data: {source: csv, path: table.csv, target: [y], window: 6}
model: {kind: sequence_regressor, hidden_size: 4}
training: {epochs: 1, batch_size: 16, num_threads: 1, learning_rate: 0.05}
"""
PROGRAM = None


class OnnxTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def train(self, yaml, *overrides):
        """Returns the run's folder."""
        (self.root / "e.yaml").write_text(yaml)
        out = tempfile.mkdtemp(dir=self.root)
        result = subprocess.run([PROGRAM, "train", "e.yaml", "--quiet", "--out", out, *overrides], cwd=self.root,
                                capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        return next(Path(out).glob("*/*/config.yaml")).parent.resolve()

    def run_script(self, *arguments):
        return subprocess.run([sys.executable, str(SCRIPT), *map(str, arguments), "--rnnlab", PROGRAM], cwd=self.root,
                              capture_output=True, text=True, timeout=300)


class RefusalsTest(OnnxTest):
    def refusal(self, *arguments, code=3):
        result = self.run_script(*arguments)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertFalse((self.root / "m.onnx").exists())
        return result.stderr.removeprefix("export-onnx: error: ").rstrip("\n")

    def test_what_has_no_counterpart(self):
        for cell in ("min_gru", "min_lstm", "lstm_peephole", "slstm"):
            run = self.train(SYNTHETIC, f"model.cell={cell}")
            self.assertEqual(self.refusal(run, "-o", "m.onnx"),
                             f"model.cell: {cell} has no counterpart in ONNX here: this script converts lstm, gru, "
                             "rnn_tanh, rnn_relu")
        run = self.train(SYNTHETIC)
        config = run / "config.yaml"
        config.write_text(config.read_text().replace("kind: sequence_classifier", "kind: image_classifier"))
        self.assertIn("model.kind: image_classifier has no counterpart in ONNX", self.refusal(run, "-o", "m.onnx"))

    def test_what_is_no_run_that_can_be_used(self):
        self.assertIn("none/config.yaml: the file does not exist", self.refusal("none", "-o", "m.onnx"))
        run = self.train(SYNTHETIC, "checkpoint.save=false")
        self.assertIn("has no checkpoint: train it with checkpoint.save: true", self.refusal(run, "-o", "m.onnx"))
        run = self.train(SYNTHETIC)
        self.assertIn("has no checkpoint step-7, but step-000002",
                      self.refusal(run, "-o", "m.onnx", "--checkpoint", "step-7"))
        self.assertIn("exists: name another file", self.refusal(run, "-o", run / "config.yaml", code=2))

    def test_a_missing_package_is_named(self):
        result = subprocess.run([sys.executable, "-I", "-S", SCRIPT, self.train(SYNTHETIC), "-o", "m.onnx"],
                                cwd=self.root, capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stdout), (4, ""))
        self.assertIn("install it in a virtual environment: python3 -m venv ~/export-venv", result.stderr)


class ModelsTest(OnnxTest):
    def convert(self, yaml, *overrides, checks=True):
        """Converts a run and has the script compare outputs; returns the run's folder."""
        run = self.train(yaml, *overrides)
        result = self.run_script(run, "-o", "m.onnx", "--force", *(["--check"] if checks else []))
        self.assertEqual(result.returncode, 0, f"{overrides}: {result.stdout}{result.stderr}")
        if checks:
            self.assertLess(float(re.search(r"largest difference (\S+)", result.stdout)[1]), 1e-5)
        return run

    def make_arrays(self):
        """Returns the inputs and the lengths."""
        import numpy
        draw = numpy.random.default_rng(1)
        arrays = {"x": draw.normal(30, 7, (40, 5, 3)).astype("f4"), "n": draw.integers(1, 6, 40),
                  "y": draw.normal(size=40).astype("f4"), "steps": draw.normal(size=(40, 5, 2)).astype("f4"),
                  "bytes": draw.integers(0, 256, (40, 5, 3)).astype("u1")}
        for name, values in arrays.items():
            numpy.save(self.root / f"{name}.npy", values)
        return arrays

    def outputs(self, **inputs):
        import onnxruntime
        return onnxruntime.InferenceSession(str(self.root / "m.onnx")).run(None, inputs)

    def predictions(self, run, *arguments):
        import numpy
        subprocess.run([PROGRAM, "predict", run, "--out", "p.npy", *arguments], cwd=self.root, check=True,
                       capture_output=True)
        return numpy.load(self.root / "p.npy")

    def test_cells(self):
        cells = [["lstm"], ["lstm", "model.activation=relu"], ["gru"], ["gru", "model.reset_gate=before"],
                 ["gru", "model.activation=relu"], ["rnn_tanh"], ["rnn_relu"]]
        for cell, *more in cells:
            self.convert(SYNTHETIC, f"model.cell={cell}", *more, "model.num_layers=2", "model.bidirectional=true",
                         "model.dense=[5, 4]", "model.dropout=0.5")

    def test_a_single_layer(self):
        self.convert(SYNTHETIC, "model.pooling=mean", "model.dense=[5]", "model.dense_activation=tanh",
                     "model.output_dropout=0.5", "model.dense_dropout=0.5")

    def test_lengths_and_scales_from_the_values_of_the_file(self):
        arrays = self.make_arrays()
        for more in (["data.normalize=standard"], ["data.normalize=minmax", "model.pooling=mean"],
                     ["data.normalize=column_minmax", "model.bidirectional=true", "model.num_layers=2"],
                     ["data.train_inputs=bytes.npy", "model.bidirectional=true"]):
            run = self.convert(ARRAYS, *more)
            inputs = arrays["bytes" if "bytes" in more[0] else "x"].astype("f4")
            (outputs,) = self.outputs(inputs=inputs, lengths=arrays["n"])
            self.assertLess(abs(outputs - self.predictions(run, "--part", "all")).max(), 1e-5, more)

    def test_steps_with_targets(self):
        self.make_arrays()
        self.convert(ARRAYS, "data.train_targets=steps.npy", "data.target_per=step", "model.bidirectional=true",
                     "model.dense=[3]")

    def test_categories_and_windows(self):
        draw = random.Random(1)
        rows = [f"{s},{word},{draw.random()},{'xyz'[ord(word) % 3]}" for s in range(40)
                for word in draw.choices("abcd", k=draw.randint(1, 5))]
        (self.root / "tags.csv").write_text("\n".join(["s,word,kind,tag", *rows]) + "\n")
        self.convert(TAGS)
        rows = [f"{10 + draw.random()},{draw.gauss(50, 5)}" for _ in range(100)]
        (self.root / "table.csv").write_text("\n".join(["x,y", *rows]) + "\n")
        run = self.convert(TABLE)
        names = [output.name for output in __import__("onnx").load(str(self.root / "m.onnx")).graph.output]
        self.assertEqual(names, ["outputs", "values"], run)
        self.convert(TABLE, "data.window=0", "data.task=regression")  # the columns of a row are steps

    def test_language_models(self):
        import numpy
        import onnxruntime
        (self.root / "text.txt").write_text("to be, or not to be: that is the question. " * 20)
        self.convert(TEXT, "model.tied=true")
        self.convert(TEXT, "model.cell=gru", "model.embedding_size=3", "data.tokens=bytes")
        run = self.convert(TEXT, "model.num_layers=2", "training.epochs=5")
        session = onnxruntime.InferenceSession(str(self.root / "m.onnx"))
        words = json.loads(session.get_modelmeta().custom_metadata_map["rnnlab.vocabulary"])
        text = "to be"
        for _ in range(12):
            logits = session.run(None, {"inputs": numpy.array([[words.index(letter) for letter in text]])})[0]
            text += words[int(logits[0, -1].argmax())]
        said = subprocess.run([PROGRAM, "predict", run, "--prompt", "to be", "--length", "12", "--temperature", "0"],
                              capture_output=True, text=True, check=True)
        self.assertEqual(said.stdout.rstrip("\n"), text)

    def test_a_difference_is_exit_code_1(self):
        run = self.train(SYNTHETIC, "model.cell=gru", "training.epochs=5")
        config = run / "config.yaml"  # the program reads the checkpoint's own copy
        config.write_text(config.read_text().replace("reset_gate: after", "reset_gate: before"))
        result = self.run_script(run, "-o", "m.onnx", "--check")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("above 0.0001", result.stdout)


def main(arguments):
    global PROGRAM
    group, PROGRAM = arguments[0], os.path.abspath(arguments[1])
    missing = [package for package in PACKAGES if importlib.util.find_spec(package) is None]
    if group == "models" and missing:
        print(f"skipped models: these Python packages are missing: {', '.join(missing)}")
        return 77
    tests = {"refusals": RefusalsTest, "models": ModelsTest}[group]
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(tests)
    return 0 if unittest.TextTestRunner().run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
