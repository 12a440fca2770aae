# SPDX-License-Identifier: Apache-2.0
"""rnnlab's layers in PyTorch: equal to torch.nn's in every option, and well-behaved operators of PyTorch."""

import copy
import pickle
import random
import sys
import tempfile
import unittest
import unittest.mock
import warnings

try:
    import torch
except ImportError as error:
    print(f"skipped, because torch cannot be imported: {error}")
    sys.exit(77)
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

import rnnlab
from rnnlab import choice

warnings.filterwarnings("ignore", message="dropout option adds dropout")

NUM_RANDOM_CASES = 500
ON_CPU = ("naive", "grouped", "fused_pointwise", "pretransposed", "hoisted", "blocked", "fused")


def twins(name, *arguments, implementation, dtype=torch.float64, **options):
    """Returns torch.nn's layer and rnnlab's, with equal weights."""
    ours = getattr(rnnlab, name)(*arguments, implementation=implementation, dtype=dtype, **options)
    theirs = getattr(torch.nn, name)(*arguments, dtype=dtype, **options)
    theirs.load_state_dict(ours.state_dict())
    return theirs, ours


def leaves(tensors):
    return [tensor.detach().clone().requires_grad_() for tensor in tensors]


def flat(result):
    """Returns the tensors of (output, hidden), which may be packed and may have two states."""
    output, hidden = result
    data = output.data if isinstance(output, PackedSequence) else output
    return [data, *(hidden if isinstance(hidden, tuple) else [hidden])]


def draw_case(draw):
    name = draw.choice(["LSTM", "GRU", "RNN"])
    options = {
        "num_layers": draw.randint(1, 3),
        "bias": draw.random() < 0.8,
        "batch_first": draw.random() < 0.5,
        "bidirectional": draw.random() < 0.4,
    }
    if name == "RNN":
        options["nonlinearity"] = draw.choice(["tanh", "relu"])
    if name == "LSTM" and draw.random() < 0.1:
        options["proj_size"] = 2
    sizes = (draw.randint(1, 9), draw.choice([3, 8, 17]))
    return name, sizes, options


class EqualToTorch(unittest.TestCase):
    def check_case(self, number):
        draw = random.Random(number)
        torch.manual_seed(number)
        name, (input_size, hidden_size), options = draw_case(draw)
        implementation = draw.choice([kind for kind in ON_CPU if name == "LSTM" or kind != "grouped"])
        form = draw.choice(["whole", "unbatched", "packed", "packed in any order"])
        if implementation == "blocked" and form.startswith("packed"):
            implementation = "hoisted"
        dtype = torch.float32 if implementation == "blocked" else torch.float64
        theirs, ours = twins(name, input_size, hidden_size, implementation=implementation, dtype=dtype, **options)
        num_steps, batch_size = draw.randint(1, 7), draw.randint(1, 5)
        shape = [batch_size, num_steps] if options["batch_first"] else [num_steps, batch_size]
        shape = [num_steps] if form == "unbatched" else shape
        values = torch.randn(*shape, input_size, dtype=dtype)
        num_states = options["num_layers"] * (1 + options["bidirectional"])
        batch = [] if form == "unbatched" else [batch_size]
        projected = options.get("proj_size") or hidden_size
        states = [torch.randn(num_states, *batch, size, dtype=dtype) for size in
                  ([projected, hidden_size] if name == "LSTM" else [hidden_size])]
        has_states = draw.random() < 0.6
        lengths = torch.tensor([draw.randint(1, num_steps) for _ in range(batch_size)])
        lengths[draw.randrange(batch_size)] = num_steps
        if form == "packed":
            lengths = lengths.sort(descending=True).values

        def pass_through(layer):
            sequence, *given = leaves([values, *states])
            hx = (tuple(given) if name == "LSTM" else given[0]) if has_states else None
            argument = sequence
            if form.startswith("packed"):
                argument = pack_padded_sequence(sequence, lengths, layer.batch_first, enforce_sorted=form == "packed")
            results = flat(layer(argument, hx))
            sum((result.sin() * (i + 1)).sum() for i, result in enumerate(results)).backward()
            gradients = [sequence.grad] + ([state.grad for state in given] if has_states else [])
            return results, gradients + [parameter.grad for parameter in layer.parameters()]

        tolerance = {"rtol": 1e-4, "atol": 1e-5} if dtype == torch.float32 else {"rtol": 1e-9, "atol": 1e-10}
        for wanted, got in zip(pass_through(theirs), pass_through(ours)):
            for a, b in zip(wanted, got, strict=True):
                torch.testing.assert_close(b, a, **tolerance, msg=lambda m: f"case {number} {name} {implementation} "
                                           f"{form} {options}: {m}")

    def test_random_cases(self):
        for number in range(NUM_RANDOM_CASES):
            with self.subTest(number=number):
                self.check_case(number)


