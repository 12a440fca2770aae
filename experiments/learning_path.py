#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tells how rough the learning paths of finished runs are: does one layer learn more smoothly than another?

    build/release/rnnlab train experiments/gru_speed_fair.yaml device=cpu "sweep={seed: [1, 2, 3, 4, 5], layer: [naive, fused]}"
    python3 experiments/learning_path.py runs/gru_speed_fair

The roughness of a path of losses is the way that it goes up and down, over the way from its first to its last loss, less
1. A path that falls in each epoch has 0, one that goes twice as far as it gets has 1. The bend is the sum of what the
steps from loss to loss change by, over the same way: it tells paths apart that only fall. Neither knows the loss's scale.

A side is the runs of one experiment's name, device and layer. Its runs are set against those of the first side by seed,
since equal seeds mean equal weights and batches. The interval of 95 % is a t interval over the seeds.
"""
import argparse
import csv
import json
import math
import pathlib
import statistics
import sys

# Of the t distribution, two-sided 95 %, by degrees of freedom; beyond them the next smaller one.
QUANTILES = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 11: 2.201, 14: 2.145,
             19: 2.093, 29: 2.045}
LOSSES = ("train_loss", "valid_loss")


def run_folders(folders):
    found = [path.parent for folder in folders for path in sorted(pathlib.Path(folder).rglob("summary.json"))]
    return found or sys.exit("error: no finished runs in " + ", ".join(folders))


def losses_of(run, name):
    with open(run / "epochs.csv", newline="") as file:
        values = [row[name] for row in csv.DictReader(file)]
    return [float(value) for value in values if value]


# Loss paths that end where they began have no net way.
def net_way(losses):
    return abs(losses[-1] - losses[0]) or math.nan


def roughness(losses):
    way = sum(abs(b - a) for a, b in zip(losses, losses[1:]))
    return max(0.0, way / net_way(losses) - 1)  # less than 0 by rounding only


def bend(losses):
    steps = [b - a for a, b in zip(losses, losses[1:])]
    return sum(abs(b - a) for a, b in zip(steps, steps[1:])) / net_way(losses)


def rises(losses):
    return sum(b > a for a, b in zip(losses, losses[1:]))


def sides_of(runs, name):
    """By label, then by seed: the paths of a loss."""
    sides = {}
    for run in runs:
        summary = json.loads((run / "summary.json").read_text())
        losses = losses_of(run, name)
        if len(losses) > 2:
            label = f"{summary['name']}, {summary['device']} {summary['layer']}"
            sides.setdefault(label, {})[summary["seed"]] = losses
    return sides


def with_interval(differences):
    mean = statistics.mean(differences)
    if len(differences) < 2:
        return f"{mean:+.3g}"
    freedom = max(n for n in QUANTILES if n <= len(differences) - 1)
    half = QUANTILES[freedom] * statistics.stdev(differences) / math.sqrt(len(differences))
    return f"{mean:+.3g} ({mean - half:+.3g} .. {mean + half:+.3g})"


def part_of_losses(path, other):
    """The largest relative difference of two paths."""
    return max(abs(a - b) / max(abs(a), abs(b), 1e-12) for a, b in zip(path, other))


def spread(values):
    return f"{statistics.median(values):.3g} ({min(values):.3g} .. {max(values):.3g})"


def row(label, name, paths, first):
    cells = [label, name, str(len(paths)), f"{statistics.median(map(rises, paths.values())):g}"]
    cells += [spread([measure(path) for path in paths.values()]) for measure in (roughness, bend)]
    seeds = sorted(set(paths) & set(first))
    if paths is first or not seeds:
        return cells + ["", "", ""]
    for measure in (roughness, bend):
        cells.append(with_interval([measure(paths[seed]) - measure(first[seed]) for seed in seeds]))
    return cells + [f"{max(part_of_losses(paths[seed], first[seed]) for seed in seeds):.2g}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="RUNS", help="folders with runs, the first side first")
    runs = run_folders(parser.parse_args().folders)
    print("| side | loss | seeds | rises | roughness | bend | roughness minus the first side's | bend minus the first side's "
          "| losses differ by |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in LOSSES:
        sides = sides_of(runs, name)
        for label, paths in sides.items():
            print("| " + " | ".join(row(label, name, paths, next(iter(sides.values())))) + " |")


main()
