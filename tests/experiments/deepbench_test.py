# SPDX-License-Identifier: Apache-2.0
"""experiments/deepbench.py with a program in rnnlab's place that times nothing, and with rnnlab.

usage: deepbench_test.py RNNLAB
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True  # the folder of the experiments stays as it is
ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "experiments" / "deepbench.py"
RNNLAB = sys.argv.pop()
# Writes a row for each combination. Times depend on the layer; `persistent` refuses large sizes.
PROGRAM = f"""#!{sys.executable}
import itertools, json, sys
words = sys.argv[2:]
with open(__file__ + ".calls", "a") as file:
    print(" ".join(words[:-2]), file=file)
axes = {{key: value.split(",") for key, value in (word.split("=") for word in words[:-2])}}
rows = []
names = ("cell", "hidden_size", "batch_size", "num_steps", "precision", "layer")
for case in itertools.product(*(axes[name] for name in names)):
    row = dict(zip(names, case), cudnn_algorithm="auto", reason="", measurement=None)
    rows.append(row)
    if row["layer"] == "persistent" and int(row["hidden_size"]) > 1536:
        row["reason"] = "layer: persistent does not support hidden_size: " + row["hidden_size"]
        continue
    s = {{"cudnn": 4e-3, "persistent": 2e-3}}[row["layer"]]
    part = lambda value, low: {{"value": value, "low": low, "high": value * 1.01}}
    row["measurement"] = {{
        "seconds": {{"forward": part(s / 4, s / 4), "backward_data": part(s / 2, s / 2),
                    "backward_weights": part(s / 4, -1e-3), "total": part(s, s)}},
        "speedup_total": {{"value": 4e-3 / s, "low": 3.9e-3 / s, "high": 4.1e-3 / s}}}}
with open(words[-1], "w") as file:
    warning = {{"kind": "other", "text": "the machine is slow"}}
    json.dump({{"rows": rows, "warnings": [warning]}}, file)
"""
# Is ready when it has written a line, and ends by the signal with a code of its own.
STOPPED = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
print("ready", flush=True)
while True:
    signal.pause()
"""


