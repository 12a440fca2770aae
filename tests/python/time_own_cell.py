# SPDX-License-Identifier: Apache-2.0
"""Times a cell of equations (MGU) in rnnlab.Recurrent beside the same loop in plain PyTorch, eager and compiled.

Forward and backward pass of one layer in float32. The three take turns, pass by pass; each process prints medians, and
the last line has the medians of the processes. The loop computes the products of the inputs of all steps at once.

usage: PYTHONPATH=build/release/python python tests/python/time_own_cell.py [--processes 5] [--seconds 8]
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

NUM_STEPS, BATCH_SIZE, HIDDEN_SIZE = 64, 32, 128


def loop(x, weight_ih, weight_hh, bias_ih, bias_hh):
    import torch

    h = x.new_zeros(x.size(1), weight_hh.size(1))
    inputs, outputs = torch.nn.functional.linear(x, weight_ih, bias_ih), []
    for step in inputs.unbind(0):
        (xf, xn), (hf, hn) = step.chunk(2, -1), torch.nn.functional.linear(h, weight_hh, bias_hh).chunk(2, -1)
        f = torch.sigmoid(xf + hf)
        n = torch.tanh(xn + f * hn)
        h = (1 - f) * h + f * n
        outputs.append(h)
    return torch.stack(outputs)


def measure(seconds):
    import torch

    import rnnlab

    cell = rnnlab.Cell("f = sigmoid(f)\nn = tanh(x.n + f * h.n)\nh = (1 - f) * h + f * n", gates=["f", "n"], states=["h"])
    layer = rnnlab.Recurrent(cell, HIDDEN_SIZE, HIDDEN_SIZE)
    weights, compiled = list(layer.parameters()), torch.compile(loop)
    x = torch.randn(NUM_STEPS, BATCH_SIZE, HIDDEN_SIZE, requires_grad=True)
    ways = {"rnnlab": lambda: layer(x)[0], "eager": lambda: loop(x, *weights), "compiled": lambda: compiled(x, *weights)}

    def run(way):
        began = time.perf_counter()
        gradients = torch.autograd.grad(ways[way]().sum(), [x, *weights])
        return time.perf_counter() - began, gradients

    wanted = run("eager")[1]
    for way in ways:
        torch.testing.assert_close(run(way)[1], wanted, rtol=1e-3, atol=1e-3)
        run(way)
    times, began = {way: [] for way in ways}, time.perf_counter()
    while time.perf_counter() - began < seconds:
        for way in ways:
            times[way].append(run(way)[0])
    result = {way: 1e3 * statistics.median(one) for way, one in times.items()}
    print(json.dumps({**result, "passes": len(times["rnnlab"]), "layer": layer.implementation_used,
                      "threads": torch.get_num_threads()}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        return measure(given.seconds)
    rows = []
    for _ in range(given.processes):
        command = [sys.executable, __file__, "--one", "--seconds", str(given.seconds)]
        rows.append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
        print(rows[-1], flush=True)
    for way in ("rnnlab", "eager", "compiled"):
        ratios = [row[way] / row["rnnlab"] for row in rows]
        print(f"{way}: {statistics.median(row[way] for row in rows):.2f} ms, {statistics.median(ratios):.2f} times rnnlab's "
              f"({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
