# SPDX-License-Identifier: Apache-2.0
"""LSTM, GRU and RNN with the arguments, results and state_dict of torch.nn, computed by rnnlab's layers."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import torch
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from . import choice, measured, operators
from .sequences import Extras, Packed, Whole, features_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    Device = torch.device | str | int | None


class Twin(torch.nn.Module):
    """A class of torch.nn with an argument more: which code computes it."""

    _torch_class: type[torch.nn.Module]

    def __init__(self, *args, implementation: str = "auto", **kwargs):
        operators.check_implementation(implementation)
        self.__dict__.update(self._torch_class(*args, **kwargs).__dict__)
        self._set_implementation(implementation)

    def _set_implementation(self, implementation: str) -> None:
        self.implementation = implementation
        self.implementation_used: str | None = None

    def as_torch(self) -> torch.nn.Module:
        """Returns a module of torch.nn's class that shares the parameters, hooks and mode of this one."""
        twin = self._torch_class.__new__(self._torch_class)
        twin.__dict__.update(self.__dict__)
        del twin.implementation, twin.implementation_used
        twin.__dict__.pop("_last", None)
        return twin

    def __prepare_scriptable__(self) -> torch.nn.Module:
        """torch.jit.script compiles torch.nn's module instead, because TorchScript cannot express the choice."""
        return self.as_torch()

    def __setattr__(self, name, value):
        if name == "qconfig" and not hasattr(self, "qconfig"):
            warnings.warn(
                f"torch.ao.quantization does not quantize {type(self).__name__} of rnnlab; call rnnlab.undo(model) "
                "before it, which gives the layers their classes of torch.nn back", stacklevel=2)
        super().__setattr__(name, value)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, implementation={self.implementation}"

    def _completed(self, given) -> list:
        """The weights in the order that the operator expects: without biases, zeros take their places."""
        if self.bias:
            return given
        weights = []
        for matrix, recurrent in zip(given[::2], given[1::2]):
            zeros = matrix.new_zeros(matrix.size(0))
            weights += [matrix, recurrent, zeros, zeros]
        return weights


