# SPDX-License-Identifier: Apache-2.0
"""rnnlab.Recurrent: every cell and cells of equations, against a reference in plain PyTorch in float64, on each layer."""

import copy
import dataclasses
import io
import pickle
import sys
import threading
import unittest
import unittest.mock
from collections.abc import Callable

try:
    import torch
except ImportError as error:
    print(f"skipped, because torch cannot be imported: {error}")
    sys.exit(77)
from torch.nn.functional import logsigmoid
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

import rnnlab

SIZES = {"input_size": 3, "hidden_size": 6}
NUM_STEPS, BATCH_SIZE = 5, 3
LENGTHS = torch.tensor([5, 2, 4])


class Sums:
    """The parts of a step's gates, as equations name them: sums("f"), sums.x("f"), sums.h("n", operand)."""

    def __init__(self, reference, weights, x, hidden, heads):
        self.reference, self.weights, self.input, self.hidden, self.heads = reference, weights, x, hidden, heads

    def x(self, gate):
        return self.side("ih", self.reference.input_gates, gate, self.input, 1)

    def h(self, gate, operand=None):
        operand = self.hidden if operand is None else operand
        return self.side("hh", self.reference.hidden_gates, gate, operand, self.heads)

    def __call__(self, gate):
        return self.x(gate) + self.h(gate)

    def side(self, kind, gates, gate, operand, heads):
        """With heads, a block of the gate's rows reads the same block of the operand."""
        matrix = self.weights[f"weight_{kind}"].chunk(len(gates))[gates.index(gate)]
        blocks = [part @ rows.T for part, rows in zip(operand.chunk(heads, -1), matrix.chunk(heads))]
        bias = self.weights.get(f"bias_{kind}")
        return torch.cat(blocks, -1) + (0 if bias is None else bias.chunk(len(gates))[gates.index(gate)])


@dataclasses.dataclass
class Reference:
    """A cell in plain PyTorch: step(sums, states, weights) returns the next states."""

    step: Callable
    input_gates: str
    hidden_gates: str = ""
    cell: str | rnnlab.Cell = ""
    options: dict = dataclasses.field(default_factory=dict)

    def direction(self, weights, x, states, lengths, is_reverse):
        outputs, heads = [None] * len(x), self.options.get("heads", 1)
        for t in reversed(range(len(x))) if is_reverse else range(len(x)):
            alive = (t < lengths).unsqueeze(1)
            after = self.step(Sums(self, weights, x[t], states[0], heads), states, weights)
            states = [torch.where(alive, new, old) for new, old in zip(after, states)]
            outputs[t] = torch.where(alive, states[0], 0)
        return torch.stack(outputs), states

    def __call__(self, weights, x, initial, lengths, num_layers=1, num_directions=1):
        finals = []
        for layer in range(num_layers):
            outputs = []
            for direction in range(num_directions):
                suffix = f"_l{layer}" + ("_reverse" if direction else "")
                own = {name[: -len(suffix)]: weight for name, weight in weights.items() if name.endswith(suffix)}
                states = [state[layer * num_directions + direction] for state in initial]
                output, states = self.direction(own, x, states, lengths, bool(direction))
                outputs.append(output)
                finals.append(states)
            x = torch.cat(outputs, -1)
        return x, [torch.stack(state) for state in zip(*finals)]


def lstm(activation):
    def step(sums, states, weights):
        peephole = weights.get("peephole", torch.zeros(3 * SIZES["hidden_size"], dtype=torch.float64)).chunk(3)
        c = states[1]
        i, f = (sums("i") + peephole[0] * c).sigmoid(), (sums("f") + peephole[1] * c).sigmoid()
        c = f * c + i * activation(sums("g"))
        return (sums("o") + peephole[2] * c).sigmoid() * activation(c), c

    return step


def gru(is_before):
    def step(sums, states, weights):
        (h,), r, z = states, sums("r").sigmoid(), sums("z").sigmoid()
        n = (sums.x("n") + (sums.h("n", r * h) if is_before else r * sums.h("n"))).tanh()
        return ((1 - z) * n + z * h,)

    return step


def slstm(sums, states, weights):
    _, c, n, m = states
    d = logsigmoid(sums("f")) + torch.where(n == 0, -torch.inf, m)
    m = torch.maximum(d, sums("i"))
    a, b = (sums("i") - m).exp(), (d - m).exp()
    c, n = b * c + a * sums("z").tanh(), b * n + a
    return sums("o").sigmoid() * c / n, c, n, m


