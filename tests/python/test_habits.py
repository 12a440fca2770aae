# SPDX-License-Identifier: Apache-2.0
"""What programs do around a layer: modes, copies, tracing, export, quantization, construction. All as with torch.nn's."""

import copy
import gc
import inspect
import io
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
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.nn.utils import parametrizations, parametrize

import rnnlab

ON_CPU = ("auto", "torch", "naive", "hoisted", "blocked", "fused")
CLASSES = ("LSTM", "GRU", "RNN")


def x():
    return torch.linspace(-1, 1, 60).view(5, 4, 3)


def gradients(layer, given):
    return torch.autograd.grad(layer(given)[0].sin().sum(), list(layer.parameters()))


def pairs(**options):
    """Yields (implementation, class, torch.nn's layer, rnnlab's layer with equal weights)."""
    for implementation, name in itertools.product(ON_CPU, CLASSES):
        theirs = getattr(torch.nn, name)(3, 4, **options)
        ours = getattr(rnnlab, name)(3, 4, implementation=implementation, **options)
        ours.load_state_dict(theirs.state_dict())
        yield implementation, name, theirs, ours


class Modes(unittest.TestCase):
    def test_training_after_inference_mode(self):
        for implementation, name, theirs, ours in pairs(num_layers=2):
            with self.subTest(implementation=implementation, name=name):
                for _ in range(2):
                    with torch.inference_mode():
                        output, hidden = ours(x())
                        self.assertTrue(output.is_inference())
                        torch.testing.assert_close(output, theirs(x())[0])
                    torch.testing.assert_close(gradients(ours, x()), gradients(theirs, x()), rtol=1e-4, atol=1e-5)
                    with torch.no_grad():
                        torch.testing.assert_close(ours(x())[0], theirs(x())[0])

    def test_an_input_of_inference_mode_is_refused_or_computed_as_by_torch(self):
        with torch.inference_mode():
            given = x()
        for implementation, name, theirs, ours in pairs():
            with self.subTest(implementation=implementation, name=name), torch.no_grad():
                torch.testing.assert_close(ours(given)[0], theirs(given)[0])

    def test_no_call_draws_random_numbers(self):
        for implementation, name, _, ours in pairs(num_layers=2):
            for train in (True, False):
                ours.train(train)
                before = torch.get_rng_state()
                first, second = ours(x()), ours(2 * x())
                with torch.no_grad():
                    for parameter in ours.parameters():
                        parameter.data = parameter.data * 2
                ours(x())
                with self.subTest(implementation=implementation, name=name, train=train):
                    self.assertTrue(torch.equal(torch.get_rng_state(), before))
                del first, second

    def test_measuring_with_dropout_draws_no_random_numbers(self):
        layer = rnnlab.LSTM(3, 4, num_layers=2, dropout=0.5)
        rnnlab.forget_choices()
        torch.manual_seed(1)
        measured = layer(x())[0]
        torch.manual_seed(1)
        torch.testing.assert_close(layer(x())[0], measured, rtol=0, atol=0)

    def test_measuring_reaches_no_hooks(self):
        layer, calls = rnnlab.LSTM(3, 4), []
        layer.weight_hh_l0.register_hook(calls.append)
        rnnlab.forget_choices()
        layer(x())
        self.assertEqual(calls, [])

    def test_dropout_of_everything(self):
        for implementation, name, theirs, ours in pairs(num_layers=2, dropout=1.0):
            with self.subTest(implementation=implementation, name=name):
                torch.testing.assert_close(ours(x())[0], theirs(x())[0])
                torch.testing.assert_close(ours.eval()(x())[0], theirs.eval()(x())[0])

    def test_forward_mode_derivatives(self):
        direction = torch.ones(5, 4, 3)
        for name in ("GRU", "RNN"):
            for frozen in (False, True):
                theirs = getattr(torch.nn, name)(3, 4).requires_grad_(not frozen)
                ours = getattr(rnnlab, name)(3, 4, implementation="hoisted").requires_grad_(not frozen)
                ours.load_state_dict(theirs.state_dict())
                tangents = []
                for layer in (theirs, ours):
                    with forward_ad.dual_level():
                        output = layer(forward_ad.make_dual(x(), direction))[0]
                        tangents.append(forward_ad.unpack_dual(output).tangent)
                with self.subTest(name=name, frozen=frozen):
                    torch.testing.assert_close(tangents[1], tangents[0])

    def test_fake_tensors_leave_no_choice_behind(self):
        rnnlab.forget_choices()
        with FakeTensorMode():
            rnnlab.LSTM(3, 4)(torch.randn(5, 4, 3))
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            rnnlab.LSTM(3, 4)(mode.from_tensor(x()))
        self.assertEqual(rnnlab.choices(), [])

    def test_states_on_another_device(self):
        states = torch.zeros(1, 4, 4, device="meta")
        for implementation in ON_CPU:
            for name, hx in (("LSTM", (states, states)), ("LSTM", (torch.zeros(1, 4, 4), states)), ("GRU", states)):
                layer = getattr(rnnlab, name)(3, 4, implementation=implementation)
                with self.subTest(implementation=implementation, name=name), self.assertRaises(RuntimeError):
                    layer(x(), hx)

    def test_weights_on_several_devices(self):
        layer = rnnlab.LSTM(3, 4, implementation="hoisted")
        weights = dict(layer.named_parameters(), weight_hh_l0=layer.weight_hh_l0.detach().to("meta"))
        with self.assertRaisesRegex(RuntimeError, "on meta"):
            torch.func.functional_call(layer, weights, (x(),))


