#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures rnnlab beside PyTorch and JAX, in rounds: in each round every side trains once, in a process of its own, in an
order that is drawn again. `rnnlab compare` then makes each table, with intervals.

    python3 experiments/peers.py --device cpu --rounds 5
    python3 experiments/peers.py --device cuda --works mnist_rows char_lm --precisions tf32 bf16 --peers torch --rounds 5
    python3 experiments/peers.py --device cuda --works paper_step --rounds 3 --set data.num_train=6400 --markdown sums.md

On a CPU all processes are pinned to as many CPUs as they have threads, and rnnlab's layer is blocked; on a GPU it is
persistent, and both sides run CUDA graphs. --set holds for all sides. Peers run with the Python that runs this script,
or with that of --python; what they need is in peer_torch.py and peer_jax.py.
"""
import argparse
import datetime
import os
import pathlib
import random
import secrets
import shlex
import subprocess
import sys

EXPERIMENTS = pathlib.Path(os.path.relpath(pathlib.Path(__file__).parent))
# What all sides of a work get beside its file; on a CPU fewer samples, so that a round takes minutes.
EVERY_WORK = ["training.epochs=4", "training.warmup_epochs=1", "checkpoint.save=false"]
# As their files are, an epoch is one step: 1.5 ms on a GPU, too short for a clock. There it has 16 steps, and 24.
GRU_STEPS, PAPER_STEPS = {"cuda": ["data.num_train=4096"]}, {"cuda": ["data.num_train=1536"]}
WORKS = {
    "mnist_rows": {"cpu": ["data.num_train=6400", "data.num_valid=128"]},
    "char_lm": {"cpu": ["data.num_train=256", "data.num_valid=1"]},
    "gru_speed": {"cpu": ["data.placement=device"], "cuda": ["data.placement=device", *GRU_STEPS["cuda"]]},
    "gru_speed_fair": GRU_STEPS,
    "paper_step": PAPER_STEPS,
    "cnn_mnist": {"cpu": ["data.num_train=2560", "data.num_valid=128"]},
    "cnn_mnist_fast": {"cpu": ["data.num_train=2560", "data.num_valid=128"]},
}
USUAL_WORKS = ("mnist_rows", "gru_speed_fair", "char_lm", "paper_step")
WITHOUT_JAX = ("cnn_mnist", "cnn_mnist_fast")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/rnnlab", help="rnnlab (build/release/rnnlab)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="(cpu)")
    parser.add_argument("--works", nargs="+", choices=WORKS, default=USUAL_WORKS, metavar="WORK", help=", ".join(WORKS))
    parser.add_argument("--precisions", nargs="+", choices=("fp32", "tf32", "bf16"), help="(fp32 bf16; of a GPU tf32 bf16)")
    parser.add_argument("--peers", nargs="*", choices=("torch", "jax"), default=["torch", "jax"])
    parser.add_argument("--python", default=sys.executable, metavar="FILE", help="that runs the peers (this one)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="processes of each side (5)")
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="of a CPU, and as many CPUs (2)")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="for all sides, after the work's own")
    parser.add_argument("--ours", nargs="+", metavar="LAYER", help="layers of rnnlab (blocked; of a GPU persistent)")
    parser.add_argument("--out", default="runs/peers", metavar="DIR", help="where run folders go (runs/peers)")
    parser.add_argument("--markdown", metavar="FILE", help="also write the tables there")
    options = parser.parse_args()
    options.precisions = options.precisions or ["tf32" if options.device == "cuda" else "fp32", "bf16"]
    options.ours = options.ours or ["persistent" if options.device == "cuda" else "blocked"]
    return options


def settings_of(options, work, precision):
    graphs = "true" if options.device == "cuda" else "false"
    place = ["training.cuda_graph=" + graphs] + ([f"training.num_threads={options.threads}"] if options.device == "cpu" else [])
    return [str(EXPERIMENTS / f"{work}.yaml"), f"device={options.device}", f"precision={precision}", *EVERY_WORK, *place,
            *WORKS[work].get(options.device, []), *options.set]


def sides_of(options, work, precision, out):
    """The commands, without their turn. The first is what the others are measured against."""
    settings = [*settings_of(options, work, precision), "--out", out]
    layers = [] if work in WITHOUT_JAX else [[f"layer={layer}"] for layer in options.ours]
    ours = [[options.program, "train", "--quiet", *settings, *layer] for layer in layers or [["convolution=fused"]]]
    peers = [peer for peer in options.peers if peer == "torch" or work not in WITHOUT_JAX]
    return ours + [[options.python, str(EXPERIMENTS / f"peer_{peer}.py"), *settings, "--program", options.program]
                   for peer in peers]


def run(command, options):
    def pin():
        if options.device == "cpu":
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.threads])

    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=pin)
    if result.returncode != 0:
        sys.exit(f"{shlex.join(command)} ended with {result.returncode}:\n{result.stderr[-2000:]}")
    return result.stdout


def measure(options, work, precision):
    """All rounds of a work. Every second round takes the order of the one before backwards, as rnnlab's own rounds do."""
    measurement = secrets.token_hex(8)
    out = str(pathlib.Path(options.out) / f"{work}-{precision}-{measurement[:6]}")
    sides = sides_of(options, work, precision, out)
    order = []
    drawn = random.Random(measurement)  # every run records the measurement's name, so its orders can be drawn again
    for round_number in range(1, options.rounds + 1):
        order = order[::-1] if round_number % 2 == 0 else drawn.sample(range(len(sides)), len(sides))
        for position, side in enumerate(order, 1):
            line = run([*sides[side], "--turn", f"{measurement}:{round_number}:{position}:{side + 1}"], options)
            print(f"  round {round_number} of {options.rounds}: {line.splitlines()[0]}", file=sys.stderr, flush=True)
    return sides, compared([options.program, "compare", "--verbose", str(pathlib.Path(out) / work)], options)


