# SPDX-License-Identifier: Apache-2.0
"""Starts within the input, the states of every step, recomputation, and layers as functions."""

import sys
import unittest

try:
    import torch
except ImportError as error:
    print(f"skipped, because torch cannot be imported: {error}")
    sys.exit(77)
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

import rnnlab
from rnnlab import functional

NUM_STEPS, BATCH_SIZE = 6, 3
SIZES = {"input_size": 3, "hidden_size": 4}
MGU = rnnlab.Cell("f = sigmoid(f)\nn = tanh(x.n + f * h.n)\nh = (1 - f) * h + f * n", gates=["f", "n"], states=["h"], name="mgu")
# The first sequence starts with steps 0 and 4, the second one with step 1, the third one never.
STARTS = torch.zeros(NUM_STEPS, BATCH_SIZE, dtype=torch.bool)
STARTS[[0, 4, 1], [0, 0, 1]] = True


def x(**options):
    return torch.randn(NUM_STEPS, BATCH_SIZE, 3, generator=torch.Generator().manual_seed(1), **options)


def layers(**options):
    """Every class of layers, and implementations that are told apart."""
    options = {**SIZES, "dtype": torch.float64, **options}
    yield rnnlab.LSTM(implementation="hoisted", **options)
    yield rnnlab.GRU(implementation="blocked" if options["dtype"] == torch.float32 else "naive", **options)
    yield rnnlab.RNN(implementation="grouped", **options)
    yield rnnlab.Recurrent(MGU, implementation="hoisted", **options)
    yield rnnlab.SLSTM(implementation="hoisted", **options)
    yield rnnlab.MinGRU(implementation="scan", **options)


def as_list(states):
    return [states] if isinstance(states, torch.Tensor) else list(states)


def step_by_step(layer, steps, starts):
    """Calls the layer once a step, with states of zeros where a sequence starts: the output and the states of all steps."""
    states, all_states = None, []
    for t in range(len(steps)):
        if states is not None:
            kept = (~starts[t]).view(1, -1, 1)
            states = [torch.where(kept, state, 0) for state in states]
        given = states if states is None or len(states) > 1 else states[0]
        states = as_list(layer(steps[t:t + 1], given)[1])
        all_states.append(states)
    return [torch.stack(states, dim=1) for states in zip(*all_states)]


