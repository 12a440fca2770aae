#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times one sLSTM layer of other programs, forward and backward, beside rnnlab's cell: slstm.

    python3 experiments/peer_slstm.py --xlstm-path DIR --flashrnn-path DIR --out slstm.json
    python3 experiments/peer_slstm.py --device cpu --num-steps 20 --programs xlstm_vanilla

A pass computes the outputs and the gradients of the inputs, the weights and the bias, as
`rnnlab bench` does. All programs get the same inputs and weights, and one matrix product for the
inputs of all gates. Programs:

  xlstm_vanilla    the package xlstm, backend vanilla: operations of PyTorch, step by step
  xlstm_cuda       the package xlstm, backend cuda, which it compiles (nvcc and ninja)
  flashrnn_cuda, flashrnn_cuda_fused, flashrnn_triton_fused    the package flashrnn, its backends

Modes: eager, and graph for a pass that was captured in a CUDA graph. Each program and precision
has a process of its own. A row has the median of the repeats in milliseconds, or the reason why
there is none, and the largest difference of the outputs from a computation in float64. Without a
path, a package is imported as installed.
"""

import argparse
import importlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import torch
from torch.nn import functional as F

FLASHRNN_BACKENDS = ("cuda", "cuda_fused", "triton_fused")
PROGRAMS = ("xlstm_vanilla", "xlstm_cuda", *(f"flashrnn_{name}" for name in FLASHRNN_BACKENDS))
PRECISIONS = ("fp32", "tf32", "bf16")
DTYPE_NAMES = {"fp32": "float32", "tf32": "float32", "bf16": "bfloat16"}


class Problem:
    """Inputs, weights and gradient, drawn by a seed, in rnnlab's layout: gates i f z o."""

    def __init__(self, options):
        self.num_steps, self.batch_size = options.num_steps, options.batch_size
        self.hidden_size, self.heads = options.hidden_size, options.heads
        self.precision = options.one_precision
        self.head_size, rows = options.hidden_size // options.heads, 4 * options.hidden_size
        torch.manual_seed(1)
        bound, device = options.hidden_size**-0.5, torch.device(options.device)
        sequence = self.num_steps, self.batch_size, self.hidden_size

        def drawn(*shape):
            return torch.empty(shape).uniform_(-bound, bound).to(device).requires_grad_()

        self.weight_ih = drawn(rows, self.hidden_size)
        self.weight_hh = drawn(rows, self.head_size)
        self.bias = drawn(rows)
        self.inputs = torch.randn(sequence).to(device).requires_grad_()
        self.gradient = torch.randn(sequence).to(device)

    def leaves(self):
        return [self.inputs, self.weight_ih, self.weight_hh, self.bias]

    def blocks(self):
        """Returns the recurrent weights (gates, heads, outputs, inputs)."""
        return self.weight_hh.reshape(4, self.heads, self.head_size, self.head_size)

    def outputs_in_float64(self):
        """Returns (steps, batch, hidden) by the equations of the paper."""
        with torch.no_grad():
            wx = F.linear(self.inputs.double(), self.weight_ih.double(), self.bias.double())
            blocks = self.blocks().double()
            h = c = n = wx.new_zeros(self.batch_size, self.hidden_size)
            m, outputs = torch.full_like(h, -torch.inf), []
            for x in wx:
                by_head = h.reshape(self.batch_size, self.heads, self.head_size)
                recurrent = torch.einsum("bkd,gkod->bgko", by_head, blocks).reshape(x.shape)
                i, f, z, o = (x + recurrent).chunk(4, 1)
                f = F.logsigmoid(f) + m
                m = torch.maximum(f, i)
                i, f = torch.exp(i - m), torch.exp(f - m)
                c, n = f * c + i * torch.tanh(z), f * n + i
                h = torch.sigmoid(o) * c / n
                outputs.append(h)
            return torch.stack(outputs)


class TorchWithoutAll:
    """Stands for torch in the package's equations, whose `if torch.all(...)` waits for the GPU."""

    def __getattr__(self, name):
        return (lambda *_: False) if name == "all" else getattr(torch, name)