class TwinOfTorch(Twin, torch.nn.RNNBase):
    """What LSTM, GRU and RNN have in common.

    The classes are not subclasses of torch.nn.LSTM and so on, because torch.compile breaks its graph at those by name.

    implementation: "auto", "torch" (torch.nn's own code), or a layer of rnnlab ("persistent", "cudnn", "hoisted" ...),
    as `layer:` in experiment files. ValueError if there is no such implementation; a call raises it with the reason if
    the implementation cannot compute the layer. All other arguments are those of torch.nn's class.
    implementation_used: the attribute that says what computed the last call; None before the first.
    """

    _torch_class: type[torch.nn.RNNBase]

    def __getstate__(self):
        state = self.__dict__.copy()
        state.pop("_flat_weight_refs", None)
        state.pop("_last", None)
        return state

    def forward(self, input: torch.Tensor | PackedSequence, hx: torch.Tensor | Sequence[torch.Tensor] | None = None, *,
                starts: torch.Tensor | None = None, all_states: bool = False):
        """Returns what torch.nn's layer returns; with all_states, also the states after each step.

        input, hx: those of torch.nn's layer.
        starts: bool, (T, B), or (B, T) if batch_first, or (T,) of one sequence: the states are zero before these steps,
        and no gradient passes over their beginning, as at the first step of an episode. For a PackedSequence, as for
        its sequences before they were packed.
        all_states: returns each state after every step of every layer, (num_layers * directions, T, B, hidden_size)
        with the last three dimensions as in the output, as a pair of an LSTM and a tensor otherwise; of a
        PackedSequence, packed sequences with (num_layers * directions, hidden_size) for each step. Steps beyond the end
        of a sequence are zero.

        torch.nn's own code has neither, so that one of rnnlab's layers computes such a call; ValueError if none can.
        """
        if isinstance(input, torch.fx.Proxy):  # torch.fx keeps torch.nn's layers whole, too
            path = input.tracer.path_of_module(self)
            extras = {"starts": starts, "all_states": all_states} if starts is not None or all_states else {}
            return input.tracer.create_proxy("call_module", path, (input, hx), extras)
        features = features_of(starts, all_states)
        call = None
        if not features and type(input) is torch.Tensor and not torch.compiler.is_compiling():
            # A call like the last one does not ask everything again, which would take longer than a small layer.
            call = (input.shape, input.dtype, input.device, self.training, self.implementation, torch.is_grad_enabled(),
                    torch._C._is_any_autocast_enabled(), measured.num_changes, self.dropout,
                    input.requires_grad, hx is not None and any(state.requires_grad for state in _states_in(hx)),
                    choice.state_of_gpu(input))
            last = self.__dict__.get("_last")
            if last is not None and last[0] == call:
                self.__dict__["implementation_used"] = last[1]
                if last[1] == "torch" and not choice.is_in_forward_mode():  # otherwise right whatever changed
                    return self._torch_class.forward(self, input, hx)
                if choice.is_plain_call(input):
                    return self._run_whole(last[1], input, hx, None, False)
        implementation = self._choose(input, hx, features)
        self.implementation_used = implementation
        if call is not None and choice.is_plain_call(input):
            self.__dict__["_last"] = (call, implementation)
        if implementation == "torch":
            # An exported program must hold the layer. The call is here, because a break of torch.compile's graph in a
            # function below would have that function compiled and guarded, too.
            is_outside = choice.is_compiling() and not choice.is_exporting()
            return _run_outside_of_graph(self, input, hx) if is_outside else self._torch_class.forward(self, input, hx)
        if isinstance(input, PackedSequence):
            return self._run_packed(implementation, input, hx, starts, all_states)
        return self._run_whole(implementation, input, hx, starts, all_states)

    def _choose(self, input, hx, features: tuple[str, ...]) -> str:
        data = input.data if isinstance(input, PackedSequence) else input
        can_compute = self._can_compute(data)
        is_sequence = isinstance(data, torch.Tensor) and data.dim() in (2, 3)  # if not, torch.nn says what is wrong
        if features and is_sequence and not (can_compute and self.implementation != "torch"):
            raise ValueError(f"rnnlab.{self._torch_class.__name__}: torch.nn's own code computes this call, and it has no "
                             f"{' and no '.join(features)}")
        if not can_compute:
            return "torch"  # if data is no tensor, or has too few or many dimensions, it says what is wrong
        if choice.needs_torch():
            return "naive" if features or choice.is_in_forward_mode() else "torch"
        return self._fastest_for(input, data, hx, features) if self.implementation == "auto" else self.implementation

    def _can_compute(self, data) -> bool:
        if not isinstance(data, torch.Tensor):
            return False
        has_kind = data.is_floating_point() and data.device.type in ("cpu", "cuda") and data.dim() in (2, 3)
        return self.proj_size == 0 and data.numel() > 0 and has_kind and self._dropout() < 1

    def _dropout(self) -> float:
        """The probability of a zero between the layers, in this mode."""
        return float(self.dropout) if self.training and self.num_layers > 1 else 0.0

    def _fastest_for(self, input, data, hx, features: tuple[str, ...]) -> str:
        is_packed = isinstance(input, PackedSequence)
        number_type = choice.types_of_pass(self.mode, data, self._weight(0), data, _lengths_of(input))[0] or data.dtype
        gradients = choice.gradients_of(data, _states_in(hx), self._given_weights())
        kind = (self.mode, self.input_size, self.hidden_size, self.num_layers, self.bidirectional, self.bias,
                self.training, gradients, is_packed, features)
        size = self._size_of(input) if not choice.is_compiling() else (0, 0)
        names = choice.candidates_for(data.device, number_type, features)
        unmeasured = "hoisted" if features else "torch"
        return choice.fastest_for(kind, size, data, number_type, names, unmeasured,
                                  lambda name: self._time_pass(name, data, size, is_packed, features, gradients))

    def _size_of(self, input) -> tuple[int, int]:
        if isinstance(input, PackedSequence):
            return input.batch_sizes.size(0), int(input.batch_sizes[0])
        if input.dim() == 2:
            return input.size(0), 1
        return (input.size(1), input.size(0)) if self.batch_first else (input.size(0), input.size(1))

    def _time_pass(self, implementation, data, size, is_packed, features, gradients) -> None:
        """Computes a pass of this size, from the arguments to the results, as a call of the layer does.

        It draws no random numbers and reaches no hooks of the program.
        """
        num_steps, batch_size = size
        steps = torch.linspace(-1, 1, num_steps * batch_size * self.input_size, device=data.device, dtype=torch.float32)
        steps = steps.view(num_steps, batch_size, self.input_size).to(data.dtype).requires_grad_("input" in gradients)
        input = pack_padded_sequence(steps, torch.full((batch_size,), num_steps)) if is_packed else steps
        layer = self._for_measuring()
        states = operators.states_with_gradients(layer._zero_states(steps), steps) if "states" in gradients else []
        hx = layer._as_hidden(states) if states else None
        if implementation == "torch":
            output = layer._torch_class.forward(layer, input, hx)[0]
        else:
            starts = torch.zeros(size, dtype=torch.bool, device=data.device) if "starts" in features else None
            run = layer._run_packed if is_packed else layer._run_whole
            output = run(implementation, input, hx, starts, "all_states" in features)[0]
        choice.backward_of_measured(output.data if is_packed else output, gradients, weights=layer._flat_weights,
                                    input=[steps], states=states)

    def _for_measuring(self) -> TwinOfTorch:
        """Returns a layer with the same sizes, and with the weights without their history and hooks."""
        given = [weight.detach().requires_grad_(weight.requires_grad) for weight in self._given_weights()]
        layer = object.__new__(_CLASSES[self._torch_class])  # parametrizations have a class of their own
        layer.__dict__.update(self.__dict__)
        layer.__dict__.update(zip(self._flat_weights_names, given))
        layer.__dict__.update(_flat_weights=given, _flat_weight_refs=[None] * len(given), dropout=0.0, batch_first=False)
        return layer

    def _run_whole(self, implementation, input, hx, starts, all_states):
        layout = Whole(input, self.batch_first)
        return self._run(implementation, layout, layout.batch, hx, starts, all_states)

    @torch.compiler.disable  # torch.compile cannot trace sequences that are packed outside its graph
    def _run_packed(self, implementation, input, hx, starts, all_states):
        return self._run(implementation, Packed(input, self.batch_first), input.data, hx, starts, all_states)

    def _run(self, implementation, layout, data, hx, starts, all_states):
        states = self._states_of(hx, layout)
        batch_sizes = layout.input.batch_sizes if isinstance(layout, Packed) else None
        if hx is None:
            self.check_input(data, batch_sizes)
        else:
            self.check_forward_args(data, self._as_hidden(states), batch_sizes)
        extras = Extras(layout.marks(starts), all_states)
        output, final, all = self._compute(implementation, layout.steps, states, layout.lengths, extras, self._weights(),
                                           self._dropout())
        results = layout.output(output), self._as_hidden(layout.final_states(final))
        return (*results, self._as_hidden(layout.states_of_steps(all))) if all_states else results

    def _zero_states(self, steps) -> list:
        num_rows = self.num_layers * (2 if self.bidirectional else 1)
        return operators.zero_states(steps, num_rows, self.hidden_size, 2 if self.mode == "LSTM" else 1)

    def _states_of(self, hx, layout) -> list:
        if hx is None:
            return self._zero_states(layout.steps)
        is_lstm = self.mode == "LSTM"
        if is_lstm and isinstance(hx, torch.Tensor):
            raise TypeError("LSTM: hx is one tensor, expected a pair of tensors (h_0, c_0)")
        states = list(hx) if is_lstm else [hx]
        if is_lstm and len(states) != 2:
            raise RuntimeError(f"LSTM: hx has {len(states)} tensors, expected a pair (h_0, c_0)")
        wanted = 3 if layout.is_batched else 2
        if any(state.dim() != wanted for state in states):
            kind = "batched 3-D" if layout.is_batched else "unbatched 2-D"
            raise RuntimeError(f"For {kind} input, hx should also be {wanted}-D but got {states[0].dim()}-D tensor")
        for state in states:
            if state.device != layout.steps.device:
                raise RuntimeError("Input and hidden tensors are not at the same device, found input tensor at "
                                   f"{layout.steps.device} and hidden tensor at {state.device}")
            if state.dtype != layout.steps.dtype and choice.autocast_type(state.device) is None:
                raise RuntimeError(f"{self._torch_class.__name__}: the input is {layout.steps.dtype}, and hx is "
                                   f"{state.dtype}; convert one of them")
        return layout.given_states(states)

    def _as_hidden(self, states):
        return tuple(states) if self.mode == "LSTM" else states[0]

    def _compute(self, implementation, steps, states, lengths, extras, weights, dropout):
        number_type, result_type = choice.types_of_pass(self.mode, steps, weights[0], states[0], lengths)
        work = operators.Work(self.mode.lower(), implementation, self.num_layers, self.bidirectional, dropout, self.training,
                              number_type, result_type, result_type)
        return operators.compute(work, steps, states, weights, lengths, extras)

    def _weight(self, number):
        return getattr(self, self._flat_weights_names[number])  # functional_call replaces only attributes

    def _given_weights(self) -> list:
        return [self._weight(number) for number in range(len(self._flat_weights_names))]

    def _weights(self) -> list:
        return self._completed(self._given_weights())