class States(unittest.TestCase):
    def check(self, got, wanted):
        torch.testing.assert_close(got, wanted, rtol=1e-10, atol=1e-12)

    def test_are_those_of_calls_for_single_steps(self):
        for layer in layers():
            with self.subTest(layer=layer):
                steps = x(dtype=torch.float64)
                output, final, all_states = layer(steps, starts=STARTS, all_states=True)
                wanted = step_by_step(layer, steps, STARTS)
                self.check(as_list(all_states), wanted)
                self.check(output, wanted[0][0])
                self.check(as_list(final), [states[:, -1] for states in wanted])

    def test_have_gradients(self):
        for layer in layers():
            with self.subTest(layer=layer):
                gradients = []
                for compute in (lambda s, layer=layer: as_list(layer(s, starts=STARTS, all_states=True)[2]),
                                lambda s, layer=layer: step_by_step(layer, s, STARTS)):
                    steps = x(dtype=torch.float64).requires_grad_()
                    loss = sum((states * torch.arange(1.0, states.numel() + 1).view_as(states)).sum() for states in compute(steps))
                    gradients.append(torch.autograd.grad(loss, [steps, *layer.parameters()], allow_unused=True))
                for got, wanted in zip(*gradients):
                    self.check(got, torch.zeros_like(got) if wanted is None else wanted)

    def test_of_several_layers_and_both_directions(self):
        layer = rnnlab.LSTM(**SIZES, num_layers=2, bidirectional=True, implementation="hoisted")
        output, (h, c), (all_h, all_c) = layer(x(), starts=STARTS, all_states=True)
        self.assertEqual(all_h.shape, (4, NUM_STEPS, BATCH_SIZE, 4))
        self.assertEqual(all_c.shape, all_h.shape)
        self.check(torch.cat([all_h[2], all_h[3]], dim=-1), output)
        for direction, last in ((0, -1), (1, 0)):
            self.check(all_h[direction::2, last], h[direction::2])
            self.check(all_c[direction::2, last], c[direction::2])

    def test_in_all_layouts(self):
        for make in (rnnlab.GRU, lambda **options: rnnlab.Recurrent(MGU, **options)):
            plain = make(**SIZES, implementation="hoisted", dtype=torch.float64)
            batch_first = make(**SIZES, implementation="hoisted", dtype=torch.float64, batch_first=True)
            batch_first.load_state_dict(plain.state_dict())
            steps = x(dtype=torch.float64)
            wanted, _, states = plain(steps, starts=STARTS, all_states=True)
            states = as_list(states)[0]
            output, _, got = batch_first(steps.transpose(0, 1), starts=STARTS.t(), all_states=True)
            self.check(output.transpose(0, 1), wanted)
            self.check(as_list(got)[0].transpose(1, 2), states)
            output, _, got = plain(steps[:, 0], starts=STARTS[:, 0], all_states=True)
            self.check(output, wanted[:, 0])
            self.check(as_list(got)[0], states[:, :, 0])

    def test_of_packed_sequences(self):
        lengths = torch.tensor([3, 6, 5])
        for make in (rnnlab.GRU, lambda **options: rnnlab.Recurrent(MGU, **options)):
            layer = make(**SIZES, implementation="hoisted", dtype=torch.float64)
            steps = x(dtype=torch.float64)
            packed = pack_padded_sequence(steps, lengths, enforce_sorted=False)
            output, final, all_states = layer(packed, starts=STARTS, all_states=True)
            padded, sizes = pad_packed_sequence(output)
            states, _ = pad_packed_sequence(all_states if isinstance(all_states, PackedSequence) else all_states[0])
            for b, length in enumerate(lengths.tolist()):
                wanted, last = layer(steps[:length, b:b + 1], starts=STARTS[:length, b:b + 1])
                self.check(padded[:length, b:b + 1], wanted)
                self.check(states[:length, b, 0], wanted[:, 0])
                self.check(as_list(final)[0][:, b:b + 1], as_list(last)[0])

    def test_compiled(self):
        for layer in (rnnlab.GRU(**SIZES, implementation="hoisted"), rnnlab.Recurrent(MGU, **SIZES, implementation="hoisted")):
            compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
            got = compiled(x(), starts=STARTS, all_states=True)
            wanted = layer(x(), starts=STARTS, all_states=True)
            self.check(got[0], wanted[0])
            self.check(as_list(got[2]), as_list(wanted[2]))

    def test_auto_leaves_out_what_cannot(self):
        rnnlab.forget_choices()
        lstm = rnnlab.LSTM(**SIZES)
        lstm(x(), starts=STARTS)
        self.assertIn(lstm.implementation_used, ("blocked", "hoisted"))
        own = rnnlab.Recurrent("lstm", **SIZES)
        own(x(), all_states=True)
        self.assertIn(own.implementation_used, own.implementations())
        self.assertNotIn(own.implementation_used, ("fused", "cudnn"))

    def test_under_autocast(self):
        with torch.autocast("cpu", torch.bfloat16):
            output, _, (h, c) = rnnlab.PeepholeLSTM(**SIZES, implementation="hoisted")(x(), starts=STARTS, all_states=True)
        self.assertEqual((output.dtype, h.dtype, c.dtype), (torch.bfloat16, torch.bfloat16, torch.float32))

    def test_operator_is_registered_as_pytorch_asks(self):
        layer = rnnlab.Recurrent(MGU, **SIZES, dtype=torch.float64)
        arguments = (x(dtype=torch.float64, requires_grad=True), [torch.zeros(1, BATCH_SIZE, 4, dtype=torch.float64)],
                     list(layer.parameters()), None, layer._spec, "hoisted", 1, False, 0.0, True, True, False, True, None,
                     torch.float64, torch.float64, STARTS, True)
        torch.library.opcheck(torch.ops.rnnlab.recurrent.default, arguments)


