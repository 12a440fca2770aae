#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains experiments/keras_lstm.yaml once a row and prints the table of its source as Markdown: seconds an epoch, us a
sample, losses and accuracies, the times of `evaluate` and `predict` over the validation samples, and the gains over the
naive layer on the CPU and on the same device. Each row has the numbers of its warnings, whose texts stand below.

    python3 experiments/keras_lstm_table.py                           # the CPU, and the first GPU where there is one
    python3 experiments/keras_lstm_table.py --rows cpu:naive cpu:blocked --samples 61223
    python3 experiments/keras_lstm_table.py --part cpu:naive=20       # that row on a twentieth, scaled and marked
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EXPERIMENT = os.path.join(ROOT, "experiments", "keras_lstm.yaml")
HEADINGS = ["layer", "device", "s/epoch", "us/sample", "loss", "acc", "val_loss", "val_acc", "evaluate s", "predict s",
            "over CPU", "over naive", "warnings"]


def part_of_row(text):
    row, _, part = text.partition("=")
    if not part.isdigit() or int(part) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no row with its part, such as cpu:naive=20")
    return row, int(part)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", metavar="DEVICE:LAYER", help="such as cpu:naive cuda:cudnn")
    parser.add_argument("--samples", type=int, default=612235, metavar="N", help="training sequences (612235)")
    parser.add_argument("--part", nargs="+", default=[], type=part_of_row, metavar="DEVICE:LAYER=K",
                        help="rows that train on N / K of them, such as cpu:naive=20 cuda:naive=10")
    parser.add_argument("--passes", type=int, default=5, metavar="N", help="of evaluate and predict; medians are shown")
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "release", "rnnlab"), metavar="FILE")
    parser.add_argument("--out", default="runs", metavar="DIR", help="where the runs go")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="for every row, such as precision=tf32")
    return parser.parse_args()


def output_of(command):
    print("+", " ".join(command), file=sys.stderr, flush=True)
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def default_rows(program):
    devices = json.loads(output_of([program, "info", "--json"]))["devices"]
    rows = ["cpu:naive", "cpu:fused", "cpu:blocked"]
    return rows + ["cuda:naive", "cuda:fused", "cuda:cudnn"] if "cuda:0" in devices else rows


def summary_of(run):
    with open(os.path.join(run, "summary.json")) as file:
        summary = json.load(file)
    if summary["epoch_time"] is None:
        sys.exit(f"error: {run}: no epoch after warm-up, so no time; leave training.warmup_epochs at 0")
    return summary


def warnings_of(program, run):
    """What makes the row's times doubtful, as `rnnlab compare` says it."""
    return [warning["text"] for warning in json.loads(output_of([program, "compare", run, "--json"]))["warnings"]]


def runs_in(folder):
    return {path for path in glob.glob(os.path.join(glob.escape(folder), "*", "*")) if not os.path.islink(path)}


def measure(row, folder, arguments):
    device, layer = row.split(":", 1)
    part = dict(arguments.part).get(row, 1)
    num_train = arguments.samples // part
    before = runs_in(folder)
    output_of([arguments.program, "train", EXPERIMENT, f"device={device}", f"layer={layer}", f"data.num_train={num_train}",
               "--out", folder, "--quiet"] + arguments.overrides)
    (run,) = runs_in(folder) - before
    summary = summary_of(run)
    passes = ["--passes", str(arguments.passes), "--json"]
    use = [arguments.program, "evaluate", run] + passes
    predict = [arguments.program, "predict", run, "--out", os.path.join(run, "outputs.npy")] + passes
    seconds = summary["epoch_time"]["median_seconds"] * arguments.samples / num_train
    return {"layer": layer, "device": device, "part": part, "seconds": seconds, "metrics": summary["final_metrics"],
            "warnings": warnings_of(arguments.program, run),
            "evaluate": json.loads(output_of(use))["seconds"], "predict": json.loads(output_of(predict))["seconds"]}


def gain(results, device, result):
    naive = [other for other in results if (other["device"], other["layer"]) == (device, "naive")]
    return f"{naive[0]['seconds'] / result['seconds']:.3g}x" if naive else ""


def all_warnings(results):
    """Each text once, in the order of the rows."""
    return list(dict.fromkeys(text for result in results for text in result["warnings"]))


def cells(result, results, num_samples):
    mark = "*" if result["part"] > 1 else ""
    metrics = [f"{result['metrics'][name]:.4f}{mark}"
               for name in ("train_loss", "train_accuracy", "valid_loss", "valid_accuracy")]
    return ([result["layer"], result["device"], f"{result['seconds']:.4g}{mark}",
             f"{1e6 * result['seconds'] / num_samples:.4g}{mark}"] + metrics +
            [f"{result['evaluate']:.3g}", f"{result['predict']:.3g}", gain(results, "cpu", result),
             gain(results, result["device"], result),
             ", ".join(str(all_warnings(results).index(text) + 1) for text in result["warnings"])])


def main():
    arguments = parse_arguments()
    os.makedirs(arguments.out, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="keras_lstm_table-", dir=arguments.out)  # nobody else's runs are in it
    results = [measure(row, folder, arguments) for row in arguments.rows or default_rows(arguments.program)]
    print("| " + " | ".join(HEADINGS) + " |")
    print("|---" * len(HEADINGS) + "|")
    for result in results:
        print("| " + " | ".join(cells(result, results, arguments.samples)) + " |")
    print(f"\n{arguments.samples:,} training sequences. A row is one epoch with its warm-up, as in the source: no interval.")
    parts = [f"{result['device']}:{result['layer']} 1/{result['part']}" for result in results if result["part"] > 1]
    if parts:
        print(f"\n\\* trained on a part of the sequences ({', '.join(parts)}): times are scaled to all of them, losses are of "
              "fewer steps.")
    if all_warnings(results):
        print("\nWarnings:\n")
    for number, text in enumerate(all_warnings(results), 1):
        print(f"{number}. {text}")


main()