def _states_in(hx) -> tuple:
    """Returns the tensors of hx, as a caller gives it; torch.nn's checks find what is wrong with the others."""
    given = (hx,) if hx is None or isinstance(hx, torch.Tensor) else hx
    return tuple(state for state in given if isinstance(state, torch.Tensor))


def _lengths_of(input):
    """Returns numbers that are equal if the lengths of the packed sequences are; None if they are not packed."""
    return input.batch_sizes if isinstance(input, PackedSequence) else None


@torch.compiler.disable  # torch.compile skips torch.nn's layers too; it cannot trace oneDNN's operator
def _run_outside_of_graph(layer, input, hx):
    return layer._torch_class.forward(layer, input, hx)


class LSTM(TwinOfTorch):
    """torch.nn.LSTM (Hochreiter and Schmidhuber 1997, with forget gates), computed by `implementation`.

        i, f, o = sigmoid(W x + b + R h + b')     one set of W, R and biases for each gate
        g = tanh(W x + b + R h + b')
        c = f * c + i * g
        h = o * tanh(c)

    input: (T, B, input_size), or (B, T, input_size) if batch_first, or (T, input_size), or a PackedSequence.
    hx: the pair (h_0, c_0), each (num_layers * directions, B, hidden_size); None: zeros.
    Returns the output, as the input with directions * hidden_size numbers, and the pair (h_n, c_n).
    Parameters, their order and their first values are those of torch.nn.LSTM.
    """

    _torch_class = torch.nn.LSTM
    check_forward_args = torch.nn.LSTM.check_forward_args
    get_expected_cell_size = torch.nn.LSTM.get_expected_cell_size
    permute_hidden = torch.nn.LSTM.permute_hidden

    if TYPE_CHECKING:

        def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                     batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
                     device: Device = None, dtype: torch.dtype | None = None, *, implementation: str = "auto") -> None: ...


