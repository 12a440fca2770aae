# SPDX-License-Identifier: Apache-2.0
"""rnnlab.Cell of a Python function: the equations of rnnlab's own cells, random functions, and what is refused."""

import dataclasses
import math
import pathlib
import pickle
import random
import sys
import types
import unittest

try:
    import torch
except ImportError as error:
    print(f"skipped, because torch cannot be imported: {error}")
    sys.exit(77)
from torch.nn.functional import logsigmoid, softplus

import rnnlab

EXPERIMENTS = pathlib.Path(__file__).parents[2] / "experiments" / "cells"


def lstm(x, h, c):
    i = torch.sigmoid(x.i + h.i)
    f = torch.sigmoid(x.f + h.f)
    g = torch.tanh(x.g + h.g)
    o = torch.sigmoid(x.o + h.o)
    c = f * c + i * g
    h = o * torch.tanh(c)
    return h, c


def gru(x, h):
    r = torch.sigmoid(x.r + h.r)
    z = torch.sigmoid(x.z + h.z)
    n = torch.tanh(x.n + r * h.n)
    return (1 - z) * n + z * h


def rnn_tanh(x, h):
    return torch.tanh(x.n + h.n)


def rnn_relu(x, h):
    return torch.relu(h.n + x.n)


def candidate(a):
    return torch.where(a >= 0, a + 0.5, torch.sigmoid(a))


def min_gru(x, h):
    z = torch.sigmoid(x.z)
    return (1 - z) * h + z * candidate(x.n)


def min_lstm(x, h):
    d = logsigmoid(x.f) - logsigmoid(x.i)
    return torch.sigmoid(d) * h + torch.sigmoid(-d) * candidate(x.n)


def lstm_peephole(x, h, c, *, peephole):
    i = torch.sigmoid(x.i + h.i + peephole.i * c)
    f = torch.sigmoid(x.f + h.f + peephole.f * c)
    g = torch.tanh(x.g + h.g)
    c = f * c + i * g
    o = torch.sigmoid(x.o + h.o + peephole.o * c)
    return o * torch.tanh(c), c


def slstm(x, h, c, n, m):
    d = logsigmoid(x.f + h.f) + torch.where(n == 0, -math.inf, m)
    m = torch.maximum(d, x.i + h.i)
    a = torch.exp(x.i + h.i - m)
    b = torch.exp(d - m)
    c = b * c + a * torch.tanh(x.z + h.z)
    n = b * n + a
    return torch.sigmoid(x.o + h.o) * c / n, c, n, m


def mgu(x, h):
    f = torch.sigmoid(x.f + h.f)
    n = torch.tanh(x.n + f * h.n)
    return (1 - f) * h + f * n


def mgu_of_the_paper(x, h):
    forget = torch.sigmoid(x.f + h.f)
    return (1 - forget) * h + forget * torch.tanh(x.n + h.n(forget * h))


def cifg(x, h, c):
    f = torch.sigmoid(x.f + h.f)
    c = f * c + (1 - f) * torch.tanh(x.g + h.g)
    return torch.sigmoid(x.o + h.o) * torch.tanh(c), c


def janet(x, h):
    f = torch.sigmoid(x.f + h.f)
    return f * h + (1 - f) * torch.tanh(x.g + h.g)


def ugrnn(x, h):
    g = torch.sigmoid(x.g + h.g)
    return g * h + (1 - g) * torch.tanh(x.c + h.c)


def ligru(x, h):
    z = torch.sigmoid(x.z + h.z)
    return z * h + (1 - z) * torch.relu(x.n + h.n)


def indrnn(x, h, *, u):
    return torch.relu(x.n + u * h)


def cornn(x, y, z):
    z = z + 0.01 * (torch.tanh(x.a + y.a + y.b(z)) - 2.7 * y - 4.7 * z)
    return y + 0.01 * z, z


def exchanges(x, h, c, d):
    return torch.tanh(x.n + h.n) + 0.5 * c, d, c


