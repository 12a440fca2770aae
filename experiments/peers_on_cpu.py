#!/usr/bin/env python3
"""Epoch times of `layer: blocked`, PyTorch and JAX on a CPU, in turn: one process of each, then the next round. Prints the
median of the rounds' medians, in brackets the smallest and the largest, and the ratio to each peer by rounds.

    .venv/bin/python experiments/peers_on_cpu.py --threads 2 --rounds 5
    .venv/bin/python experiments/peers_on_cpu.py --threads 16 --works char_lm --precisions bf16 --peers torch

Every process is pinned to as many CPUs as it has threads. JAX's peer needs jax and optax (experiments/peer_jax.py).
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

EXPERIMENTS = pathlib.Path(__file__).parent
# Settings of an experiment beside its file's, and the samples that a peer takes of the same data.
WORKS = {
    "mnist_rows": ("mnist_rows.yaml", ["data.num_train=6400", "data.num_valid=128"], 6400),
    "gru_speed": ("gru_speed_fair.yaml", [], 256),
    "char_lm": ("char_lm.yaml", ["data.num_train=256", "data.num_valid=1"], 256),
    "paper_step": ("paper_step.yaml", ["training.cuda_graph=false"], 64),
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/rnnlab", help="rnnlab (build/release/rnnlab)")
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="and CPUs (2)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="processes of each (3)")
    parser.add_argument("--epochs", type=int, default=4, metavar="N", help="with the first, which does not count (4)")
    parser.add_argument("--works", nargs="+", choices=WORKS, default=list(WORKS), metavar="WORK", help=", ".join(WORKS))
    parser.add_argument("--precisions", nargs="+", choices=("fp32", "bf16"), default=["fp32", "bf16"])
    parser.add_argument("--peers", nargs="*", choices=("torch", "jax"), default=["torch", "jax"])
    return parser.parse_args()


def run(command, threads):
    cpus = sorted(os.sched_getaffinity(0))[:threads]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "OMP_NUM_THREADS": str(threads), "JAX_PLATFORMS": "cpu"},
                            preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {result.returncode}:\n{result.stderr[-2000:]}")
    return result.stdout


def seconds_of_blocked(options, work, precision):
    file, settings, _ = WORKS[work]
    with tempfile.TemporaryDirectory() as folder:
        run([options.program, "train", "-q", str(EXPERIMENTS / file), "device=cpu", "layer=blocked",
             f"precision={precision}", f"training.epochs={options.epochs}", "training.warmup_epochs=1", *settings,
             "--out", folder], options.threads)
        rows = next(pathlib.Path(folder).glob("*/*/epochs.jsonl")).read_text().splitlines()
    return statistics.median(json.loads(row)["train_seconds"] for row in rows[1:])


def seconds_of_peer(peer, options, work, precision):
    place = ["--device", "cpu", "--threads", str(options.threads)] if peer == "torch" else []
    output = run([sys.executable, str(EXPERIMENTS / f"peer_{peer}.py"), work, "--precision", precision,
                  "--samples", str(WORKS[work][2]), "--epochs", str(options.epochs), *place], options.threads)
    return float(re.search(r": ([\d.]+) s an epoch", output).group(1))


def described(values, scale, digits):
    low, high = min(values) * scale, max(values) * scale
    return f"{statistics.median(values) * scale:.{digits}f} ({low:.{digits}f} .. {high:.{digits}f})"


def main():
    options = parse_arguments()
    print(f"{options.threads} threads, {options.rounds} rounds; milliseconds an epoch", flush=True)
    for work in options.works:
        for precision in options.precisions:
            ours, peers = [], {peer: [] for peer in options.peers}
            for _ in range(options.rounds):
                ours.append(seconds_of_blocked(options, work, precision))
                for peer in peers:
                    peers[peer].append(seconds_of_peer(peer, options, work, precision))
            line = f"{work} {precision}: blocked {described(ours, 1e3, 1)}"
            for peer, seconds in peers.items():
                ratios = [mine / theirs for mine, theirs in zip(ours, seconds)]
                line += f", {peer} {described(seconds, 1e3, 1)}, ratio {described(ratios, 1, 3)}"
            print(line, flush=True)


main()