class GRU(TwinOfTorch):
    """torch.nn.GRU (Cho et al. 2014, with the reset gate after the product), computed by `implementation`.

        r, z = sigmoid(W x + b + R h + b')        one set of W, R and biases for each gate
        n = tanh(W x + b + r * (R h + b'))
        h = (1 - z) * n + z * h

    input: (T, B, input_size), or (B, T, input_size) if batch_first, or (T, input_size), or a PackedSequence.
    hx: h_0, (num_layers * directions, B, hidden_size); None: zeros.
    Returns the output, as the input with directions * hidden_size numbers, and h_n.
    Parameters, their order and their first values are those of torch.nn.GRU.
    """

    _torch_class = torch.nn.GRU

    if TYPE_CHECKING:

        def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                     batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
                     device: Device = None, dtype: torch.dtype | None = None, *, implementation: str = "auto") -> None: ...


class RNN(TwinOfTorch):
    """torch.nn.RNN (Elman 1990), computed by `implementation`.

        h = tanh(W x + b + R h + b')              or relu in place of tanh: nonlinearity

    input: (T, B, input_size), or (B, T, input_size) if batch_first, or (T, input_size), or a PackedSequence.
    hx: h_0, (num_layers * directions, B, hidden_size); None: zeros.
    Returns the output, as the input with directions * hidden_size numbers, and h_n.
    Parameters, their order and their first values are those of torch.nn.RNN.
    """

    _torch_class = torch.nn.RNN

    if TYPE_CHECKING:

        def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh",
                     bias: bool = True, batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
                     device: Device = None, dtype: torch.dtype | None = None, *, implementation: str = "auto") -> None: ...


_CLASSES = {made._torch_class: made for made in (LSTM, GRU, RNN)}