class Refusals(unittest.TestCase):
    def check(self, message, work, error=ValueError):
        with self.assertRaises(error) as caught:
            work()
        self.assertIn(message, str(caught.exception))

    def test_name_what_is_wrong(self):
        lstm, own = rnnlab.LSTM(**SIZES), rnnlab.Recurrent("lstm", **SIZES, implementation="fused")
        self.check("starts is torch.float32 of shape (6, 3), expected torch.bool of shape (6, 3)", lambda: lstm(x(), starts=STARTS.float()))
        self.check("starts is torch.bool of shape (3, 6), expected torch.bool of shape (6, 3)", lambda: lstm(x(), starts=STARTS.t()))
        self.check("starts is a list, expected a tensor of torch.bool", lambda: lstm(x(), starts=[0]), TypeError)
        self.check("layer: fused does not support starts of sequences within the input; use layer: naive", lambda: own(x(), starts=STARTS))
        self.check("layer: fused does not support the states after each step", lambda: own(x(), all_states=True))
        self.check("torch.nn's own code computes this call, and it has no starts and no all_states",
                   lambda: rnnlab.GRU(**SIZES, implementation="torch")(x(), starts=STARTS, all_states=True))
        self.check("torch.nn's own code computes this call, and it has no all_states",
                   lambda: rnnlab.LSTM(**SIZES, proj_size=2)(x(), all_states=True))
        self.check("layer: scan does not support the states after each step of a cell with several states",
                   lambda: rnnlab.Recurrent(rnnlab.Cell("c = 0.5 * c + x.n\nh = tanh(c)", gates=["n"], states=["h", "c"]), **SIZES,
                                            implementation="scan")(x(), all_states=True))


class Recomputation(unittest.TestCase):
    def test_changes_no_result(self):
        for size in (1, 4, 6, 10):
            for options in ({}, {"num_layers": 2}):
                whole = rnnlab.SLSTM(**SIZES, dtype=torch.float64, implementation="hoisted", **options)
                parts = rnnlab.SLSTM(**SIZES, dtype=torch.float64, implementation="hoisted", recompute=size, **options)
                parts.load_state_dict(whole.state_dict())
                found = []
                for layer in (whole, parts):
                    steps = x(dtype=torch.float64).requires_grad_()
                    output, final, all_states = layer(steps, starts=STARTS, all_states=True)
                    loss = output.sum() + sum(state.square().sum() for state in (*final, *all_states))
                    found.append([output, *final, *all_states, *torch.autograd.grad(loss, [steps, *layer.parameters()])])
                torch.testing.assert_close(found[1], found[0], rtol=1e-10, atol=1e-12)

    def test_keeps_less(self):
        """A saved tensor of a part is a number that stands for it until the backward pass."""
        def kept(layer):
            sizes = []
            steps = torch.randn(256, 2, 3, requires_grad=True)
            with torch.autograd.graph.saved_tensors_hooks(lambda tensor: sizes.append(tensor.numel()) or tensor, lambda tensor: tensor):
                layer(steps)
            return sum(sizes)
        self.assertLess(kept(rnnlab.Recurrent("gru", 3, 64, implementation="naive", recompute=32)),
                        kept(rnnlab.Recurrent("gru", 3, 64, implementation="naive")) / 4)

    def test_is_unknown_to_modules_that_were_pickled_before(self):
        layer = rnnlab.Recurrent("gru", **SIZES)
        del layer.__dict__["recompute"]
        self.assertEqual(layer(x())[0].shape, (NUM_STEPS, BATCH_SIZE, 4))
        self.assertNotIn("recompute", repr(layer))

    def test_refuses_what_it_cannot_divide(self):
        with self.assertRaisesRegex(ValueError, "two directions"):
            rnnlab.Recurrent("gru", **SIZES, bidirectional=True, recompute=2)
        with self.assertRaisesRegex(ValueError, "recompute is 0, expected at least 1"):
            rnnlab.Recurrent("gru", **SIZES, recompute=0)
        with self.assertRaisesRegex(ValueError, "packed sequences"):
            rnnlab.Recurrent("gru", **SIZES, recompute=2)(pack_padded_sequence(x(), torch.tensor([6, 5, 2])))