class Operators(unittest.TestCase):
    def test_are_registered_as_pytorch_asks(self):
        layer = rnnlab.LSTM(3, 4, num_layers=2, implementation="hoisted", dtype=torch.float64)
        states = [torch.zeros(2, 2, 4, dtype=torch.float64, requires_grad=True) for _ in range(2)]
        arguments = (torch.randn(5, 2, 3, dtype=torch.float64, requires_grad=True), states, list(layer.parameters()),
                     None, "lstm", "hoisted", 2, False, 0.0, True, True, True, True, None, torch.float64, torch.float64)
        torch.library.opcheck(torch.ops.rnnlab.recurrent.default, arguments)

    def test_gradients_are_those_of_finite_differences(self):
        for name in ("LSTM", "GRU", "RNN"):
            layer = getattr(rnnlab, name)(2, 3, implementation="hoisted", dtype=torch.float64)
            x = torch.randn(4, 2, 2, dtype=torch.float64, requires_grad=True)
            self.assertTrue(torch.autograd.gradcheck(lambda x: flat(layer(x)), x))

    def test_compile_without_a_graph_break(self):
        for name in ("LSTM", "GRU", "RNN"):
            layer = getattr(rnnlab, name)(3, 4, num_layers=2, implementation="hoisted")
            compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
            x = torch.randn(5, 2, 3, requires_grad=True)
            eager = torch.autograd.grad(flat(layer(x))[0].sin().sum(), [x, *layer.parameters()])
            traced = torch.autograd.grad(flat(compiled(x))[0].sin().sum(), [x, *layer.parameters()])
            torch.testing.assert_close(traced, eager)

    def test_cuda_graphs_of_compiled_code_leave_out_what_is_differentiated(self):
        found = {}

        def note_operators(graph, _):
            for node in graph.graph.nodes:
                if "rnnlab" in str(node.target):
                    found[str(node.target)] = torch.Tag.cudagraph_unsafe in node.target.tags
            return make_boxed_func(graph.forward)

        layer, x = rnnlab.GRU(3, 4, implementation="hoisted"), torch.zeros(2, 1, 3)
        compiled = torch.compile(layer, backend=aot_autograd(fw_compiler=note_operators, bw_compiler=note_operators))
        compiled(x)[0].sum().backward()
        with torch.no_grad():
            compiled(x)
        self.assertEqual(found, {"rnnlab.recurrent_with_graph.default": True, "rnnlab.recurrent_backward.default": True,
                                 "rnnlab.recurrent.default": False})

    def test_compiled_calls_that_are_not_traced(self):
        """torch.nn's own code and packed sequences run outside the compiled graph, as torch.nn's layers do."""
        x = torch.randn(5, 3, 4)
        states = torch.zeros(2, 3, 6), torch.zeros(2, 3, 6)
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, [5, 2, 3], enforce_sorted=False)
        for implementation, arguments in (("torch", (x,)), ("torch", (x, states)), ("hoisted", (packed,))):
            with self.subTest(implementation=implementation, num_arguments=len(arguments)):
                torch._dynamo.reset()
                layer = rnnlab.LSTM(4, 6, num_layers=2, implementation=implementation)
                twin = torch.nn.LSTM(4, 6, num_layers=2)
                twin.load_state_dict(layer.state_dict())
                compiled = torch.compile(layer, backend="aot_eager")
                given = torch.autograd.grad(flat(compiled(*arguments))[0].sum(), list(layer.parameters()))
                wanted = torch.autograd.grad(flat(twin(*arguments))[0].sum(), list(twin.parameters()))
                torch.testing.assert_close(given, wanted)

    def test_backward_twice_with_a_kept_graph(self):
        layer = rnnlab.GRU(3, 4, implementation="hoisted")
        loss = layer(torch.randn(5, 2, 3))[0].sum()
        first = torch.autograd.grad(loss, layer.weight_hh_l0, retain_graph=True)
        torch.testing.assert_close(torch.autograd.grad(loss, layer.weight_hh_l0), first)

    def test_two_passes_before_their_backward_passes(self):
        theirs, ours = twins("LSTM", 3, 4, implementation="hoisted")
        x = torch.randn(2, 5, 2, 3, dtype=torch.float64)
        for layer in (theirs, ours):
            first, second = layer(x[0])[0], layer(x[1])[0]
            (first.sin().sum() + second.cos().sum()).backward()
        torch.testing.assert_close(ours.weight_hh_l0.grad, theirs.weight_hh_l0.grad)

    def test_changed_weights_between_the_passes_are_an_error(self):
        layer = rnnlab.LSTM(3, 4, implementation="hoisted")
        loss = layer(torch.randn(5, 2, 3))[0].sum()
        with torch.no_grad():
            layer.weight_hh_l0.add_(1)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            loss.backward()

    def test_training_by_an_optimizer_is_torchs(self):
        theirs, ours = twins("LSTM", 3, 4, implementation="hoisted")
        x = torch.randn(5, 2, 3, dtype=torch.float64)
        for layer in (theirs, ours):
            optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
            for _ in range(5):
                optimizer.zero_grad()
                layer(x)[0].sin().sum().backward()
                optimizer.step()
        torch.testing.assert_close(ours.state_dict(), theirs.state_dict())

    def test_autocast_has_the_types_of_torch(self):
        layer = rnnlab.LSTM(3, 4, implementation="hoisted")
        with torch.autocast("cpu", dtype=torch.bfloat16):
            output, _ = layer(torch.randn(5, 2, 3))
        self.assertEqual(output.dtype, torch.bfloat16)
        output.sum().backward()
        self.assertEqual(layer.weight_hh_l0.grad.dtype, torch.float32)

    def test_functional_call_and_grad_transform(self):
        theirs, ours = twins("GRU", 3, 4, implementation="hoisted")
        x = torch.randn(5, 2, 3, dtype=torch.float64)

        def loss(parameters, layer):
            return torch.func.functional_call(layer, parameters, (x,))[0].sin().sum()

        wanted = torch.func.grad(loss)({k: v.detach() for k, v in theirs.named_parameters()}, theirs)
        got = torch.func.grad(loss)({k: v.detach() for k, v in ours.named_parameters()}, ours)
        torch.testing.assert_close(got, wanted)


