# SPDX-License-Identifier: Apache-2.0
"""The types of results: torch.nn's, for each class, layer, type of numbers and of autocast, eager and compiled."""

import itertools
import sys
import unittest
import unittest.mock

try:
    import torch
except ImportError as error:
    print(f"skipped, because torch cannot be imported: {error}")
    sys.exit(77)
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

import rnnlab
from rnnlab import choice

CLASSES = ("LSTM", "GRU", "RNN")
ON_CPU = ("auto", "torch", "naive", "hoisted", "blocked", "fused", "diagonal")
ON_CUDA = ("auto", "torch", "naive", "hoisted", "fused", "cudnn", "persistent")
AUTOCAST = (None, torch.bfloat16, torch.float16)
DEVICES = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)


def tensors(result):
    output, hidden = result
    data = output.data if isinstance(output, PackedSequence) else output
    return [data, *(hidden if isinstance(hidden, tuple) else [hidden])]


def first_of(work, *_):
    """Stands for a measurement."""
    return rnnlab.Choice(work, work.candidates[0], {})


class Case:
    """A call of a layer under autocast of a type, on a device."""

    def __init__(self, device, name, autocast, weights=torch.float32, data=torch.float32, form="whole"):
        self.device, self.name, self.autocast, self.weights, self.form = device, name, autocast, weights, form
        self.x = torch.linspace(-1, 1, 30).view(5, 2, 3).to(device, data)

    def layer(self, source, **options):
        torch.manual_seed(1)
        return getattr(source, self.name)(3, 8, num_layers=2, device=self.device, **options).to(self.weights)

    def run(self, work):
        given = pack_padded_sequence(self.x, [5, 3]) if self.form == "packed" else self.x
        with torch.autocast(self.device, dtype=self.autocast or torch.bfloat16, enabled=self.autocast is not None):
            return tensors(work(given))

    def wanted(self):
        """torch.nn's results, or None if it cannot compute them: on a CPU without AVX-512 oneDNN has no bfloat16 LSTM."""
        try:
            return self.run(self.layer(torch.nn))
        except RuntimeError:
            return None

    def __str__(self):
        return f"{self.device} {self.name} autocast {self.autocast} weights {self.weights} input {self.x.dtype} {self.form}"


def cases():
    for device, name, autocast, form in itertools.product(DEVICES, CLASSES, AUTOCAST, ("whole", "packed")):
        yield Case(device, name, autocast, form=form)
        if autocast is None:
            for kind in (torch.float64, torch.bfloat16, torch.float16):
                yield Case(device, name, None, kind, kind, form)
        else:
            yield Case(device, name, autocast, torch.float32, autocast, form)
            yield Case(device, name, autocast, autocast, torch.float32, form)
            yield Case(device, name, autocast, autocast, autocast, form)


class TypesOfResults(unittest.TestCase):
    def check(self, case, implementation, wanted, work_of):
        layer = case.layer(rnnlab, implementation=implementation)
        try:
            found = case.run(work_of(layer))
        except ValueError:  # a layer without this type or form says so
            return 0
        self.assertEqual([t.dtype for t in found], [t.dtype for t in wanted])
        self.assertEqual([t.shape for t in found], [t.shape for t in wanted])
        for a, b in zip(found, wanted):
            torch.testing.assert_close(a.float(), b.float(), rtol=2e-2, atol=2e-2)
        return 1

    def check_all(self, work_of, implementations_of, at_least):
        num_checked = 0
        for case in cases():
            wanted = case.wanted()
            if wanted is None:
                continue
            for implementation in implementations_of(case):
                with self.subTest(case=str(case), implementation=implementation):
                    num_checked += self.check(case, implementation, wanted, work_of)
        self.assertGreaterEqual(num_checked, at_least)

    def test_eager(self):
        self.check_all(lambda layer: layer, lambda case: ON_CPU if case.device == "cpu" else ON_CUDA, 300)

    def test_compiled(self):
        def compiled(layer):
            torch._dynamo.reset()
            return torch.compile(lambda x: layer(x), backend="aot_eager")

        self.check_all(compiled, lambda case: ("hoisted",) if case.form == "whole" else (), 30)

    def test_compiled_uses_of_the_states(self):
        """A compiled program computes with the states, so a wrong type of theirs would give wrong numbers."""
        for device, name in itertools.product(DEVICES, CLASSES):
            for implementation in ON_CPU if device == "cpu" else ON_CUDA:
                with self.subTest(device=device, name=name, implementation=implementation):
                    case = Case(device, name, torch.bfloat16)
                    if implementation == "torch" and case.wanted() is None:
                        continue
                    layer = case.layer(rnnlab, implementation=implementation)
                    torch._dynamo.reset()
                    twice = torch.compile(lambda x: tensors(layer(x))[-1] * 2, backend="aot_eager")
                    try:
                        eager = case.run(lambda x: (tensors(layer(x))[-1] * 2, ()))[0]
                    except ValueError:  # a layer without the cell
                        continue
                    found = case.run(lambda x: (twice(x), ()))[0]
                    self.assertEqual(found.dtype, eager.dtype)
                    torch.testing.assert_close(found, eager, rtol=1e-2, atol=1e-2)

    def test_do_not_depend_on_what_auto_took(self):
        for device, name in itertools.product(DEVICES, CLASSES):
            case = Case(device, name, torch.bfloat16)
            results = case.wanted()
            if results is None:
                continue
            wanted = [t.dtype for t in results]
            for names in itertools.permutations(("torch", "hoisted")):
                with unittest.mock.patch.dict(choice._CANDIDATES, {"cpu": names, "cuda": names, "cuda float32": names}), \
                        unittest.mock.patch.object(choice, "_measure", first_of):
                    rnnlab.forget_choices()
                    layer = case.layer(rnnlab)
                    found = [t.dtype for t in case.run(layer)]
                    self.assertEqual((layer.implementation_used, found), (names[0], wanted))
        rnnlab.forget_choices()

    def test_gradients_have_the_types_of_their_tensors(self):
        for case in cases():
            if case.form == "packed" or case.device == "cuda":
                continue
            for implementation in ("hoisted", "fused"):
                with self.subTest(case=str(case), implementation=implementation):
                    layer = case.layer(rnnlab, implementation=implementation)
                    case.x.requires_grad_()
                    try:
                        output = case.run(layer)[0]
                    except (ValueError, RuntimeError):
                        continue
                    sources = [case.x, *layer.parameters()]
                    found = torch.autograd.grad(output.float().sum(), sources)
                    self.assertEqual([g.dtype for g in found], [t.dtype for t in sources])

    def test_operator_under_autocast(self):
        layer = rnnlab.LSTM(3, 4, implementation="hoisted")
        states = [torch.zeros(1, 2, 4, requires_grad=True) for _ in range(2)]
        for autocast, result_type in ((None, torch.float32), (torch.bfloat16, torch.bfloat16),
                                      (torch.bfloat16, torch.float32)):
            arguments = (torch.randn(5, 2, 3, requires_grad=True), states, list(layer.parameters()), None, "lstm",
                         "hoisted", 1, False, 0.0, True, True, True, True, autocast, result_type,
                         result_type)
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast is not None):
                torch.library.opcheck(torch.ops.rnnlab.recurrent.default, arguments)


if __name__ == "__main__":
    unittest.main()