def remembers(x, h, before):
    new = torch.tanh(x.n + h.n) + 0.5 * before
    return new, h


def reads_gates_twice(x, h, c):
    f = torch.sigmoid(x.f + h.f)
    c = abs(f - x.f * c) / (2 + torch.exp(-(h.f + x.f)))
    unused = c * 2  # noqa: F841  PyTorch programs have such lines, too
    return torch.minimum(f * c, torch.detach(c)) - (h - softplus(c) * h) / torch.log(4 + c), c


OWN = {"lstm": lstm, "gru": gru, "rnn_tanh": rnn_tanh, "min_gru": min_gru, "lstm_peephole": lstm_peephole}
FILES = {"mgu": mgu, "cifg": cifg, "janet": janet, "ugrnn": ugrnn, "ligru": ligru}
OTHERS = (mgu_of_the_paper, cornn, exchanges, remembers, reads_gates_twice)


class Weights:
    """The products of a step with tensors, by side ("x" or "h") and gate."""

    def __init__(self, cell, layer):
        self.weights = dict(layer.named_parameters())
        self.gates = {side: gates_of(cell, f"{side}.") for side in ("x", "h")}

    def product(self, side, gate, operand):
        kind, index, count = {"x": "ih", "h": "hh"}[side], self.gates[side].index(gate), len(self.gates[side])
        bias = self.weights.get(f"bias_{kind}_l0")
        found = operand @ self.weights[f"weight_{kind}_l0"].chunk(count)[index].T
        return found if bias is None else found + bias.chunk(count)[index]

    def vectors(self, cell):
        found = {}
        for parameter in dict.fromkeys(name.partition(".")[0] for name in cell.vectors):
            rows = [name.partition(".")[2] for name in cell.vectors if name.startswith(f"{parameter}.")]
            values = self.weights[f"{parameter}_l0"].view(max(1, len(rows)), -1)
            found[parameter] = types.SimpleNamespace(**dict(zip(rows, values))) if rows else values[0]
        return found


class HiddenState(torch.Tensor):
    """A tensor with the gates' products as attributes, which may be called with another tensor."""

    def __getattr__(self, gate):
        if "products" not in self.__dict__ or gate not in self.__dict__["products"].gates["h"]:
            raise AttributeError(gate)
        products = self.__dict__["products"]
        found = products.product("h", gate, self.as_subclass(torch.Tensor)).as_subclass(HiddenSide)
        found.__dict__["product"] = lambda operand: products.product("h", gate, operand)
        return found


class HiddenSide(torch.Tensor):
    def __call__(self, operand):
        return self.__dict__["product"](operand)


def reference(function, cell, layer, x):
    """Runs the function itself on tensors, step by step."""
    products = Weights(cell, layer)
    states, outputs = [x.new_zeros(x.size(1), layer.hidden_size) for _ in cell.states], []
    for step in x:
        inputs = types.SimpleNamespace(**{gate: products.product("x", gate, step) for gate in products.gates["x"]})
        hidden = states[0].as_subclass(HiddenState)
        hidden.__dict__["products"] = products
        with torch._C.DisableTorchFunctionSubclass():  # whose results are plain tensors
            returned = function(inputs, hidden, *states[1:], **products.vectors(cell))
            returned = returned if isinstance(returned, tuple) else (returned,)
            states = [state.as_subclass(torch.Tensor) for state in returned]
        outputs.append(states[0])
    return torch.stack(outputs), states


def gates_of(cell, side):
    """The gates of which the cell's text reads a side, or the bare name before it is assigned."""
    found, assigned = set(), set()
    for line in cell.equations.splitlines():
        name, _, right = line.partition(" = ")
        words = "".join(c if c.isalnum() or c in "_." else " " for c in right).split()
        found |= {gate for gate in cell.gates if side + gate in words or (gate in words and gate not in assigned)}
        assigned.add(name)
    return [gate for gate in cell.gates if gate in found]