class Modules(unittest.TestCase):
    def test_may_stand_in_the_place_of_torchs_class(self):
        with unittest.mock.patch.object(torch.nn, "LSTM", rnnlab.LSTM):
            layer = torch.nn.LSTM(3, 4, implementation="hoisted")
            state = torch.zeros(1, 2, 4)
            self.assertEqual(layer(torch.randn(5, 2, 3), (state, state))[0].shape, (5, 2, 4))

    def test_copies_compute_the_same(self):
        layer = rnnlab.LSTM(3, 4, num_layers=2, implementation="hoisted")
        x = torch.randn(5, 2, 3)
        for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), copy.deepcopy(layer).double().float()):
            torch.testing.assert_close(twin(x)[0], layer(x)[0])

    def test_a_copy_has_weights_of_its_own(self):
        layer = rnnlab.LSTM(3, 4, implementation="hoisted")
        twin, x = copy.deepcopy(layer), torch.randn(5, 2, 3)
        before = layer(x)[0]
        with torch.no_grad():
            twin.weight_hh_l0.zero_()
        twin(x)
        torch.testing.assert_close(layer(x)[0], before)

    def test_auto_measures_once_and_keeps_random_numbers_and_gradients(self):
        theirs, ours = twins("LSTM", 3, 4, implementation="auto")
        x, state = torch.randn(5, 2, 3, dtype=torch.float64), torch.get_rng_state()
        torch.testing.assert_close(ours(x), theirs(x))
        self.assertTrue(torch.equal(torch.get_rng_state(), state))
        self.assertIsNone(ours.weight_hh_l0.grad)
        self.assertIn(ours.implementation_used, ("torch", "blocked", "hoisted"))

    def test_auto_leaves_out_persistent_in_float32_without_tf32(self):
        on_gpu = torch.device("cuda")
        self.addCleanup(setattr, torch.backends.cudnn, "allow_tf32", torch.backends.cudnn.allow_tf32)
        torch.backends.cudnn.allow_tf32 = False
        self.assertEqual(choice.candidates_for(on_gpu, torch.float32, ()), ("torch",))
        self.assertEqual(choice.candidates_for(on_gpu, torch.bfloat16, ()), ("torch", "persistent"))
        torch.backends.cudnn.allow_tf32 = True
        self.assertEqual(choice.candidates_for(on_gpu, torch.float32, ()), ("torch", "persistent"))

    def test_says_what_ran(self):
        layer = rnnlab.LSTM(3, 4, implementation="hoisted")
        layer(torch.randn(5, 2, 3))
        self.assertEqual(layer.implementation_used, "hoisted")
        projected = rnnlab.LSTM(3, 4, proj_size=2, implementation="hoisted")
        projected(torch.randn(5, 2, 3))
        self.assertEqual(projected.implementation_used, "torch")


