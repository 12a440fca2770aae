# SPDX-License-Identifier: Apache-2.0
"""RunResult.stream: rows that arrive one after the other, with a state from call to call."""

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


class Arrays(InAFolder):
    layer = "naive"

    def setUp(self):
        super().setUp()
        self.x = torch.randn(30, 6, 2, generator=torch.Generator().manual_seed(1))

    def in_calls(self, run, rows, *counts):
        """Returns the predictions of rows that are cut into streams of so many rows."""
        pathlib.Path("x.state").unlink(missing_ok=True)
        found, begin = [], 0
        for count in counts:
            with run.stream(state="x.state") as stream:
                found += stream.predict(rows[begin:begin + count])["prediction"]
            begin += count
        return found

    def test_equal_one_long_sequence(self):
        run = self.fit(self.x, self.x.cumsum(1).sum(2, keepdim=True), overrides={"data.target_per": "step"})
        whole = run.predict(self.x[:1])["prediction"]
        for counts in ((1, 3, 2), (6,), (1,) * 6):
            found = self.in_calls(run, self.x[0], *counts)
            self.assertLess((torch.tensor(found) - torch.tensor(whole)).abs().max(), 1e-5, counts)
        self.assertEqual(self.in_calls(run, self.x[0], 1, 3, 2), self.in_calls(run, self.x[0], 6))

    def test_one_row_at_a_time_of_classes(self):
        run = self.fit(self.x, (self.x.sum((1, 2)) > 0).long())
        with run.stream() as stream:
            rows = [stream.predict(row.tolist()) for row in self.x[0]]
        self.assertEqual(list(rows[-1]), ["row", "prediction", "probability_0", "probability_1"])
        self.assertEqual([row["row"] for row in rows], [[1], [2], [3], [4], [5], [6]])
        whole = run.predict(self.x[:1])
        self.assertEqual(rows[-1]["prediction"], whole["prediction"])
        self.assertAlmostEqual(rows[-1]["probability_1"][0], whole["probability_1"][0], places=5)

    def test_refuses_what_does_not_fit(self):
        run = self.fit(self.x, self.x.sum((1, 2)))
        with self.assertRaisesRegex(ValueError, "state: got an empty name"):
            run.stream(state="")
        with run.stream() as stream:
            with self.assertRaisesRegex(ValueError, r"expected \(features\) for one row or \(rows, features\)"):
                stream.predict(self.x)
        with self.assertRaisesRegex(ValueError, "the stream is closed"):
            stream.predict(self.x[0])
        with self.assertRaisesRegex(rnnlab.ProgramError, "got 3 numbers, but a step of the model has 2") as raised:
            with run.stream() as stream:
                stream.predict([1, 2, 3])
        self.assertEqual(raised.exception.exit_code, 3)
        other = self.fit(self.x, self.x.sum((1, 2)), overrides={"model.bidirectional": True})
        with self.assertRaisesRegex(rnnlab.ProgramError, "model.bidirectional: true also reads"):
            with other.stream() as stream:
                stream.predict(self.x[0])

    def test_the_state_of_another_model(self):
        run, other = (self.fit(self.x, self.x.sum((1, 2)), overrides={"seed": seed}) for seed in (1, 2))
        with run.stream(state="x.state") as stream:
            stream.predict(self.x[0])
        with self.assertRaisesRegex(rnnlab.ProgramError, "is the state of other weights") as raised:
            with other.stream(state="x.state") as stream:
                stream.predict(self.x[0])
        self.assertEqual(raised.exception.exit_code, 6)

    def test_an_error_in_the_block_keeps_the_rows_before(self):
        run = self.fit(self.x, self.x.sum((1, 2)))
        with self.assertRaisesRegex(KeyError, "mine"):
            with run.stream(state="x.state") as stream:
                stream.predict(self.x[0, :2])
                raise KeyError("mine")
        self.assertEqual(self.in_calls(run, self.x[0], 6)[-1:], self.in_calls(run, self.x[0], 2, 4)[-1:])
        self.assertTrue(pathlib.Path("x.state").exists())


@unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is missing")
class Frames(InAFolder):
    layer = "naive"

    def test_of_a_series(self):
        import pandas

        frame = pandas.DataFrame({"level": [float(i % 7) for i in range(90)], "flow": [i % 5 / 2 for i in range(90)]})
        run = self.fit(frame, target="level", overrides={"data.window": 8})
        with run.stream() as stream:
            first = stream.predict(frame[:3])["prediction"]
            rest = stream.predict(frame[3:8])["prediction"]
            with self.assertRaisesRegex(ValueError, "expected those of the first one"):
                stream.predict(frame[["flow", "level"]])
            with self.assertRaisesRegex(TypeError, "give a frame"):
                stream.predict([1.0, 2.0])
        self.assertEqual((len(first), len(rest)), (3, 5))
        self.assertAlmostEqual(rest[-1], run.predict(frame[:8])["prediction"][-1], places=4)


if __name__ == "__main__":
    unittest.main()
