#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how training scales over the GPUs of one machine, and prints Markdown tables in milliseconds a step.

    python3 experiments/scaling.py --devices 1 2 --rounds 3                        # weak: each GPU has a whole batch
    python3 experiments/scaling.py --strong --devices 1 2 --works char_lm          # strong: the batch is divided
    python3 experiments/scaling.py --rounds 1 --variants distributed.overlap=true distributed.overlap=false

In each round every case trains once, in a process of its own, in an order that is drawn again. A step's time is that of
the median epoch, the slowest process's. Weak efficiency is the time on the fewest devices over the time on more.
The table has the median over rounds and the range, and what the program's log expected before training: the speed-up
with a divided batch, and the efficiency with a batch of that size for each GPU. --variants has groups of settings, each
of which is a case for each number of devices but the fewest; settings of one group are separated by commas, and an
empty group changes nothing.
"""
import argparse
import csv
import glob
import itertools
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

EXPERIMENTS = os.path.dirname(os.path.relpath(__file__))
GRAPHS = ["device=cuda", "training.cuda_graph=true", "checkpoint.save=false", "training.warmup_epochs=1"]
# For each work: its file, the batch of a GPU, the steps of an epoch, and further settings.
WORKS = {
    "mnist_rows": ("mnist_rows", 128, 232, ["data.num_valid=0", "layer=persistent", "training.epochs=6"]),
    "char_lm": ("char_lm", 128, 24, ["data.num_valid=0", "layer=persistent", "training.epochs=8"]),
    "paper": ("paper_step", 64, 48, ["layer=persistent", "training.epochs=6"]),
    "gru": ("gru_speed_fair", 256, 40, ["layer=persistent", "training.epochs=6", "data.placement=device"]),
    "cnn": ("cnn_mnist_fast", 128, 232, ["data.num_valid=0", "training.epochs=6"]),
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/rnnlab", help="rnnlab (build/release/rnnlab)")
    parser.add_argument("--works", nargs="+", choices=WORKS, default=list(WORKS), metavar="WORK", help=", ".join(WORKS))
    parser.add_argument("--precisions", nargs="+", default=["tf32", "bf16"], metavar="NAME", help="(tf32 bf16)")
    parser.add_argument("--devices", nargs="+", type=int, default=[1, 2], metavar="N", help="numbers of GPUs (1 2)")
    parser.add_argument("--strong", action="store_true", help="one batch for all GPUs, instead of one each")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="processes of each case (3)")
    parser.add_argument("--variants", nargs="+", default=[""], metavar="KEY=VALUE[,KEY=VALUE]",
                        help="settings of a case")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="for all cases")
    parser.add_argument("--out", help="folder for the runs (a temporary one)")
    return parser.parse_args()


def settings_of(work, precision, devices, variant, options):
    file, batch, steps, more = WORKS[work]
    parts = 1 if options.strong else devices
    return [os.path.join(EXPERIMENTS, file + ".yaml"), *GRAPHS, *more, f"precision={precision}", f"devices={devices}",
            f"training.batch_size={batch * parts}", f"data.num_train={batch * parts * steps}", *options.set,
            *[setting for setting in variant.split(",") if setting]]


def column(rows, name):
    return [float(row[name]) for row in rows if row["warmup"] in ("0", "false") and row.get(name)]


def measure(case, folder, options):
    """Returns the milliseconds of a step and of the exposed part of its exchange, and the expected gains."""
    work, precision, devices, variant = case
    command = [options.program, "train", *settings_of(*case, options), "--quiet", "--out", folder]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        print(f"{case}: exit code {done.returncode}: {done.stderr.strip()[-600:]}", file=sys.stderr, flush=True)
        return None
    newest = max(glob.glob(os.path.join(folder, "*", "*", "epochs.csv")), key=os.path.getmtime)
    with open(newest, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    steps = WORKS[work][2]
    exposed = column(rows, "exchange_seconds")
    step = 1e3 * statistics.median(column(rows, "train_seconds")) / steps
    with open(os.path.join(os.path.dirname(newest), "train.log"), encoding="utf-8") as file:
        expected = re.search(r"expected: (\S+) times.*; (\d+) % of", file.read())
    return (step, 1e3 * statistics.median(exposed) / steps if exposed and devices > 1 else None,
            [float(number) for number in expected.groups()] if expected else None)


def all_measurements(cases, options):
    found = {case: [] for case in cases}
    with tempfile.TemporaryDirectory() as temporary:
        for number in range(options.rounds):
            for case in random.sample(cases, len(cases)):
                names = [str(part).replace("/", "_") for part in case]
                folder = os.path.join(options.out or temporary, str(number), *names)
                measured = measure(case, folder, options)
                print(f"round {number + 1}: {' '.join(map(str, case))}: {measured}", file=sys.stderr, flush=True)
                if measured:
                    found[case].append(measured)
    return found


def text_of_times(times):
    middle = statistics.median(times)
    return f"{middle:.4f}" if len(times) < 2 else f"{middle:.4f} ({min(times):.4f} .. {max(times):.4f})"


def row_of(case, found, options):
    work, precision, devices, variant = case
    base = [step for step, _, _ in found[(work, precision, min(options.devices), "")]]
    times = [step for step, _, _ in found[case]]
    if not times or not base:
        return None
    ratios = [a / b for a, b in zip(base, times)]
    exposed = [part for _, part, _ in found[case] if part is not None]
    expected = [gains for _, _, gains in found[case] if gains is not None]
    gain = f"{statistics.median(ratios):.2f}" if options.strong else f"{100 * statistics.median(ratios):.1f} %"
    spread = f"{min(ratios):.3f} .. {max(ratios):.3f}"
    return [work, precision, devices, variant or "-", text_of_times(times), gain, spread,
            f"{1e3 * statistics.median(exposed):.1f}" if exposed else "-",
            "{:.2g}, {:.0f} %".format(*map(statistics.median, zip(*expected))) if expected else "-"]


def main():
    options = parse_arguments()
    fewest = min(options.devices)
    cases = [(work, precision, devices, variant)
             for work, precision, devices in itertools.product(options.works, options.precisions, options.devices)
             for variant in ([""] if devices == fewest else options.variants)]
    found = all_measurements(cases, options)
    gain = "speed-up" if options.strong else "efficiency"
    headings = ["work", "precision", "GPUs", "settings", "ms a step", gain, "range", "exposed us", "expected"]
    print(f"| {' | '.join(headings)} |\n" + "|---" * len(headings) + "|")
    for case in cases:
        row = row_of(case, found, options)
        if row:
            print("| " + " | ".join(map(str, row)) + " |")


if __name__ == "__main__":
    main()
