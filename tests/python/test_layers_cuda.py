# SPDX-License-Identifier: Apache-2.0
"""rnnlab's layers in PyTorch on a GPU: equal to torch.nn's, in CUDA graphs too."""

import copy
import random
import sys
import unittest
import warnings

try:
    import torch
except ImportError as error:
    print(f"skipped, because torch cannot be imported: {error}")
    sys.exit(77)
if not torch.cuda.is_available():
    print("skipped, because there is no GPU")
    sys.exit(77)
from torch.nn.utils.rnn import pack_padded_sequence

import rnnlab

warnings.filterwarnings("ignore", message=".*AccumulateGrad node's stream.*")

NUM_RANDOM_CASES = 60
ON_GPU = ("naive", "hoisted", "fused", "cudnn", "persistent")
FLOAT32 = {"rtol": 1e-3, "atol": 2e-5}  # sums of up to 300 products in another order
BFLOAT16 = {"rtol": 0.1, "atol": 0.05}


def twins(name, *arguments, implementation, **options):
    """Returns torch.nn's layer and rnnlab's, with equal weights."""
    ours = getattr(rnnlab, name)(*arguments, implementation=implementation, device="cuda", **options)
    theirs = getattr(torch.nn, name)(*arguments, device="cuda", **options)
    theirs.load_state_dict(ours.state_dict())
    return theirs, ours


def pass_through(layer, values, lengths, autocast):
    """Returns the output and all gradients."""
    for parameter in layer.parameters():
        parameter.grad = None
    sequence = values.detach().requires_grad_()
    argument = sequence if lengths is None else pack_padded_sequence(sequence, lengths, enforce_sorted=False)
    with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
        output, _ = layer(argument)
    output = output if lengths is None else output.data
    output.float().sin().mean(-1).sum().backward()
    return [output.float(), *[tensor.grad.clone() for tensor in (sequence, *layer.parameters())]]


class EqualToTorch(unittest.TestCase):
    def setUp(self):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False

    def check_case(self, number, implementation):
        draw = random.Random(number)
        torch.manual_seed(number)
        name = draw.choice(["LSTM", "GRU", "RNN"])
        sizes = draw.randint(1, 100), draw.choice([16, 48, 128, 256])
        options = {"num_layers": draw.randint(1, 3), "bidirectional": draw.random() < 0.3}
        theirs, ours = twins(name, *sizes, implementation=implementation, **options)
        num_steps, batch_size = draw.randint(1, 30), draw.randint(1, 20)
        values = torch.randn(num_steps, batch_size, sizes[0], device="cuda")
        lengths = None
        if draw.random() < 0.3:
            lengths = torch.tensor([num_steps, *[draw.randint(1, num_steps) for _ in range(batch_size - 1)]])
        autocast = draw.random() < 0.3
        try:
            got = pass_through(ours, values, lengths, autocast)
        except ValueError:  # the implementation does not support the case
            return False
        wanted = pass_through(theirs, values, lengths, autocast)
        for a, b in zip(wanted, got, strict=True):
            torch.testing.assert_close(b, a, **(BFLOAT16 if autocast else FLOAT32))
        return True

    def test_random_cases(self):
        for implementation in ON_GPU:
            num_computed = 0
            for number in range(NUM_RANDOM_CASES):
                with self.subTest(implementation=implementation, number=number):
                    num_computed += self.check_case(number, implementation)
            self.assertGreaterEqual(num_computed, NUM_RANDOM_CASES // 3, implementation)


class CudaGraphs(unittest.TestCase):
    def test_replays_read_changed_weights_and_inputs(self):
        for implementation in ("torch", "auto", *ON_GPU):
            for name in ("LSTM", "GRU"):
                with self.subTest(implementation=implementation, name=name):
                    self.check_replays(name, implementation)

    def test_have_a_choice_of_their_own(self):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        layer, values = rnnlab.GRU(64, 128, device="cuda"), torch.randn(9, 16, 64, device="cuda")
        rnnlab.forget_choices()
        layer(values)
        self.assertEqual([choice.work.is_captured for choice in rnnlab.choices()], [False])
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            layer(values)
        self.assertEqual([choice.work.is_captured for choice in rnnlab.choices()], [False, True])
        eager, captured = rnnlab.choices()
        self.assertTrue(all(seconds < float("inf") for seconds in captured.seconds.values()), captured)
        for of_eager, of_graph in (("torch", "persistent"), ("persistent", "torch")):
            rnnlab.fix_choice(eager, of_eager)
            rnnlab.fix_choice(captured, of_graph)
            with torch.cuda.stream(stream):
                layer(values)
                self.assertEqual(layer.implementation_used, of_eager)
            with torch.cuda.graph(torch.cuda.CUDAGraph(), stream=stream):
                layer(values)
            self.assertEqual(layer.implementation_used, of_graph)

    def check_replays(self, name, implementation):
        layer = getattr(rnnlab, name)(64, 128, num_layers=2, implementation=implementation, device="cuda")
        values = torch.randn(9, 16, 64, device="cuda")
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                pass_through(layer, values, None, False)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            captured = pass_through(layer, values, None, False)
        for _ in range(3):
            with torch.no_grad():
                values.normal_()
                for parameter in layer.parameters():
                    parameter.add_(0.1 * torch.randn_like(parameter))
            twin = copy.deepcopy(layer)
            twin.implementation = layer.implementation_used  # "auto" may choose another one outside of a graph
            wanted = pass_through(twin, values, None, False)
            graph.replay()
            torch.testing.assert_close(captured, wanted, rtol=1e-3, atol=1e-4)


class Modules(unittest.TestCase):
    def test_move_between_devices_and_types(self):
        for implementation in ("hoisted", "fused", "cudnn", "persistent"):
            theirs, ours = twins("LSTM", 32, 64, implementation=implementation)
            x = torch.randn(5, 3, 32, device="cuda")
            torch.testing.assert_close(ours(x)[0], theirs(x)[0], rtol=1e-3, atol=1e-4)
            half = ours.half()(x.half())[0]
            torch.testing.assert_close(half.float(), theirs(x)[0], rtol=0.02, atol=0.01)
            if implementation in ("hoisted", "fused"):
                on_cpu = ours.float().cpu()(x.cpu())[0]
                torch.testing.assert_close(on_cpu, theirs(x)[0].cpu(), rtol=0.02, atol=0.01)

    def test_a_mix_of_devices_is_one_exception(self):
        layer = rnnlab.LSTM(3, 4, implementation="hoisted", device="cuda")
        with self.assertRaisesRegex((RuntimeError, ValueError), "device"):
            layer(torch.randn(5, 2, 3))


if __name__ == "__main__":
    unittest.main()