def candidate(x, form):
    return torch.where(x >= 0, x + 0.5, x.sigmoid()) if form == "positive" else x


def min_gru(form):
    def step(sums, states, weights):
        z = sums.x("z").sigmoid()
        return ((1 - z) * states[0] + z * candidate(sums.x("n"), form),)

    return step


def min_lstm(form):
    def step(sums, states, weights):
        f, i = sums.x("f").sigmoid(), sums.x("i").sigmoid()
        return ((f * states[0] + i * candidate(sums.x("n"), form)) / (f + i),)

    return step


def mgu(is_product):
    def step(sums, states, weights):
        (h,), f = states, sums("f").sigmoid()
        n = (sums.x("n") + (sums.h("n", f * h) if is_product else f * sums.h("n"))).tanh()
        return ((1 - f) * h + f * n,)

    return step


def mixed(sums, states, weights):
    h, c, m = states
    k = sums("k").sigmoid()
    c = k * c + (1 - k) * (sums.x("a") + weights["p"] * c).tanh()
    m = 0.5 * m + 0.5 * sums.h("b").relu()
    return k * (c - m).tanh(), c, m


def mgu_cell(product):
    return rnnlab.Cell(f"f = sigmoid(f)\nn = tanh(x.n + {product})\nh = (1 - f) * h + f * n", gates=["f", "n"],
                       states=["h"], name="mgu")


MIXED = rnnlab.Cell("""
    k = sigmoid(k)
    c = k * c + (1 - k) * tanh(x.a + p * c)
    m = 0.5 * m + 0.5 * relu(h.b)
    h = k * tanh(c - m)
""", gates=["k", "a", "b"], states=["h", "c", "m"], vectors=["p"], biases="one", name="mixed")

REFERENCES = {
    "lstm": Reference(lstm(torch.tanh), "ifgo", "ifgo", "lstm"),
    "lstm, relu": Reference(lstm(torch.relu), "ifgo", "ifgo", "lstm", {"activation": "relu"}),
    "lstm_peephole": Reference(lstm(torch.tanh), "ifgo", "ifgo", "lstm_peephole"),
    "gru": Reference(gru(False), "rzn", "rzn", "gru"),
    "gru, before": Reference(gru(True), "rzn", "rzn", "gru", {"reset_gate": "before"}),
    "rnn_tanh": Reference(lambda sums, *_: (sums("n").tanh(),), "n", "n", "rnn_tanh"),
    "rnn_relu": Reference(lambda sums, *_: (sums("n").relu(),), "n", "n", "rnn_relu"),
    "min_gru": Reference(min_gru("positive"), "zn", "", "min_gru"),
    "min_gru, linear": Reference(min_gru("linear"), "zn", "", "min_gru", {"candidate": "linear"}),
    "min_lstm": Reference(min_lstm("positive"), "ifn", "", "min_lstm"),
    "min_lstm, linear": Reference(min_lstm("linear"), "ifn", "", "min_lstm", {"candidate": "linear"}),
    "slstm": Reference(slstm, "ifzo", "ifzo", "slstm"),
    "slstm, heads": Reference(slstm, "ifzo", "ifzo", "slstm", {"heads": 2}),
    "mgu": Reference(mgu(False), "fn", "fn", mgu_cell("f * h.n")),
    "mgu, product": Reference(mgu(True), "fn", "fn", mgu_cell("h.n(f * h)")),
    "mixed": Reference(mixed, "ka", "kb", MIXED),
}


def layer_of(reference, **options):
    torch.manual_seed(1)
    return rnnlab.Recurrent(reference.cell, **{**SIZES, "dtype": torch.float64, **reference.options, **options})


def given_to(layer, batch_size=BATCH_SIZE):
    """An input and initial states, which are positive: sLSTM divides by one of them."""
    dtype, num = layer.weight_ih_l0.dtype, layer.num_layers * (1 + layer.bidirectional)
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(NUM_STEPS, batch_size, layer.input_size, dtype=torch.float64, generator=generator)
    states = [torch.rand(num, batch_size, layer.hidden_size, dtype=torch.float64, generator=generator) + 0.5
              for _ in layer.cell.states]
    return [tensor.to(dtype).requires_grad_() for tensor in (x, *states)]