class XlstmCell:
    """The package's cell; views of the problem's weights take the place of its own parameters."""

    def __init__(self, problem, backend):
        from xlstm.blocks.slstm import cell

        make = {"vanilla": cell.sLSTMCell_vanilla, "cuda": cell.sLSTMCell_cuda}[backend]
        config = cell.sLSTMCellConfig(
            hidden_size=problem.hidden_size,
            num_heads=problem.heads,
            backend=backend,
            batch_size=problem.batch_size,
            dtype=DTYPE_NAMES[problem.precision],
            input_shape="SBGNH",
            output_shape="SBH",
        )
        self.problem, self.backend, self.state = problem, backend, None
        self.cell = make(config).to(problem.inputs.device)
        for name in ("_recurrent_kernel_", "_bias_"):
            delattr(self.cell, name)

    def remove_branch(self):
        """Starts with a stabilizer of -infinity, which does what the branch does at first."""
        import xlstm.blocks.slstm.src.vanilla.slstm as equations

        equations.torch = TorchWithoutAll()
        sizes = 4, self.problem.batch_size, self.problem.hidden_size
        self.state = torch.zeros(sizes, device=self.problem.inputs.device)
        self.state[3] = -torch.inf

    def set_weights(self):
        blocks, bias = self.problem.blocks(), self.problem.bias
        heads, rows = self.problem.heads, 4 * self.problem.head_size
        if self.backend == "vanilla":
            self.cell._recurrent_kernel_ = blocks.transpose(0, 1).reshape(heads, rows, -1)
            self.cell._bias_ = bias
        else:
            self.cell._recurrent_kernel_ = blocks.permute(1, 3, 0, 2).reshape(heads, -1, rows)
            self.cell._bias_ = bias.reshape(4, heads, -1).transpose(0, 1).reshape(-1)

    def __call__(self, wx):
        self.set_weights()
        state = None if self.state is None else self.state.to(wx.dtype)
        return self.cell(wx, state)[0]


def gpu_facts(device_id):
    """Takes the place of the package's own, which reads members that CUDA 13 has removed."""
    facts = torch.cuda.get_device_properties(device_id)
    return {
        "maxThreadsPerBlock": 1024,
        "regsPerMultiprocessor": facts.regs_per_multiprocessor,
        "multiProcessorCount": facts.multi_processor_count,
        "sharedMemPerBlockOptin": facts.shared_memory_per_block_optin,
    }


class FlashrnnCell:
    def __init__(self, problem, backend):
        import flashrnn

        importlib.import_module("flashrnn.flashrnn.flashrnn").get_gpu_info = gpu_facts
        self.call, self.problem = flashrnn.flashrnn, problem
        self.options = {"backend": backend, "dtype": DTYPE_NAMES[problem.precision]}

    def __call__(self, wx):
        """The package reads (batch, steps, gates, heads, units) and returns all states."""
        problem, dtype = self.problem, wx.dtype
        wx = wx.transpose(0, 1).reshape(problem.batch_size, problem.num_steps, 4, problem.heads, -1)
        bias = problem.bias.reshape(4, problem.heads, -1).to(dtype)
        blocks = problem.blocks().to(dtype)
        states, _ = self.call(wx, blocks, bias, function="slstm", **self.options)
        return states[0].transpose(0, 1).reshape(problem.num_steps, problem.batch_size, -1)


def cell_of(program, problem):
    package, backend = program.split("_", 1)
    return {"xlstm": XlstmCell, "flashrnn": FlashrnnCell}[package](problem, backend)


def outputs_of(problem, cell):
    is_bf16, device = problem.precision == "bf16", problem.inputs.device.type
    with torch.autocast(device, torch.bfloat16, enabled=is_bf16, cache_enabled=False):
        return cell(F.linear(problem.inputs, problem.weight_ih))


def pass_of(problem, cell):
    def work():
        outputs = outputs_of(problem, cell)
        return torch.autograd.grad(outputs, problem.leaves(), problem.gradient.to(outputs.dtype))

    return work


def captured(work):
    """Returns a function that replays the pass. It runs first on a side stream, as PyTorch asks."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        kept = work()

    def replay(kept=kept):  # the graph writes the gradients, whose memory would be freed with them
        del kept
        graph.replay()

    return replay


def milliseconds(work, device, repeats):
    wait = torch.cuda.synchronize if device.startswith("cuda") else lambda: None
    times = []
    for number in range(repeats + 2):  # the first two do not count
        wait()
        begin = time.perf_counter()
        work()
        wait()
        if number > 1:
            times.append(1e3 * (time.perf_counter() - begin))
    return {
        "milliseconds": statistics.median(times),
        "least": min(times),
        "most": max(times),
        "repeats": len(times),
    }


def reason_of(error):
    """Returns one line: the first error of a compiler or linker, or the first line of all."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    marked = [line for line in lines if re.search(r"(^|\s)(fatal )?error:|cannot find -l", line)]
    return f"{type(error).__name__}: {(marked or lines or ['without a message'])[0][:300]}"


def row_of(mode, options, measure):
    row = {"program": options.one_program, "mode": mode, "precision": options.one_precision}
    try:
        return row | measure()
    except Exception as error:  # a program that fails is a result
        traceback.print_exc()
        return row | {"reason": reason_of(error)}


def difference(problem, cell):
    with torch.no_grad():
        error = outputs_of(problem, cell).double() - problem.outputs_in_float64()
    return error.abs().max().item()


def measure_eager(options):
    problem = Problem(options)
    cell = cell_of(options.one_program, problem)
    found = {"difference": difference(problem, cell)}
    return milliseconds(pass_of(problem, cell), options.device, options.repeats) | found