class Memory(unittest.TestCase):
    def test_nothing_holds_the_weights_after_a_pass(self):
        """A weight's memory is free when its parameter has moved on: a weak reference to its storage ends."""
        for implementation, name, _, layer in pairs():
            for change in (lambda m: m.to("meta"), lambda m: m.double(), lambda m: m.half()):
                twin = copy.deepcopy(layer)
                for grad in (True, False):
                    with torch.set_grad_enabled(grad):
                        twin(x())
                storage = twin.weight_hh_l0.untyped_storage()
                kept = storage._weak_ref()
                del storage
                change(twin)
                gc.collect()
                expired = torch.UntypedStorage._expired(kept)
                torch.UntypedStorage._free_weak_ref(kept)
                with self.subTest(implementation=implementation, name=name):
                    self.assertTrue(expired)


class Traced(unittest.TestCase):
    class Net(torch.nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.lstm, self.head = layer, torch.nn.Linear(4, 2)

        def forward(self, x):
            return self.head(self.lstm(x)[0])

    def nets(self, **options):
        for implementation, name, theirs, ours in pairs(**options):
            net = self.Net(ours)
            twin = self.Net(theirs)
            twin.head = net.head
            yield f"{implementation} {name}", twin.eval(), net.eval()

    def test_jit_trace_and_script(self):
        for name, theirs, ours in self.nets():
            for compiled in (torch.jit.trace(ours, x()), torch.jit.script(ours)):
                with self.subTest(name):
                    torch.testing.assert_close(compiled(2 * x()), theirs(2 * x()))
            file = io.BytesIO()
            torch.jit.save(torch.jit.script(ours), file)
            file.seek(0)
            torch.testing.assert_close(torch.jit.load(file)(x()), theirs(x()))

    def test_symbolic_trace(self):
        for name, theirs, ours in self.nets():
            with self.subTest(name):
                traced = torch.fx.symbolic_trace(ours)
                self.assertIn("lstm", [node.target for node in traced.graph.nodes if node.op == "call_module"])
                torch.testing.assert_close(traced(x()), theirs(x()))

    def test_export_with_a_free_batch(self):
        sizes = ({0: torch.export.Dim("batch", min=2, max=64)},)
        for name, theirs, ours in self.nets(batch_first=True):
            if not name.startswith(("auto", "hoisted")):
                continue
            for strict in (False, True):
                with self.subTest(name, strict=strict):
                    program = torch.export.export(ours, (x(),), dynamic_shapes=sizes, strict=strict).module()
                    for given in (x(), torch.randn(9, 4, 3)):
                        torch.testing.assert_close(program(given), theirs(given))

    def test_compile_for_many_lengths(self):
        for implementation in ("auto", "hoisted"):
            torch._dynamo.reset()
            counter = CompileCounterWithBackend("eager")
            net = self.Net(rnnlab.LSTM(3, 4, implementation=implementation))
            compiled = torch.compile(net, backend=counter)
            for steps in (3, 5, 6, 9, 12, 17, 20, 33, 40, 65, 70, 129):
                given = torch.randn(steps, 2, 3)
                torch.testing.assert_close(compiled(given), net(given))
            with self.subTest(implementation):
                self.assertLessEqual(counter.frame_count, 4)

    def test_quantization(self):
        words = ("LSTM", "GRU")
        for name in words:
            net = torch.nn.Sequential(getattr(torch.nn, name)(3, 4))
            rnnlab.accelerate(net, "hoisted")
            kinds = {getattr(torch.nn, word) for word in words}
            with self.assertWarnsRegex(UserWarning, r"rnnlab.undo\(model\)"):
                torch.ao.quantization.quantize_dynamic(net, kinds)
            rnnlab.undo(net)
            with warnings.catch_warnings(action="ignore") if sys.version_info >= (3, 11) else warnings.catch_warnings():
                quantized = torch.ao.quantization.quantize_dynamic(net, kinds)
            self.assertIn("quantized", type(quantized[0]).__module__)
            self.assertEqual(list(rnnlab.accelerate(quantized).skipped), ["0"])


class Classes(unittest.TestCase):
    def test_parametrized_layers_keep_their_parametrization(self):
        for parametrization in (parametrizations.weight_norm, parametrizations.orthogonal):
            model = torch.nn.Sequential(torch.nn.LSTM(3, 4), torch.nn.GRU(4, 4))
            parametrization(model[0], "weight_hh_l0")
            done = rnnlab.accelerate(model, "hoisted")
            parametrization(model[1], "weight_hh_l0")
            self.assertEqual((list(done.changed), done.skipped), (["0", "1"], {}))
            for layer in model:
                self.check_that_weights_act(layer)
            done.undo()
            for layer, wanted in zip(model, (torch.nn.LSTM, torch.nn.GRU)):
                self.assertIsInstance(layer, wanted)
                self.check_that_weights_act(layer)
                parametrize.remove_parametrizations(layer, "weight_hh_l0")
                self.assertIs(type(layer), wanted)

    def check_that_weights_act(self, layer):
        given = torch.linspace(-1, 1, 40 if layer.input_size == 4 else 30).view(5, 2, layer.input_size)
        before = layer(given)[0].detach().clone()
        with torch.no_grad():
            for parameter in layer.parametrizations.weight_hh_l0.parameters():
                parameter.mul_(-1.5)
        after = layer(given)[0].detach()
        plain = layer._torch_class if isinstance(layer, rnnlab.layers.TwinOfTorch) else type(layer).__bases__[0]
        twin = plain(layer.input_size, layer.hidden_size)
        with torch.no_grad():
            for name, parameter in twin.named_parameters():
                parameter.copy_(getattr(layer, name))
        self.assertFalse(torch.allclose(after, before))
        torch.testing.assert_close(after, twin(given)[0])

    def test_accelerate_names_what_it_skips(self):
        class Mine(rnnlab.LSTM):
            pass

        scripted = torch.jit.script(torch.nn.LSTM(3, 4))
        model = torch.nn.ModuleList([torch.nn.LSTMCell(3, 4), torch.nn.GRUCell(3, 4), torch.nn.RNNCell(3, 4), scripted,
                                     torch.nn.LSTM(3, 4, proj_size=2), Mine(3, 4), torch.nn.GRU(3, 4)])
        done = rnnlab.accelerate(model, "hoisted")
        self.assertEqual((list(done.changed), list(done.skipped)), (["6"], list("012345")))

    def test_accelerate_changes_the_implementation_of_its_own_layers(self):
        model = torch.nn.Sequential(torch.nn.LSTM(3, 4))
        rnnlab.accelerate(model, "hoisted")
        done = rnnlab.accelerate(model, "naive")
        self.assertEqual((list(done.changed), model[0].implementation), (["0"], "naive"))
        done.undo()
        self.assertIs(type(model[0]), torch.nn.LSTM)

    def test_undo_of_layers_that_were_made_by_rnnlab(self):
        model = torch.nn.Sequential(rnnlab.LSTM(3, 4), rnnlab.GRU(3, 4))
        rnnlab.undo(model)
        rnnlab.undo(model)
        self.assertEqual([type(layer) for layer in model], [torch.nn.LSTM, torch.nn.GRU])
        with self.assertRaisesRegex(TypeError, "the model is a str"):
            rnnlab.undo("model")

    def test_copies_of_copies(self):
        layer = rnnlab.LSTM(3, 4, implementation="hoisted")
        wanted = layer(x())[0]
        for _ in range(3):
            layer = pickle.loads(pickle.dumps(copy.deepcopy(layer)))
            self.assertEqual(layer.implementation, "hoisted")
            torch.testing.assert_close(layer(x())[0], wanted)


class Construction(unittest.TestCase):
    """Each argument by position and by name, right and wrong: the same layer or the same error as torch.nn's."""

    VALUES = {
        "input_size": (3, 0, -1, 2.5, "3", None),
        "hidden_size": (4, 0, -1, 2.5, "4", None),
        "num_layers": (1, 3, 0, -1, 1.5),
        "nonlinearity": ("tanh", "relu", "sigmoid", None, 1),
        "bias": (True, False, 1),
        "batch_first": (True, False, 1),
        "dropout": (0.0, 0.5, 1.0, 1.5, -0.1, True, "0.5", 1),
        "bidirectional": (True, False, 1),
        "proj_size": (0, 2, 4, 5, -1),
        "device": (None, "cpu", "meta", "nowhere"),
        "dtype": (None, torch.float64, torch.bfloat16, torch.int64, "float32"),
    }
    ORDER = ("num_layers", "bias", "batch_first", "dropout", "bidirectional", "proj_size", "device", "dtype")

    @staticmethod
    def outcome(source, name, arguments, keywords):
        """Returns what describes the layer, or the error."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                layer = getattr(source, name)(*arguments, **keywords)
            except Exception as error:
                return type(error), str(error)
        described = {key: value for key, value in vars(layer).items() if not key.startswith(("_", "implementation"))}
        shapes = [(key, tuple(value.shape), value.dtype, value.device.type) for key, value in layer.named_parameters()]
        return described, shapes, [str(warning.message) for warning in caught]

    def check(self, name, *arguments, **keywords):
        with self.subTest(name=name, arguments=arguments, keywords=keywords):
            wanted = self.outcome(torch.nn, name, arguments, keywords)
            self.assertEqual(self.outcome(rnnlab, name, arguments, keywords), wanted)

    def test_by_name(self):
        for name in CLASSES:
            for key, values in self.VALUES.items():
                for value in values:
                    self.check(name, **{"input_size": 3, "hidden_size": 4, "num_layers": 2, key: value})

    def test_by_position(self):
        defaults = {"num_layers": 2, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False,
                    "proj_size": 0, "device": None, "dtype": None}
        for name in CLASSES:
            order = list(self.ORDER)
            values = dict(defaults)
            if name == "RNN":
                order.insert(1, "nonlinearity")
                values["nonlinearity"] = "tanh"
            for count, key in enumerate(order):
                for value in self.VALUES[key]:
                    given = [values[earlier] for earlier in order[:count]] + [value]
                    self.check(name, 3, 4, *given)
            self.check(name, 3)
            self.check(name)
            self.check(name, 3, 4, *values.values(), 1, 2, 3)
            self.check(name, 3, 4, unknown=1)

    def test_positions_of_the_issue(self):
        self.assertEqual(rnnlab.RNN(3, 4, 2, "relu").mode, "RNN_RELU")
        with self.assertRaises(ValueError):
            rnnlab.GRU(3, 4, proj_size=2)

    def test_reset_and_repr(self):
        for implementation, name, theirs, ours in pairs(num_layers=2, dropout=0.1, batch_first=True):
            self.assertEqual(repr(ours), repr(theirs)[:-1] + f", implementation={implementation})")
            torch.manual_seed(3)
            theirs.reset_parameters()
            torch.manual_seed(3)
            ours.reset_parameters()
            torch.testing.assert_close(ours.state_dict(), theirs.state_dict(), rtol=0, atol=0)

    def test_construction_draws_the_numbers_of_torch(self):
        for name in CLASSES:
            states = []
            for source in (torch.nn, rnnlab):
                torch.manual_seed(5)
                states.append((getattr(source, name)(3, 4, num_layers=2).state_dict(), torch.get_rng_state()))
            torch.testing.assert_close(states[1], states[0], rtol=0, atol=0)

    def test_methods_of_torch(self):
        """Every public method of torch.nn's classes has the same arguments."""
        for name in CLASSES:
            theirs, ours = getattr(torch.nn, name), getattr(rnnlab, name)
            for member, function in inspect.getmembers(theirs, callable):
                if not member.startswith("_") and member != "forward":
                    with self.subTest(name=name, member=member):
                        self.assertTrue(hasattr(ours, member))


class Mistakes(unittest.TestCase):
    def test_are_named(self):
        x, wrong = torch.ones(3, 2, 6), torch.ones(1, 2, 7, dtype=torch.float64)
        for implementation in ("auto", "hoisted"):
            layer = rnnlab.GRU(6, 7, implementation=implementation)
            with self.assertRaisesRegex(RuntimeError, "the input is torch.float32, and hx is torch.float64; convert"):
                layer(x, wrong)
            with self.assertRaisesRegex(ValueError, "Expected input to be 2D or 3D, got 1D instead"):
                layer(torch.ones(3))
        with self.assertRaisesRegex(ValueError, "the initial state h is torch.float64; convert"):
            rnnlab.Recurrent("gru", 6, 7)(x, wrong)


class Owners(unittest.TestCase):
    def test_that_ask_for_the_class_keep_it(self):
        owner = type("LSTMModule", (torch.nn.Module,), {"__module__": "torchrl.modules.tensordict_module.rnn"})()
        owner.lstm, model = torch.nn.LSTM(2, 3), torch.nn.Sequential(torch.nn.LSTM(2, 2))
        model.add_module("owner", owner)
        done = rnnlab.accelerate(model)
        self.assertEqual((list(done.changed), list(done.skipped)), (["0"], ["owner.lstm"]))
        self.assertIs(type(owner.lstm), torch.nn.LSTM)
        derived = type("Mine", (type(owner),), {})()
        derived.lstm = torch.nn.LSTM(2, 3)
        self.assertEqual(list(rnnlab.accelerate(derived).skipped), ["lstm"])


if __name__ == "__main__":
    unittest.main()
