# SPDX-License-Identifier: Apache-2.0
"""A recurrent layer of any cell: of rnnlab's own, or of equations."""

from __future__ import annotations

import functools
import json
import math
import os
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.utils.rnn import PackedSequence

from . import choice, operators
from .cells import Cell, cell_of
from .sequences import Extras, Packed, Whole, features_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    Device = torch.device | str | int | None

_IMPLEMENTATIONS = ("auto", *operators.LAYERS)


class Recurrent(torch.nn.Module):
    """Computes sequences with a cell, in one or more layers, as torch.nn.LSTM does for its cell.

    cell: a Cell, the name of one of rnnlab's own ("slstm"), or a file of equations ("mgu.yaml").
    input_size, hidden_size, num_layers: the numbers of inputs and units, and of layers, each of which reads the one before.
    bias, batch_first, dropout, bidirectional, device, dtype: as those of torch.nn.LSTM.
    implementation: "auto", which measures the layers that can compute the cell, or one of them ("naive", "blocked" ...).
    reset_gate, activation, candidate: those of a cell of rnnlab's own, as in experiment files; heads: of a cell that has
    them. None: the usual value.
    recompute: a number of steps. The backward pass then computes the steps again in parts of this size, so that a pass
    over T steps keeps the states between the parts and what one part needs; None: it keeps what all steps need.
    implementation_used: the attribute that says what computed the last call; None before the first.

    The parameters are those of rnnlab's checkpoints: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, the cell's
    vectors such as peephole_l0, and so on for layers and directions, as torch.nn names them. They begin between
    -1/sqrt(hidden_size) and 1/sqrt(hidden_size). ValueError with the reason if an argument is wrong or if the
    implementation cannot compute the cell.
    """

    recompute: int | None = None  # of modules that were pickled before there was such an argument, too

    def __init__(self, cell: Cell | str | os.PathLike, input_size: int, hidden_size: int, num_layers: int = 1,
                 bias: bool = True, batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
                 implementation: str = "auto", device: Device = None, dtype: torch.dtype | None = None, *,
                 reset_gate: str | None = None,
                 activation: str | None = None, candidate: str | None = None, heads: int | None = None,
                 recompute: int | None = None):
        super().__init__()
        operators.check_implementation(implementation, _IMPLEMENTATIONS)
        _check_sizes(dropout, input_size=input_size, hidden_size=hidden_size, num_layers=num_layers,
                     **({} if recompute is None else {"recompute": recompute}))
        if recompute is not None and bidirectional:
            raise ValueError("recompute: a layer of two directions cannot be computed in parts; use one direction")
        self.cell = cell_of(cell)
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.bidirectional = bool(bias), bool(batch_first), bool(bidirectional)
        self.dropout = float(dropout)
        self.recompute = recompute
        self.implementation = implementation
        self.implementation_used: str | None = None
        options: dict[str, Any] = {"reset_gate": reset_gate, "activation": activation, "candidate": candidate, "heads": heads}
        self.options = {key: value for key, value in options.items() if value is not None}
        self._spec = self.cell.spec(**self.options)
        if implementation != "auto":
            self._check_that_it_can(implementation)
        self._names = self._register(device, dtype)
        self.reset_parameters()

    def _key(self) -> tuple:
        """What the operators that answer questions about a layer ask."""
        return self._spec, self.input_size, self.hidden_size, self.num_layers, self.bidirectional

    def _check_that_it_can(self, implementation: str) -> None:
        reason = _reason_against(self._key(), implementation, ())
        if reason:
            raise ValueError(f"rnnlab: cell {self.cell.name}: {reason}")

    def _register(self, device, dtype) -> list[str]:
        shapes = json.loads(torch.ops.rnnlab.parameters(*self._key()))
        for name, shape in shapes.items():
            if self.bias or not name.startswith("bias_"):
                parameter = torch.nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
                self.register_parameter(name, parameter)
        return list(shapes)

    def reset_parameters(self) -> None:
        """Draws new values for all parameters, uniformly between -1/sqrt(hidden_size) and 1/sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            torch.nn.init.uniform_(weight, -bound, bound)

    def implementations(self, device: str | torch.device = "cpu") -> list[str]:
        """Returns the implementations that can compute this layer on a device."""
        reasons = json.loads(torch.ops.rnnlab.layers_for(*self._key(), torch.device(device).type, []))
        return [name for name, reason in reasons.items() if not reason]

    def extra_repr(self) -> str:
        parts = [self.cell.name, str(self.input_size), str(self.hidden_size)]
        usual = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        parts += [f"{key}={getattr(self, key)}" for key, value in usual.items() if getattr(self, key) != value]
        parts += [f"{key}={value}" for key, value in self.options.items()]
        parts += [f"recompute={self.recompute}"] if self.recompute is not None else []
        return ", ".join([*parts, f"implementation={self.implementation}"])

    def forward(self, input: torch.Tensor | PackedSequence,
                initial_states: torch.Tensor | Sequence[torch.Tensor] | None = None, *,
                starts: torch.Tensor | None = None, all_states: bool = False):
        """Returns the output and a tuple of the final states; with all_states, also a tuple of the states of all steps.

        input: (T, B, input_size), (B, T, input_size) if batch_first, (T, input_size) of one sequence, or a
        PackedSequence. initial_states: one tensor for each state of the cell, in their order, each
        (num_layers * directions, B, hidden_size); None: zeros; the tensor itself if the cell has one state. output: as
        the input, with directions * hidden_size numbers. The final states have the shapes of the initial ones.

        starts: bool, (T, B), or (B, T) if batch_first, or (T,) of one sequence: the states are zero before these steps,
        and no gradient passes over their beginning, as at the first step of an episode. For a PackedSequence, as for
        its sequences before they were packed.
        all_states: returns each state after every step of every layer, (num_layers * directions, T, B, hidden_size),
        with the last three dimensions as in the output; of a PackedSequence, packed sequences with
        (num_layers * directions, hidden_size) for each step. Steps beyond the end of a sequence are zero.

        Under autocast the output and the hidden state have its type, and the other states are float32. In the
        transforms of torch.func, in forward-mode differentiation and while torch.jit.trace records, PyTorch's own
        operators compute the cell step by step, and so they do for second derivatives.
        """
        if isinstance(input, torch.fx.Proxy):  # torch.fx keeps the layer whole, as it keeps torch.nn's
            path = input.tracer.path_of_module(self)
            extras = {"starts": starts, "all_states": all_states}
            return input.tracer.create_proxy("call_module", path, (input, initial_states), extras)
        if isinstance(input, PackedSequence):
            return self._run_packed(input, initial_states, starts, all_states)
        if input.dim() not in (2, 3):
            raise ValueError(f"rnnlab.Recurrent: the input has {input.dim()} dimensions, expected 2 or 3")
        return self._run(Whole(input, self.batch_first), initial_states, starts, all_states)

    @torch.compiler.disable  # torch.compile cannot trace sequences that are packed outside its graph
    def _run_packed(self, input, initial_states, starts, all_states):
        if self.recompute is not None:
            raise ValueError("recompute: packed sequences cannot be computed in parts; pad them, and mark starts")
        return self._run(Packed(input, self.batch_first), initial_states, starts, all_states)

    def _run(self, layout: Whole | Packed, initial_states, starts, all_states):
        states = self._states_of(initial_states, layout)
        extras = Extras(layout.marks(starts), all_states)
        implementation = self._choose(layout, states, extras)
        output, final, all = self._compute(implementation, layout.steps, states, layout.lengths, extras)
        results = layout.output(output), layout.final_states(final)
        return (*results, layout.states_of_steps(all)) if all_states else results

    def _check_input(self, steps) -> None:
        if steps.size(2) != self.input_size:
            raise ValueError(f"rnnlab.Recurrent: the input has {steps.size(2)} features, expected {self.input_size}")
        if steps.size(0) == 0 or steps.size(1) == 0:
            raise ValueError(f"rnnlab.Recurrent: the input has {steps.size(0)} steps of {steps.size(1)} sequences, "
                             "expected at least one of each")
        weight = getattr(self, self._names[0])
        if steps.dtype != weight.dtype and choice.autocast_type(steps.device) is None:
            raise ValueError(f"rnnlab.Recurrent: the input is {steps.dtype}, and the weights are {weight.dtype}; "
                             "convert one of them")

    def _zero_states(self, steps) -> list:
        num_rows = self.num_layers * (1 + self.bidirectional)
        return operators.zero_states(steps, num_rows, self.hidden_size, len(self.cell.states))

    def _states_of(self, initial_states, layout) -> list:
        self._check_input(layout.steps)
        if initial_states is None:
            return self._zero_states(layout.steps)
        states = [initial_states] if isinstance(initial_states, torch.Tensor) else list(initial_states)
        if len(states) != len(self.cell.states):
            raise ValueError(f"rnnlab.Recurrent: {len(states)} initial states were given, but {self.cell.name} has "
                             f"{len(self.cell.states)}: {', '.join(self.cell.states)}")
        shape = (self.num_layers * (1 + self.bidirectional), layout.steps.size(1), self.hidden_size)
        wanted = shape if layout.is_batched else (shape[0], shape[2])
        for name, state in zip(self.cell.states, states):
            if state.shape != wanted:
                raise ValueError(f"rnnlab.Recurrent: the initial state {name} is {tuple(state.shape)}, expected {wanted}")
            if state.dtype != layout.steps.dtype and choice.autocast_type(state.device) is None:
                raise ValueError(f"rnnlab.Recurrent: the input is {layout.steps.dtype}, and the initial state {name} is "
                                 f"{state.dtype}; convert one of them")
        return layout.given_states(states)

    def _choose(self, layout, states, extras: Extras) -> str:
        implementation = self.implementation
        if choice.needs_torch():
            implementation = "naive"
        elif implementation == "auto":
            implementation = self._fastest_for(layout, states, extras)
        elif features := features_of(extras.starts, extras.all_states):
            _check_features(self._key(), implementation, features)
        self.implementation_used = implementation
        return implementation

    def _fastest_for(self, layout, states, extras: Extras) -> str:
        steps, is_packed = layout.steps, layout.lengths is not None
        number_type = choice.autocast_type(steps.device) or steps.dtype
        features = features_of(extras.starts, extras.all_states)
        names = _candidates(self._key(), steps.device.type, choice.precision_of(steps.device, number_type), features)
        gradients = choice.gradients_of(steps, states, self._given_weights())
        kind = (*self._key(), self.bias, self.training, gradients, is_packed, features)
        size = (steps.size(0), steps.size(1)) if not choice.is_compiling() else (0, 0)
        return choice.fastest_for(kind, size, steps, number_type, names, _safest(names),
                                  lambda name: self._time_pass(name, steps, is_packed, extras, gradients))

    def _time_pass(self, implementation: str, data, is_packed: bool, extras: Extras, gradients) -> None:
        """Computes a pass of this size. It draws no random numbers and reaches no hooks of the program."""
        steps = torch.linspace(-1, 1, data.numel(), device=data.device, dtype=torch.float32)
        steps = steps.view(data.shape).to(data.dtype).requires_grad_("input" in gradients)
        states = self._zero_states(steps)
        if "states" in gradients:
            states = operators.states_with_gradients(states, steps)
        given = [weight.detach().requires_grad_(weight.requires_grad) for weight in self._given_weights()]
        lengths = torch.full((data.size(1),), data.size(0)) if is_packed else None
        output = self._compute(implementation, steps, states, lengths, extras, given, 0.0)[0]
        choice.backward_of_measured(output, gradients, weights=given, input=[steps], states=states)

    def _compute(self, implementation: str, steps, states, lengths, extras: Extras, given=None, dropout=None):
        if dropout is None:
            dropout = self.dropout if self.training and self.num_layers > 1 else 0.0
        asked = choice.autocast_type(steps.device)
        weights = self._completed(self._given_weights() if given is None else given)
        work = operators.Work(self._spec, implementation, self.num_layers, self.bidirectional, dropout, self.training,
                              asked, asked or steps.dtype, _inner_type(steps))
        is_whole = choice.needs_torch() or choice.is_exporting()  # where PyTorch keeps what it needs itself
        if self.recompute is None or is_whole or not torch.is_grad_enabled():
            return operators.compute(work, steps, states, weights, lengths, extras)
        return operators.compute_in_parts(self.recompute, work, steps, states, weights, extras)

    def _given_weights(self) -> list:
        # functional_call replaces only attributes
        return [getattr(self, name) for name in self._names if self.bias or not name.startswith("bias_")]

    def _completed(self, given) -> list:
        """The weights in the order that the operator expects: without biases, zeros take their places."""
        if self.bias:
            return given
        by_name = dict(zip((name for name in self._names if not name.startswith("bias_")), given))
        weights = []
        for name in self._names:
            if name not in by_name:
                matrix = by_name[name.replace("bias_", "weight_")]
                weights.append(matrix.new_zeros(matrix.size(0)))
            else:
                weights.append(by_name[name])
        return weights


def _inner_type(steps) -> torch.dtype:
    """The type of the states beyond the hidden one, which add up over the steps."""
    return steps.dtype if choice.autocast_type(steps.device) is None else torch.float32


@torch.compiler.assume_constant_result  # torch.compile cannot trace an operator that returns texts
def _candidates(key: tuple, device: str, precision: str, features: tuple[str, ...]) -> tuple[str, ...]:
    return _asked_candidates(key, device, precision, features)


@functools.lru_cache
def _asked_candidates(key: tuple, device: str, precision: str, features: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(torch.ops.rnnlab.candidates(*key, device, precision, list(features)))


@functools.lru_cache
def _reason_against(key: tuple, implementation: str, features: tuple[str, ...]) -> str:
    return json.loads(torch.ops.rnnlab.layers_for(*key, "", list(features)))[implementation]


@torch.compiler.assume_constant_result
def _check_features(key: tuple, implementation: str, features: tuple[str, ...]) -> None:
    reason = _reason_against(key, implementation, features)
    if reason:
        raise ValueError(f"rnnlab: {reason}")


def _safest(names: tuple[str, ...]) -> str:
    """The layer to take before anything is measured: it computes every type of numbers, and lengths."""
    return "hoisted" if "hoisted" in names else names[-1]


def _check_sizes(dropout, **sizes) -> None:
    for name, size in sizes.items():
        if not isinstance(size, int) or isinstance(size, bool):
            raise TypeError(f"{name} is {size!r}, expected an integer")
        if size < 1:
            raise ValueError(f"{name} is {size}, expected at least 1")
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout is {dropout}, expected at least 0 and below 1")


class _OfName(Recurrent):
    """A Recurrent whose class says its cell; the other arguments are Recurrent's."""

    _cell: str

    if TYPE_CHECKING:

        def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                     batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
                     implementation: str = "auto", device: Device = None, dtype: torch.dtype | None = None, *,
                     activation: str | None = None, candidate: str | None = None, heads: int | None = None,
                     recompute: int | None = None) -> None: ...

    else:

        def __init__(self, input_size, hidden_size, *arguments, **options):
            super().__init__(self._cell, input_size, hidden_size, *arguments, **options)