def measure_graph(options):
    problem, found = Problem(options), {}
    cell = cell_of(options.one_program, problem)
    if options.one_program == "xlstm_vanilla":
        cell.remove_branch()
        found["note"] = "without the branch on torch.all(n == 0), which cannot be captured"
    found["difference"] = difference(problem, cell)
    return milliseconds(captured(pass_of(problem, cell)), options.device, options.repeats) | found


def add_to_environment(name, *paths):
    os.environ[name] = ":".join(filter(None, (os.environ.get(name), *map(str, paths))))


def use_cublas_of_packages():
    """The builds need cublas_v2.h and libcublas.so, which a CUDA toolkit of packages may lack."""
    from torch.utils.cpp_extension import CUDA_HOME

    packages = Path(torch.__file__).parents[1] / "nvidia"
    if not Path(CUDA_HOME or "", "include", "cublas_v2.h").exists():
        add_to_environment("CPATH", *packages.glob("*/include"))
    folder = Path(tempfile.mkdtemp())
    for library in packages.glob("*/lib/libcublas.so.*"):
        (folder / "libcublas.so").symlink_to(library)
    add_to_environment("LIBRARY_PATH", folder)


def prepare_compiler(options):
    """The packages compile PTX for GPUs from 8.0 on; this adds code for the GPU that is here."""
    if not options.device.startswith("cuda"):
        return
    major, minor = torch.cuda.get_device_capability()
    flags = options.nvcc_flags or f"-gencode arch=compute_{major}{minor},code=sm_{major}{minor}"
    os.environ["NVCC_APPEND_FLAGS"] = f"{os.environ.get('NVCC_APPEND_FLAGS', '')} {flags}".strip()
    use_cublas_of_packages()


def measure(options):
    """Measures one program in one precision, and writes its rows as JSON to the file --rows."""
    allow_tf32 = options.one_precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = allow_tf32
    prepare_compiler(options)
    rows = [row_of("eager", options, lambda: measure_eager(options))]
    Path(options.rows).write_text(json.dumps(rows))  # a capture that fails may end the process
    if options.device.startswith("cuda") and "reason" not in rows[0]:
        rows.append(row_of("graph", options, lambda: measure_graph(options)))
    Path(options.rows).write_text(json.dumps(rows))


def run_alone(command, environment, timeout):
    """Returns why the process failed, or None. Compilers that it started end with it."""
    process = subprocess.Popen(command, env=environment, stdout=sys.stderr, start_new_session=True)
    try:
        code = process.wait(timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return f"no result after {timeout} s"
    return f"the process ended with exit code {code}" if code else None


def rows_of_process(options, program, precision):
    """Runs this program again for one program and precision. Its output goes to standard error."""
    paths = options.xlstm_path, options.flashrnn_path, os.environ.get("PYTHONPATH")
    environment = os.environ | {"PYTHONPATH": ":".join(filter(None, paths))}
    chosen = ["--one-program", program, "--one-precision", precision]
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.json"
        command = [sys.executable, __file__, *sys.argv[1:], *chosen, "--rows", str(rows)]
        failure = run_alone(command, environment, options.timeout)
        found = json.loads(rows.read_text()) if rows.exists() else []
    if failure:
        row = {"program": program, "mode": "graph" if found else "eager", "precision": precision}
        found.append(row | {"reason": failure})
    return found


def print_row(row):
    name = f"{row['program']:<24}{row['mode']:<8}{row['precision']:<6}"
    if "reason" in row:
        print(f"{name}{row['reason']}", flush=True)
        return
    print(
        f"{name}{row['milliseconds']:10.3f} ms  from {row['least']:.3f} to {row['most']:.3f}, "
        f"outputs differ by {row['difference']:.1e}",
        flush=True,
    )


def facts(options):
    is_on_gpu = options.device.startswith("cuda")
    return {
        "device": torch.cuda.get_device_name() if is_on_gpu else "cpu",
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "hidden_size": options.hidden_size,
        "heads": options.heads,
        "batch_size": options.batch_size,
        "num_steps": options.num_steps,
    }


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--xlstm-path", help="a folder that holds the package xlstm")
    parser.add_argument("--flashrnn-path", help="a folder that holds the package flashrnn")
    parser.add_argument("--hidden-size", type=int, default=512)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--num-steps", type=int, default=1024)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=PRECISIONS)
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=PROGRAMS)
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument(
        "--timeout", type=int, default=300, help="seconds for one program in one precision"
    )
    parser.add_argument(
        "--nvcc-flags", help="added to the packages' own; by default code for this GPU"
    )
    parser.add_argument("--out", help="a JSON file with the rows")
    for inner in ("--one-program", "--one-precision", "--rows"):
        parser.add_argument(inner, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = parse_arguments()
    if options.rows:
        measure(options)
        return
    result = facts(options) | {"rows": []}
    for precision in options.precisions:
        for program in options.programs:
            for row in rows_of_process(options, program, precision):
                print_row(row)
                result["rows"].append(row)
            if options.out:
                Path(options.out).write_text(json.dumps(result, indent=1) + "\n")


main()