class Tagger(torch.nn.Module):
    """A tagger of words, as many programs have it."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(20, 6)
        self.lstm = torch.nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True, dropout=0.3)
        self.head = torch.nn.Linear(10, 4)

    def forward(self, words):
        return self.head(self.lstm(self.embedding(words))[0])


class Accelerate(unittest.TestCase):
    def losses(self, model, num_steps=5):
        torch.manual_seed(1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        words, tags, losses = torch.randint(20, (3, 7)), torch.randint(4, (3, 7)), []
        for _ in range(num_steps):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(words).flatten(0, 1), tags.flatten())
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    def test_a_model_trains_to_the_same_losses(self):
        plain = Tagger().eval()  # without dropout, whose random numbers differ
        fast = copy.deepcopy(plain)
        done = rnnlab.accelerate(fast, implementation="hoisted")
        self.assertEqual(list(done.changed), ["lstm"])
        torch.testing.assert_close(self.losses(fast), self.losses(plain), rtol=1e-5, atol=1e-6)

    def test_keeps_weights_hooks_and_references_and_can_be_undone(self):
        model = Tagger()
        lstm, weight, calls = model.lstm, model.lstm.weight_hh_l0, []
        lstm.register_forward_hook(lambda *_: calls.append(1))
        keys = list(model.state_dict())
        done = rnnlab.accelerate(model, implementation="hoisted")
        model(torch.randint(20, (3, 7)))
        self.assertIs(model.lstm, lstm)
        self.assertIs(model.lstm.weight_hh_l0, weight)
        self.assertEqual((list(model.state_dict()), calls, lstm.implementation_used), (keys, [1], "hoisted"))
        done.undo()
        done.undo()  # changes nothing
        self.assertIs(type(lstm), torch.nn.LSTM)
        model(torch.randint(20, (3, 7)))
        self.assertEqual(len(calls), 2)

    def test_refuses_what_is_no_module(self):
        with self.assertRaisesRegex(TypeError, "the model is a str, expected a torch.nn.Module"):
            rnnlab.accelerate("model")

    def test_skips_layers_with_projections(self):
        done = rnnlab.accelerate(torch.nn.LSTM(3, 4, proj_size=2))
        self.assertEqual((done.changed, done.skipped), ({}, {"": "rnnlab has no layers with projections (proj_size=2)"}))

    def test_skips_derived_classes(self):
        class Mine(torch.nn.GRU):
            pass

        done = rnnlab.accelerate(torch.nn.Sequential(Mine(3, 4)))
        self.assertEqual(done.skipped, {"0": "Mine is derived from torch.nn.GRU and may compute differently"})


def train_one_process(rank, folder):
    """Process `rank` of two: a backward pass of its half of the batch by DistributedDataParallel."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    model = Tagger()
    model.load_state_dict(torch.load(f"{folder}/weights.pt"))
    rnnlab.accelerate(model, implementation="hoisted")
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    words = torch.load(f"{folder}/words.pt")[2 * rank : 2 * rank + 2]
    parallel.eval()
    parallel(words).sin().mean().backward()
    torch.save([parameter.grad for parameter in model.parameters()], f"{folder}/gradients{rank}.pt")
    torch.distributed.destroy_process_group()


