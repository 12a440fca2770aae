# SPDX-License-Identifier: Apache-2.0
"""scripts/export-onnx on small runs; `--check` compares each model with the program.

usage: export_onnx_test.py GROUP PROGRAM      GROUP is refusals, programs or models; PROGRAM is rnnlab

refusals and programs need no package. models needs numpy, onnx and onnxruntime: exit code 77, with the reason, if one
is missing.
"""

import datetime
import importlib.util
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "export-onnx"
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))
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
# Whatever equations can contain. The state s is above 0, so that its logarithm is finite.
EVERY_OPERATION = {
    "gates": "[a, b]", "states": "[h, s]", "vectors": "[p]",
    "equations": ["s = softplus(x.a) - log_sigmoid(s) + exp(-abs(h.b)) / (1 + abs(p))",
                  "t = where(s < x.a, sigmoid(h.b), tanh(p)) + where(x.a <= h.b, 2, constant(p))",
                  "h = min(relu(t), log(s)) * max(a, b) + where(x.a == p, 0.5, h)"]}
# Cells without an operator in ONNX, with a name for each.
SCANNED = {
    "peephole": ["model.cell=lstm_peephole"],
    "peephole with ReLU": ["model.cell=lstm_peephole", "model.activation=relu"],
    "slstm": ["model.cell=slstm"],
    "slstm with heads": ["model.cell=slstm", "model.heads=2"],
    "min_gru": ["model.cell=min_gru"],
    "min_gru, linear": ["model.cell=min_gru", "model.candidate=linear"],
    "min_lstm": ["model.cell=min_lstm"],
    "mgu": [f"model.cell={ROOT / 'experiments' / 'cells' / 'mgu.yaml'}"],
    "a product of an expression": {
        "gates": "[f, n]", "states": "[h]",
        "equations": ["f = sigmoid(f)", "n = tanh(x.n + h.n(f * h))", "h = (1 - f) * h + f * n"]},
    "three states, vectors, one bias, gates of one side": {
        "gates": "[a, b, c]", "states": "[h, s, t]", "vectors": "[p, q.i, q.f]", "biases": "one",
        "equations": ["s = sigmoid(x.a) * s + p * h.b", "t = where(t < s, 0.5 * t + q.i, s)",
                      "h = tanh(c) * q.f + max(s, t)"]},
    "two heads and products of other states and of a vector": {
        "gates": "[a, b, c]", "states": "[y, z]", "vectors": "[p]", "heads": "true", "more": ["model.heads=2"],
        "equations": ["z = z + 0.1 * (tanh(a + h.b(z) + h.c(p)) - y)", "y = y + 0.5 * z"]},
    "no gate that reads the input": {
        "gates": "[a]", "states": "[h]", "vectors": "[p]", "equations": ["h = tanh(h.a + p)"]},
    "every operation": EVERY_OPERATION,
}


def overrides_of(cell):
    """Returns the overrides for a cell of SCANNED."""
    if isinstance(cell, list):
        return cell
    equations = "\\n".join(cell["equations"])
    keys = [f"{key}: {value}" for key, value in cell.items() if key not in ("equations", "more")]
    return [f'model.cell={{{", ".join(keys)}, equations: "{equations}"}}', *cell.get("more", [])]


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

    def test_what_a_state_does_not_hold(self):
        reasons = {"model.bidirectional=true": "model.bidirectional: true also reads each sequence from its end",
                   "model.pooling=mean": "model.pooling: mean needs all steps of a sequence",
                   "data.normalize=column_minmax": "data.normalize: column_minmax scales all steps of a sequence together"}
        for override, reason in reasons.items():
            self.assertIn(f"--states: {reason}", self.refusal(self.train(SYNTHETIC, override), "-o", "m.onnx", "--states"))
        (self.root / "table.csv").write_text("x,y\n" + "\n".join(f"{i % 7},{i % 3}" for i in range(40)) + "\n")
        run = self.train(TABLE, "data.window=0", "data.task=regression")
        self.assertIn("each row of the table is a sample of its own", self.refusal(run, "-o", "m.onnx", "--states"))
    def test_what_is_no_whole_model(self):
        run = self.train(SYNTHETIC)
        for file, arguments in (("weights", []), ("whole", ["--whole"])):
            subprocess.run([PROGRAM, "convert", run, *arguments, "-o", f"{file}.safetensors"], cwd=self.root, check=True,
                           capture_output=True)
        self.assertIn("holds weights without the settings", self.refusal("weights.safetensors", "-o", "m.onnx"))
        self.assertIn("has no checkpoints: leave --checkpoint out",
                      self.refusal("whole.safetensors", "-o", "m.onnx", "--checkpoint", "last"))
        (self.root / "whole.safetensors").write_bytes(b"damaged")
        self.assertIn("is not a safetensors file", self.refusal("whole.safetensors", "-o", "m.onnx"))

    def test_a_missing_package_is_named(self):
        result = subprocess.run([sys.executable, "-I", "-S", SCRIPT, self.train(SYNTHETIC), "-o", "m.onnx"],
                                cwd=self.root, capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stdout), (4, ""))
        self.assertIn("install it in a virtual environment: python3 -m venv ~/export-venv", result.stderr)


