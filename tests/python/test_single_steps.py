# SPDX-License-Identifier: Apache-2.0
"""rnnlab.LSTMCell, GRUCell and RNNCell beside torch.nn's: results, gradients, types, errors, and traces."""

import copy
import itertools
import pickle
import sys
import unittest
import warnings

try:
    import torch
except ImportError as error:
    print(f"skipped, because torch cannot be imported: {error}")
    sys.exit(77)
from torch._dynamo.testing import CompileCounterWithBackend

import rnnlab

IMPLEMENTATIONS = ("auto", "torch", "naive", "hoisted", "blocked")
CELLS = (("LSTMCell", {}), ("GRUCell", {}), ("RNNCell", {}), ("RNNCell", {"nonlinearity": "relu"}))


def pairs(implementations=IMPLEMENTATIONS, **options):
    """Yields (description, torch.nn's cell, rnnlab's cell with equal weights)."""
    for implementation, (name, own) in itertools.product(implementations, CELLS):
        theirs = getattr(torch.nn, name)(3, 4, **own, **options)
        ours = getattr(rnnlab, name)(3, 4, **own, **options, implementation=implementation)
        ours.load_state_dict(theirs.state_dict())
        yield f"{implementation} {name} {own}", theirs, ours


def states_of(cell, *shape, **options):
    state = torch.linspace(-1, 1, torch.Size(shape).numel(), **options).view(shape)
    return (state, 0.5 * state) if isinstance(cell, torch.nn.LSTMCell) else state


def everything(cell, x, hx):
    """The results and all gradients."""
    x = x.clone().requires_grad_()
    given = [state.clone().requires_grad_() for state in (hx if isinstance(hx, tuple) else () if hx is None else (hx,))]
    results = cell(x, tuple(given) if len(given) == 2 else given[0] if given else None)
    results = results if isinstance(results, tuple) else (results,)
    loss = sum((result * torch.arange(result.numel()).view(result.shape)).sum() for result in results)
    return [*results, *torch.autograd.grad(loss, [x, *given, *cell.parameters()])]


class Cells(unittest.TestCase):
    def test_compute_what_torch_computes(self):
        for bias, shape in itertools.product((True, False), ((5,), (1,), ())):
            for name, theirs, ours in pairs(bias=bias, dtype=torch.float64):
                x = torch.linspace(-1, 1, torch.Size((*shape, 3)).numel(), dtype=torch.float64).view(*shape, 3)
                for hx in (None, states_of(ours, *shape, 4, dtype=torch.float64)):
                    with self.subTest(name, bias=bias, shape=shape, hx=hx):
                        torch.testing.assert_close(everything(ours, x, hx), everything(theirs, x, hx))
                        self.assertEqual(type(ours(x, hx)), type(theirs(x, hx)))
                        used = "torch" if ours.implementation == "auto" else ours.implementation
                        self.assertEqual(ours.implementation_used, used)

    def test_have_the_types_of_torch(self):
        for dtype in (torch.float32, torch.bfloat16):
            for name, theirs, ours in pairs(dtype=dtype):
                x = torch.ones(2, 3, dtype=dtype)
                with self.subTest(name, dtype=dtype):
                    torch.testing.assert_close(ours(x), theirs(x), rtol=2e-2, atol=2e-2)

    def test_autocast_is_left_to_torch(self):
        for name, theirs, ours in pairs():
            with self.subTest(name), torch.autocast("cpu", dtype=torch.bfloat16):
                torch.testing.assert_close(ours(torch.ones(2, 3)), theirs(torch.ones(2, 3)))
                self.assertEqual(ours.implementation_used, "torch")

    def test_a_loop_trains_as_with_torch(self):
        for name, theirs, ours in pairs():
            losses = []
            for cell in (theirs, ours):
                optimizer, found = torch.optim.SGD(cell.parameters(), lr=0.1), []
                for _ in range(3):
                    hx = None
                    for x in torch.linspace(-1, 1, 30).view(5, 2, 3):
                        hx = cell(x, hx)
                    loss = (hx[0] if isinstance(hx, tuple) else hx).square().sum()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    found.append(loss.item())
                losses.append(found)
            with self.subTest(name):
                torch.testing.assert_close(*losses, rtol=1e-5, atol=1e-6)

    def test_raise_what_torch_raises(self):
        wrong = ((torch.ones(2, 5), None), (torch.ones(2, 3, 3, 3), None), (torch.ones(2, 3).double(), None),
                 (torch.ones(2, 3), (2, 5)), (torch.ones(2, 3), (3, 4)), (torch.ones(2, 3), (2, 1, 4)),
                 (torch.ones(3), (1, 4)))
        for name, theirs, ours in pairs():
            for x, shape in wrong:
                hx = None if shape is None else states_of(ours, *shape)
                errors = []
                for cell in (theirs, ours):
                    with self.assertRaises(Exception) as caught:
                        cell(x, hx)
                    errors.append((type(caught.exception), str(caught.exception)))
                with self.subTest(name, x=x.shape, shape=shape):
                    self.assertEqual(*errors)

    def test_refuse_what_no_code_computes(self):
        with self.assertRaisesRegex(ValueError, "did you mean 'hoisted'"):
            rnnlab.GRUCell(3, 4, implementation="hoistd")
        with self.assertRaises(ValueError):
            rnnlab.GRUCell(3, 4, implementation="scan")(torch.ones(2, 3))
        with self.assertRaises(TypeError):
            rnnlab.GRUCell(3, 4, True, None, None, "hoisted")

    def test_an_empty_batch(self):
        for name, theirs, ours in pairs():
            with self.subTest(name):
                torch.testing.assert_close(ours(torch.ones(0, 3)), theirs(torch.ones(0, 3)))