class Functions(unittest.TestCase):
    def test_of_own_cells_are_these_cells(self):
        for name, function in OWN.items():
            self.assertEqual(rnnlab.Cell(function), rnnlab.Cell.named(name))
        self.assertEqual(rnnlab.Cell(min_lstm, gates=["i", "f", "n"]), rnnlab.Cell.named("min_lstm"))
        self.assertEqual(rnnlab.Cell(slstm, gates=["i", "f", "z", "o"], biases="one", heads=True),
                         rnnlab.Cell.named("slstm"))
        self.assertEqual(rnnlab.Cell(rnn_relu),
                         rnnlab.Cell("h = relu(n)", gates=["n"], states=["h"], name="rnn_relu"))

    def test_of_files_are_these_cells(self):
        for name, function in FILES.items():
            self.assertEqual(rnnlab.Cell(function), rnnlab.Cell.from_file(EXPERIMENTS / f"{name}.yaml"))
        self.assertEqual(rnnlab.Cell(indrnn, biases="one"), rnnlab.Cell.from_file(EXPERIMENTS / "indrnn.yaml"))

    def test_equations_of_an_own_cell_run_in_its_layers(self):
        def other_names(x, hidden, memory):
            forgotten = torch.sigmoid(x.f + hidden.f) * memory
            memory = torch.sigmoid(hidden.i + x.i) * torch.tanh(x.g + hidden.g) + forgotten
            return torch.tanh(memory) * torch.sigmoid(x.o + hidden.o), memory

        cell = rnnlab.Cell(other_names, gates=["i", "f", "g", "o"])
        self.assertEqual(cell.layers(), rnnlab.Cell.named("lstm").layers())

    def test_compute_what_they_compute_on_tensors(self):
        for function in [*OWN.values(), *FILES.values(), min_lstm, slstm, indrnn, *OTHERS]:
            with self.subTest(function.__name__):
                self.check_numbers(function)

    def check_numbers(self, function, **options):
        cell = rnnlab.Cell(function, **options)
        torch.manual_seed(1)
        layer = rnnlab.Recurrent(cell, 3, 4, dtype=torch.float64, implementation="naive")
        x = torch.randn(3, 2, 3, dtype=torch.float64)
        found, wanted = layer(x), reference(function, cell, layer, x)
        states = [state.unsqueeze(0) for state in wanted[1]]
        torch.testing.assert_close([found[0], *found[1]], [wanted[0], *states], msg=lambda text: f"{text}\n{cell}")
        if "constant(" not in cell.equations:
            weights = list(layer.parameters())
            gradients = [torch.autograd.grad(result[0].sum() + sum(state.sum() for state in result[1]), weights)
                         for result in (found, wanted)]
            torch.testing.assert_close(*gradients, msg=lambda text: f"{text}\n{cell}")

    def test_that_are_random(self):
        """Variables with the names of states and gates, read before and after they change, and exchanged states."""
        draw = random.Random(3)
        for number in range(60):
            names = ("a", "b", "f", "n", "h_1", "c", "v_1", "d")
            source = "\n    ".join([
                "def drawn(x, h, c, d):", "state, a, b, f, n, h_1, v_1 = h, c, d, x.f, h.n, x.n + h.n, h.f + x.f",
                *(f"{draw.choice(names)} = {self.drawn(draw)}" for _ in range(7)),
                f"return x.n + h.n + x.f * h.f + {draw.choice('abfn')}, "
                f"{draw.choice(('state', 'a', 'b', 'c', 'd', 'h_1 - a'))}, {draw.choice(('c', 'd', 'v_1', 'state'))}"])
            namespace = {"torch": torch}
            exec(source, namespace)
            with self.subTest(number, source=source):
                self.check_numbers(namespace["drawn"], gates=["f", "n"])

    @staticmethod
    def drawn(draw):
        values = ["a", "b", "f", "n", "h_1", "v_1", "c", "d", "state", "x.f", "h.n", "(x.f + h.f)", "0.25", "2"]
        one, two = draw.choices(values, k=2)
        return draw.choice([f"torch.tanh({one} * c + {two})", f"torch.sigmoid({one} * d) - {two}",
                            f"torch.sigmoid(f - ({one} - {two}))",
                            f"torch.where(n < {two}, {one}, -b)", f"torch.tanh(b) / (2 + torch.sigmoid(a * {two}))",
                            f"torch.maximum(c, {one} * c) * torch.sigmoid({two} + a)"])

    def test_run_once_and_are_written_with_their_names(self):
        self.assertEqual(rnnlab.Cell(exchanges).equations, "c_1 = c\nh = tanh(n) + 0.5 * c\nc = d\nd = c_1\n")
        self.assertEqual(rnnlab.Cell(remembers).equations, "new = tanh(n) + 0.5 * before\nbefore = h\nh = new\n")
        self.assertEqual(rnnlab.Cell(lambda x, h: torch.tanh(x.n + h.n)),
                         rnnlab.Cell("h = tanh(n)", gates=["n"], states=["h"]))
        self.assertEqual(rnnlab.Cell(reads_gates_twice).equations.splitlines()[:2],
                         ["f = sigmoid(f)", "c = abs(f - x.f * c) / (2 + exp(-(x.f + h.f)))"])

    def test_have_numbers_of_python_and_numpy(self):
        import numpy

        def scaled(x, h):
            return torch.tanh(x.n + h.n) * numpy.float32(0.5) + numpy.float64(2) * h - 10**20 * h + 1e-7 - (-3) * h

        self.assertEqual(rnnlab.Cell(scaled).equations, "h = tanh(n) * 0.5 + 2 * h - 1e+20 * h + 1e-07 - -3 * h\n")

    def test_of_long_expressions_have_several_lines(self):
        def deep(x, h):
            a = x.n + h.n
            for _ in range(100):
                a = torch.tanh(a)
            return a

        lines = rnnlab.Cell(deep).equations.splitlines()
        self.assertEqual([line.partition(" = ")[0] for line in lines], ["v_1", "v_2", "v_3", "h"])

    def test_decorate_and_are_cells_like_others(self):
        @rnnlab.Cell
        def own(x, h):
            return 0.5 * h + torch.tanh(x.n + h.n)

        self.assertEqual((own.name, own.gates, own.states), ("own", ("n",), ("h",)))
        self.assertEqual(eval(repr(own), {"Cell": rnnlab.Cell}), own)
        self.assertEqual(pickle.loads(pickle.dumps(own)), own)
        self.assertEqual(dataclasses.replace(own, name="half").name, "half")
        self.assertEqual(rnnlab.Recurrent(own, 3, 4)(torch.zeros(5, 2, 3))[0].shape, (5, 2, 4))