class Functions(unittest.TestCase):
    def test_compute_what_layers_do(self):
        for cell, options in (("lstm", {"num_layers": 2}), (MGU, {"bidirectional": True}), ("slstm", {"heads": 2}), ("gru", {"bias": False})):
            layer = rnnlab.Recurrent(cell, **SIZES, implementation="hoisted", **options)
            has_bias = options.pop("bias", True)
            for weights in (dict(layer.named_parameters()), list(layer.parameters())):
                with self.subTest(cell=cell, bias=has_bias):
                    got = functional.recurrent(cell, x(), None, weights, implementation="hoisted", starts=STARTS, **options)
                    wanted = layer(x(), starts=STARTS)
                    torch.testing.assert_close(got[0], wanted[0])
                    torch.testing.assert_close(got[1], wanted[1])

    def test_of_torchs_cells_take_torchs_weights(self):
        for name in ("LSTM", "GRU"):
            layer = getattr(torch.nn, name)(**SIZES)
            output, final = getattr(functional, name.lower())(x(), None, layer._flat_weights)
            wanted, states = layer(x())
            torch.testing.assert_close(output, wanted)
            torch.testing.assert_close(list(final), as_list(states))

    def test_have_gradients(self):
        weights = [weight.detach().requires_grad_() for weight in torch.nn.GRU(**SIZES).parameters()]
        functional.gru(x(), None, weights)[0].sum().backward()
        self.assertTrue(all(weight.grad.abs().sum() > 0 for weight in weights))

    def test_name_what_is_wrong(self):
        weights = dict(torch.nn.GRU(**SIZES).named_parameters())
        missing = {name: weight for name, weight in weights.items() if name != "bias_hh_l0"}
        for given, message in ((missing, "missing or too many: bias_hh_l0"), ({}, "weight_ih_l0 is missing"),
                               (list(weights.values())[:3], "3 weights were given, expected 4"),
                               ({**weights, "bias_hh_l0": torch.zeros(3)}, r"bias_hh_l0 is \(3,\), expected \(12,\)")):
            with self.assertRaisesRegex(ValueError, message):
                functional.gru(x(), None, given)
        with self.assertRaisesRegex(TypeError, "the weights and the input say bias and dtype"):
            functional.gru(x(), None, weights, bias=True, dtype=torch.float64)


class Verify(unittest.TestCase):
    def test_passes_right_layers(self):
        for layer in (torch.nn.LSTM(3, 4, num_layers=2), torch.nn.GRU(3, 4, bidirectional=True), torch.nn.RNN(3, 4, nonlinearity="relu"),
                      rnnlab.LSTM(3, 4, implementation="hoisted", batch_first=True), rnnlab.Recurrent(MGU, 3, 4, bias=False),
                      rnnlab.SLSTM(3, 4, heads=2, dtype=torch.float64)):
            found = rnnlab.verify(layer)
            self.assertTrue(found.passed, f"{layer}\n{found}")
            self.assertIn("gradient of weight_hh_l0", found.errors)
            self.assertTrue(all(parameter.grad is None for parameter in layer.parameters()))

    def test_finds_wrong_layers(self):
        class Wrong(torch.nn.GRU):
            def forward(self, input, hx=None):
                output, state = super().forward(input, hx)
                return output + 1e-3 * output.detach(), state
        found = rnnlab.verify(Wrong(3, 4))
        self.assertFalse(found.passed)
        self.assertGreater(found.errors["output"], found.tolerance)
        self.assertIn("output                    ", str(found))
        self.assertIn("failed: errors of at most 1e-04 are allowed", str(found))

    def test_refuses_what_it_cannot_compare(self):
        with self.assertRaisesRegex(TypeError, "the layer is a Linear"):
            rnnlab.verify(torch.nn.Linear(3, 4))
        with self.assertRaisesRegex(TypeError, "proj_size=2"):
            rnnlab.verify(torch.nn.LSTM(3, 4, proj_size=2))
        with self.assertRaisesRegex(TypeError, "has parametrizations"):
            rnnlab.verify(torch.nn.utils.parametrizations.weight_norm(rnnlab.LSTM(3, 4), "weight_hh_l0"))
        with self.assertRaisesRegex(ValueError, "dropout acts"):
            rnnlab.verify(torch.nn.LSTM(3, 4, num_layers=2, dropout=0.5))


if __name__ == "__main__":
    unittest.main()
