#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch on several GPUs for the works of scaling.py: each GPU has a batch of its own, and a whole step with one
all-reduce of all gradients is a CUDA graph. --eager takes DistributedDataParallel without graphs instead.

    torchrun --standalone --nproc-per-node 2 experiments/peer_ddp.py --precision bf16

bf16 is autocast to bfloat16, under which PyTorch computes LSTMs and GRUs in float16 and the other layers in bfloat16.
"""
import argparse
import os
import statistics
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F


class Last(nn.Module):
    """A recurrent network that reads the last step's output."""

    def __init__(self, layers, dense):
        super().__init__()
        self.layers, self.dense = nn.ModuleList(layers), dense

    def forward(self, values):
        for number, layer in enumerate(self.layers):
            values = layer(F.dropout(values, .2, self.training) if number else values)[0]
        return self.dense(values[:, -1])


class CharacterModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.layers, self.output = nn.Embedding(65, 512), nn.LSTM(512, 512, 2), nn.Linear(512, 65)

    def forward(self, tokens):
        return self.output(self.layers(self.table(tokens))[0]).flatten(0, 1)


class Paper(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.output = nn.LSTM(512, 512, 4), nn.Linear(512, 10)

    def forward(self, values):
        return self.output(self.layers(values)[0].mean(0))


def convolutional():
    return nn.Sequential(nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 5, padding=2),
                         nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(3136, 1024), nn.ReLU(), nn.Dropout(.5),
                         nn.Linear(1024, 10)).to(memory_format=torch.channels_last)


WORKS = ("mnist_rows", "char_lm", "paper", "gru", "cnn")


def work_of(name):
    """Returns model, inputs, targets, loss and the steps that are timed together."""
    if name == "mnist_rows":
        dense = nn.Sequential(nn.Linear(128, 32), nn.ReLU(), nn.Linear(32, 10))
        model = Last([nn.LSTM(28, 128, batch_first=True), nn.LSTM(128, 128, batch_first=True)], dense)
        return model, torch.rand(128, 28, 28), torch.randint(10, (128,)), F.cross_entropy, 232
    if name == "char_lm":
        tokens = torch.randint(65, (128, 128))
        return CharacterModel(), tokens, torch.randint(65, (128 * 128,)), F.cross_entropy, 48
    if name == "paper":
        return Paper(), torch.randn(100, 64, 512), torch.randint(10, (64,)), F.cross_entropy, 48
    if name == "gru":
        model = Last([nn.GRU(500, 1024, batch_first=True)], nn.Linear(1024, 1))
        return model, torch.randn(256, 50, 500), torch.rand(256, 1), F.binary_cross_entropy_with_logits, 48
    if name == "cnn":
        return convolutional(), torch.rand(128, 1, 28, 28), torch.randint(10, (128,)), F.cross_entropy, 232
    raise ValueError(f"no work is named {name}")


def step_of(model, inputs, targets, loss, flat, options):
    fused = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True, capturable=flat is not None)

    def step():
        if flat is None:
            fused.zero_grad()
        else:
            flat.zero_()
        with torch.autocast("cuda", torch.bfloat16, enabled=options.precision == "bf16", cache_enabled=flat is None):
            error = loss(model(inputs), targets)
        error.backward()
        if flat is not None and dist.get_world_size() > 1:
            dist.all_reduce(flat, op=dist.ReduceOp.AVG)
        fused.step()
    return step


def flat_gradients(model):
    flat = torch.zeros(sum(weight.numel() for weight in model.parameters()), device="cuda")
    first = 0
    for weight in model.parameters():
        weight.grad = torch.as_strided(flat, weight.shape, weight.stride(), first)
        first += weight.numel()
    return flat


def captured(step):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(11):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        step()
    return graph.replay


def seconds_of(step, count):
    dist.barrier()
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(count):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - began) / count


def milliseconds(name, options):
    model, inputs, targets, loss, steps = work_of(name)
    model, inputs, targets = model.cuda(), inputs.cuda(), targets.cuda()
    if name == "cnn":
        inputs = inputs.to(memory_format=torch.channels_last)
    if options.eager and dist.get_world_size() > 1:
        model = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    step = step_of(model, inputs, targets, loss, None if options.eager else flat_gradients(model), options)
    step = step if options.eager else captured(step)
    return 1e3 * statistics.median([seconds_of(step, steps) for _ in range(8)][2:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--works", nargs="+", default=WORKS, choices=WORKS)
    parser.add_argument("--precision", choices=("tf32", "bf16"), default="tf32")
    parser.add_argument("--eager", action="store_true", help="DistributedDataParallel without graphs")
    options = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    for name in options.works:
        torch.manual_seed(0)
        time_of_step = milliseconds(name, options)
        if dist.get_rank() == 0:
            print(f"| {name} | {options.precision} | {dist.get_world_size()} | {time_of_step:.4f} |", flush=True)
    torch.cuda.synchronize()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
