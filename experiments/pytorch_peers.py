#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares rnnlab.LSTM with torch.nn.LSTM, and with flashrnn and haste_pytorch if they are installed.

usage: pytorch_peers.py OUT.json [--processes N] [--sizes 768/16/1024,...] [--sides torch.nn,haste,...]

One layer, one head; a size is hidden units / sequences / steps, with as many inputs as hidden units. In tf32 all sides
have float32 tensors. In bf16 torch.nn's and rnnlab's layers run under autocast to bfloat16, which torch.nn's obey by
computing in float16 on a GPU; rnnlab's layers and flashrnn compute in bfloat16. All sides have the same weights and inputs; a row has the largest difference of the outputs from torch.nn's. Each process
measures every side in turn, in several rounds. A line has the median over the processes, and the smallest and the
largest.

What the peers need: nvcc and ninja, and the file of their package.
  flashrnn       pip install --no-deps flashrnn; also einops. It compiles kernels at the first call. cuda_fused compiles
                 and tries many: minutes for each size, so --sides leaves it out if it is not named.
  haste_pytorch  its Makefile names GPUs that CUDA 13 does not compile for; these variables replace them:
                 MAKEFLAGS=e GPU_ARCH_FLAGS=-arch=sm_90 pip install --no-deps --no-build-isolation haste_pytorch
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

from pytorch_layers import milliseconds

SIZES = "768/16/1024,512/64/100,64/16/1024"
NUM_ROUNDS = 5
SIDES = {  # by precision
    "tf32": ("torch.nn", "rnnlab auto", "rnnlab persistent", "haste"),
    "bf16": ("torch.nn", "rnnlab auto", "rnnlab persistent", "flashrnn cuda", "flashrnn triton_fused",
             "flashrnn cuda_fused"),
}
SLOW = "flashrnn cuda_fused"


def by_module(module, data, precision):
    """Returns a function of the data, (steps, sequences, units)."""
    import torch

    def outputs():
        with torch.autocast(data.device.type, torch.bfloat16, enabled=precision == "bf16"):
            return module(data)[0]

    return outputs


def by_rnnlab(theirs, data, implementation, precision):
    import rnnlab

    mine = rnnlab.LSTM(theirs.input_size, theirs.hidden_size, implementation=implementation).to(data.device)
    mine.load_state_dict(theirs.state_dict())
    return by_module(mine, data, precision)


def by_haste(theirs, data):
    """haste's LSTM with torch.nn's weights; its data are (steps, sequences, units), too."""
    import haste_pytorch

    layer = haste_pytorch.LSTM(theirs.input_size, theirs.hidden_size)
    layer.from_native_weights(*(weight.detach() for weight in theirs.parameters()))
    return by_module(layer.to(data.device), data, "tf32")


def by_flashrnn(theirs, data, backend, dtype="bfloat16"):
    """flashrnn's LSTM behind a Linear, because flashrnn has no product for the inputs.

    Its tensors are sums (sequences, steps, gates, heads, units), weights (gates, heads, units, previous units), bias
    (gates, heads, units) and states (2, sequences, steps, heads, units). Its gates have torch.nn's order.
    """
    import torch
    from flashrnn import flashrnn

    if backend == "cuda_fused":
        replace_device_facts()
    num_steps, batch_size, hidden_size = data.shape
    linear = torch.nn.Linear(hidden_size, 4 * hidden_size)
    linear.weight.data.copy_(theirs.weight_ih_l0)
    linear.bias.data.copy_(theirs.bias_ih_l0)
    to = dict(device=data.device, dtype=getattr(torch, dtype))
    linear = linear.to(**to)
    recurrent, bias = (weight.detach().to(**to, copy=True) for weight in (theirs.weight_hh_l0, theirs.bias_hh_l0))
    recurrent = recurrent.view(4, 1, hidden_size, hidden_size).requires_grad_()
    bias = bias.view(4, 1, hidden_size).requires_grad_()
    batch_first = data.detach().transpose(0, 1).contiguous().to(**to).requires_grad_()

    def outputs():
        sums = linear(batch_first).view(batch_size, num_steps, 4, 1, hidden_size)
        states, _ = flashrnn(sums, recurrent, bias, function="lstm", backend=backend, dtype=dtype)
        return states[0].squeeze(2).transpose(0, 1)

    return outputs


def replace_device_facts():
    """Lets cuda_fused ask PyTorch about the GPU: flashrnn's own code for that does not compile with CUDA 13."""
    import torch
    from flashrnn import flashrnn  # noqa: F401  (loads the module whose function is replaced)

    def device_facts(device_id):
        device = torch.cuda.get_device_properties(device_id)
        return dict(maxThreadsPerBlock=1024, regsPerMultiprocessor=device.regs_per_multiprocessor,
                    multiProcessorCount=device.multi_processor_count,
                    sharedMemPerBlockOptin=device.shared_memory_per_block_optin)

    sys.modules["flashrnn.flashrnn.flashrnn"].get_gpu_info = device_facts