def with_gradients(output, states, sources):
    """The results and the gradients of a function of them all."""
    results = [output, *states]
    loss = sum((result.sin() * (i + 1)).sum() for i, result in enumerate(results))
    gradients = torch.autograd.grad(loss, sources)
    return [result.detach() for result in results], list(gradients)


def wanted_of(reference, layer, lengths, batch_size=BATCH_SIZE):
    x, *states = (t.detach().double().requires_grad_() for t in given_to(layer, batch_size))
    weights = {name: p.detach().double().requires_grad_() for name, p in layer.named_parameters()}
    output, finals = reference(weights, x, states, lengths, layer.num_layers, 1 + layer.bidirectional)
    return with_gradients(output, finals, [x, *states, *weights.values()])


def found_by(layer, run=None, lengths=None):
    x, *states = given_to(layer)
    run = layer if run is None else run  # a compiled module has no truth value
    if lengths is None:
        output, finals = run(x, states)
    else:
        packed, finals = run(pack_padded_sequence(x, lengths, enforce_sorted=False), states)
        assert isinstance(packed, PackedSequence)
        output, _ = torch.nn.utils.rnn.pad_packed_sequence(packed)
    return with_gradients(output, finals, [x, *states, *layer.parameters()])


def assert_equal(test, found, wanted, dtype=torch.float64):
    tolerance = {"rtol": 1e-3, "atol": 2e-4} if dtype == torch.float32 else {"rtol": 1e-8, "atol": 1e-9}
    for a, b in zip(found, wanted, strict=True):
        for number, (mine, right) in enumerate(zip(a, b, strict=True)):
            test.assertEqual(mine.dtype, dtype)
            torch.testing.assert_close(mine.double(), right, **tolerance, msg=lambda m: f"tensor {number}: {m}")


class EqualToTheReference(unittest.TestCase):
    def check(self, name, dtype, lengths, **options):
        reference = REFERENCES[name]
        implementations = layer_of(reference, **options).implementations()
        self.assertIn("naive", implementations)
        for implementation in implementations:
            with self.subTest(cell=name, implementation=implementation, dtype=dtype, lengths=lengths, **options):
                layer = layer_of(reference, implementation=implementation, dtype=dtype, **options)
                whole = torch.full((BATCH_SIZE,), NUM_STEPS)
                wanted = wanted_of(reference, layer, whole if lengths is None else lengths)
                assert_equal(self, found_by(layer, lengths=lengths), wanted, dtype)
                self.assertEqual(layer.implementation_used, implementation)

    def test_one_layer(self):
        for name in REFERENCES:
            self.check(name, torch.float64, None)

    def test_two_layers_in_both_directions(self):
        for name in REFERENCES:
            for dtype in (torch.float64, torch.float32):
                self.check(name, dtype, None, num_layers=2, bidirectional=True)

    def test_packed_sequences(self):
        for name in REFERENCES:
            self.check(name, torch.float64, LENGTHS, num_layers=2, bidirectional=True)

    def test_layers_that_list_more_than_naive(self):
        """Otherwise the tests above would pass without the faster layers."""
        for name in ("lstm", "gru", "lstm_peephole", "slstm", "mgu", "mixed"):
            self.assertLessEqual({"naive", "hoisted", "blocked"}, set(layer_of(REFERENCES[name]).implementations()), name)
        self.assertIn("scan", layer_of(REFERENCES["min_gru, linear"]).implementations())

    def test_compiled(self):
        for name, reference in REFERENCES.items():
            for implementation in layer_of(reference).implementations():
                if implementation in ("naive", "hoisted", "scan"):
                    with self.subTest(cell=name, implementation=implementation):
                        torch._dynamo.reset()
                        layer = layer_of(reference, num_layers=2, bidirectional=True, implementation=implementation)
                        compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
                        torch.testing.assert_close(found_by(layer, compiled), found_by(layer), rtol=1e-12, atol=1e-12)

    def test_without_biases(self):
        for name in ("lstm", "min_gru", "slstm", "mixed"):
            layer = layer_of(REFERENCES[name], num_layers=2, bias=False, implementation="naive")
            self.assertFalse([key for key in layer.state_dict() if key.startswith("bias")])
            assert_equal(self, found_by(layer),
                         wanted_of(REFERENCES[name], layer, torch.full((BATCH_SIZE,), NUM_STEPS)))

    def test_forms_of_the_input(self):
        layer = layer_of(REFERENCES["mixed"], implementation="hoisted")
        x, *states = given_to(layer)
        output, finals = layer(x, states)
        layer.batch_first = True
        torch.testing.assert_close(layer(x.transpose(0, 1), states), (output.transpose(0, 1), finals))
        single, own = layer(x[:, 1], [state[:, 1] for state in states])
        torch.testing.assert_close((single, own), (output[:, 1], tuple(state[:, 1] for state in finals)))
        torch.testing.assert_close(layer(x.transpose(0, 1)),
                                   layer(x.transpose(0, 1), [torch.zeros_like(state) for state in states]))

    def test_results_that_are_independent_of_arguments(self):
        """Then the gradients are zeros, as those of a weight that only another state reads."""
        cell = rnnlab.Cell("c = 0.5 * c + x.a\nh = tanh(k)", gates=["k", "a"], states=["h", "c"])
        for implementation in cell.layers():
            layer = rnnlab.Recurrent(cell, **SIZES, implementation=implementation)
            x, *states = given_to(layer)
            loss = layer(x, states)[1][1].sum()
            gradients = torch.autograd.grad(loss, [states[0], layer.weight_hh_l0, layer.weight_ih_l0])
            self.assertEqual([bool(g.any()) for g in gradients], [False, False, True])


