#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times small calls of torch.nn.LSTM and GRU beside rnnlab's on the CPU, where the time around the numbers counts.

usage: time_small_calls.py [PROCESSES]      default: 5, one after the other

In each process the two layers take turns of 20 calls, 150 times, after a warm-up in which `auto` chooses. The table has the
median over processes of torch.nn's median time, and of the speed of rnnlab's layer relative to it with its least and largest
value.
"""

import json
import statistics
import subprocess
import sys
import time

import torch

import rnnlab

CALLS, TURNS = 20, 150
# inputs, units, sequences, steps
SIZES = ((32, 64, 1, 1), (64, 128, 8, 1), (128, 256, 32, 1), (32, 64, 16, 10))


def step_of(layer, x, passes):
    def forward():
        with torch.no_grad():
            layer(x)

    def both():
        layer(x)[0].sum().backward()

    return forward if passes == "forward" else both


def microseconds(step) -> float:
    began = time.perf_counter()
    for _ in range(CALLS):
        step()
    return (time.perf_counter() - began) / CALLS * 1e6


def measured(name, inputs, units, sequences, steps, passes):
    theirs, ours = getattr(torch.nn, name)(inputs, units), getattr(rnnlab, name)(inputs, units)
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(steps, sequences, inputs)
    pair = [step_of(layer, x, passes) for layer in (theirs, ours)]
    times = [[], []]
    for turn in range(TURNS + 2):
        for side in (0, 1) if turn % 2 else (1, 0):
            taken = microseconds(pair[side])
            if turn >= 2:
                times[side].append(taken)
    of_theirs, of_ours = map(statistics.median, times)
    return [of_theirs, of_theirs / of_ours, ours.implementation_used]


def main() -> None:
    cases = [(name, *size, passes) for name in ("LSTM", "GRU") for size in SIZES for passes in ("forward", "forward + backward")]
    if sys.argv[1:] == ["--one"]:
        print(json.dumps([measured(*case) for case in cases]))
        return
    command = [sys.executable, __file__, "--one"]
    processes = [json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
                 for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 5)]
    print("| layer | inputs | units | sequences | steps | pass | torch.nn, us | speed | least | largest | chosen |")
    print("|---|--:|--:|--:|--:|---|--:|--:|--:|--:|---|")
    for case, found in zip(cases, zip(*processes)):
        theirs, speeds, chosen = zip(*found)
        numbers = f"{statistics.median(theirs):.0f} | {statistics.median(speeds):.2f} | {min(speeds):.2f} | {max(speeds):.2f}"
        print("|", " | ".join(map(str, case)), "|", numbers, "|", ", ".join(sorted(set(chosen))), "|")


if __name__ == "__main__":
    main()