def side_of(name, theirs, data, precision):
    if name == "torch.nn":
        return by_module(theirs, data, precision)
    if name == "haste":
        return by_haste(theirs, data)
    package, kind = name.split()
    if package == "rnnlab":
        return by_rnnlab(theirs, data, kind, precision)
    return by_flashrnn(theirs, data, kind)


def pass_of(outputs):
    import torch

    def work(is_training):
        with torch.set_grad_enabled(is_training):
            output = outputs()
        if is_training:
            output.backward(torch.ones_like(output))
        return output.detach()

    return work


def sides_of(names, theirs, data, precision):
    """Yields name, pass and the largest difference from torch.nn's output, or for a side that cannot run the reason."""
    import torch

    wanted = pass_of(by_module(theirs, data, precision))(False).float()
    for name in names:
        try:
            work = pass_of(side_of(name, theirs, data, precision))
            for is_training in (False, True, False, True):
                output = work(is_training)
            torch.cuda.synchronize()
            yield name, work, (output.float() - wanted).abs().max().item()
        except (Exception, SystemExit) as error:  # whatever a peer raises is its reason
            reason = str(error).strip().splitlines() or [""]
            yield name, None, f"{type(error).__name__}: {reason[-1][:200]}"


def measure(size, precision, names):
    import torch

    hidden_size, batch_size, num_steps = map(int, size.split("/"))
    torch.manual_seed(1)
    theirs = torch.nn.LSTM(hidden_size, hidden_size).cuda()
    data = torch.randn(num_steps, batch_size, hidden_size, device="cuda", requires_grad=True)
    case = dict(size=size, precision=precision)
    sides, differences = {}, {}
    for name, work, result in sides_of(names, theirs, data, precision):
        if work is None:
            yield dict(case, side=name, missing=result)
        else:
            sides[name], differences[name] = work, result
    times = {(name, is_training): [] for name in sides for is_training in (False, True)}
    for _ in range(NUM_ROUNDS):
        for (name, is_training), values in times.items():
            values.append(milliseconds(lambda: sides[name](is_training)))
    for (name, is_training), values in times.items():
        yield dict(case, side=name, passes="forward and backward" if is_training else "forward",
                   difference=differences[name], milliseconds=statistics.median(values))


def measure_all(sizes, wanted):
    import torch

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    for size in sizes:
        for precision, names in SIDES.items():
            chosen = [name for name in names if (name in wanted if wanted else name != SLOW)]
            for row in measure(size, precision, chosen):
                print(json.dumps(row), flush=True)


def rows_of_process():
    """Yields the rows of a fresh process as they come."""
    with subprocess.Popen([sys.executable, __file__, *sys.argv[1:], "--one-process"], stdout=subprocess.PIPE,
                          text=True) as process:
        for line in process.stdout:
            if line.startswith("{"):  # peers print what they compile
                yield json.loads(line)
    if process.returncode != 0:
        print(f"a process ended with exit code {process.returncode}", file=sys.stderr, flush=True)


def case_of(row):
    return f"{row['size']:12} {row['precision']} {row.get('passes', ''):20} {row['side']:22}"


def summary_of(processes):
    by_case = {}
    for row in (row for rows in processes for row in rows if "missing" not in row):
        by_case.setdefault(case_of(row), []).append(row)
    for case, rows in by_case.items():
        values = [row["milliseconds"] for row in rows]
        difference = max(row["difference"] for row in rows)
        yield (f"{case} {statistics.median(values):8.3f} ms ({min(values):.3f} .. {max(values):.3f}), "
               f"outputs differ by {difference:.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--sizes", default=SIZES, help="hidden units / sequences / steps, separated by commas")
    parser.add_argument("--sides", default="", help=f"separated by commas; without it all but {SLOW}")
    parser.add_argument("--one-process", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one_process:
        measure_all(arguments.sizes.split(","), [name for name in arguments.sides.split(",") if name])
        return
    processes = []
    for number in range(arguments.processes):
        processes.append([])
        for row in rows_of_process():
            processes[-1].append(row)
            pathlib.Path(arguments.out).write_text(json.dumps(processes, indent=1) + "\n", encoding="utf-8")
            result = f"missing: {row['missing']}" if "missing" in row else f"{row['milliseconds']:8.3f} ms"
            print(f"process {number}: {case_of(row)} {result}", flush=True)
    print("\n".join(summary_of(processes)), flush=True)


if __name__ == "__main__":
    main()
