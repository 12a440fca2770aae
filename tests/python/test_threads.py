# SPDX-License-Identifier: Apache-2.0
"""One layer that many threads use at once, to train and to evaluate: every result is that of one thread alone.

usage: test_threads.py [--passes N]     N passes a thread; 25 by default, so 200 of each layer by its eight threads
"""

import argparse
import contextlib
import sys
import threading
import unittest

try:
    import torch
except ImportError as error:
    print(f"skipped, because torch cannot be imported: {error}")
    sys.exit(77)

import rnnlab

NUM_THREADS = 8
NUM_PASSES = 25
ON_CPU = ("auto", "torch", "naive", "grouped", "streamed", "fused_pointwise", "pretransposed", "hoisted", "wavefront",
          "diagonal", "blocked", "fused")
CELLS = {"LSTM": {}, "GRU": {}, "RNN": {"nonlinearity": "relu"}}


def layers(device="cpu"):
    """Yields (a name, a layer) for each implementation and class."""
    kinds = ON_CPU if device == "cpu" else (*ON_CPU[:-2], "fused", "cudnn", "persistent")
    for kind in kinds:
        for name, options in CELLS.items():
            layer = getattr(rnnlab, name)(5, 16, num_layers=2, implementation=kind, device=device, **options)
            try:
                layer(torch.randn(3, 1, 5, device=device))
            except ValueError:  # a layer that does not have the cell
                continue
            yield f"{kind} {name}", layer


class Work:
    """What one thread computes again and again, with the right results."""

    # Threads that train, each with an input of its own size; threads that evaluate in both ways; one that needs only
    # the gradient of its input.
    KINDS = ("train", "train", "train", "train", "no_grad", "inference_mode", "input", "train")

    def __init__(self, layer, number, device="cpu"):
        self.layer, self.kind = layer, self.KINDS[number]
        generator = torch.Generator().manual_seed(number)
        self.x = torch.randn(4 + number, 1 + number % 3, 5, generator=generator).to(device)
        self.wanted = self.results()

    def results(self):
        if self.kind in ("no_grad", "inference_mode"):
            with getattr(torch, self.kind)():
                output, hidden = self.layer(self.x)
                return [output.clone(), *(hidden if isinstance(hidden, tuple) else (hidden,))]
        x = self.x.clone().requires_grad_()
        output = self.layer(x)[0]
        sources = [x] if self.kind == "input" else [x, *self.layer.parameters()]
        return [output.detach(), *torch.autograd.grad(output.sin().sum(), sources)]

    def count_wrong(self):
        tolerance = {"rtol": 1e-3, "atol": 1e-4} if self.x.is_cuda else {"rtol": 1e-4, "atol": 1e-5}
        found = self.results()
        return any(not torch.allclose(a, b, **tolerance) for a, b in zip(found, self.wanted, strict=True))


def count_wrong(layer, num_passes, device="cpu"):
    """Returns how many passes of eight threads were wrong, and what they raised."""
    works, wrong, raised = [Work(layer, number, device) for number in range(NUM_THREADS)], [0] * NUM_THREADS, []

    def run(number):
        torch.set_num_threads(1)
        with on_stream_of_its_own(device):
            for _ in range(num_passes):
                try:
                    wrong[number] += works[number].count_wrong()
                except Exception as error:
                    raised.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(NUM_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(wrong), raised


def on_stream_of_its_own(device):
    return torch.cuda.stream(torch.cuda.Stream()) if device == "cuda" else contextlib.nullcontext()


class OneLayer(unittest.TestCase):
    def check_all(self, device):
        for name, layer in layers(device):
            with self.subTest(name):
                self.assertEqual(count_wrong(layer, NUM_PASSES, device), (0, []))

    def test_threads_that_train_and_evaluate(self):
        self.check_all("cpu")

    @unittest.skipUnless(torch.cuda.is_available(), "no GPU")
    def test_threads_with_streams_of_their_own(self):
        self.check_all("cuda")

    def test_first_calls_at_once(self):
        for kind in ("auto", "hoisted"):
            with self.subTest(kind):
                layer = rnnlab.LSTM(5, 16, num_layers=2, implementation=kind)
                rnnlab.forget_choices()
                self.assertEqual(count_wrong(layer, num_passes=2), (0, []))

    def test_weights_that_an_optimizer_changes(self):
        """A thread trains by an optimizer; the losses are those of torch.nn while others evaluate."""
        losses = {}
        for layer in (torch.nn.LSTM(5, 16), rnnlab.LSTM(5, 16, implementation="hoisted")):
            layer.load_state_dict(losses.setdefault("weights", {k: v.clone() for k, v in layer.state_dict().items()}))
            losses[type(layer)] = self.train_beside_readers(layer)
        torch.testing.assert_close(losses[rnnlab.LSTM], losses[torch.nn.LSTM], rtol=1e-4, atol=1e-5)

    def train_beside_readers(self, layer):
        done, x = threading.Event(), torch.linspace(-1, 1, 60).view(6, 2, 5)

        def evaluate():
            while not done.is_set():
                with torch.no_grad():
                    layer(x)

        readers = [threading.Thread(target=evaluate) for _ in range(3)]
        for reader in readers:
            reader.start()
        optimizer, losses = torch.optim.SGD(layer.parameters(), lr=0.1), []
        for _ in range(NUM_PASSES):
            optimizer.zero_grad()
            loss = layer(x)[0].square().sum()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        done.set()
        for reader in readers:
            reader.join()
        return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passes", type=int, default=NUM_PASSES)
    given, rest = parser.parse_known_args()
    NUM_PASSES = given.passes
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)  # names why tests were skipped
