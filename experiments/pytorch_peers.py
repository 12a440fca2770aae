#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares rnnlab.LSTM with torch.nn.LSTM and with flashrnn, if it is installed: milliseconds of a pass in bfloat16.

usage: pytorch_peers.py [--processes N]      rows of each process as JSON on stderr, the medians on stdout

One layer, one head; the sizes are hidden units / sequences / steps, with as many inputs as hidden units. flashrnn has no
product for the inputs, so a torch.nn.Linear stands before it. Each process measures every side in turn, in several
rounds; a row has the median over the processes, and the smallest and the largest.
"""

import argparse
import json
import statistics
import subprocess
import sys

from pytorch_layers import milliseconds

SIZES = [(768, 16, 1024), (512, 64, 100), (64, 16, 1024)]
NUM_ROUNDS = 5
FLASHRNN_BACKENDS = ("cuda_fused", "cuda", "triton_fused")


def by_module(module, data):
    import torch

    def work(is_training):
        with torch.autocast("cuda", torch.bfloat16), torch.set_grad_enabled(is_training):
            output, _ = module(data)
        if is_training:
            output.backward(torch.ones_like(output))

    return work


def by_flashrnn(backend, hidden_size, data):
    import torch
    from flashrnn import flashrnn

    num_steps, batch_size, _ = data.shape
    linear = torch.nn.Linear(hidden_size, 4 * hidden_size, device="cuda", dtype=torch.bfloat16)
    options = dict(device="cuda", dtype=torch.bfloat16, requires_grad=True)
    recurrent = torch.randn(4, 1, hidden_size, hidden_size, **options)
    bias = torch.zeros(4, 1, hidden_size, **options)
    batch_first = data.detach().transpose(0, 1).contiguous().bfloat16().requires_grad_()

    def work(is_training):
        with torch.set_grad_enabled(is_training):
            sums = linear(batch_first).view(batch_size, num_steps, 4, 1, hidden_size)
            states, _ = flashrnn(sums, recurrent, bias, function="lstm", backend=backend, dtype="bfloat16")
        if is_training:
            states[0].backward(torch.ones_like(states[0]))

    return work


def sides_of(hidden_size, data):
    """Returns the passes by name; a side that cannot run here is printed with the reason."""
    import torch

    import rnnlab

    makers = {"torch.nn": lambda: by_module(torch.nn.LSTM(hidden_size, hidden_size).cuda(), data),
              "rnnlab": lambda: by_module(rnnlab.LSTM(hidden_size, hidden_size).cuda(), data)}
    for backend in FLASHRNN_BACKENDS:
        makers[f"flashrnn {backend}"] = lambda backend=backend: by_flashrnn(backend, hidden_size, data)
    sides = {}
    for name, make in makers.items():
        try:
            work = make()
            for is_training in (False, True, False, True):
                work(is_training)
            torch.cuda.synchronize()
            sides[name] = work
        except Exception as error:  # whatever a peer raises is its reason
            reason = str(error).strip().splitlines() or [type(error).__name__]
            print(json.dumps(dict(side=name, hidden_size=hidden_size, missing=reason[-1][:200])), flush=True)
    return sides


def measure_all():
    import torch

    for hidden_size, batch_size, num_steps in SIZES:
        data = torch.randn(num_steps, batch_size, hidden_size, device="cuda", requires_grad=True)
        sides = sides_of(hidden_size, data)
        times = {(name, is_training): [] for name in sides for is_training in (False, True)}
        for _ in range(NUM_ROUNDS):
            for (name, is_training), values in times.items():
                values.append(milliseconds(lambda: sides[name](is_training)))
        for (name, is_training), values in times.items():
            print(json.dumps(dict(side=name, hidden_size=hidden_size, batch_size=batch_size, num_steps=num_steps,
                                  passes="forward and backward" if is_training else "forward",
                                  milliseconds=statistics.median(values))), flush=True)


def print_summary(rows):
    by_case = {}
    for row in rows:
        if "missing" in row:
            print(f"{row['side']}, {row['hidden_size']} units: missing, because {row['missing']}")
            continue
        case = tuple(row[key] for key in ("hidden_size", "batch_size", "num_steps", "passes", "side"))
        by_case.setdefault(case, []).append(row["milliseconds"])
    for (hidden_size, batch_size, num_steps, passes, side), values in sorted(by_case.items()):
        print(f"{hidden_size}/{batch_size}/{num_steps} {passes:20} {side:22} "
              f"{statistics.median(values):8.3f} ms ({min(values):.3f} .. {max(values):.3f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--one-process", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one_process:
        measure_all()
        return
    rows = []
    for number in range(arguments.processes):
        with subprocess.Popen([sys.executable, __file__, "--one-process"], stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                if line.startswith("{"):  # peers print while they compile
                    print(line, end="", file=sys.stderr, flush=True)
                    rows.append(json.loads(line))
        if process.returncode != 0:
            print(f"process {number} ended with exit code {process.returncode}", file=sys.stderr)
    print_summary(rows)


if __name__ == "__main__":
    main()
