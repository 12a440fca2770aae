# SPDX-License-Identifier: Apache-2.0
"""scripts/convert-data on small files of each format; the printed lines of YAML train if the program is named.

usage: convert_data_test.py [FORMAT [PROGRAM]]      FORMAT is hdf5, images, parquet, wav, or all

Exit code 77, with the reason, if FORMAT needs a Python package that is missing. To run all of them, use a Python with
numpy, pyarrow, h5py and Pillow.
"""

import csv
import importlib.util
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
import wave
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "convert-data"
PACKAGES = {"hdf5": ("numpy", "h5py"), "images": ("numpy", "PIL"), "parquet": ("pyarrow",), "wav": ("numpy",)}
NPY = 'data:\n  source: npy\n  path: "out"\n  train_inputs: "x.npy"\n  train_targets: "y.npy"\n'
PROGRAM = None


def is_there(package):
    return importlib.util.find_spec(package) is not None


if not is_there("numpy"):  # scripts/test installs NumPy there
    sys.path.append(str(ROOT / ".venv" / "test-packages"))


def missing_packages(name):
    return [package for package in PACKAGES[name] if not is_there(package)]


class ConvertTest(unittest.TestCase):
    """Makes files in a fresh folder, which is the current folder of the script."""

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
        if PROGRAM is None:
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
        command = [PROGRAM, *map(str, arguments)]
        result = subprocess.run(command, cwd=self.root, capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout


class Hdf5Test(ConvertTest):
    def make(self, name="a.h5", **datasets):
        import h5py
        with h5py.File(self.root / name, "w") as file:
            for key, values in datasets.items():
                file[key.replace("__", "/")] = values

    def arrays(self, num_samples=20):
        import numpy
        inputs = numpy.arange(num_samples * 6, dtype="f8").reshape(num_samples, 3, 2)
        return {"x": inputs, "y": numpy.arange(num_samples) % 2, "n": 1 + numpy.arange(num_samples, dtype="i4") % 3}

    def convert_arrays(self, *more, **arrays):
        """Returns the lines of YAML."""
        self.make(**arrays)
        lengths = ["--lengths", "n"] if "n" in arrays else []
        return self.convert("hdf5", "a.h5", "--inputs", "/x", "--targets", "y", "--out", "out", *lengths, *more)

    def test_lists_the_datasets(self):
        self.make(x=[[1.0, 2.0]], group__labels=[1, 2, 3])
        self.assertEqual(self.convert("hdf5", "a.h5"), "a.h5: 2 datasets\n  /group/labels  (3,)    int64\n"
                                                       "  /x             (1, 2)  float64\n")

    def test_datasets_become_npy_files_that_train(self):
        arrays = self.arrays()
        yaml = self.convert_arrays(**arrays)
        self.assertEqual(yaml, NPY + '  train_lengths: "lengths.npy"\n  task: classification\n'
                                     "model:\n  kind: sequence_classifier\n")
        self.assertEqual(self.load("out/x.npy").dtype, "float32")
        for name, key in (("x", "x"), ("y", "y"), ("lengths", "n")):
            self.assertEqual(self.load(f"out/{name}.npy").tolist(), arrays[key].tolist())
        predictions = self.train(yaml)
        self.assertIn(predictions and len(predictions), (None, 20))

    def test_floats_are_for_a_regressor(self):
        self.assertIn("task: regression\nmodel:", self.convert_arrays(x=[[1.0, 2.0]] * 10, y=[0.5] * 10))
        yaml = self.convert_arrays("--force", x=[[1.0, 2.0]] * 10, y=[[0.5, 1.5]] * 10)
        self.assertIn("task: regression\n  # target_per: step   # if each step has one of these numbers\nmodel:", yaml)

    def test_classes_of_steps_are_tags(self):
        inputs = [[[1.0], [2.0], [3.0]]] * 10
        yaml = self.convert_arrays(x=inputs, y=[[0, 1, -1]] * 10, n=[2] * 10)  # -1 is beyond the lengths
        self.assertIn("  task: classification\n  target_per: step   # a class for each step\n"
                      "model:\n  kind: sequence_classifier\n", yaml)
        self.train(yaml)
        yaml = self.convert_arrays("--force", x=inputs, y=[[0, 1, -1]] * 10)
        self.assertIn("  task: regression\n  target_per: step   # numbers for each step\nmodel:", yaml)

    def test_numbers_of_steps_are_for_a_regressor(self):
        import numpy
        arrays = self.arrays()
        targets = numpy.where(numpy.arange(3)[:, None] < arrays["n"][:, None, None], arrays["x"] / 8, numpy.nan)
        yaml = self.convert_arrays(**{**arrays, "y": targets})
        self.assertEqual(yaml, NPY + '  train_lengths: "lengths.npy"\n  task: regression\n'
                                     "  target_per: step   # numbers for each step\n"
                                     "model:\n  kind: sequence_regressor\n")
        self.assertEqual(self.load("out/y.npy").tolist(), numpy.nan_to_num(targets).tolist())
        self.train(yaml)
        self.assertEqual(self.hdf5_refusal(3, "--force", y=targets[:, :2]),
                         "a.h5: /y has the shape (20, 2, 2), expected (samples), (samples, targets) or, with the steps "
                         "of /x, (samples, 3, targets): name another dataset with --targets")

    def test_only_numbers_within_the_lengths_must_be_finite(self):
        arrays = self.arrays()
        arrays["x"][0, 1:] = [[float("nan"), 7], [float("inf"), 1e39]]  # sample 0 has one step
        yaml = self.convert_arrays(**arrays)
        self.assertEqual(self.load("out/x.npy")[0].tolist(), [[0, 1], [0, 7], [0, 0]])
        self.train(yaml)
        arrays["x"][19, 1, 0] = float("nan")  # sample 19 has two steps
        self.assertEqual(self.hdf5_refusal(5, "--lengths", "n", "--force", x=arrays["x"]),
                         "a.h5: /x[19, 1, 0] is nan: rnnlab trains on finite float32 numbers only: correct the file")

    def test_chunked_blocks_have_all_rows(self):
        import h5py
        import numpy
        values = numpy.random.default_rng(1).normal(size=(1000, 300, 40)).astype("f4")  # 46 MiB: several blocks
        with h5py.File(self.root / "a.h5", "w") as file:
            file.create_dataset("x", data=values, chunks=(7, 300, 40))
            file["y"] = numpy.arange(1000) % 3
        self.convert("hdf5", "a.h5", "--inputs", "x", "--targets", "y", "--out", "out")
        self.assertTrue(numpy.array_equal(self.load("out/x.npy"), values))

    def hdf5_refusal(self, code, *more, **changed):
        self.make(**{**self.arrays(), **changed})
        return self.refusal(code, "hdf5", "a.h5", "--inputs", "x", "--targets", "y", "--out", "out", *more)

    def test_refuses_what_rnnlab_would_refuse(self):
        self.assertEqual(self.hdf5_refusal(3, y=[0, 1]),
                         "a.h5: /x holds 20 samples, but /y holds 2: name datasets that belong together")
        self.assertEqual(self.hdf5_refusal(3, x=[1.0] * 20),
                         "a.h5: /x has the shape (20,), expected (samples, steps) or (samples, steps, features): name "
                         "another dataset with --inputs")
        self.assertEqual(self.hdf5_refusal(3, y=["a"] * 20),
                         "a.h5: /y holds object, expected bool, integers or floats of at most 8 bytes: name another "
                         "dataset")
        self.assertEqual(self.hdf5_refusal(3, "--lengths", "n", n=[1] * 19 + [4]),
                         "a.h5: /n[19] is 4, expected 1 to 3, the steps of the inputs: correct the file")

    def test_names_the_first_number_that_is_not_finite(self):
        inputs = self.arrays()["x"]
        inputs[7, 2, 1] = float("nan")
        self.assertEqual(self.hdf5_refusal(5, x=inputs),
                         "a.h5: /x[7, 2, 1] is nan: rnnlab trains on finite float32 numbers only: correct the file")
        inputs[7, 2, 1] = 1e39
        self.assertTrue(self.hdf5_refusal(5, x=inputs).startswith("a.h5: /x[7, 2, 1] is 1e+39: "))

    def test_names_the_datasets_if_one_is_missing(self):
        self.make(**self.arrays())
        self.assertEqual(self.refusal(2, "hdf5", "a.h5", "--inputs", "X", "--targets", "y", "--out", "out"),
                         'a.h5: --inputs "X" is missing, expected one of "/n", "/x", "/y"')
        message = self.refusal(2, "hdf5", "a.h5", "--inputs", "x")
        self.assertTrue(message.startswith("hdf5 needs --inputs, --targets and --out"))

    def test_refuses_files_that_are_not_hdf5(self):
        self.write("a.h5", "text")
        self.assertTrue(self.refusal(3, "hdf5", "a.h5").startswith("a.h5: cannot be read as HDF5 ("))
        self.assertEqual(self.refusal(3, "hdf5", "b.h5"), "b.h5: the file does not exist: check the path")


class ParquetTest(ConvertTest):
    def make(self, name="a.parquet", rows=3, **columns):
        import pyarrow
        import pyarrow.parquet
        pyarrow.parquet.write_table(pyarrow.table(columns), self.root / name, row_group_size=rows)

    def test_columns_become_cells(self):
        import datetime
        import decimal
        import pyarrow
        moment = datetime.datetime(2025, 1, 2, 3, 4, 5, 250000, datetime.timezone.utc)
        self.make(number=[1.5, None, float("nan"), 0.1], flag=[True, False, None, True],
                  kind=pyarrow.array(["a", 'b, "c"', None, "d"]).dictionary_encode(),
                  day=[datetime.date(2024, 2, 29)] * 4,
                  moment=pyarrow.array([moment] * 4, pyarrow.timestamp("us", "Asia/Tokyo")),
                  price=[decimal.Decimal("1.50")] * 4, large=pyarrow.array([2**64 - 1] * 4, pyarrow.uint64()))
        self.convert("parquet", "a.parquet", "--out", "a.csv")
        rest = "2024-02-29,2025-01-02T03:04:05.250000Z,1.50,18446744073709551615"
        self.assertEqual(self.text("a.csv"), "number,flag,kind,day,moment,price,large\n"
                                             f'1.5,1,a,{rest}\n,0,"b, ""c""",{rest}\n,,,{rest}\n0.1,1,d,{rest}\n')

    def test_a_missing_value_in_one_column_is_not_a_blank_line(self):
        self.make(a=[1, None, 3])
        self.convert("parquet", "a.parquet", "--out", "a.csv")
        self.assertEqual(self.text("a.csv"), 'a\n1\n""\n3\n')

    def test_a_carriage_return_is_quoted(self):
        self.make(**{"a\rb": ["x\ry", "\r", "z"] * 10, "v\r1": [1, 2, 3] * 10, "c": [1.5, 2.5, 3.5] * 10})
        yaml = self.convert("parquet", "a.parquet", "--out", "a.csv", "--target", "c")
        content = (self.root / "a.csv").read_bytes()
        self.assertEqual(content, b'"a\rb","v\r1",c\n' + b'"x\ry",1,1.5\n"\r",2,2.5\nz,3,3.5\n' * 10)
        self.assertIn('  id: ["a\\rb"]', yaml)
        self.train(yaml)

    def test_the_printed_lines_train(self):
        self.make(day=[f"day {i}" for i in range(40)], visits=list(range(40)), price=[1.5, None] * 20,
                  sales=[0.5 * i for i in range(40)])
        yaml = self.convert("parquet", "a.parquet", "--out", "a.csv", "--target", "sales")
        self.assertEqual(yaml, 'data:\n  source: csv\n  path: "a.csv"\n  features: ["visits", "price"]\n'
                               '  target: ["sales"]\n  task: regression\n'
                               '  id: ["day"]   # predictions have copies of these columns\n'
                               "  # window: 24   # for a series: the rows of one sample; then missing: mean or "
                               "previous\n  missing: drop   # or previous, mean, zero\n"
                               "model:\n  kind: sequence_regressor\n")
        predictions = self.train(yaml)
        self.assertIn(predictions and predictions[2]["day"], (None, "day 2"))

    def test_a_column_of_texts_is_a_class(self):
        self.make(v=[float(i) for i in range(40)], kind=["a", "b"] * 20)
        yaml = self.convert("parquet", "a.parquet", "--out", "a.csv", "--target", "kind")
        self.assertIn("  task: classification\nmodel:\n  kind: sequence_classifier\n", yaml)
        self.train(yaml)

    def test_a_series_needs_a_window(self):
        self.make(v=[float(i % 7) for i in range(300)])
        yaml = self.convert("parquet", "a.parquet", "--out", "a.csv", "--target", "v")
        self.assertIn("  task: regression\n  window: 24   # the rows that make one sample\nmodel:", yaml)
        self.train(yaml)

    def test_several_files_are_one_table(self):
        self.make("a.parquet", a=[1, 2], b=["x", "y"])
        self.make("b.parquet", a=[3], b=["z"])
        self.make("c.parquet", a=[3.5])
        self.convert("parquet", "a.parquet", "b.parquet", "--out", "a.csv", "--columns", "b,a")
        self.assertEqual(self.text("a.csv"), "b,a\nx,1\ny,2\nz,3\n")
        self.assertEqual(self.refusal(3, "parquet", "a.parquet", "c.parquet", "--out", "c.csv"),
                         "c.parquet: the columns differ from those of a.parquet: convert the files one by one")

    def test_refuses_nested_columns_by_name(self):
        self.make(a=[1.5], position=[[1, 2]], colour=[{"red": 1}])
        self.assertEqual(self.refusal(3, "parquet", "a.parquet", "--out", "a.csv"),
                         'a.parquet: these columns are nested or binary, expected numbers, texts and dates: "position" '
                         '(list<element: int64>), "colour" (struct<red: int64>); choose others with --columns "a"')
        self.convert("parquet", "a.parquet", "--out", "a.csv", "--columns", "a")

    def test_refuses_what_has_no_table(self):
        self.make("inf.parquet", a=[1.0, 2.0, 3.0, float("inf")])
        self.assertEqual(self.refusal(5, "parquet", "inf.parquet", "--out", "a.csv"),
                         'inf.parquet: column "a", row 4 is inf: rnnlab trains on finite float32 numbers only: correct '
                         "the file")
        self.make("empty.parquet", a=[])
        self.assertEqual(self.refusal(3, "parquet", "empty.parquet", "--out", "a.csv"),
                         "empty.parquet: the table has no rows, expected at least one: check the file")
        self.write("text.parquet", "a,b\n")
        self.assertTrue(self.refusal(3, "parquet", "text.parquet", "--out", "a.csv")
                        .startswith("text.parquet: cannot be read as Parquet ("))

    def test_refuses_unknown_names(self):
        self.make(sales=[1.5], price=[2.5])
        self.assertEqual(self.refusal(2, "parquet", "a.parquet", "--out", "a.csv", "--columns", "sale"),
                         'a.parquet: no column is called "sale". Did you mean "sales"? The columns are "sales", '
                         '"price"')
        self.assertEqual(self.refusal(2, "parquet", "a.parquet", "--out", "a.csv", "--target", "x"),
                         '--target "x": no such column in the result; the columns are "sales", "price"')

    def test_replaces_a_file_only_with_force(self):
        self.make(a=[1])
        self.write("a.csv", "old")
        self.assertEqual(self.refusal(2, "parquet", "a.parquet", "--out", "a.csv"),
                         "a.csv exists: choose another --out, or replace it with --force")
        self.convert("parquet", "a.parquet", "--out", "a.csv", "--force")
        self.assertEqual(self.text("a.csv"), "a\n1\n")


class LabelledTests:
    """The tests of class folders; a class of tests of a format has its `name`, an `ending` of its files, and `make`."""

    def test_class_folders(self):
        name, ending = self.name, self.ending
        for file in ("b/2", "b/10", "a/1", ".hidden/1", "a/.hidden"):
            self.make(f"in/{file}{ending}")
        self.write("in/a/notes.txt", "")
        code, _, errors = self.run_script(name, "in", "--out", "out")
        self.assertEqual(code, 0, errors)
        self.assertIn(", such as in/a/notes.txt\n", errors)
        self.assertEqual(self.text("out/classes.txt"), "a\nb\n")
        self.assertEqual(self.text("out/files.csv"),
                         f"index,file,label\n0,a/1{ending},a\n1,b/10{ending},b\n2,b/2{ending},b\n")
        self.assertEqual(self.load("out/y.npy").tolist(), [0, 1, 1])
        self.assertEqual(self.refusal(2, name, "in", "--out", "in/out"),
                         '--out "in/out" is inside in, where it would become a class: choose another --out')
        self.make(f"in/a/more/1{ending}")
        self.assertEqual(self.refusal(3, name, "in", "--out", "other"),
                         "in/a/more: is a folder inside a class folder, expected files: move its files to in/a")

    def test_label_file(self):
        name, ending = self.name, self.ending.upper()
        for file in ("1", "2", "3"):
            self.make(f"in/{file}{ending}")
        self.write("labels.csv", f"label,file\n10,3{ending}\n9,1{ending}\n")
        self.convert(name, "in", "--labels", "labels.csv", "--out", "out")
        self.assertEqual(self.text("out/classes.txt"), "9\n10\n")  # numbers are sorted as numbers
        self.assertEqual(self.text("out/files.csv"), f"index,file,label\n0,1{ending},9\n1,3{ending},10\n")
        self.write("labels.csv", f"file,label\n1{ending},a\n4{ending},b\n")
        self.assertEqual(self.refusal(3, name, "in", "--labels", "labels.csv", "--out", "o"),
                         f"labels.csv:3: the file in/4{ending} does not exist: correct the row")
        self.write("labels.csv", f"name,label\n1{ending},a\n")
        self.assertEqual(self.refusal(3, name, "in", "--labels", "labels.csv", "--out", "o"),
                         'labels.csv: no column is called "file", expected the header file,label; the columns are '
                         '"name", "label"')

    def test_classes_of_an_earlier_conversion(self):
        name, ending = self.name, self.ending
        self.make(f"in/b/1{ending}")
        self.write("classes.txt", "a\nb\n")
        self.convert(name, "in", "--classes", "classes.txt", "--out", "out")
        self.assertEqual(self.load("out/y.npy").tolist(), [1])
        self.make(f"in/c/1{ending}")
        self.assertEqual(self.refusal(3, name, "in", "--classes", "classes.txt", "--out", "o"),
                         'in: has the class "c", expected one of "a", "b" as in classes.txt: correct the name of the '
                         "class")


class WavTest(LabelledTests, ConvertTest):
    name, ending = "wav", ".wav"

    def make(self, name, values=(0, 1, 2, 3), width=2, channels=1, rate=8000):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with wave.open(str(path), "wb") as file:
            file.setnchannels(channels)
            file.setsampwidth(width)
            file.setframerate(rate)
            file.writeframes(b"".join(value.to_bytes(width, "little", signed=width > 1) for value in values))

    def frames(self, *arguments):
        self.convert("wav", "in", "--out", "out", "--force", *arguments)
        return self.load("out/x.npy")

    def test_every_width_of_samples_is_from_minus_1_to_1(self):
        self.make("in/b/1.wav")
        for width, values in ((1, (0, 64, 128, 192)), (2, (-2**15, -2**14, 0, 2**14)), (3, (-2**23, -2**22, 0, 2**22)),
                              (4, (-2**31, -2**30, 0, 2**30))):
            self.make("in/a/1.wav", values, width)
            self.assertEqual(self.frames("--frame", "2")[0].tolist(), [[-1, -0.5], [0, 0.5]], width)

    def test_stereo_becomes_the_mean_of_both_channels(self):
        self.make("in/a/1.wav", (2**14, 0, -2**14, -2**14), channels=2)
        self.make("in/b/1.wav", (0, 0))
        self.assertEqual(self.frames("--frame", "2")[0].tolist(), [[0.25, -0.5]])

    def test_unequal_durations_are_padded_and_have_lengths(self):
        self.make("in/a/1.wav", [2**14] * 3)
        self.make("in/b/1.wav", [2**14] * 5)
        self.assertEqual(self.frames("--frame", "2").tolist(),
                         [[[0.5, 0.5], [0.5, 0], [0, 0]], [[0.5, 0.5], [0.5, 0.5], [0.5, 0]]])
        self.assertEqual(self.load("out/lengths.npy").tolist(), [2, 3])
        self.make("in/a/1.wav", [2**14] * 6)
        self.frames("--frame", "2")  # lengths of an earlier conversion do not stay
        self.assertFalse((self.root / "out/lengths.npy").exists())

    def test_the_spectrum_has_its_peak_at_the_tone(self):
        import math
        self.make("in/a/1.wav", [round(2**14 * math.sin(2 * math.pi * i * 1000 / 8000)) for i in range(256)])
        self.make("in/b/1.wav", [0] * 128)
        frames = self.frames("--frame", "64", "--features", "spectrum")
        self.assertEqual(frames.shape, (2, 4, 33))
        self.assertEqual(frames[0].argmax(axis=1).tolist(), [8] * 4)  # 1000 Hz of 4000 Hz
        self.assertAlmostEqual(float(frames[1, 0, 0]), math.log(1e-5), places=4)
        self.assertEqual(frames[1, 2:].tolist(), [[0] * 33] * 2)

    def test_the_printed_lines_train(self):
        for i in range(10):
            self.make(f"in/a/{i}.wav", [100 * i] * (40 + i))
            self.make(f"in/b/{i}.wav", [-100 * i] * 50)
        yaml = self.convert("wav", "in", "--frame", "10", "--out", "out")
        self.assertEqual(yaml, NPY + '  train_lengths: "lengths.npy"\n  num_classes: 2\n  normalize: standard\nmodel:\n'
                                     "  kind: sequence_classifier\n")
        for prediction, file in zip(self.train(yaml) or [], csv.DictReader(self.text("out/files.csv").splitlines())):
            label = str("ab".index(file["label"]))
            self.assertEqual((prediction["index"], prediction["target"]), (file["index"], label))

    def test_an_extensible_header_is_read(self):
        guid = struct.pack("<H", 1) + bytes(14)
        form = struct.pack("<HHIIHHHHI", 0xFFFE, 1, 8000, 24000, 3, 24, 22, 24, 4) + guid
        data = b"\0\0\x40" * 2
        chunks = b"WAVE" + b"LIST" + struct.pack("<I", 3) + b"abc\0" + b"fmt " + struct.pack("<I", len(form)) + form
        chunks += b"data" + struct.pack("<I", len(data)) + data
        self.write("in/a/1.wav", b"RIFF" + struct.pack("<I", len(chunks)) + chunks)
        self.make("in/b/1.wav")
        self.assertEqual(self.frames("--frame", "2")[0, 0].tolist(), [0.5, 0.5])

    def wav_refusal(self, code, content):
        self.make("in/a/1.wav")
        self.write("in/b/1.wav", content)
        return self.refusal(code, "wav", "in", "--out", "out")

    def test_refuses_damaged_files(self):
        self.make("whole.wav", [1] * 100)
        whole = (self.root / "whole.wav").read_bytes()
        self.assertEqual(self.wav_refusal(3, whole[:-50]),
                         "in/b/1.wav: is cut off, with 150 of 200 bytes of samples: copy it again, or remove it")
        self.assertEqual(self.wav_refusal(3, b"ID3 music"),
                         "in/b/1.wav: begins with b'ID3 ', expected RIFF and WAVE: convert it to WAV, or remove it")
        self.assertEqual(self.wav_refusal(3, whole.replace(b"\x10\0data", b"\x0c\0data")),
                         "in/b/1.wav: has format 1 with 12 bits, expected PCM of 8, 16, 24 or 32 bits: convert it, for "
                         "example with sox or ffmpeg")
        for end in range(0, 60, 6):  # each cut of the header is one message
            self.wav_refusal(3, whole[:end])

    def test_refuses_unequal_rates(self):
        self.make("in/a/1.wav")
        self.make("in/b/1.wav", rate=16000)
        self.assertEqual(self.refusal(3, "wav", "in", "--out", "out"),
                         "in/b/1.wav: has 16000 samples a second, expected 8000 as in/a/1.wav has: resample one of "
                         "them, for example with sox or ffmpeg")

    def test_one_class_cannot_be_learned(self):
        self.make("in/a/1.wav")
        self.assertTrue(self.refusal(3, "wav", "in", "--out", "out")
                        .startswith('in: all files have the class "a", expected at least two classes: add files'))

    def test_a_signal_leaves_no_files(self):
        for i in range(500):
            self.make(f"in/{'ab'[i % 2]}/{i}.wav", [0] * 16000)
        before = self.files()
        process = self.start("wav", "in", "--out", "out", "--frame", "2", "--features", "spectrum")
        while process.poll() is None and not list(self.root.glob("out/.x.npy.*.part")):
            pass
        process.send_signal(signal.SIGTERM)
        errors = process.communicate(timeout=60)[1]
        self.assertEqual((process.returncode, errors.splitlines()[-1]),
                         (143, "convert-data: stopped by a signal before the files were complete"))
        self.assertEqual(self.files(), before)

    def test_a_full_disk_is_one_message(self):
        self.make("in/a/1.wav", [0] * 100_000)
        self.make("in/b/1.wav")
        limit = 200_000  # of a file's size, as `ulimit -f` sets it

        def set_limit():
            import resource
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        process = self.start("wav", "in", "--out", "out", preexec_fn=set_limit)
        output, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, output, errors), (4, "", "convert-data: error: out: File too large\n"))
        self.assertFalse((self.root / "out").exists())


