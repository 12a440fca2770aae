#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times matrix products alone, by NumPy and by LibTorch: what a recurrent layer's products cost without the layer.

    python3 -m venv ~/products && ~/products/bin/pip install numpy torch==2.11.0
    ~/products/bin/python experiments/products.py                          # squares, and the product of a step in a loop
    ~/products/bin/python experiments/products.py --threads 2 --square 256 1024 --steps 50

A square is one product of two N x N matrices. A loop is what a recurrent layer cannot do at once: B sequences of H units,
in each step their states times the H x 4H weights of an LSTM's gates. The states of the next step are the first H columns,
scaled, so that each step needs the one before it. "All steps at once" is the same work as a single product, as inputs
allow it and states do not.

Every side has float32, the same numbers and as many threads. Rounds take the sides in turn; the first round does not
count. Seconds are medians, in brackets stands the range. Results may differ by rounding only, else it ends with 1.
"""
import argparse
import os
import statistics
import sys
import time


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), metavar="N")
    parser.add_argument("--square", type=int, nargs="*", default=[64, 256, 1024, 2048], metavar="N", help="edges of squares")
    parser.add_argument("--hidden", type=int, nargs="*", default=[128, 512, 1024], metavar="H", help="units of loops")
    parser.add_argument("--batch", type=int, default=64, metavar="B")
    parser.add_argument("--steps", type=int, default=100, metavar="T")
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="that count")
    parser.add_argument("--seconds", type=float, default=0.05, metavar="S", help="a sample repeats its work for so long")
    return parser.parse_args()


options = parse_arguments()
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = str(options.threads)  # before the libraries are loaded

import numpy  # noqa: E402
import torch  # noqa: E402

torch.set_num_threads(options.threads)
torch.set_grad_enabled(False)
torch.backends.cuda.matmul.allow_tf32 = False


class Side:
    """One library on one device."""

    def __init__(self, name, load, wait=lambda: None):
        self.name, self.load, self.wait = name, load, wait


def sides():
    yield Side("NumPy", lambda array: array)
    yield Side("LibTorch, CPU", torch.from_numpy)
    if torch.cuda.is_available():
        yield Side("LibTorch, GPU", lambda array: torch.from_numpy(array).cuda(), torch.cuda.synchronize)


# ---- the work: each gives the function that does it once, and its floating-point operations ----


def square(side, edge):
    a, b = (side.load(draw(edge, edge)) for _ in range(2))
    return lambda: a @ b, 2 * edge**3


def loop(side, hidden):
    state, weights = side.load(draw(options.batch, hidden)), side.load(draw(hidden, 4 * hidden) / hidden**0.5)

    def steps():
        h = state
        for _ in range(options.steps):
            h = (h @ weights)[:, :hidden] * 0.5
        return h

    return steps, 2 * options.steps * options.batch * hidden * 4 * hidden


def at_once(side, hidden):
    states, weights = side.load(draw(options.steps * options.batch, hidden)), side.load(draw(hidden, 4 * hidden))
    return lambda: states @ weights, 2 * options.steps * options.batch * hidden * 4 * hidden


generator = numpy.random.default_rng(1)


def draw(rows, columns):
    return generator.standard_normal((rows, columns), dtype=numpy.float32)


# ---- measuring ----


def sample(side, work):
    side.wait()
    begin, count = time.perf_counter(), 0
    while count == 0 or time.perf_counter() - begin < options.seconds:
        work()
        count += 1
    side.wait()
    return (time.perf_counter() - begin) / count


def result_of(work):
    result = work()
    return numpy.asarray(result if isinstance(result, numpy.ndarray) else result.cpu())


def require_equal(name, works):
    global generator
    first, *others = [result_of(work) for work in works]
    for other in others:
        if not numpy.allclose(first, other, rtol=1e-3, atol=1e-3 * float(numpy.abs(first).max())):
            sys.exit(f"error: {name}: the sides computed different results")


def measure(name, make, size):
    global generator
    all_sides, works, operations = list(sides()), [], 0
    for side in all_sides:
        generator = numpy.random.default_rng(1)  # the same numbers for each side
        work, operations = make(side, size)
        works.append(work)
    require_equal(name, works)
    samples = [[] for _ in all_sides]
    for i in range(options.rounds + 1):
        for side, work, kept in zip(all_sides, works, samples):
            seconds = sample(side, work)
            if i > 0:
                kept.append(seconds)
    medians = [statistics.median(kept) for kept in samples]
    for side, kept, median in zip(all_sides, samples, medians):
        ratio = "" if side.name == "NumPy" else f"{median / medians[0]:.3g}"
        print(f"| {name} | {side.name} | {1e3 * median:.4g} ({1e3 * min(kept):.4g} .. {1e3 * max(kept):.4g}) | "
              f"{operations / median / 1e9:.4g} | {ratio} |", flush=True)


print("| product | by | ms | GFLOP/s | over NumPy |\n|---|---|---|---|---|")
for edge in options.square:
    measure(f"square, N = {edge}", square, edge)
for hidden in options.hidden:
    measure(f"loop of {options.steps} steps, B = {options.batch}, H = {hidden}", loop, hidden)
    measure(f"all steps at once, B = {options.batch}, H = {hidden}", at_once, hidden)
print(f"\nnum_threads {options.threads}, float32, NumPy {numpy.__version__}, LibTorch {torch.__version__}.")
