#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures layers at the training shapes of DeepBench, and prints them with DeepBench's times.

    python3 experiments/deepbench.py                                   # all 53 shapes, minutes
    python3 experiments/deepbench.py --only lstm:512 gru:1536:32:187   # cell:hidden:batch:steps
    python3 experiments/deepbench.py --seconds 190 --json deepbench.json > deepbench.md
    python3 experiments/deepbench.py --device cpu --only gru:512 --layers naive fused

`rnnlab bench` measures shapes in grids, in the order of --only. A part of a shape that is missing
or `*` means all. --seconds ends the measurement before that time: what was measured until then is
printed and written.

DeepBench's times are in deepbench.csv, with their sources. Its work is not quite ours: one layer in
one direction whose inputs are added to the gates without a product (cuDNN's skip input), by cuDNN's
standard algorithm, without a CUDA graph. So a time of DeepBench lacks the products with W that ours
has: of the forward pass, of the gradients of inputs and of those of W. With --input-size 8 they
nearly vanish. Only times of one machine have a ratio.
"""
import argparse
import contextlib
import csv
import fnmatch
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
import time

DATA = os.path.splitext(os.path.abspath(__file__))[0] + ".csv"
CELLS = {"vanilla": "rnn_relu", "lstm": "lstm", "gru": "gru"}
SHAPE = ("cell", "hidden_size", "batch_size", "num_steps")
# For each precision, the one of DeepBench whose times are printed with it.
CLASSES = {"fp32": "fp32", "tf32": "fp32", "fp16": "fp16", "bf16": "fp16"}
PARTS = ("forward", "backward_data", "backward_weights", "total")
PUBLISHED_PARTS = ("forward", "backward_inputs", "backward_weights")
HEADINGS = ("shape", "layer", "forward ms", "bwd data ms", "bwd weights ms", "total ms")
# The word of a reason is that of the first text it contains.
WORDS = {"hidden_size": "size", "units": "size", "memory": "memory", "graph": "graph",
         "GPU": "device", "device": "device", "precision": "precision"}
# Tells scripts/check-tables how the ratios of the table are computed.
CHECK = '<!-- table: "ratio"#1 = "total"#1[$2 "{first}", same $1] / "total"#1 except "-" -->'
GRACE = 10.0  # seconds in which a stopped program may end its sample and write its file


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--program", default="build/release/rnnlab", help="rnnlab (build/release/rnnlab)")
    add("--only", nargs="+", default=["*"], metavar="CELL:H:B:T", help="shapes (all)")
    add("--layers", nargs="+", default=["cudnn", "fused", "persistent"], metavar="NAME",
        help="ratios are those of the first (cudnn fused persistent)")
    add("--precisions", nargs="+", choices=CLASSES, default=["fp32", "fp16"], metavar="NAME",
        help="fp32, tf32, fp16, bf16 (fp32 fp16)")
    add("--gpus", nargs="*", default=["V100"], metavar="NAME",
        help="whose published times are shown: V100, P100, TitanXp (V100)")
    add("--device", default="cuda", help="(cuda)")
    add("--mode", choices=["eager", "graph"], help="(graph, on a CPU eager)")
    add("--processes", type=int, default=3, metavar="N", help="processes of each grid (3)")
    add("--repeats", type=int, default=7, metavar="N", help="samples in a process (7)")
    add("--input-size", type=int, metavar="N", help="inputs of a step (the hidden size)")
    add("--set", nargs="+", default=[], metavar="KEY=VALUE", help="more settings of rnnlab bench")
    add("--seconds", type=float, default=math.inf, metavar="N", help="end before this time")
    add("--json", metavar="FILE", help="write all times, published and measured, to FILE")
    return parser.parse_args()


# ---- the shapes ----


def read_published():
    """Returns DeepBench's rows; a shape is a tuple of texts, and `times` are milliseconds."""
    with open(DATA, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    return [{"gpu": row["gpu"], "cudnn": row["cudnn"], "precision": row["precision"],
             "shape": tuple(row[name] for name in SHAPE),
             "times": {name: float(row[name]) for name in PUBLISHED_PARTS}} for row in rows]


def chosen_shapes(published, patterns):
    """Returns the shapes that match a pattern, each once, in the order of the patterns."""
    shapes = list(dict.fromkeys(row["shape"] for row in published))
    chosen = {}
    for pattern in patterns:
        parts = (pattern.split(":") + ["*"] * len(SHAPE))[:max(len(SHAPE), pattern.count(":") + 1)]
        found = [shape for shape in shapes
                 if len(parts) == len(SHAPE) and all(map(fnmatch.fnmatchcase, shape, parts))]
        if not found:
            sys.exit(f"error: --only {pattern} matches no shape of DeepBench. "
                     "Give CELL:HIDDEN:BATCH:STEPS, such as lstm:512 or gru:*:32:187.")
        chosen.update(dict.fromkeys(found))
    return list(chosen)


def merged(grids, axis):
    """Joins the grids that differ in this axis only."""
    found = {}
    for grid in grids:
        found.setdefault((grid[:axis], grid[axis + 1:]), []).extend(grid[axis])
    return [(*before, tuple(values), *after) for (before, after), values in found.items()]


def grids_of(shapes):
    """Returns grids of cell, hidden sizes, batch sizes and steps with exactly these shapes."""
    grids = [tuple((value,) for value in shape) for shape in shapes]
    for name in ("batch_size", "hidden_size", "num_steps"):
        grids = merged(grids, SHAPE.index(name))
    return grids


# ---- the measurements ----


def settings_of(grid, options):
    cells, hidden_sizes, batch_sizes, num_steps = map(",".join, grid)
    mode = options.mode or ("eager" if options.device == "cpu" else "graph")
    settings = [f"layer={','.join(options.layers)}", f"precision={','.join(options.precisions)}",
                f"device={options.device}", f"mode={mode}", f"cell={CELLS[cells]}",
                f"hidden_size={hidden_sizes}", f"batch_size={batch_sizes}",
                f"num_steps={num_steps}", "num_layers=1", f"processes={options.processes}",
                f"repeats={options.repeats}"]
    inputs = [f"input_size={options.input_size}"] if options.input_size else []
    return [*settings, *inputs, *options.set]


def wait_until(process, deadline):
    """Waits for the program, and stops it early enough that it writes its file by the deadline."""
    left = max(deadline - GRACE - time.monotonic(), 0)
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(None if math.isinf(left) else left)
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(GRACE)
    process.kill()
    return process.wait()


def run_bench(grid, options, deadline):
    """Returns what `rnnlab bench` wrote about a grid, or None."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bench.json")
        command = [options.program, "bench", *settings_of(grid, options), "--json", path]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            code = wait_until(process, deadline)
        with contextlib.suppress(OSError, ValueError), open(path, encoding="utf-8") as file:
            return json.load(file)
    if time.monotonic() < deadline - GRACE:
        print(f"error: exit code {code} of {' '.join(command)}", file=sys.stderr)
    return None


def all_measurements(grids, published, options):
    """Returns what the program wrote about each grid, in the order of the grids."""
    deadline = time.monotonic() + options.seconds
    benchmarks = []
    for number, grid in enumerate(grids, 1):
        if deadline - GRACE <= time.monotonic():
            break
        print(f"grid {number} of {len(grids)}: {grid}", file=sys.stderr, flush=True)
        benchmarks.append(run_bench(grid, options, deadline))
        if options.json:
            write_json(options.json, benchmarks, published)
    return [benchmark for benchmark in benchmarks if benchmark]


def write_json(path, benchmarks, published):
    content = {"benchmarks": [benchmark for benchmark in benchmarks if benchmark],
               "published": published}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
        file.write("\n")


def rows_by_case(benchmarks):
    """Returns the rows of all grids by shape and precision."""
    names = {cell: name for name, cell in CELLS.items()}
    found = {}
    for row in itertools.chain.from_iterable(benchmark["rows"] for benchmark in benchmarks):
        shape = (names[row["cell"]], *(str(row[name]) for name in SHAPE[1:]))
        found.setdefault((shape, row["precision"]), []).append(row)
    return found


# ---- the table ----


def digits(value):
    """Returns the number with four significant digits, and without an exponent."""
    decimals = 3 - math.floor(math.log10(abs(value))) if value else 3
    return f"{value:.{max(decimals, 0)}f}"


def text_of_interval(part, scale=1.0):
    value, low, high = (scale * part[name] for name in ("value", "low", "high"))
    return f"{digits(value)} ({digits(low)} .. {digits(high)})"


def text_of_time(part):
    if part["low"] <= 0:
        return f"< {digits(1e3 * part['high'])}"
    return text_of_interval(part, 1e3)


def title(case):
    shape, precision = case
    return f"{shape[0]} {', '.join(shape[1:])}, {precision}"


def name_of_layer(row):
    """Returns the layer, with cuDNN's algorithm if the settings name one."""
    named = row["layer"] == "cudnn" and row["cudnn_algorithm"] != "auto"
    return f"cudnn {row['cudnn_algorithm']}" if named else row["layer"]


def word_of(reason):
    return next((word for text, word in WORDS.items() if text in reason), "refused")


def published_rows(case, published, options):
    """Returns the cells of DeepBench's rows of this shape and class of precision."""
    shape, precision = case
    for row in published:
        matches = row["shape"] == shape and row["precision"] == CLASSES[precision]
        if matches and row["gpu"] in options.gpus:
            times = list(row["times"].values())
            name = f"DeepBench: {row['gpu']}, {row['precision']}, cuDNN {row['cudnn']}"
            yield [name, *(f"{ms:.3f}" for ms in (*times, sum(times))), "-"]


def measured_row(row, is_first):
    measured = row["measurement"]
    if measured is None:
        return [name_of_layer(row), *["-"] * (len(PARTS) - 1), word_of(row["reason"]), "-"]
    ratio = None if is_first else measured.get("speedup_total")
    return [name_of_layer(row), *(text_of_time(measured["seconds"][part]) for part in PARTS),
            text_of_interval(ratio) if ratio else "-"]


def table_rows(case, found, published, options):
    """Returns the rows of one shape and precision; only the first has them in its first cell."""
    measured = found.get(case, [])
    missing = [] if measured else [["-"] * len(PARTS) + ["time", "-"]]
    rows = [*published_rows(case, published, options),
            *(measured_row(row, row is measured[0]) for row in measured), *missing]
    return [["" if number else title(case), *cells] for number, cells in enumerate(rows)]


def print_table(cases, found, published, options):
    print(CHECK.format(first=options.layers[0]))
    headings = [*HEADINGS, f"ratio: {options.layers[0]} over it"]
    print(f"| {' | '.join(headings)} |\n" + "|---" * len(headings) + "|")
    for case in cases:
        for row in table_rows(case, found, published, options):
            print("| " + " | ".join(row) + " |")


# ---- below the table ----


def notes_on_intervals(options):
    kind = {1: "order statistics of samples of one process", 2: "the range of two processes"}
    processes = f"{options.processes} process{'es' if options.processes > 1 else ''}"
    return (f"Times of {processes} with {options.repeats} samples of each; "
            f"in brackets: {kind.get(options.processes, '95 % intervals over processes')}. "
            "`< x`: the interval reaches zero, and x is its upper end.")


def notes_on_work(options):
    inputs = f"{options.input_size} inputs" if options.input_size else "as many inputs as units"
    return (f"A shape is cell, hidden size, batch size and steps; one layer with {inputs} a step. "
            "DeepBench's layers skip the product with inputs, and its times are those of another "
            "machine: they have no ratio.")


def notes_on_reasons(found):
    """Returns a line for each reason, with the rows that it stands for."""
    rows = {}
    for case, measured in found.items():
        for row in measured:
            if row["measurement"] is None:
                rows.setdefault((row["layer"], row["reason"]), []).append(title(case))
    return [f"- {word_of(reason)}: {layer} did not run {'; '.join(titles)}: {reason}"
            for (layer, reason), titles in rows.items()]


def notes_on_time(cases, found, options):
    missing = [title(case) for case in cases if case not in found]
    if not missing:
        return []
    limit = "" if math.isinf(options.seconds) else f" within {options.seconds:g} s"
    return [f"- time: not measured{limit}: {'; '.join(missing)}"]


def notes_on_warnings(benchmarks):
    texts = dict.fromkeys(warning["text"] for benchmark in benchmarks
                          for warning in benchmark["warnings"])
    return [f"- warning: {text}" for text in texts]


def main():
    options = parse_arguments()
    published = read_published()
    shapes = chosen_shapes(published, options.only)
    cases = list(itertools.product(shapes, options.precisions))
    benchmarks = all_measurements(grids_of(shapes), published, options)
    found = rows_by_case(benchmarks)
    print_table(cases, found, published, options)
    print(f"\n{notes_on_intervals(options)}\n{notes_on_work(options)}\n")
    print("\n".join([*notes_on_reasons(found), *notes_on_time(cases, found, options),
                     *notes_on_warnings(benchmarks)]))
    any_measured = any(row["measurement"] for rows in found.values() for row in rows)
    return 0 if any_measured else 1


if __name__ == "__main__":
    sys.exit(main())