class MinGRU(_OfName):
    """minGRU (Feng et al. 2024, arXiv 2410.01201): no gate reads the state, so that all steps can be computed at once.

        z = sigmoid(W x + b)
        n = g(W x + b)                            g(a) = a + 0.5 for a >= 0, else sigmoid(a); candidate="linear": g(a) = a
        h = (1 - z) * h + z * n

    Arguments, shapes, results and errors are those of Recurrent; the state is h.
    """

    _cell = "min_gru"


class MinLSTM(_OfName):
    """minLSTM (Feng et al. 2024, arXiv 2410.01201): no gate reads the state, so that all steps can be computed at once.

        f, i = sigmoid(W x + b), divided by their sum
        n = g(W x + b)                            g(a) = a + 0.5 for a >= 0, else sigmoid(a); candidate="linear": g(a) = a
        h = f * h + i * n

    Arguments, shapes, results and errors are those of Recurrent; the state is h.
    """

    _cell = "min_lstm"


class PeepholeLSTM(_OfName):
    """LSTM whose gates see the cell state (Gers, Schraudolph and Schmidhuber 2002).

        i, f = sigmoid(W x + b + R h + b' + p * c)        p: one learned number for each unit and gate, peephole_l0
        c = f * c + i * tanh(W x + b + R h + b')
        o = sigmoid(W x + b + R h + b' + p * c)           of the new c
        h = o * tanh(c)

    Arguments, shapes, results and errors are those of Recurrent; the states are h and c.
    """

    _cell = "lstm_peephole"


class SLSTM(_OfName):
    """sLSTM of xLSTM (Beck et al. 2024, arXiv 2405.04517), with exponential gates and four states, h, c, n and m.

    heads=k divides the recurrent products into k blocks. `Cell.named("slstm")` shows the equations. Other arguments, shapes,
    results and errors are those of Recurrent; the states are in this order.
    """

    _cell = "slstm"