class EqualToTorch(unittest.TestCase):
    def test_equations_of_lstm_and_gru(self):
        """Equations that are those of a cell of rnnlab are that cell, with all its layers."""
        for name in ("lstm", "gru"):
            listed = rnnlab.Cell.named(name)
            cell = rnnlab.Cell(listed.equations, gates=listed.gates, states=listed.states, name="mine")
            for implementation in rnnlab.Recurrent(cell, **SIZES).implementations():
                with self.subTest(cell=name, implementation=implementation):
                    torch.manual_seed(3)
                    ours = rnnlab.Recurrent(cell, **SIZES, num_layers=2, bidirectional=True, dtype=torch.float64,
                                            implementation=implementation)
                    torch.manual_seed(3)
                    theirs = getattr(torch.nn, name.upper())(**SIZES, num_layers=2, bidirectional=True,
                                                             dtype=torch.float64)
                    torch.testing.assert_close(ours.state_dict(), theirs.state_dict(), rtol=0, atol=0)
                    x, *states = given_to(ours)
                    hidden = tuple(states) if name == "lstm" else states[0]
                    output, finals = theirs(x, hidden)
                    finals = finals if name == "lstm" else (finals,)
                    wanted = with_gradients(output, finals, [x, *states, *theirs.parameters()])
                    assert_equal(self, found_by(ours), wanted)

    def test_one_state_may_be_a_tensor(self):
        layer = layer_of(REFERENCES["gru"], implementation="hoisted")
        x, state = given_to(layer)
        torch.testing.assert_close(layer(x, state), layer(x, (state,)))