class Programs(unittest.TestCase):
    def test_copies(self):
        for name, _, ours in pairs():
            x = torch.ones(2, 3)
            for twin in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
                with self.subTest(name):
                    self.assertEqual(twin.implementation, ours.implementation)
                    torch.testing.assert_close(twin(x), ours(x))

    def test_transforms_and_traces(self):
        x = torch.linspace(-1, 1, 6).view(2, 3)
        for name, theirs, ours in pairs():
            with self.subTest(name):
                if ours.implementation not in ("auto", "torch") or "LSTM" not in name:  # PyTorch refuses its own here
                    torch.testing.assert_close(torch.func.vmap(ours)(x), theirs(x))
                torch.testing.assert_close(torch.jit.script(ours)(x), theirs(x))
                torch.testing.assert_close(torch.jit.trace(ours, (x,))(2 * x), theirs(2 * x))
                traced = torch.fx.symbolic_trace(torch.nn.Sequential(ours))
                torch.testing.assert_close(traced(x), theirs(x))
                torch.testing.assert_close(torch.export.export(ours, (x,)).module()(x), theirs(x))

    def test_second_derivatives(self):
        x = torch.linspace(-1, 1, 6, dtype=torch.float64).view(2, 3).requires_grad_()
        for name, _, ours in pairs(("hoisted",), dtype=torch.float64):
            if "relu" not in name:
                with self.subTest(name):
                    self.assertTrue(torch.autograd.gradgradcheck(lambda given, cell=ours: cell(given), (x,)))

    def test_compile_without_a_break_of_the_graph(self):
        x = torch.linspace(-1, 1, 6).view(2, 3)
        for name, theirs, ours in pairs(("auto", "hoisted")):
            torch._dynamo.reset()
            counter = CompileCounterWithBackend("eager")
            with self.subTest(name):
                found = torch.compile(ours, backend=counter, fullgraph=True)(x)
                torch.testing.assert_close(found, theirs(x))
                self.assertEqual(counter.frame_count, 1)

    def test_accelerate_leaves_them_and_undo_does_not(self):
        for name, theirs, ours in pairs(("hoisted",)):
            model = torch.nn.ModuleDict({"theirs": theirs, "ours": ours})
            done = rnnlab.accelerate(model)
            with self.subTest(name):
                self.assertEqual((done.changed, list(done.skipped)), ({}, ["theirs", "ours"]))
                self.assertIn("rnnlab has nothing faster for the single steps of", done.skipped["ours"])
                found = ours(torch.ones(2, 3))
                rnnlab.undo(model)
                self.assertEqual((type(ours), hasattr(ours, "implementation")), (type(theirs), False))
                torch.testing.assert_close(ours(torch.ones(2, 3)), found)

    def test_quantization_warns(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rnnlab.LSTMCell(3, 4).qconfig = None
        self.assertIn("call rnnlab.undo(model)", str(caught[0].message))


if __name__ == "__main__":
    unittest.main()
