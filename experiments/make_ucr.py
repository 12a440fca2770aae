#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes made-up series in the file formats and the shapes of three data sets of the UCR and UEA archives.

    python3 experiments/make_ucr.py data/ucr

ECG5000 (.tsv, UCR): 140 steps, 5 classes, 500 series for training and 4500 for tests. JapaneseVowels (.ts, UEA): 7 to
29 steps of 12 dimensions, 9 classes, 270 and 370 series. BasicMotions (.ts, UEA): 100 steps of 6 dimensions, 4 classes,
40 and 40 series. The values are waves with noise, not the archives' values. --divide 10 writes a tenth of the series.
"""
import argparse
import math
import pathlib
import random


def wave(label, dimension, step, steps):
    """The noiseless value of a class, between -2 and 2."""
    angle = 2 * math.pi * step / steps
    return math.sin((label + 1) * angle + dimension) + math.cos((label + dimension) % 3 * angle)


def series(rng, label, steps, dimensions):
    """One list of values a dimension."""
    shift = rng.randrange(max(1, steps // 10))
    return [
        [wave(label, dimension, step + shift, steps) + rng.gauss(0, 0.3) for step in range(steps)]
        for dimension in range(dimensions)
    ]


def write_tsv(path, rng, count, classes, steps):
    with open(path, "w", encoding="utf-8") as file:
        for i in range(count):
            label = i % classes
            (values,) = series(rng, label, steps, 1)
            print(label + 1, *(f"{value:.5f}" for value in values), sep="\t", file=file)


def write_ts(path, rng, name, count, labels, lengths, dimensions):
    is_equal = lengths[0] == lengths[1]
    with open(path, "w", encoding="utf-8") as file:
        print("# made up by experiments/make_ucr.py", file=file)
        print(f"@problemName {name}\n@timeStamps false\n@missing false\n@univariate false", file=file)
        print(f"@dimensions {dimensions}\n@equalLength {str(is_equal).lower()}", file=file)
        if is_equal:
            print(f"@seriesLength {lengths[0]}", file=file)
        print("@classLabel true", *labels, "\n@data", file=file)
        for i in range(count):
            label = i % len(labels)
            rows = series(rng, label, rng.randint(*lengths), dimensions)
            texts = [",".join(f"{value:.5f}" for value in row) for row in rows]
            print(*texts, labels[label], sep=":", file=file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="the folder to write to, one folder a data set")
    parser.add_argument("--divide", type=int, default=1, help="write only one of so many series (default 1)")
    options = parser.parse_args()
    motions = ["Standing", "Running", "Walking", "Badminton"]
    vowels = [str(i) for i in range(1, 10)]
    for name in ("ECG5000", "JapaneseVowels", "BasicMotions"):
        (options.folder / name).mkdir(parents=True, exist_ok=True)
    for part, counts in (("TRAIN", (500, 270, 40)), ("TEST", (4500, 370, 40))):
        rng = random.Random(f"rnnlab {part}")
        ecg, vowel, motion = (max(20, count // options.divide) for count in counts)
        write_tsv(options.folder / f"ECG5000/ECG5000_{part}.tsv", rng, ecg, 5, 140)
        write_ts(options.folder / f"JapaneseVowels/JapaneseVowels_{part}.ts", rng, "JapaneseVowels", vowel, vowels,
                 (7, 29), 12)
        write_ts(options.folder / f"BasicMotions/BasicMotions_{part}.ts", rng, "BasicMotions", motion, motions,
                 (100, 100), 6)


if __name__ == "__main__":
    main()
