# SPDX-License-Identifier: Apache-2.0
"""rnnlab.fit: training on arrays and frames in memory, and predict, evaluate and save of the run."""

import concurrent.futures
import importlib.util
import pathlib
import sys
import unittest

try:
    import torch
except ImportError as error:
    print(f"skipped, because torch cannot be imported: {error}")
    sys.exit(77)

import rnnlab
from in_a_folder import InAFolder
from rnnlab import arrays

NUM_SAMPLES, NUM_STEPS, NUM_FEATURES = 120, 6, 2


def inputs():
    return torch.randn(NUM_SAMPLES, NUM_STEPS, NUM_FEATURES, generator=torch.Generator().manual_seed(1))


class Arrays(InAFolder):
    def test_of_classes(self):
        x = inputs()
        y = (x.sum((1, 2)) > 0).long()
        run = self.fit(x, y, overrides={"training.epochs": 15, "training.learning_rate": 0.02})
        found = run.predict(x[:40])
        self.assertEqual(list(found), ["index", "prediction", "probability_0", "probability_1"])
        accuracy = (torch.tensor(found["prediction"]) == y[:40]).double().mean().item()
        self.assertAlmostEqual(run.evaluate(x[:40], y[:40])["metrics"]["accuracy"], accuracy)
        self.assertGreater(accuracy, 0.7)

    def test_of_lists_of_numbers(self):
        x, y = inputs(), inputs().sum((1, 2)) / 4
        run = self.fit(x.tolist(), y.tolist(), valid=(x[:20], y[:20]), overrides={"training.epochs": 30, "training.learning_rate": 0.02})
        found = torch.tensor(run.predict(x)["prediction"])
        self.assertLess((found - y).square().mean(), y.square().mean() / 4)

    def test_of_lengths_and_targets_of_each_step(self):
        x = inputs()
        lengths = torch.randint(1, NUM_STEPS + 1, (NUM_SAMPLES,))
        run = self.fit(x, (x[..., 0] > 0).long(), lengths=lengths)
        found = run.predict(x[:3], lengths[:3])
        self.assertEqual(len(found["prediction"]), lengths[:3].sum().item())
        self.assertEqual(set(found["prediction"]) - {0, 1}, set())
        self.assertEqual(len(run.predict(x[:3])["prediction"]), 3 * NUM_STEPS)
        whole = self.fit(x, x.sum((1, 2)))
        with self.assertRaisesRegex(ValueError, "trained without lengths"):
            whole.predict(x[:3], lengths[:3])

    def test_are_written_once(self):
        x, y = inputs(), torch.zeros(NUM_SAMPLES)
        y[:60] = 1
        first, second = self.fit(x, y), self.fit(x, y.clone(), out="runs")
        self.assertEqual(len(list(pathlib.Path("runs/.data").iterdir())), 1)
        self.assertEqual(first.epochs[-1]["train_loss"], second.epochs[-1]["train_loss"])
        self.assertEqual(len(rnnlab.compare("runs/fit").groups), 1)

    def test_saved_runs_predict_the_same(self):
        x = inputs()
        run = self.fit(x, x.sum((1, 2)))
        saved = run.save("model")
        self.assertEqual(saved.predict(x[:3]), run.predict(x[:3]))
        with self.assertRaises(FileExistsError):
            run.save("model")

    def test_are_written_whole_by_several_threads(self):
        array = arrays.array_of(torch.randn(1 << 18), "x")
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            files = set(threads.map(lambda _: arrays.write_archive({"x": array}, pathlib.Path("folder")), range(8)))
        self.assertEqual(list(pathlib.Path("folder").iterdir()), list(files))

    def test_are_read_where_they_are(self):
        x = inputs()
        data = arrays.array_of(x, "x").data
        x.fill_(1)
        self.assertEqual(bytes(data[:4]), b"\x00\x00\x80\x3f")
        self.assertEqual(arrays.array_of(torch.arange(4).view(2, 2).t(), "x").data.cast("q").tolist(), [0, 2, 1, 3])

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "numpy is missing")
    def test_are_numpys_format(self):
        import numpy

        for values in (numpy.arange(6, dtype="f4").reshape(2, 3), numpy.arange(4, dtype=">i4"), numpy.ones((2, 0), "f8"),
                       numpy.asfortranarray(numpy.arange(6.0).reshape(2, 3)), numpy.array([True, False])):
            file = arrays.write_archive({"x": arrays.array_of(values, "x")}, pathlib.Path("folder"))
            numpy.testing.assert_array_equal(numpy.load(file)["x"], values)
        for values in (numpy.zeros(2, "g"), numpy.ma.masked_array([1.0, 2.0], mask=[False, True]), numpy.array(["a"])):
            with self.assertRaisesRegex(TypeError, "x is an? .*array"):
                arrays.array_of(values, "x")


class Refusals(InAFolder):
    def check(self, message, *data, error=TypeError, **options):
        with self.assertRaises(error) as caught:
            self.fit(*data, **options)
        self.assertIn(message, str(caught.exception))

    def test_name_what_is_wrong(self):
        x = inputs()
        self.check("arrays take y, the targets", x)
        self.check("arrays take y, the targets, and no target=", x, x, target="a")
        self.check("train_inputs is a dict, expected an array, a tensor or a list of numbers", {}, x)
        self.check("train_targets: the list is no array of numbers", x, ["a"])
        self.check("train_targets is a tensor of complex64, expected numbers", x, x[:, 0, 0].to(torch.complex64))
        self.check("fit trains one run", x, x, repeats=3)
        self.check("fit trains one run", x, x, overrides={"sweep.layer": ["naive"]})
        self.check("there are not as many of each: train_inputs (120, 6, 2), train_targets (60,)", x, x[:60, 0, 0], error=ValueError)
        self.check("train_inputs has the shape (120,), expected (samples, steps)", x[:, 0, 0], x[:, 0, 0], error=ValueError)
        self.check("train_inputs is a tensor of torch.sparse_coo on cpu, expected a dense one", x.to_sparse(), x[:, 0, 0])
        self.check("training.epoch", x, x[:, 0, 0], overrides={"training.epoch": 3}, error=rnnlab.ProgramError)


@unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is missing")
class Frames(InAFolder):
    def frame(self):
        import pandas

        values = torch.arange(200) / 10
        return pandas.DataFrame({"sine": values.sin().tolist(), "cosine": values.cos().tolist()},
                                index=pandas.date_range("2026-01-01", periods=200, freq="h"))

    def test_of_a_series_are_forecast(self):
        run = self.fit(self.frame(), target="sine", overrides={"data.window": 12})
        found = run.predict(self.frame().iloc[-30:])
        self.assertEqual(found["row"][-1], 31)  # the row after the frame's last one
        self.assertIsNone(found["target"][-1])
        self.assertIn("RMSE", str(run.evaluate(self.frame())).upper())

    def test_of_rows_and_words(self):
        import pandas

        values = inputs()[:90].flatten(1)
        frame = pandas.DataFrame({f"value_{i}": values[:, i].tolist() for i in range(4)} | {"kind": ["small", "middle", "large"] * 30})
        found = self.fit(frame, target="kind").predict(frame.drop(columns="kind").iloc[:4])
        self.assertTrue(set(found["prediction"]) <= {"small", "middle", "large"})
        self.assertIn("probability_small", found)

    def test_take_the_names_of_targets(self):
        with self.assertRaisesRegex(TypeError, "a frame takes target="):
            self.fit(self.frame())


if __name__ == "__main__":
    unittest.main()