class Mistakes(unittest.TestCase):
    def check(self, kind, message, function, **options):
        with self.assertRaisesRegex(kind, message):
            rnnlab.Cell(function, **options)

    def test_of_control_flow(self):
        self.check(TypeError, "write torch.where", lambda x, h: h if x.n > 0 else x.n + h.n)
        self.check(TypeError, "write torch.where", lambda x, h: min(x.n, h.n))
        self.check(TypeError, "write torch.where", lambda x, h: 0 < x.n < 1)
        self.check(TypeError, "write one torch.where as an argument", lambda x, h: (x.n > 0) & (h > 0))
        self.check(TypeError, "only be the first argument of torch.where", lambda x, h: (x.n > 0) * h)
        self.check(TypeError, "takes a comparison first", lambda x, h: torch.where(x.n, h, h.n))

    def test_of_functions(self):
        self.check(TypeError, "torch.cos cannot be traced", lambda x, h: torch.cos(x.n + h.n))
        self.check(TypeError, "torch.nn.functional.gelu cannot be traced|torch._C._nn.gelu cannot be traced",
                   lambda x, h: torch.nn.functional.gelu(x.n + h.n))
        self.check(TypeError, "torch.cat cannot be traced", lambda x, h: torch.cat([x.n, h]))
        self.check(TypeError, "a tensor cannot be part", lambda x, h: torch.ones(()) * h)
        self.check(TypeError, "a tensor cannot be part", lambda x, h: h + torch.ones(()))
        self.check(TypeError, "takes 1 argument in equations", lambda x, h: softplus(x.n + h.n, 2))
        self.check(TypeError, "numpy.tanh cannot be traced", lambda x, h: __import__("numpy").tanh(x.n + h.n))
        self.check(TypeError, "not a number yet", lambda x, h: math.exp(x.n + h.n))
        self.check(AttributeError, "a gate cannot be called tanh; functions are called as torch.tanh",
                   lambda x, h: h.tanh())
        self.check(AttributeError, "a symbol has no sigmoid", lambda x, h: (x.n + h.n).sigmoid())
        self.check(TypeError, "h.size.a. is the product of the gate size with one symbol", lambda x, h: h.size(0))
        self.check(TypeError, "not a function", lambda x, h: x.n(h))

    def test_of_operators(self):
        self.check(TypeError, "no powers", lambda x, h: (x.n + h.n) ** 2)
        self.check(TypeError, "no powers", lambda x, h: 2 ** (x.n + h.n))
        self.check(TypeError, "no products of matrices", lambda x, h: x.n @ h)
        self.check(TypeError, "an argument of its own", lambda x, h: h[0])
        self.check(TypeError, "not a value of its own", lambda x, h: x + h)
        self.check(TypeError, "not a value of its own", lambda x, h: torch.tanh(x))
        self.check(TypeError, "symbols and numbers, got str", lambda x, h: h + "1")
        self.check(TypeError, "symbols and numbers, got bool", lambda x, h: h + True)
        self.check(ValueError, "nan cannot be part", lambda x, h: x.n + math.nan)

    def test_of_arguments_and_results(self):
        def forgets_a_state(x, h, c):
            c = c + torch.tanh(x.n + h.n)
            return torch.tanh(c)

        def unpacks(x, states):
            h, c = states
            return h, c

        def sets(x, h):
            h.n = torch.tanh(x.n)

        self.check(ValueError, "returns 1 value for 2 states: return the new h, the new c, in the order",
                   forgets_a_state)
        self.check(TypeError, "give each state an argument of its own", unpacks)
        self.check(AttributeError, "give the value a name of its own", sets)
        self.check(TypeError, "returns nothing: return the new h", lambda x, h: None)
        self.check(TypeError, r"arguments are \(h\), expected the input and each state", lambda h: h)
        self.check(TypeError, "argument c has no fixed meaning", lambda x, h, c=None: h)
        self.check(TypeError, "leave them out", mgu, states=["h"])
        self.check(TypeError, "equations as text need gates", "h = tanh(n)")

    def test_of_names(self):
        def forgets_a_gate(x, h):
            f = torch.sigmoid(x.f + h.f)  # noqa: F841
            return torch.tanh(x.n + h.n)

        self.check(ValueError, "the gate f is read, but no returned state depends on it", forgets_a_gate)
        self.check(ValueError, "reads the gate f, and gates are forget, n", mgu, gates=["forget", "n"])
        self.check(ValueError, "the gate q is never read", mgu, gates=["f", "n", "q"])
        self.check(ValueError, "the vector p is never read", lambda x, h, *, p: x.n + h.n)
        self.check(ValueError, "read one or the other", lambda x, h, *, p: p * h + p.i * x.n)
        self.check(ValueError, "the state cannot be called tanh", lambda x, tanh: x.n + tanh)

    def test_of_other_calls(self):
        kept = []

        def keeps(x, h):
            kept.append(h)
            return torch.tanh(x.n + kept[0])

        rnnlab.Cell(keeps)
        self.check(ValueError, "the symbol is of another call", keeps)

    def test_names_the_constructor_for_functions(self):
        with self.assertRaisesRegex(TypeError, r"rnnlab.Cell\(function\)"):
            rnnlab.Recurrent(mgu, 3, 4)


if __name__ == "__main__":
    unittest.main()