def deepbench():
    spec = importlib.util.spec_from_file_location("deepbench", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Published(unittest.TestCase):
    def test_each_gpu_has_every_shape_once(self):
        rows = deepbench().read_published()
        sides = {}
        for row in rows:
            sides.setdefault((row["gpu"], row["precision"]), []).append(row["shape"])
        self.assertEqual(list(sides), [("V100", "fp32"), ("V100", "fp16"), ("P100", "fp32"),
                                       ("TitanXp", "fp32")])
        for shapes in sides.values():
            self.assertEqual(len(set(shapes)), 53)
            self.assertEqual(shapes, sides["V100", "fp32"])

    def test_all_shapes_are_seven_grids(self):
        module = deepbench()
        shapes = module.chosen_shapes(module.read_published(), ["*"])
        grids = module.grids_of(shapes)
        self.assertEqual(grids[0], (("vanilla",), ("1760", "2048", "2560"),
                                    ("16", "32", "64", "128"), ("50",)))
        self.assertEqual(len(grids), 7)
        covered = [shape for grid in grids for shape in module.itertools.product(*grid)]
        self.assertEqual(sorted(covered), sorted(shapes))


class Script(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.program = self.folder / "rnnlab"
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)

    def run_script(self, *arguments, program=None, code=0):
        command = [sys.executable, str(SCRIPT), "--program", str(program or self.program)]
        result = subprocess.run([*command, *arguments], capture_output=True, text=True)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def lines(self, *arguments):
        return self.run_script("--layers", "cudnn", "persistent", *arguments).stdout.splitlines()

    def calls(self):
        return Path(f"{self.program}.calls").read_text().splitlines()

    def test_a_shape_has_published_and_measured_times_and_their_ratio(self):
        lines = self.lines("--only", "lstm:512:16", "--precisions", "bf16", "--processes", "5")
        self.assertEqual(lines[1:6], [
            "| shape | layer | forward ms | bwd data ms | bwd weights ms | total ms "
            "| ratio: cudnn over it |",
            "|---|---|---|---|---|---|---|",
            "| lstm 512, 16, 25, bf16 | DeepBench: V100, fp16, cuDNN 7.3.1.20 | 0.441 | 0.891 "
            "| 0.079 | 1.411 | - |",
            "|  | cudnn | 1.000 (1.000 .. 1.010) | 2.000 (2.000 .. 2.020) | < 1.010 "
            "| 4.000 (4.000 .. 4.040) | - |",
            "|  | persistent | 0.5000 (0.5000 .. 0.5050) | 1.000 (1.000 .. 1.010) | < 0.5050 "
            "| 2.000 (2.000 .. 2.020) | 2.000 (1.950 .. 2.050) |"])
        self.assertIn("Times of 5 processes with 7 samples of each; in brackets: 95 % intervals "
                      "over processes.", lines[7])
        self.assertEqual(lines[-1], "- warning: the machine is slow")

    def test_shapes_are_measured_in_grids_in_the_order_of_only(self):
        self.lines("--only", "gru:1536:32:375", "lstm:512", "gru:1536:32:187", "--repeats", "6",
                   "--input-size", "8", "--set", "seed=2")
        common = ("layer=cudnn,persistent precision=fp32,fp16 device=cuda mode=graph num_layers=1 "
                  "processes=3 repeats=6 input_size=8 seed=2 ")
        grids = ["cell=gru hidden_size=1536 batch_size=32 num_steps=375,187",
                 "cell=lstm hidden_size=512 batch_size=16,32,64,128 num_steps=25"]
        self.assertEqual([sorted(call.split()) for call in self.calls()],
                         [sorted((common + grid).split()) for grid in grids])

    def test_a_refusal_is_a_word_with_its_reason_below(self):
        lines = self.lines("--only", "vanilla:1760:16", "--precisions", "fp16", "--gpus")
        self.assertEqual(lines[4], "|  | persistent | - | - | - | size | - |")
        self.assertIn("- size: persistent did not run vanilla 1760, 16, 50, fp16: "
                      "layer: persistent does not support hidden_size: 1760", lines)

    def test_what_no_time_was_left_for_is_in_the_table(self):
        result = self.run_script("--only", "gru:512", "--precisions", "fp32", "--seconds", "0",
                                 code=1)
        self.assertIn("|  | - | - | - | - | time | - |\n", result.stdout)
        self.assertIn("- time: not measured within 0 s: gru 512, 32, 1, fp32\n", result.stdout)
        self.assertFalse(Path(f"{self.program}.calls").exists())

    def test_a_program_is_stopped_by_a_signal_at_the_deadline(self):
        command = [sys.executable, "-c", STOPPED]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            self.assertEqual(deepbench().wait_until(process, time.monotonic()), 3)

    def test_json_has_published_and_measured_times(self):
        path = self.folder / "out.json"
        self.lines("--only", "gru:512", "lstm:512:16", "--json", str(path))
        content = json.loads(path.read_text())
        self.assertEqual([len(part["rows"]) for part in content["benchmarks"]], [4, 4])
        self.assertEqual(len(content["published"]), 4 * 53)

    def test_a_shape_that_deepbench_lacks_is_an_error(self):
        result = self.run_script("--only", "lstm:100", code=1)
        self.assertEqual(result.stderr, "error: --only lstm:100 matches no shape of DeepBench. "
                                        "Give CELL:HIDDEN:BATCH:STEPS, such as lstm:512 or "
                                        "gru:*:32:187.\n")

    def test_the_check_above_the_table_is_one_of_check_tables(self):
        table = "\n".join(self.lines("--only", "lstm:512", "vanilla:1760:16"))
        (self.folder / "docs").mkdir()
        (self.folder / "README.md").touch()
        page = self.folder / "docs" / "page.md"
        check = [sys.executable, str(ROOT / "scripts" / "check-tables"), "--root", str(self.folder)]
        for text, code in ((table, 0), (table.replace("2.000 (1.950", "3.000 (1.950"), 1)):
            page.write_text(text + "\n")
            self.assertEqual(subprocess.run(check, capture_output=True).returncode, code)

    def test_rnnlab_measures_the_smallest_shape_on_a_cpu(self):
        lines = self.run_script(
            "--only", "gru:512", "--device", "cpu", "--layers", "fused", "persistent",
            "--precisions", "fp32", "--processes", "1", "--repeats", "1", "--set", "warmup=0",
            program=RNNLAB).stdout.splitlines()
        time_of_fused = r"[0-9.]+ \([0-9.]+ \.\. [0-9.]+\)"
        self.assertRegex(lines[4], rf"^\|  \| fused \|.* \| {time_of_fused} \| - \|$")
        self.assertEqual(lines[5], "|  | persistent | - | - | - | device | - |")


unittest.main()