class Habits(unittest.TestCase):
    def test_operator_is_registered_as_pytorch_asks(self):
        for name in ("mgu", "mgu, product", "mixed", "slstm, heads"):
            reference = REFERENCES[name]
            layer = layer_of(reference, num_layers=2)
            x, *states = given_to(layer)
            implementation = layer.implementations()[-1]
            arguments = (x, states, list(layer.parameters()), None, layer._spec, implementation, 2, False, 0.0, True,
                         True, True, True, None, torch.float64, torch.float64)
            torch.library.opcheck(torch.ops.rnnlab.recurrent.default, arguments)

    def test_gradients_are_those_of_finite_differences(self):
        for name in ("mgu", "mixed"):
            layer = layer_of(REFERENCES[name], implementation="hoisted")
            x, *states = given_to(layer, batch_size=2)
            self.assertTrue(torch.autograd.gradcheck(lambda x, *s: (layer(x, s)[0], *layer(x, s)[1]), (x, *states)))

    def test_copies_pickles_and_state_dicts(self):
        layer = layer_of(REFERENCES["slstm, heads"], num_layers=2)
        file = io.BytesIO()
        torch.save(layer.state_dict(), file)
        file.seek(0)
        loaded = layer_of(REFERENCES["slstm, heads"], num_layers=2)
        torch.nn.init.zeros_(loaded.weight_hh_l1)
        loaded.load_state_dict(torch.load(file, weights_only=True))
        x = given_to(layer)[0]
        for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), loaded, copy.deepcopy(layer).float().double()):
            torch.testing.assert_close(twin(x)[0], layer(x)[0], rtol=1e-6, atol=1e-6)
        self.assertEqual(copy.deepcopy(layer).options, {"heads": 2})

    def test_parameters_are_those_of_checkpoints(self):
        shapes = {name: tuple(p.shape) for name, p in layer_of(REFERENCES["mixed"], num_layers=2).named_parameters()}
        self.assertEqual(shapes, {"weight_ih_l0": (12, 3), "weight_hh_l0": (12, 6), "bias_ih_l0": (12,), "p_l0": (6,),
                                  "weight_ih_l1": (12, 6), "weight_hh_l1": (12, 6), "bias_ih_l1": (12,), "p_l1": (6,)})
        names = list(layer_of(REFERENCES["lstm_peephole"], bidirectional=True).state_dict())
        self.assertEqual((names[4], names[9]), ("peephole_l0", "peephole_l0_reverse"))

    def test_auto_measures_the_layers_that_can_run_the_cell(self):
        layer = layer_of(REFERENCES["mixed"], implementation="auto")
        state = torch.get_rng_state()
        wanted = layer_of(REFERENCES["mixed"], implementation="naive")
        rnnlab.forget_choices()
        torch.testing.assert_close(found_by(layer), found_by(wanted), rtol=1e-9, atol=1e-9)
        self.assertEqual([one.implementation for one in rnnlab.choices()], [layer.implementation_used])
        self.assertTrue(torch.equal(torch.get_rng_state(), state))
        self.assertIn(layer.implementation_used, layer.implementations())
        waiting = rnnlab.Cell("h = tanh(x.f + h.f(sigmoid(x.g + h.g(h * h))))", gates=["f", "g"], states=["h"])
        alone = rnnlab.Recurrent(waiting, 3, 4)
        alone(torch.zeros(2, 1, 3))
        self.assertEqual(alone.implementation_used, "naive")

    def test_auto_while_torch_compile_traces(self):
        torch._dynamo.reset()
        layer = layer_of(REFERENCES["mixed"])
        rnnlab.forget_choices()
        compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(found_by(layer, compiled), found_by(layer))

    def test_autocast(self):
        for name in ("mgu", "slstm", "mixed"):
            for implementation in layer_of(REFERENCES[name]).implementations():
                with self.subTest(cell=name, implementation=implementation):
                    layer = layer_of(REFERENCES[name], implementation=implementation, dtype=torch.float32)
                    x = given_to(layer)[0].detach()
                    with torch.autocast("cpu", dtype=torch.bfloat16):
                        output, finals = layer(x)
                        again, _ = layer(x, finals)
                    inner = [torch.float32] * (len(finals) - 1)
                    self.assertEqual([t.dtype for t in (output, *finals)], [torch.bfloat16, torch.bfloat16, *inner])
                    torch.testing.assert_close(output.float(), layer(x)[0], rtol=3e-2, atol=3e-2)
                    again.sum().backward()
                    self.assertEqual(layer.weight_ih_l0.grad.dtype, torch.float32)

    def test_dropout_acts_in_training_between_layers(self):
        layer = layer_of(REFERENCES["mgu"], num_layers=2, dropout=0.5, implementation="hoisted")
        x = given_to(layer)[0]
        self.assertFalse(torch.equal(layer(x)[0], layer(x)[0]))
        layer.eval()
        torch.testing.assert_close(layer(x)[0], layer(x)[0], rtol=0, atol=0)

    def test_symbolic_trace_and_export(self):
        net = torch.nn.Sequential(layer_of(REFERENCES["mixed"]))
        x = given_to(net[0])[0].detach()
        torch.testing.assert_close(torch.fx.symbolic_trace(net)(x), net(x))
        torch.testing.assert_close(torch.export.export(net, (x,)).module()(x), net(x))

    def test_functional_call(self):
        layer = layer_of(REFERENCES["mixed"], implementation="hoisted")
        twice = {name: 2 * weight.detach() for name, weight in layer.named_parameters()}
        other = copy.deepcopy(layer)
        other.load_state_dict(twice)
        x = given_to(layer)[0]
        torch.testing.assert_close(torch.func.functional_call(layer, twice, (x,)), other(x))

    def test_threads_compute_what_one_computes(self):
        layer = layer_of(REFERENCES["mixed"], num_layers=2)
        wanted, wrong = found_by(layer), []

        def work():
            for _ in range(10):
                found = found_by(layer)
                for a, b in zip(sum(found, []), sum(wanted, [])):
                    if not torch.allclose(a, b, rtol=1e-9, atol=1e-9):
                        wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_trains(self):
        torch.manual_seed(4)
        layer, head = rnnlab.Recurrent(mgu_cell("f * h.n"), 1, 16), torch.nn.Linear(16, 1)
        optimizer = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.02)
        x = torch.rand(8, 32, 1)
        losses = []
        for _ in range(60):
            optimizer.zero_grad()
            loss = (head(layer(x)[0][-1]) - x.sum(0)).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        self.assertLess(losses[-1], losses[0] / 4)

    def test_classes_of_cells(self):
        x = torch.randn(4, 2, 3)
        for name, cell in (("MinGRU", "min_gru"), ("MinLSTM", "min_lstm"), ("PeepholeLSTM", "lstm_peephole"),
                           ("SLSTM", "slstm")):
            layer = getattr(rnnlab, name)(3, 6, num_layers=2, batch_first=True)
            twin = rnnlab.Recurrent(cell, 3, 6, num_layers=2, batch_first=True)
            twin.load_state_dict(layer.state_dict())
            torch.testing.assert_close(layer(x), twin(x))
            self.assertEqual(repr(layer), f"{name}({cell}, 3, 6, num_layers=2, batch_first=True, implementation=auto)")