class PlainNumbers:
    """Takes the place of a graph: an operation of ONNX is computed when it is added. Each name is its value."""

    OPERATIONS = {
        "Neg": lambda a: -a, "Sigmoid": lambda a: 1 / (1 + math.exp(-a)), "Tanh": math.tanh,
        "Relu": lambda a: max(a, 0), "Exp": math.exp, "Log": math.log, "Softplus": lambda a: math.log(1 + math.exp(a)),
        "Abs": abs, "Sign": lambda a: (a > 0) - (a < 0), "Identity": lambda a: a, "Add": lambda a, b: a + b,
        "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b, "Div": lambda a, b: a / b, "Min": min, "Max": max,
        "Less": lambda a, b: a < b, "LessOrEqual": lambda a, b: a <= b, "Equal": lambda a, b: a == b,
        "Where": lambda condition, a, b: a if condition else b}

    def add(self, operation, arguments):
        return self.OPERATIONS[operation](*arguments)

    def constant(self, _, value):
        return value


class ProgramTest(OnnxTest):
    """The cell's program as `rnnlab cell --json` prints it, computed by what ONNX defines for its operations."""

    def cell(self, *overrides):
        done = subprocess.run([PROGRAM, "cell", self.train(SYNTHETIC, *overrides), "--json"], capture_output=True,
                              text=True, check=True)
        return json.loads(done.stdout)

    def new_states(self, cell, leaves):
        """leaves: the value of each leaf by the name of its operation and by its index."""
        from export.scan import add_operation
        numbers, values = PlainNumbers(), []
        for one in cell["operations"]:
            if one["operation"] == "number":
                values.append(float(one["number"]))
            elif "arguments" not in one:
                values.append(leaves[one["operation"]][one["index"]])
            else:
                values.append(add_operation(numbers, one["operation"], [values[i] for i in one["arguments"]]))
        return [values[place] for place in cell["new_states"]]

    def test_every_operation(self):
        cell = self.cell(*overrides_of(EVERY_OPERATION))
        draw = random.Random(1)
        for _ in range(100):
            xa, ha, xb, hb, h, s, p = (draw.gauss(0, 2) for _ in range(7))
            p = xa if draw.random() < 0.2 else p
            leaves = {"input_side": [xa, xb], "hidden_side": [ha, hb], "gate": [xa + ha, xb + hb], "state": [h, s],
                      "vector": [p]}
            new_s = math.log1p(math.exp(xa)) + math.log(1 + math.exp(-s)) + math.exp(-abs(hb)) / (1 + abs(p))
            t = (1 / (1 + math.exp(-hb)) if new_s < xa else math.tanh(p)) + (2 if xa <= hb else p)
            new_h = min(max(t, 0), math.log(new_s)) * max(xa + ha, xb + hb) + (0.5 if xa == p else h)
            for got, wanted in zip(self.new_states(cell, leaves), [new_h, new_s], strict=True):
                self.assertAlmostEqual(got, wanted, delta=1e-12 * (1 + abs(wanted)))

    def test_log_sigmoid_of_large_numbers(self):
        cell = self.cell('model.cell={gates: [a], states: [h], equations: "h = log_sigmoid(a)"}')
        for value, wanted in ((-800, -800), (800, 0), (-1, -1.3132616875182228), (0, -math.log(2))):
            (got,) = self.new_states(cell, {"gate": [value]})
            self.assertAlmostEqual(got, wanted, delta=1e-12)

    def test_infinity_and_the_options_of_the_run(self):
        cell = self.cell("model.cell=slstm", "model.heads=2")  # at the first step the normalizer is 0
        self.assertEqual(cell["heads"], 2)
        h, c, n, m = self.new_states(cell, {"gate": [0.3, -0.2, 0.7, 0.1], "state": [0, 0, 0, 0]})
        self.assertEqual((n, m), (1, 0.3))
        self.assertAlmostEqual(c, math.tanh(0.7))
        self.assertAlmostEqual(h, c / (1 + math.exp(-0.1)))
        for candidate, wanted in (("positive", 0.75), ("linear", 0.25)):
            cell = self.cell("model.cell=min_gru", f"model.candidate={candidate}")
            (h,) = self.new_states(cell, {"input_side": [0, 0.25], "state": [0]})
            self.assertAlmostEqual(h, wanted / 2)

    def test_an_unknown_operation_is_named(self):
        from export.common import ExportError
        from export.scan import add_operation
        with self.assertRaisesRegex(ExportError, "the program's operation cosine is unknown here"):
            add_operation(PlainNumbers(), "cosine", [1])


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

    def test_a_whole_model_in_one_file(self):
        for overrides in ([], overrides_of(SCANNED["mgu"])):
            run = self.train(SYNTHETIC, *overrides)
            subprocess.run([PROGRAM, "convert", run, "--whole", "-o", "whole.safetensors"], cwd=self.root, check=True,
                           capture_output=True)
            shutil.rmtree(run)
            result = self.run_script("whole.safetensors", "-o", "m.onnx", "--force", "--check")
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertIn("of whole.safetensors\nlargest difference", result.stdout)

    def test_cells(self):
        cells = [["lstm"], ["lstm", "model.activation=relu"], ["gru"], ["gru", "model.reset_gate=before"],
                 ["gru", "model.activation=relu"], ["rnn_tanh"], ["rnn_relu"]]
        for cell, *more in cells:
            self.convert(SYNTHETIC, f"model.cell={cell}", *more, "model.num_layers=2", "model.bidirectional=true",
                         "model.dense=[5, 4]", "model.dropout=0.5")

    def operations(self):
        import onnx
        return [node.op_type for node in onnx.load(str(self.root / "m.onnx")).graph.node]

    def test_cells_without_an_operator(self):
        for name, cell in SCANNED.items():
            with self.subTest(name):
                self.convert(SYNTHETIC, *overrides_of(cell), "training.epochs=3")
                self.assertEqual(self.operations().count("Scan"), 1)

    def test_convolutions_and_attention_with_lengths(self):
        arrays = self.make_arrays()
        for more in (["model.front=[5, 4]", "model.front_kernel_size=3", "model.front_stride=2"],
                     ["model.front=[4]", "model.front_kernel_size=1", "model.cell=min_gru"],
                     ["model.pooling=attention", "model.bidirectional=true"],
                     ["model.front=[4]", "model.front_stride=3", "model.pooling=mean"],
                     ["model.front=[4]", "model.pooling=attention", "model.cell=slstm"]):
            run = self.convert(ARRAYS, "data.normalize=standard", *more)
            outputs = self.outputs(inputs=arrays["x"], lengths=arrays["n"])[0]
            self.assertLess(abs(outputs - self.predictions(run, "--part", "all")).max(), 1e-5, more)

    def test_decoders(self):
        draw = random.Random(2)
        days = [datetime.date(2024, 1, 1) + datetime.timedelta(day) for day in range(60)]
        rows = [f"{day},{draw.gauss(20, 5):.3f},{draw.gauss(1, 1):.3f},{day.day % 3},{draw.random():.3f}" for day in days]
        (self.root / "sales.csv").write_text("\n".join(["day,sales,visits,holiday,price", *rows]) + "\n")
        forecast = TABLE.replace("table.csv, target: [y], window: 6",
                                 "sales.csv, features: [sales], target: [sales, visits], window: 6, horizon: [1, 2, 4]")
        known, calendar = "data.known=[holiday, price]", "data.calendar=[weekday, month]"
        for more in ([], [known], [known, "model.num_layers=2", "model.bidirectional=true", "model.cell=gru"],
                     [known, "model.cell=slstm", "model.pooling=attention", "model.front=[3]", "model.dense=[4]"],
                     [known, "training.loss=quantile"], [calendar], [calendar, known, "data.window=2"],
                     [calendar, known, "data.calendar_ahead=false"]):
            self.convert(forecast, "model.decoder=true", *more)

    def test_cells_without_an_operator_in_stacks_with_lengths(self):
        arrays = self.make_arrays()
        more = ["model.bidirectional=true", "data.normalize=standard"]
        for number, (name, cell) in enumerate(SCANNED.items()):
            with self.subTest(name):
                pooling = ("last", "mean")[number % 2]
                num_layers = 1 if name == "no gate that reads the input" else 2  # it would read nothing of the first
                run = self.convert(ARRAYS, *overrides_of(cell), *more, f"model.pooling={pooling}",
                                   f"model.num_layers={num_layers}")
                self.assertEqual(self.operations().count("Scan"), 2 * num_layers)
                (outputs,) = self.outputs(inputs=arrays["x"], lengths=arrays["n"])[:1]
                self.assertLess(abs(outputs - self.predictions(run, "--part", "all")).max(), 1e-5)

    def test_steps_with_targets_and_texts_of_a_cell_without_an_operator(self):
        self.make_arrays()
        mgu = overrides_of(SCANNED["mgu"])
        self.convert(ARRAYS, *mgu, "data.train_targets=steps.npy", "data.target_per=step", "model.bidirectional=true")
        (self.root / "text.txt").write_text("to be, or not to be: that is the question. " * 20)
        self.convert(TEXT, *mgu, "model.tied=true")

    def test_equations_of_a_listed_cell_are_that_cell(self):
        self.convert(SYNTHETIC, 'model.cell={gates: [n], states: [h], equations: "h = tanh(n)"}')
        self.assertIn("RNN", self.operations())
        self.assertNotIn("Scan", self.operations())

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
        run = self.convert(TABLE, "training.loss=gaussian")
        names = [output.name for output in __import__("onnx").load(str(self.root / "m.onnx")).graph.output]
        self.assertEqual(names, ["outputs"], f"{run}: outputs that describe a distribution are not values")
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

    def in_pieces(self, inputs, *lengths, **more):
        """Gives the graph of m.onnx pieces of these lengths, with the states between them. Returns their outputs."""
        import onnxruntime
        from export.onnx_check import first_states
        import numpy
        session = onnxruntime.InferenceSession(str(self.root / "m.onnx"))
        states, outputs, begin = first_states(numpy, session, len(inputs)), [], 0
        for length in lengths:
            feed = {"inputs": inputs[:, begin:begin + length], **states, **{name: give(length) for name, give in more.items()}}
            output, *new_states = session.run(["outputs", *(f"new_{name}" for name in states)], feed)
            states, begin = dict(zip(states, new_states)), begin + length
            outputs.append(output)
        return outputs

    def convert_with_states(self, yaml, *overrides):
        """Converts a run with the states as inputs and outputs; the script compares pieces of 1, 3 and the other steps."""
        run = self.train(yaml, *overrides)
        result = self.run_script(run, "-o", "m.onnx", "--force", "--states", "--check")
        self.assertEqual(result.returncode, 0, f"{overrides}: {result.stdout}{result.stderr}")
        self.assertLess(float(re.search(r"largest difference (\S+)", result.stdout)[1]), 1e-5)
        return run

    def names(self, values):
        import onnx
        return [value.name for value in getattr(onnx.load(str(self.root / "m.onnx")).graph, values)]

    def test_states_of_every_cell(self):
        (self.root / "text.txt").write_text("to be, or not to be: that is the question. " * 20)
        cells = {"lstm": ["model.cell=lstm"], "gru": ["model.cell=gru"], "gru, before": ["model.cell=gru", "model.reset_gate=before"],
                 "rnn_tanh": ["model.cell=rnn_tanh"], "rnn_relu": ["model.cell=rnn_relu"], **SCANNED}
        for name, cell in cells.items():
            with self.subTest(name):
                cell = overrides_of(cell)
                reads_input = name != "no gate that reads the input"
                self.convert_with_states(SYNTHETIC, *cell, f"model.num_layers={2 if reads_input else 1}",
                                         "data.sequence_length=8", "model.dense=[5]")
                if reads_input:
                    self.convert_with_states(TEXT, *cell)
        self.convert_with_states(SYNTHETIC)
        self.assertEqual(self.names("input"), ["inputs", "hidden", "cell"])
        self.assertEqual(self.names("output"), ["outputs", "new_hidden", "new_cell"])

    def test_states_with_scales_lengths_and_targets_of_steps(self):
        import numpy
        arrays = self.make_arrays()
        run = self.convert_with_states(ARRAYS, "data.normalize=standard", "model.num_layers=2")
        whole = self.predictions(run, "--part", "all", "data.train_lengths=''")
        def lengths(length):
            return numpy.full(len(arrays["x"]), length, "i8")
        for pieces in ((1, 3, 1), (5,), (1, 1, 1, 1, 1)):
            last = self.in_pieces(arrays["x"], *pieces, lengths=lengths)[-1]
            self.assertLess(abs(last - whole).max(), 1e-5, pieces)
        run = self.convert_with_states(ARRAYS, "data.train_targets=steps.npy", "data.target_per=step", "data.train_lengths=''")
        outputs = numpy.concatenate(self.in_pieces(arrays["x"], 1, 3, 1), 1)
        whole = self.predictions(run, "--part", "all")
        self.assertLess(abs(outputs.reshape(whole.shape) - whole).max(), 1e-5)

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
    tests = {"refusals": RefusalsTest, "programs": ProgramTest, "models": ModelsTest}[group]
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(tests)
    return 0 if unittest.TextTestRunner().run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
