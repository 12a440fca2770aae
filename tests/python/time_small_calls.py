#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times small calls of torch.nn.LSTM and GRU beside rnnlab's on the CPU, where the time around the numbers counts.

usage: time_small_calls.py [PROCESSES]             default: 5, one after the other
       time_small_calls.py [PROCESSES] --cells     LSTMCell and GRUCell, each with several implementations

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


def step_of(layer, arguments, passes):
    def forward():
        with torch.no_grad():
            layer(*arguments)

    def both():
        layer(*arguments)[0].sum().backward()

    return forward if passes == "forward" else both


def microseconds(step) -> float:
    began = time.perf_counter()
    for _ in range(CALLS):
        step()
    return (time.perf_counter() - began) / CALLS * 1e6


def arguments_of(name, inputs, units, sequences, steps):
    """A layer reads its sequences, and a cell a step and the states before it."""
    if not name.endswith("Cell"):
        return [torch.randn(steps, sequences, inputs)]
    state = torch.randn(sequences, units)
    return [torch.randn(sequences, inputs), (state, state) if name == "LSTMCell" else state]


def measured(name, inputs, units, sequences, steps, passes, implementation="auto"):
    theirs = getattr(torch.nn, name)(inputs, units)
    ours = getattr(rnnlab, name)(inputs, units, implementation=implementation)
    ours.load_state_dict(theirs.state_dict())
    arguments = arguments_of(name, inputs, units, sequences, steps)
    pair = [step_of(layer, arguments, passes) for layer in (theirs, ours)]
    times = [[], []]
    for turn in range(TURNS + 2):
        for side in (0, 1) if turn % 2 else (1, 0):
            taken = microseconds(pair[side])
            if turn >= 2:
                times[side].append(taken)
    of_theirs, of_ours = map(statistics.median, times)
    return [of_theirs, of_theirs / of_ours, ours.implementation_used]


def cases_of(names, sizes, implementations):
    return [(name, *size, passes, implementation) for name in names for size in sizes
            for passes in ("forward", "forward + backward") for implementation in implementations]


def main() -> None:
    times_cells = "--cells" in sys.argv
    one_step = [size for size in SIZES if size[-1] == 1]
    cases = (cases_of(("LSTMCell", "GRUCell"), one_step, ("auto", "hoisted", "blocked")) if times_cells else
             cases_of(("LSTM", "GRU"), SIZES, ("auto",)))
    if "--one" in sys.argv:
        print(json.dumps([measured(*case) for case in cases]))
        return
    command = [sys.executable, __file__, "--one", *(["--cells"] if times_cells else [])]
    counts = [int(argument) for argument in sys.argv[1:] if argument != "--cells"]
    processes = [json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
                 for _ in range(counts[0] if counts else 5)]
    print("| layer | inputs | units | sequences | steps | pass | implementation | torch.nn, us | speed | least "
          "| largest | chosen |")
    print("|---|--:|--:|--:|--:|---|---|--:|--:|--:|--:|---|")
    for case, found in zip(cases, zip(*processes)):
        theirs, speeds, chosen = zip(*found)
        numbers = f"{statistics.median(theirs):.0f} | {statistics.median(speeds):.2f} | {min(speeds):.2f} | {max(speeds):.2f}"
        print("|", " | ".join(map(str, case)), "|", numbers, "|", ", ".join(sorted(set(chosen))), "|")


if __name__ == "__main__":
    main()