class SeveralProcesses(unittest.TestCase):
    def test_gradients_are_those_of_the_whole_batch(self):
        with tempfile.TemporaryDirectory() as folder:
            plain, words = Tagger().eval(), torch.randint(20, (4, 7))
            torch.save(plain.state_dict(), f"{folder}/weights.pt")
            torch.save(words, f"{folder}/words.pt")
            torch.multiprocessing.spawn(train_one_process, (folder,), nprocs=2)
            plain(words).sin().mean().backward()
            wanted = [parameter.grad for parameter in plain.parameters()]
            for rank in range(2):
                torch.testing.assert_close(torch.load(f"{folder}/gradients{rank}.pt"), wanted)


class Mistakes(unittest.TestCase):
    def check(self, error, pattern, work):
        with self.assertRaisesRegex(error, pattern):
            work()

    def test_are_one_exception_each(self):
        layer = rnnlab.LSTM(3, 4, implementation="hoisted")
        self.check(ValueError, "on a CPU use layer: blocked", lambda: rnnlab.LSTM(3, 4, implementation="cudnn")(
            torch.randn(5, 2, 3)))
        self.check(ValueError, "is 'hoist' .did you mean 'hoisted'", lambda: rnnlab.LSTM(3, 4, implementation="hoist"))
        self.check(ValueError, "is None; use auto, torch, naive", lambda: rnnlab.GRU(3, 4, implementation=None))
        self.check(ValueError, "is 'cuDNN'", lambda: rnnlab.accelerate(torch.nn.GRU(3, 4), implementation="cuDNN"))
        self.check(ValueError, "Expected input to be 2D or 3D", lambda: layer(torch.randn(3)))
        self.check(RuntimeError, "input.size.* must be equal to input_size", lambda: layer(torch.randn(5, 2, 7)))
        self.check((RuntimeError, ValueError), "(?i)dtype|type|Double", lambda: layer(torch.randn(5, 2, 3).double()))
        self.check((RuntimeError, ValueError), "(?i)dtype|type|Long", lambda: rnnlab.LSTM(3, 4)(
            torch.ones(5, 2, 3, dtype=torch.int64)))
        self.check(TypeError, "expected a pair of tensors", lambda: layer(torch.randn(5, 2, 3), torch.zeros(1, 2, 4)))
        self.check(RuntimeError, "hx should also be 3-D", lambda: layer(torch.randn(5, 2, 3), 2 * (torch.zeros(1, 4),)))

    def test_odd_inputs_compute(self):
        theirs, ours = twins("LSTM", 3, 4, implementation="hoisted")
        empty = torch.randn(5, 0, 3, dtype=torch.float64)
        self.assertEqual(ours(empty)[0].shape, theirs(empty)[0].shape)
        strided = torch.randn(2, 3, 5, dtype=torch.float64).permute(2, 0, 1)
        torch.testing.assert_close(ours(strided), theirs(strided))


if __name__ == "__main__":
    unittest.main()