class ImagesTest(LabelledTests, ConvertTest):
    name, ending = "images", ".png"

    def make(self, name, size=(3, 2), color=7, mode="L", **options):
        from PIL import Image
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new(mode, size, color).save(path, **options)

    def pixels(self, *arguments):
        self.convert("images", "in", "--out", "out", "--force", *arguments)
        return self.load("out/x.npy")

    def test_gray_and_colours(self):
        self.make("in/a/1.png")
        self.make("in/b/1.bmp", color=9)
        self.assertEqual(self.pixels().tolist(), [[[7] * 3] * 2, [[9] * 3] * 2])
        self.assertEqual(self.load("out/x.npy").dtype, "uint8")
        self.make("in/a/1.png", mode="RGB", color=(1, 2, 3))
        self.assertEqual(self.refusal(3, "images", "in", "--out", "other"),
                         "in/b/1.bmp is gray, but in/a/1.png has colours: choose --color gray or --color rgb")
        self.assertEqual(self.pixels("--color", "rgb")[0].tolist(), [[1, 2, 3] * 3] * 2)

    def test_unequal_sizes_need_a_size(self):
        self.make("in/a/1.png")
        self.make("in/b/1.png", size=(4, 4))
        self.assertEqual(self.refusal(3, "images", "in", "--out", "out"),
                         "in/b/1.png: has 4 x 4 pixels (height x width), expected 2 x 3 as in/a/1.png has: resize all "
                         "of them with --size HxW")
        self.assertEqual(self.pixels("--size", "5x6").shape, (2, 5, 6))

    def test_transparent_parts_are_white_and_photographs_are_upright(self):
        from PIL import Image
        self.make("in/a/1.png", mode="RGBA", color=(9, 9, 9, 0))
        exif = Image.Exif()
        exif[0x0112] = 6  # turned by 90 degrees
        self.make("in/b/1.jpg", mode="RGB", color=(0, 0, 0), size=(2, 3), exif=exif)
        values = self.pixels()
        self.assertEqual(values.shape, (2, 2, 9))
        self.assertEqual(values[0].min(), 255)

    def test_refuses_what_has_not_one_8_bit_picture(self):
        from PIL import Image
        self.make("in/a/1.png")
        self.make("in/b/1.png", mode="I;16", color=300)
        self.assertEqual(self.refusal(3, "images", "in", "--out", "out"),
                         "in/b/1.png: has pixels of the kind I;16, expected 8 bits a channel: convert it")
        (self.root / "in/b/1.png").unlink()
        self.make("in/b/1.gif", save_all=True, append_images=[Image.new("L", (3, 2), 8)])
        self.assertEqual(self.refusal(3, "images", "in", "--out", "out"),
                         "in/b/1.gif: holds 2 images, expected one: save one of them as a file")

    def test_refuses_damaged_files(self):
        self.make("in/a/1.png", size=(50, 50))
        self.make("in/b/1.png", size=(50, 50))
        whole = (self.root / "in/b/1.png").read_bytes()
        for content in (whole[:60], "text"):
            self.write("in/b/1.png", content)
            message = self.refusal(3, "images", "in", "--out", "out")
            self.assertTrue(message.startswith("in/b/1.png: cannot be read as an image ("), message)

    def test_the_printed_lines_train(self):
        for i in range(10):
            self.make(f"in/a/{i}.png", color=i)
            self.make(f"in/b/{i}.png", color=200 + i)
        yaml = self.convert("images", "in", "--out", "out")
        self.assertEqual(yaml, NPY + "  num_classes: 2\n  normalize: unit\nmodel:\n  kind: sequence_classifier\n")
        self.train(yaml)


