#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures sides that are equal in all but their name, and counts how many 95 % intervals of a ratio exclude 1. Equal sides
should do so in about 1 of 20 comparisons. Each measurement has several sides in rounds (--repeats), and each side is
compared with the next one of the same measurement.

    .venv/bin/python experiments/equal_sides.py --measurements 8 -- experiments/quickstart.yaml device=cpu layer=fused
    .venv/bin/python experiments/equal_sides.py --variant layer=naive --variant layer=fused -- experiments/quickstart.yaml

What follows -- goes to `rnnlab train`. Measurements take the variants in turn.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/rnnlab", help="rnnlab (build/release/rnnlab)")
    parser.add_argument("--sides", type=int, default=6, metavar="N", help="of a measurement (6)")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="processes a side (5)")
    parser.add_argument("--measurements", type=int, default=8, metavar="N", help="(8)")
    parser.add_argument("--variant", action="append", default=[], metavar="'KEY=VALUE ...'", help="settings of a measurement")
    parser.add_argument("train", nargs="+", metavar="ARGUMENT", help="of rnnlab train")
    return parser.parse_args()


def run(command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {result.returncode}:\n{result.stderr[-2000:]}")
    return result.stdout


# Of each side and the next.
def comparisons(options, variant):
    names = [f"side_{i}" for i in range(options.sides)]
    with tempfile.TemporaryDirectory() as folder:
        run([options.program, "train", "--quiet", *options.train, *variant.split(), "sweep={name: [%s]}" % ", ".join(names),
             "--repeats", str(options.repeats), "--out", folder])
        for first, second in zip(names, names[1:]):
            folders = [str(pathlib.Path(folder) / name) for name in (first, second)]
            yield json.loads(run([options.program, "compare", "--json", *folders]))["groups"][1]


def main():
    options = parse_arguments()
    num_compared = num_excluding = 0
    for i in range(options.measurements):
        variant = options.variant[i % len(options.variant)] if options.variant else ""
        for group in comparisons(options, variant):
            excludes = not group["ratio_low"] <= 1 <= group["ratio_high"]
            num_compared += 1
            num_excluding += excludes
            print(f"{variant or 'as given'}: {group['seconds']:.4g} s, ratio {group['ratio']:.4f} ({group['ratio_low']:.4f} .. "
                  f"{group['ratio_high']:.4f}), p {group['mann_whitney_p']:.4f}{', excludes 1' if excludes else ''}", flush=True)
    print(f"{num_excluding} of {num_compared} exclude 1")


main()
