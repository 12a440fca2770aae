# SPDX-License-Identifier: Apache-2.0
"""The tests of HDF5: datasets, their lengths and targets, and what is refused."""

from convert_data.common import NPY, ConvertTest


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
