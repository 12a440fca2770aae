# SPDX-License-Identifier: Apache-2.0
"""Training, loading and comparing runs from Python."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

try:
    import torch  # the program needs its libraries
except ImportError as error:
    print(f"skipped, because torch cannot be imported: {error}")
    sys.exit(77)

import rnnlab

EXPERIMENT = """
name: small
device: cpu
layer: hoisted
data: {source: synthetic, num_train: 32, num_valid: 16, sequence_length: 4, num_features: 3, num_classes: 2}
model: {kind: sequence_classifier, cell: lstm, hidden_size: 4}
training: {epochs: 2, batch_size: 8}
"""


class Runs(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.experiment = self.folder / "small.yaml"
        self.experiment.write_text(EXPERIMENT)

    def train(self, *arguments, **keys):
        return rnnlab.train(self.experiment, *arguments, out=self.folder / "runs", quiet=True, **keys)

    def test_one_run(self):
        run = self.train({"training.epochs": 3}, seed=7).run
        self.assertTrue(run.is_complete)
        self.assertEqual([epoch["epoch"] for epoch in run.epochs], [1, 2, 3])
        self.assertEqual(run.epochs[-1]["train_loss"], run.summary["final_metrics"]["train_loss"])
        self.assertIn("seed: 7", run.config_text)
        self.assertIn("host", run.environment)

    def test_a_sweep_and_its_comparison(self):
        result = self.train({"sweep": {"layer": ["naive", "hoisted"]}})
        self.assertEqual([group["label"] for group in result.groups], ["cpu naive", "cpu hoisted"])
        self.assertEqual(len(result.runs), 2)
        with self.assertRaisesRegex(ValueError, "there are 2 runs"):
            result.run
        comparison = rnnlab.compare(*result.runs, baseline="cpu hoisted")
        self.assertEqual(sorted(group["label"] for group in comparison.groups), ["cpu hoisted", "cpu naive"])
        self.assertIn("baseline", str(comparison))

    def test_an_interrupted_run_has_its_epochs(self):
        run = self.train().run
        (run.folder / "summary.json").unlink()
        with open(run.folder / "epochs.jsonl", "a") as file:
            file.write('{"epoch": 3, "train_lo')
        again = rnnlab.load_run(run.folder)
        self.assertFalse(again.is_complete)
        self.assertEqual(len(again.epochs), 2)

    def test_a_mistake_is_the_programs_message_and_exit_code(self):
        with self.assertRaisesRegex(rnnlab.ProgramError, "nosuch.yaml: no such file") as raised:
            rnnlab.train(self.folder / "nosuch.yaml", quiet=True)
        self.assertEqual(raised.exception.exit_code, 2)
        with self.assertRaisesRegex(rnnlab.ProgramError, "unknown key 'layr'"):
            self.train(layr="naive")

    def test_refuses_what_it_cannot_read(self):
        with self.assertRaisesRegex(ValueError, "is not a run folder"):
            rnnlab.load_run(self.folder)
        with self.assertRaisesRegex(ValueError, "none does not exist"):
            rnnlab.load_run(self.folder / "none")
        run = self.train().run
        environment = run.folder / "environment.json"
        environment.write_text(json.dumps({**run.environment, "schema_version": 99}))
        with self.assertRaisesRegex(ValueError, "has version 99, written by a newer rnnlab"):
            rnnlab.load_run(run.folder)

    def test_a_model_in_one_file(self):
        inputs = torch.rand(5, 4, 3)
        for cell, layers in ((None, 1), ("gru", 2), ({"name": "leaky", "gates": ["n"], "states": ["h"], "vectors": ["p"],
                                                     "equations": "h = tanh(n) + sigmoid(p) * h"}, 1)):
            overrides = {"model.cell": cell or "lstm", "model.num_layers": layers, "model.bidirectional": layers == 2,
                         "model.hidden_size": 4, "data.normalize": "none", "training.epochs": 2,
                         "layer": "hoisted"}
            run = rnnlab.fit(torch.rand(40, 4, 3), torch.arange(40) % 2, overrides=overrides, out=self.folder / "runs",
                             quiet=True, device="cpu")
            file = self.folder / f"{layers}-{type(cell).__name__}.safetensors"
            model = run.save_model(file)
            expected = run.predict(inputs)
            shutil.rmtree(run.folder)
            self.assertEqual(model.predict(inputs), expected)
            self.assertEqual(rnnlab.load_model(file).facts["origin"]["epoch"], 2)
            weights = model.weights()
            layer = model.recurrent(batch_first=True, implementation="naive")
            self.assertEqual(layer.hidden_size, 4)
            outputs = layer(inputs)[0]
            if layers == 1:  # of two directions the last step is not where the backward one ends
                logits = outputs[:, -1] @ weights["output.weight"].T + weights["output.bias"]
                probabilities = logits.softmax(1)[:, 1].tolist()
                for got, wanted in zip(probabilities, expected["probability_1"]):
                    self.assertAlmostEqual(got, wanted, places=5)

    def test_a_model_that_cannot_be_read(self):
        model = self.train().run.save_model(self.folder / "model.safetensors")
        with self.assertRaisesRegex(rnnlab.ProgramError, "must end in .safetensors"):
            self.train().run.save_model(self.folder / "model.weights")
        weights = self.folder / "weights.safetensors"
        rnnlab.runs._run("convert", str(model.file), "-o", str(weights))
        with self.assertRaisesRegex(ValueError, "holds weights without the settings"):
            rnnlab.load_model(weights)
        content = bytearray(model.file.read_bytes())
        content[-1] ^= 1
        model.file.write_bytes(content)
        with self.assertRaisesRegex(rnnlab.ProgramError, "is damaged") as raised:
            model.predict(torch.rand(1, 4, 3))
        self.assertEqual(raised.exception.exit_code, 6)
        model.file.write_bytes(b"not tensors")
        with self.assertRaisesRegex(ValueError, "is not a safetensors file"):
            rnnlab.load_model(model.file)

    def test_experiments_are_not_copied_over_others(self):
        with self.assertRaisesRegex(FileExistsError, "exists already; give copy_experiments the name of a new folder"):
            rnnlab.copy_experiments(self.folder)

    def test_a_frame_of_epochs(self):
        run = self.train().run
        try:
            import pandas  # noqa: F401
        except ImportError:
            with self.assertRaisesRegex(ImportError, "pandas is missing"):
                run.frame()
            return
        self.assertEqual(list(run.frame().index), [1, 2])


class Command(unittest.TestCase):
    def run_module(self, *arguments):
        return subprocess.run([sys.executable, "-m", "rnnlab", *arguments], capture_output=True, text=True)

    def test_is_a_module_too(self):
        shown = self.run_module("--version")
        self.assertRegex(shown.stdout, r"^rnnlab [0-9]+\.[0-9]+\.[0-9]+", shown.stderr)
        self.assertEqual(self.run_module("check", "nosuch.yaml").returncode, 2)

    def test_without_the_mode_of_a_program_is_an_error_with_the_next_step(self):
        package = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, package)
        (package / "bin").mkdir()
        (package / "bin" / "rnnlab").write_bytes(b"as unpacked by python -m zipfile")
        wanted = "bin/rnnlab is missing or not executable; install rnnlab again by pip.*: pip install --force-reinstall"
        with mock.patch("rnnlab._command._PACKAGE", package), self.assertRaisesRegex(ImportError, wanted):
            rnnlab.train("experiment.yaml")


class OtherTorch(unittest.TestCase):
    def test_is_refused_with_the_version_that_is_needed(self):
        from rnnlab import _command, operators

        needed = _command.required_torch()
        wanted = f"torch 2.10.1 is installed, and rnnlab was built for torch {needed}: pip install 'torch=={needed}..'"
        with mock.patch("torch.__version__", "2.10.1"), self.assertRaisesRegex(ImportError, wanted):
            operators._load()
        _command._folder_of_torch.cache_clear()
        with mock.patch("importlib.metadata.version", return_value="2.10.1"), self.assertRaisesRegex(ImportError, wanted):
            _command.environment()

    def test_missing_torch_is_said(self):
        from rnnlab import _command

        _command._folder_of_torch.cache_clear()
        with mock.patch("importlib.util.find_spec", return_value=None), self.assertRaisesRegex(ImportError, "is missing"):
            _command.environment()


if __name__ == "__main__":
    unittest.main()