def compared(command, options):
    """The table. Where compare refuses it, as for peers that ran in another format, the table names what is not equal."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return result.stdout if result.returncode == 0 else run([*command, "--force"], options)


def require_packages(options):
    for peer in options.peers:
        found = subprocess.run([options.python, "-c", f"import importlib.util as u; exit(u.find_spec('{peer}') is None)"])
        if found.returncode != 0:
            sys.exit(f"{options.python} has no package {peer}: install it (experiments/peer_{peer}.py says how), name another "
                     "Python by --python, or name the other peers alone by --peers")


def machine(options):
    lines = run([options.program, "info"], options).splitlines()
    return [line for line in lines if line.split(" ")[0] in ("libraries", "cpu", "memory", "gpu", "driver", "system")]


def section(work, precision, sides, table):
    commands = "\n".join(shlex.join("python3" if word == sys.executable else word for word in side) for side in sides)
    return f"## {work}, {precision}\n```\n{commands}\n```\n```\n{table}```\n"


def page(options, sections):
    now = datetime.datetime.now(datetime.timezone.utc)
    command = shlex.join(["python3", "experiments/peers.py", *sys.argv[1:]])
    return (f"# rnnlab beside other programs, {now:%Y-%m-%d %H:%M} UTC\n{options.rounds} rounds, each side in a process of "
            f"its own:\n```\n{command}\n```\nThe machine, by `rnnlab info`:\n```\n" + "\n".join(machine(options)) +
            "\n```\n" + "\n".join(sections))


def main():
    options = parse_arguments()
    require_packages(options)
    sections = []
    for work in options.works:
        for precision in options.precisions:
            print(f"{work}, {precision}", file=sys.stderr, flush=True)
            sides, table = measure(options, work, precision)
            print(f"{work}, {precision}\n{table}", flush=True)
            sections.append(section(work, precision, sides, table))
            if options.markdown:
                pathlib.Path(options.markdown).write_text(page(options, sections))


main()
