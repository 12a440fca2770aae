# SPDX-License-Identifier: Apache-2.0
"""Second derivatives, forward mode, and PyTorch's transforms: the equations step by step, by PyTorch's operators."""

import sys
import unittest

try:
    import torch
except ImportError as error:
    print(f"skipped, because torch cannot be imported: {error}")
    sys.exit(77)
from torch.autograd import forward_ad

import rnnlab

SIZES = {"input_size": 2, "hidden_size": 3, "dtype": torch.float64}
MGU = rnnlab.Cell("f = sigmoid(f)\nn = tanh(x.n + f * h.n)\nh = (1 - f) * h + f * n", gates=["f", "n"], states=["h"], name="mgu")
STARTS = torch.tensor([[False, True], [True, False], [False, False], [False, True]])


def x():
    return torch.randn(4, 2, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def own_layers(**options):
    yield rnnlab.Recurrent(MGU, **SIZES, implementation="hoisted", **options)
    yield rnnlab.Recurrent("lstm", **SIZES, implementation="hoisted", **options)
    yield rnnlab.Recurrent("gru", **SIZES, implementation="grouped", **options)
    yield rnnlab.SLSTM(**SIZES, implementation="hoisted", **options)


def twins(**options):
    yield rnnlab.LSTM(**SIZES, implementation="hoisted", **options)
    yield rnnlab.GRU(**SIZES, implementation="hoisted", **options)


class Derivatives(unittest.TestCase):
    def test_second_are_those_of_finite_differences(self):
        for layer in (*own_layers(), *twins()):
            with self.subTest(layer=layer):
                weights = list(layer.parameters())
                names = [name for name, _ in layer.named_parameters()]

                def output_of(x, *given, layer=layer, names=names):
                    output, _ = torch.func.functional_call(layer, dict(zip(names, given)), (x,), {"starts": STARTS})
                    return output
                arguments = [tensor.detach().requires_grad_() for tensor in (x(), *weights)]
                self.assertTrue(torch.autograd.gradgradcheck(output_of, arguments))

    def test_second_with_respect_to_states_that_depend_on_the_input(self):
        """The gradient of the input is not counted a second time through the states."""
        for layer in own_layers():
            gradients = []
            for implementation in ("hoisted", "naive"):
                layer.implementation = implementation
                given = x().requires_grad_()
                count = len(layer.cell.states)
                states = [given[:1].repeat(1, 1, 2)[..., :3] for _ in range(count)]
                first = torch.autograd.grad(layer(given, states)[0].square().sum(), given, create_graph=True)[0]
                gradients.append([first, *torch.autograd.grad(first.square().sum(), [given, *layer.parameters()])])
            torch.testing.assert_close(gradients[0], gradients[1])

    def test_first_are_the_same_with_a_graph(self):
        for layer in (*own_layers(num_layers=2), *twins(bidirectional=True)):
            given = x().requires_grad_()
            arguments = [given, *layer.parameters()]
            plain = torch.autograd.grad(layer(given)[0].square().sum(), arguments)
            recorded = torch.autograd.grad(layer(given)[0].square().sum(), arguments, create_graph=True)
            torch.testing.assert_close(list(recorded), list(plain))

    def test_with_frozen_and_missing_weights(self):
        for layer in (*own_layers(bias=False), *twins(bias=False)):
            layer.weight_hh_l0.requires_grad_(False)
            given = x().requires_grad_()
            first = torch.autograd.grad(layer(given)[0].square().sum(), [given, layer.weight_ih_l0], create_graph=True)
            sum(gradient.square().sum() for gradient in first).backward()
            self.assertGreater(layer.weight_ih_l0.grad.abs().sum(), 0)
            self.assertIsNone(layer.weight_hh_l0.grad)

    def test_second_in_training_with_dropout_are_refused(self):
        layer = rnnlab.LSTM(**SIZES, num_layers=2, dropout=0.5, implementation="hoisted")
        with self.assertRaisesRegex(RuntimeError, r"layer with dropout.*call layer.eval\(\)"):
            torch.autograd.grad(layer(x().requires_grad_())[0].sum(), list(layer.parameters()), create_graph=True)

    def test_of_a_batch_of_gradients(self):
        for layer in (*own_layers(), *twins()):
            with self.subTest(layer=layer):
                given = x().requires_grad_()
                output = layer(given)[0]
                directions = torch.randn(3, *output.shape, dtype=torch.float64)
                batched = torch.autograd.grad(output, given, directions, is_grads_batched=True, retain_graph=True)[0]
                single = torch.stack([torch.autograd.grad(output, given, one, retain_graph=True)[0] for one in directions])
                torch.testing.assert_close(batched, single)

    def test_in_forward_mode(self):
        for layer in (*own_layers(), *twins()):
            with self.subTest(layer=layer):
                given, direction = x().requires_grad_(), torch.randn(4, 2, 2, dtype=torch.float64)
                with forward_ad.dual_level():
                    output = layer(forward_ad.make_dual(given.detach(), direction), starts=STARTS)[0]
                    tangent = forward_ad.unpack_dual(output).tangent
                factors = torch.randn_like(tangent)
                gradient = torch.autograd.grad(layer(given, starts=STARTS)[0], given, factors)[0]
                torch.testing.assert_close((tangent * factors).sum(), (gradient * direction).sum())

    def test_operator_takes_tangents(self):
        weights = list(rnnlab.GRU(**SIZES).requires_grad_(False).parameters())
        with forward_ad.dual_level():
            output = torch.ops.rnnlab.recurrent(forward_ad.make_dual(x(), x()), [torch.zeros(1, 2, 3, dtype=torch.float64)], weights,
                                                None, "gru", "hoisted", 1, False, 0.0, False, False, False, False, None,
                                                torch.float64, torch.float64)[0]
            self.assertGreater(forward_ad.unpack_dual(output).tangent.abs().sum(), 0)


class Transforms(unittest.TestCase):
    def test_grad_vmap_and_jacobians(self):
        for layer in own_layers():
            with self.subTest(layer=layer):
                loss = lambda x, layer=layer: layer(x)[0].square().sum()  # noqa: E731
                wanted = torch.autograd.grad(loss(given := x().requires_grad_()), given)[0]
                torch.testing.assert_close(torch.func.grad(loss)(x()), wanted)
                many = torch.stack([x(), 2 * x()])
                torch.testing.assert_close(torch.func.vmap(lambda x, layer=layer: layer(x)[0])(many),
                                           torch.stack([layer(one)[0] for one in many]))
                torch.testing.assert_close(torch.func.jacrev(loss)(x()), wanted)
                torch.testing.assert_close(torch.func.jacfwd(loss)(x()), wanted)
                self.assertEqual(layer.implementation_used, "naive")

    def test_of_a_layer_that_recomputes(self):
        layer = rnnlab.Recurrent(MGU, **SIZES, implementation="hoisted", recompute=2)
        loss = lambda x: layer(x)[0].square().sum()  # noqa: E731
        wanted = torch.autograd.grad(loss(given := x().requires_grad_()), given)[0]
        torch.testing.assert_close(torch.func.grad(loss)(x()), wanted)
        torch.testing.assert_close(torch.func.jacfwd(loss)(x()), wanted)
        exported = torch.export.export(layer, (x(),), strict=True).module()
        torch.testing.assert_close(exported(x())[0], layer(x())[0])

    def test_gradients_of_each_sample(self):
        layer = rnnlab.Recurrent(MGU, **SIZES, implementation="hoisted")
        weights = {name: weight.detach() for name, weight in layer.named_parameters()}

        def loss(weights, sample):
            return torch.func.functional_call(layer, weights, (sample.unsqueeze(1),))[0].square().sum()
        each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 1))(weights, x())
        layer(x())[0].square().sum().backward()
        for name, weight in layer.named_parameters():
            torch.testing.assert_close(each[name].sum(0), weight.grad)

    def test_trace(self):
        for layer in own_layers():
            traced = torch.jit.trace(layer, (x(),), check_trace=False)
            torch.testing.assert_close(traced(2 * x())[0], layer(2 * x())[0])


if __name__ == "__main__":
    unittest.main()