class UsageTest(ConvertTest):
    """Needs no package."""

    def run_without_packages(self, *arguments):
        """Runs a symbolic link to the script, with a Python that finds no installed package."""
        link = self.root / "link"
        if not link.exists():
            link.symlink_to(SCRIPT)
        return subprocess.run([sys.executable, "-I", "-S", link, *arguments], cwd=self.root, capture_output=True,
                              text=True, timeout=60)

    def test_help_has_examples_and_needs_no_package(self):
        for arguments in ([], *([name] for name in PACKAGES)):
            result = self.run_without_packages(*arguments, "--help")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn(f"scripts/convert-data {' '.join(arguments)}", result.stdout)

    def test_a_wrong_command_is_exit_code_2(self):
        for arguments in ([], ["csv", "a"], ["images", "a", "--out", "b", "--size", "28"],
                          ["wav", "a", "--out", "b", "--frame", "1"],
                          ["parquet", "a", "--out", "a.csv", "--columns", "a\rb"]):
            code, output, errors = self.run_script(*arguments)
            self.assertEqual((code, output), (2, ""), errors)

    def test_a_missing_package_is_named_with_the_environment_of_the_document(self):
        environment = "python3 -m venv ~/convert-venv && . ~/convert-venv/bin/activate"
        self.assertIn(environment + "\npython3 -m pip install ", (ROOT / "docs" / "convert.md").read_text("utf-8"))
        for name, package in {"hdf5": "h5py", "images": "numpy", "parquet": "pyarrow", "wav": "numpy"}.items():
            files = {"hdf5": ["a"], "parquet": ["a", "--out", "a.csv"]}.get(name, ["a", "--out", "b"])
            result = self.run_without_packages(name, *files)
            self.assertEqual((result.returncode, result.stdout), (4, ""))
            self.assertIn(f"the Python package {package} (No module named '{package}'); install it in a virtual "
                          f"environment: {environment} && python3 -m pip install {package}\n", result.stderr)


def main(arguments):
    global PROGRAM
    name = arguments[0] if arguments else "all"
    PROGRAM = os.path.abspath(arguments[1]) if len(arguments) > 1 else None
    tests = {"hdf5": Hdf5Test, "images": ImagesTest, "parquet": ParquetTest, "wav": WavTest}
    suite = unittest.TestSuite()
    load = unittest.defaultTestLoader.loadTestsFromTestCase
    for format_name in tests if name == "all" else [name]:
        if missing := missing_packages(format_name):
            print(f"skipped {format_name}: these Python packages are missing: {', '.join(missing)}")
        else:
            suite.addTests(load(tests[format_name]))
    if suite.countTestCases() == 0:
        return 77
    suite.addTests(load(UsageTest))
    return 0 if unittest.TextTestRunner().run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