class Mistakes(unittest.TestCase):
    def check(self, message, work, kind=ValueError):
        with self.assertRaises(kind) as caught:
            work()
        self.assertEqual(str(caught.exception), message)

    def layer(self, cell="mgu", **options):
        return rnnlab.Recurrent(REFERENCES[cell].cell, **SIZES, **options)

    def test_of_arguments(self):
        self.check("rnnlab: reset_gate and cell: only gru has a reset gate", lambda: self.layer("lstm", reset_gate="before"))
        self.check("rnnlab: the cell: reset_gate: got the text 'bfore', expected after or before (did you mean 'before'?)",
                   lambda: self.layer("gru", reset_gate="bfore"))
        self.check("rnnlab: heads and hidden_size: the number of heads must divide hidden_size: 6",
                   lambda: self.layer("slstm", heads=4))
        self.check("rnnlab: the cell: heads: expected at least 1", lambda: self.layer("slstm", heads=0))
        self.check("hidden_size is 0, expected at least 1", lambda: rnnlab.Recurrent("gru", 3, 0))
        self.check("num_layers is 1.5, expected an integer", lambda: self.layer(num_layers=1.5), TypeError)
        self.check("dropout is 1.0, expected at least 0 and below 1", lambda: self.layer(dropout=1.0))
        self.check("the cell is int, expected a rnnlab.Cell, the name of a cell or a file",
                   lambda: rnnlab.Recurrent(3, 4, 5), TypeError)

    def test_of_implementations(self):
        with self.assertRaisesRegex(ValueError, "implementation is 'torch'; use auto, naive"):
            self.layer(implementation="torch")
        with self.assertRaisesRegex(ValueError, "cell mgu: layer: fused does not support cell: own cell .*; use layer: naive"):
            self.layer(implementation="fused")
        with self.assertRaisesRegex(ValueError, "cell gru: layer: blocked does not support reset_gate: before"):
            self.layer("gru, before", reset_gate="before", implementation="blocked")
        with self.assertRaisesRegex(ValueError, "cell mgu: layer: blocked does not support cell: .*a product reads an expression"):
            self.layer("mgu, product", implementation="blocked")

    def test_of_tensors(self):
        x = torch.randn(4, 2, 3)
        self.check("rnnlab.Recurrent: the input has 4 features, expected 3", lambda: self.layer()(torch.randn(4, 2, 4)))
        self.check("rnnlab.Recurrent: the input has 4 dimensions, expected 2 or 3", lambda: self.layer()(x[None]))
        self.check("rnnlab.Recurrent: the input has 0 steps of 2 sequences, expected at least one of each",
                   lambda: self.layer()(x[:0]))
        self.check("rnnlab.Recurrent: the input is torch.float64, and the weights are torch.float32; convert one of them",
                   lambda: self.layer()(x.double()))
        self.check("rnnlab.Recurrent: 1 initial states were given, but mixed has 3: h, c, m",
                   lambda: self.layer("mixed")(x, torch.zeros(1, 2, 6)))
        self.check("rnnlab.Recurrent: the initial state h is (1, 3, 6), expected (1, 2, 6)",
                   lambda: self.layer()(x, torch.zeros(1, 3, 6)))


if __name__ == "__main__":
    unittest.main()
