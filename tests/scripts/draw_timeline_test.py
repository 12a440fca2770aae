# SPDX-License-Identifier: Apache-2.0
"""experiments/draw_timeline.py: which step it draws, what it counts, and pictures of traces with and without a GPU."""
import json
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "experiments" / "draw_timeline.py"
SVG = "{http://www.w3.org/2000/svg}"
PRODUCT, SIGMOID = "void cutlass::Kernel2<sgemm>", "vectorized_elementwise_kernel<sigmoid>"
LAYER = "rnnlab::RecurrentLayer::forward"


def event(category, name, start, length, **arguments):
    on_gpu = category in ("kernel", "gpu_memset", "gpu_memcpy")
    return {"ph": "X", "cat": category, "name": name, "pid": 0 if on_gpu else 9, "tid": 7 if on_gpu else 9,
            "ts": start, "dur": length, "args": arguments}


def launched(number, start, category, name, gpu_start, length):
    """A call on the host, and the work on the GPU that it starts."""
    return [event("cuda_runtime", "cudaLaunchKernel", start, 5, correlation=number),
            event(category, name, gpu_start, length, correlation=number)]


def step(start, *inside, name=LAYER, length=100, **arguments):
    """A training step of twice the length of its forward pass, which begins at `start`."""
    return [event("user_annotation", "step", start - 2, 2 * length, **arguments),
            event("user_annotation", "forward", start - 1, length + 2), event("user_annotation", name, start, length), *inside]


class DrawTimelineTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "picture.svg"

    def trace(self, name, *events, device="Some GPU"):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"traceEvents": list(events), "deviceProperties": [{"name": device}] if device else []}))
        return path

    def run_script(self, *arguments):
        return subprocess.run([sys.executable, SCRIPT, "-o", self.file, *arguments], capture_output=True, text=True)

    def rows(self, *arguments):
        """The table that is printed, as dictionaries."""
        result = self.run_script(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        heading, *lines = result.stdout.splitlines()
        names = [name.strip() for name in heading.split("  ") if name.strip()]
        return [dict(zip(names, line.split())) for line in lines]

    def texts(self):
        return [text.text for text in ElementTree.parse(self.file).findall(f".//{SVG}text")]

    def two_kernels(self):
        return step(1000, event("cpu_op", "aten::linear", 1000, 50), event("cpu_op", "aten::addmm", 1010, 30),
                    event("cpu_op", "aten::sigmoid", 1060, 20), *launched(1, 1020, "kernel", PRODUCT, 1030, 20),
                    *launched(2, 1065, "kernel", SIGMOID, 1080, 40))

    def test_counts_operators_launches_and_the_time_of_the_gpu(self):
        row, = self.rows(self.trace("naive.json", *self.two_kernels()))
        self.assertEqual(row, {"trace": "naive", "pass us": "120.0", "operators": "2", "launches": "2", "kernels": "2",
                               "GPU us": "60.0", "GPU %": "50.0", "kernel us": "30.0", "gap us": "30.0"})

    def test_fills_are_work_but_no_kernels_and_overlap_counts_once(self):
        events = step(0, *launched(1, 0, "gpu_memset", "Memset (Device)", 10, 10), *launched(2, 6, "kernel", PRODUCT, 15, 15))
        row, = self.rows(self.trace("one.json", *events))
        self.assertEqual((row["launches"], row["kernels"], row["GPU us"], row["gap us"]), ("2", "1", "20.0", "0.0"))

    def test_takes_the_last_complete_step(self):
        first = step(0, *launched(1, 0, "kernel", PRODUCT, 10, 10))
        second = step(1000, *launched(2, 1000, "kernel", PRODUCT, 1010, 10), *launched(3, 1010, "kernel", PRODUCT, 1020, 10))
        unfinished = step(2000, *launched(4, 2000, "kernel", PRODUCT, 2010, 10), finished=False)
        row, = self.rows(self.trace("three.json", *first, *second, *unfinished))
        self.assertEqual(row["kernels"], "2")

    def test_what_the_backward_pass_starts_is_not_drawn(self):
        row, = self.rows(self.trace("one.json", *step(0), *launched(1, 150, "kernel", PRODUCT, 160, 10)))
        self.assertEqual(row["launches"], "0")

    def test_without_a_recurrent_layer_the_whole_forward_pass(self):
        row, = self.rows(self.trace("one.json", *step(0, name="other", length=200)))
        self.assertEqual(row["pass us"], "202.0")

    def test_a_trace_is_called_as_its_file_or_its_folder(self):
        paths = [self.trace("naive.json", *step(0)), self.trace("2026-11-27T10-03-30Z-cuda-fused/trace.json", *step(0))]
        self.assertEqual([row["trace"] for row in self.rows(*paths)], ["naive", "cuda-fused"])

    def test_a_link_to_a_trace_is_not_drawn_again(self):
        self.trace("2026-11-27T10-03-30Z-cuda-fused/trace.json", *step(0))
        (self.folder / "latest").symlink_to("2026-11-27T10-03-30Z-cuda-fused")
        rows = self.rows(*sorted(self.folder.glob("*/trace.json")))
        self.assertEqual([row["trace"] for row in rows], ["cuda-fused"])

    def test_colours_tell_the_kinds(self):
        self.rows(self.trace("naive.json", *self.two_kernels()))
        colours = {path.get("fill") for path in ElementTree.parse(self.file).findall(f".//{SVG}path")}
        self.assertLessEqual({"#79c0ff", "#e3b341"}, colours)
        self.assertNotIn("#ff7b72", colours)
        self.assertIn("matrix product", self.texts())
        self.assertNotIn("all steps in one kernel", self.texts())

    def test_a_long_pass_has_a_second_panel(self):
        paths = [self.trace("long.json", *step(0, length=20000)), self.trace("short.json", *step(0, length=400))]
        self.rows(*paths)
        self.assertIn("The first 600 µs", self.texts())
        self.assertIn("long: the first 600 µs of 20.0 ms", self.texts())
        self.rows(*paths, "--zoom", "5000")
        self.assertIn("The first 5,000 µs", self.texts())

    def test_passes_of_like_length_have_one_panel(self):
        self.rows(self.trace("a.json", *step(0, length=500)), self.trace("b.json", *step(0, length=400)))
        self.assertFalse([text for text in self.texts() if text.startswith("The first")])

    def test_a_run_on_the_cpu_has_the_row_of_the_host_alone(self):
        row, = self.rows(self.trace("cpu.json", *step(0, event("cpu_op", "aten::lstm", 10, 80)), device=None))
        self.assertEqual((row["kernels"], row["GPU us"]), ("0", "-"))
        self.assertIn("Forward pass of a recurrent layer, CPU", self.texts())
        self.assertIn("lstm", self.texts())
        self.assertNotIn("GPU", self.texts())

    def test_title_is_the_gpu_or_what_is_given(self):
        path = self.trace("naive.json", *self.two_kernels())
        self.rows(path)
        self.assertIn("Forward pass of a recurrent layer, Some GPU", self.texts())
        self.rows(path, "--title", "a < b")
        self.assertEqual(ElementTree.parse(self.file).find(f"{SVG}title").text, "a < b")

    def test_says_what_is_wrong_with_a_file(self):
        bad = self.folder / "bad.json"
        bad.write_text("[1, 2")
        empty = self.trace("empty.json")
        for path, words in ((bad, "not a Chrome trace"), (empty, "no complete training step"),
                            (self.folder / "none.json", "No such file or directory")):
            result = self.run_script(path)
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"{path}: {words}", result.stderr)
            self.assertFalse(self.file.exists())

    def test_refuses_a_zoom_of_nothing(self):
        for zoom in ("0", "-3", "nan", "much"):
            result = self.run_script(self.folder / "none.json", f"--zoom={zoom}")
            self.assertEqual(result.returncode, 2)
            self.assertIn("expected a number of microseconds above 0", result.stderr)

    def test_the_picture_in_docs_is_well_formed(self):
        picture = ElementTree.parse(ROOT / "docs" / "images" / "timeline.svg")
        text = "".join(picture.getroot().itertext())
        for name in ("naive: ", "fused: ", "persistent: "):
            self.assertIn(name, text)


if __name__ == "__main__":
    unittest.main()
