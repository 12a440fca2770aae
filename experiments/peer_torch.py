#!/usr/bin/env python3
"""The training that docs/results sets rnnlab's beside, in PyTorch: step by step, or as a careful user would on a GPU, every
step one CUDA graph. The data lie on the device, Adam is fused. Prints the median seconds of the epochs after the first.

    .venv/bin/python experiments/peer_torch.py mnist_rows gru_speed char_lm paper_step cnn_mnist --graph --precision tf32
    .venv/bin/python experiments/peer_torch.py mnist_rows --device cpu --samples 5120 --precision bf16

MNIST and Tiny Shakespeare are looked for in $RNNLAB_DATA, then in data/ (data/fetch all brings them).
"""
import argparse
import gzip
import os
import pathlib
import statistics
import time

import torch
from torch import nn

DATA = pathlib.Path(os.environ.get("RNNLAB_DATA") or pathlib.Path(__file__).parents[1] / "data")


class LastStep(nn.Module):
    """A recurrent layer of which only the last step's output goes on."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0][:, -1]


class EveryStep(LastStep):
    def forward(self, x):
        return self.layer(x)[0]


class MeanStep(LastStep):
    def forward(self, x):
        return self.layer(x)[0].mean(1)


def mnist(shape):
    def content(name, header):
        with gzip.open(DATA / "mnist" / f"train-{name}-ubyte.gz") as file:
            return torch.frombuffer(bytearray(file.read()[header:]), dtype=torch.uint8)

    return content("images-idx3", 16).reshape(-1, *shape).float() / 255, content("labels-idx1", 8).long()


def mnist_rows():
    model = nn.Sequential(EveryStep(nn.LSTM(28, 128, batch_first=True)), nn.Dropout(0.2),
                          LastStep(nn.LSTM(128, 128, batch_first=True)), nn.Dropout(0.1),
                          nn.Linear(128, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 10))
    return model, *mnist((28, 28)), nn.CrossEntropyLoss(), 128


def gru_speed():
    model = nn.Sequential(LastStep(nn.GRU(500, 1024, batch_first=True)), nn.Linear(1024, 1))
    return model, torch.randn(256, 50, 500), torch.randn(256, 1), nn.BCEWithLogitsLoss(), 256


def char_lm():
    text = (DATA / "tinyshakespeare" / "input.txt").read_bytes()
    numbers = {character: number for number, character in enumerate(sorted(set(text)))}
    tokens = torch.tensor([numbers[character] for character in text])
    windows = (len(tokens) - 1) // 128
    inputs, targets = (tokens[i:i + windows * 128].reshape(windows, 128) for i in (0, 1))
    model = nn.Sequential(nn.Embedding(len(numbers), 512), EveryStep(nn.LSTM(512, 512, 2, batch_first=True)),
                          nn.Linear(512, len(numbers)), nn.Flatten(0, 1))
    return model, inputs, targets, lambda output, target: nn.functional.cross_entropy(output, target.flatten()), 128


def paper_step():
    model = nn.Sequential(MeanStep(nn.LSTM(512, 512, 4, batch_first=True)), nn.Linear(512, 10))
    return model, torch.randn(64, 100, 512), torch.randint(10, (64,)), nn.CrossEntropyLoss(), 64


def cnn_mnist():
    model = nn.Sequential(nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                          nn.Linear(7 * 7 * 64, 1024), nn.ReLU(), nn.Dropout(0.5), nn.Linear(1024, 10))
    return model, *mnist((1, 28, 28)), nn.CrossEntropyLoss(), 128


WORKS = {work.__name__: work for work in (mnist_rows, gru_speed, char_lm, paper_step, cnn_mnist)}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("works", nargs="+", choices=WORKS, metavar="WORK", help=", ".join(WORKS))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--precision", default="fp32", choices=("fp32", "tf32", "bf16"), help="bf16: by autocast")
    parser.add_argument("--graph", action="store_true", help="every step one CUDA graph")
    parser.add_argument("--samples", type=int, metavar="N", help="only the first N")
    parser.add_argument("--epochs", type=int, default=4, metavar="N", help="with the first, which does not count (4)")
    parser.add_argument("--threads", type=int, metavar="N", help="of the CPU")
    return parser.parse_args()


class Step:
    """One optimiser step on the samples that `chosen` names."""

    def __init__(self, model, inputs, targets, loss, options):
        self.model, self.inputs, self.targets, self.loss, self.options = model, inputs, targets, loss, options
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True, capturable=options.graph)
        self.graph = None

    def eagerly(self, inputs, targets):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(inputs.device.type, torch.bfloat16, enabled=self.options.precision == "bf16",
                            cache_enabled=not self.options.graph):
            loss = self.loss(self.model(inputs), targets)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def capture(self, chosen):
        self.batch = self.inputs[chosen], self.targets[chosen]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.eagerly(*self.batch)
        stream.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.captured_loss = self.eagerly(*self.batch)

    def __call__(self, chosen):
        if not self.options.graph:
            return self.eagerly(self.inputs[chosen], self.targets[chosen])
        if self.graph is None:
            self.capture(chosen)
        torch.index_select(self.inputs, 0, chosen, out=self.batch[0])
        torch.index_select(self.targets, 0, chosen, out=self.batch[1])
        self.graph.replay()
        return self.captured_loss


def train_epoch(step, num_steps, batch_size, repeats):
    device = step.inputs.device
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    total = torch.zeros((), device=device)
    wait()
    began = time.perf_counter()
    for _ in range(repeats):
        order = torch.randperm(len(step.inputs), device=device)
        for i in range(num_steps):
            total += step(order[i * batch_size:(i + 1) * batch_size])
    wait()
    return (time.perf_counter() - began) / repeats, total.item() / (num_steps * repeats)


def main():
    options = parse_arguments()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = options.precision == "tf32"
    if options.threads:
        torch.set_num_threads(options.threads)
    for name in options.works:
        torch.manual_seed(1)
        model, inputs, targets, loss, batch_size = WORKS[name]()
        inputs, targets = (part[:options.samples].to(options.device) for part in (inputs, targets))
        step = Step(model.to(options.device), inputs, targets, loss, options)
        num_steps = len(inputs) // batch_size
        repeats = 20 if num_steps == 1 and options.device != "cpu" else 1  # a single step is too short for a clock
        epochs = [train_epoch(step, num_steps, batch_size, repeats) for _ in range(options.epochs)]
        seconds = statistics.median(time for time, _ in epochs[1:])
        print(f"{name}: {seconds:.5f} s an epoch of {num_steps} steps of {batch_size}, loss {epochs[-1][1]:.4f} "
              f"(PyTorch {torch.__version__}, {options.device}, {options.precision}"
              f"{', CUDA graph' if options.graph else ''})", flush=True)


main()
