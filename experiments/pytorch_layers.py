#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares rnnlab.LSTM and rnnlab.GRU with torch.nn's on a GPU: seconds of a forward and backward pass.

usage: pytorch_layers.py OUT.json [--processes N] [--sizes 512x4,...] [--compiled]

Each process measures every side in turn, in several rounds, and keeps the median of each side. A row has the median over
the processes of the quotient nn's time / rnnlab's time, with the smallest and the largest. Sides:

  eager     the module as a program calls it
  compiled  the module after torch.compile (with --compiled and a C compiler on the machine)
  graph     the pass, captured in a CUDA graph and replayed

All sides get the same input, (128 steps, 64 sequences), TF32 as PyTorch allows it, or bfloat16 by autocast. Under that
autocast torch.nn's layers compute in float16 on a GPU, and rnnlab's in bfloat16.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys

NUM_STEPS, BATCH_SIZE, NUM_ROUNDS, NUM_PASSES = 128, 64, 7, 5
SIZES = "256x1,256x4,512x1,512x2,512x4,1024x1,1024x4"


def milliseconds(work):
    import torch

    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(NUM_PASSES):
        work()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / NUM_PASSES


def pass_of(module, data, autocast):
    """Returns a function that computes the module and all gradients."""
    import torch

    def work():
        for parameter in module.parameters():
            parameter.grad = None
        data.grad = None
        with torch.autocast("cuda", torch.bfloat16, enabled=autocast, cache_enabled=False):
            output, _ = module(data)
        output.backward(torch.ones_like(output))

    return work


def captured(work):
    """Returns a function that replays the work as a CUDA graph. It is run first on a side stream, as PyTorch asks."""
    import torch

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        work()

    def replay(kept=work):  # the graph reads the pass's input, whose memory would be freed with the pass
        del kept
        graph.replay()

    return replay


def sides_of(cell, hidden_size, num_layers, autocast, is_compiled):
    import torch

    import rnnlab

    torch.manual_seed(1)
    theirs = getattr(torch.nn, cell)(hidden_size, hidden_size, num_layers).cuda()
    data = torch.randn(NUM_STEPS, BATCH_SIZE, hidden_size, device="cuda", requires_grad=True)
    modules = {"nn": theirs}
    for implementation in ("auto", "persistent"):
        mine = getattr(rnnlab, cell)(hidden_size, hidden_size, num_layers, implementation=implementation).cuda()
        mine.load_state_dict(theirs.state_dict())
        modules[implementation] = mine
    sides = {}
    for name, module in modules.items():
        sides[name, "eager"] = pass_of(module, data, autocast)
        if is_compiled and shutil.which("cc"):
            sides[name, "compiled"] = pass_of(torch.compile(module), data, autocast)
    for work in sides.values():
        for _ in range(3):
            work()
    for name, module in modules.items():
        sides[name, "graph"] = captured(pass_of(module, data.detach().clone().requires_grad_(), autocast))
    used = {name: getattr(module, "implementation_used", "torch") for name, module in modules.items()}
    return sides, used


def measure(cell, hidden_size, num_layers, autocast, is_compiled):
    sides, used = sides_of(cell, hidden_size, num_layers, autocast, is_compiled)
    times = {side: [] for side in sides}
    for _ in range(NUM_ROUNDS):
        for side, work in sides.items():
            work()
            times[side].append(milliseconds(work))
    medians = {side: statistics.median(values) for side, values in times.items()}
    precision = "bf16" if autocast else "tf32"
    return [
        dict(cell=cell, hidden_size=hidden_size, num_layers=num_layers, precision=precision, way=way,
             implementation=name, used=used[name], milliseconds=seconds)
        for (name, way), seconds in medians.items()
    ]


def measure_all(sizes, is_compiled):
    import torch

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    for cell in ("LSTM", "GRU"):
        for hidden_size, num_layers in sizes:
            for autocast in (False, True):
                for row in measure(cell, hidden_size, num_layers, autocast, is_compiled):
                    print(json.dumps(row), flush=True)


def summary_of(processes):
    by_case = {}
    for number, rows in enumerate(processes):
        for row in rows:
            case = tuple(row[key] for key in ("cell", "hidden_size", "num_layers", "precision", "way"))
            by_case.setdefault(case, {}).setdefault(number, {})[row["implementation"]] = row
    lines = []
    for case, by_process in by_case.items():
        for name in ("auto", "persistent"):
            pairs = [(rows["nn"]["milliseconds"], rows[name]["milliseconds"]) for rows in by_process.values()
                     if "nn" in rows and name in rows]
            if not pairs:
                continue
            ratios = sorted(theirs / mine for theirs, mine in pairs)
            used = sorted({rows[name]["used"] for rows in by_process.values() if name in rows})
            lines.append(
                f"{' '.join(map(str, case)):32} {name:10} ({','.join(used)}): nn "
                f"{statistics.median(pair[0] for pair in pairs):.3f} ms, rnnlab "
                f"{statistics.median(pair[1] for pair in pairs):.3f} ms, quotient {statistics.median(ratios):.2f} "
                f"({ratios[0]:.2f} .. {ratios[-1]:.2f})")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--sizes", default=SIZES, help="hidden units x layers, separated by commas")
    parser.add_argument("--compiled", action="store_true", help="time the modules after torch.compile, too")
    parser.add_argument("--one-process", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one_process:
        measure_all([tuple(map(int, size.split("x"))) for size in arguments.sizes.split(",")], arguments.compiled)
        return
    processes = []
    for number in range(arguments.processes):
        command = [sys.executable, __file__, arguments.out, "--one-process", "--sizes", arguments.sizes]
        command += ["--compiled"] if arguments.compiled else []
        result = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        processes.append([json.loads(line) for line in result.stdout.splitlines()])
        with open(arguments.out, "w") as file:
            json.dump(processes, file, indent=1)
        if result.returncode != 0:
            print(f"process {number} ended with exit code {result.returncode}", file=sys.stderr)
    print("\n".join(summary_of(processes)))


if __name__ == "__main__":
    main()
