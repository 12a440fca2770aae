# SPDX-License-Identifier: Apache-2.0
"""What the tests of all formats share: a fresh folder, the script and its messages, and training on its lines."""

import csv
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "scripts" / "convert-data"
NPY = 'data:\n  source: npy\n  path: "out"\n  train_inputs: "x.npy"\n  train_targets: "y.npy"\n'


class ConvertTest(unittest.TestCase):
    """Makes files in a fresh folder, which is the current folder of the script."""

    program = None  # rnnlab, if it is named

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def start(self, *arguments, **options):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path[1:]))}
        command = [sys.executable, str(SCRIPT), *map(str, arguments)]
        return subprocess.Popen(command, cwd=self.root, env=environment, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **options)

    def run_script(self, *arguments):
        process = self.start(*arguments)
        output, errors = process.communicate(timeout=120)
        return process.returncode, output, errors

    def convert(self, *arguments):
        """Returns the lines of YAML."""
        code, output, errors = self.run_script(*arguments)
        self.assertEqual(code, 0, errors)
        return output

    def refusal(self, code, *arguments):
        """Returns the message, without the name of the script; no file is written or left."""
        before = self.files()
        got, output, errors = self.run_script(*arguments)
        self.assertEqual(got, code, errors)
        self.assertEqual(output, "")
        self.assertEqual(self.files(), before)
        last = errors.splitlines()[-1]
        self.assertTrue(last.startswith("convert-data: error: "), errors)
        return last.removeprefix("convert-data: error: ")

    def files(self):
        return {str(path.relative_to(self.root)) for path in self.root.rglob("*")}

    def text(self, name):
        return (self.root / name).read_text()

    def write(self, name, content):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def load(self, name):
        import numpy
        return numpy.load(self.root / name)

    def train(self, yaml):
        """Trains one epoch on the printed lines, and predicts every sample; returns the lines of the predictions."""
        if self.program is None:
            return None
        self.write("experiment.yaml", yaml)
        self.run_program("data", "inspect", "experiment.yaml")
        self.run_program("check", "experiment.yaml")
        small = ["training.epochs=1", "model.hidden_size=4", "layer=fused", "training.num_threads=1"]
        trained = self.run_program("train", "experiment.yaml", "device=cpu", "--json", *small)
        run = next((self.root / "runs").glob("*/*/"))
        self.assertTrue(json.loads(trained))
        return list(csv.DictReader(self.run_program("predict", run, "--part", "all").splitlines()))

    def run_program(self, *arguments):
        command = [self.program, *map(str, arguments)]
        result = subprocess.run(command, cwd=self.root, capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout
