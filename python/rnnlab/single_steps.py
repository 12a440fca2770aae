# SPDX-License-Identifier: Apache-2.0
"""LSTMCell, GRUCell and RNNCell with the arguments, results and state_dict of torch.nn's: one step of one layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from . import choice, operators
from .layers import Twin
from .sequences import Extras

if TYPE_CHECKING:
    Device = torch.device | str | int | None

_OF_TORCH = ("auto", "torch")
_Proxy = torch.fx.Proxy


class TwinOfCell(Twin):
    """What LSTMCell, GRUCell and RNNCell have in common.

    implementation: "auto" and "torch" are torch.nn's own code, because on a CPU no layer of rnnlab takes less time for
    a single step; a layer of rnnlab ("hoisted", "blocked", "naive" ...) computes the step as a sequence of one.
    ValueError if there is no such implementation; a call raises it with the reason if the implementation cannot compute
    the cell. All other arguments are those of torch.nn's class.
    implementation_used: the attribute that says what computes the calls, or computed the last one; None before it.
    """

    input_size: int
    hidden_size: int
    bias: bool
    weight_ih: torch.Tensor
    weight_hh: torch.Tensor
    bias_ih: Any  # None without biases
    bias_hh: Any

    def _set_implementation(self, implementation: str) -> None:
        self.implementation = implementation
        self.implementation_used = "torch" if implementation in _OF_TORCH else None

    def forward(self, input: torch.Tensor, hx=None) -> Any:
        """Returns what torch.nn's cell returns: the states after the step.

        input: (B, input_size), or (input_size) of one sequence.
        hx: the state, (B, hidden_size), or (hidden_size) of one sequence, for an LSTMCell the pair (h, c) of such
        states; None: zeros. The results have the shapes of the states.
        Errors are torch.nn's, whose code computes calls under autocast, of empty batches and of other devices, and
        what torch.export and torch.jit.trace record. With a layer of rnnlab, PyTorch's own operators compute calls in
        torch.func's transforms and in forward-mode differentiation.
        """
        if isinstance(input, _Proxy):  # torch.fx keeps torch.nn's cells whole, too
            tracer: Any = input.tracer
            return tracer.create_proxy("call_module", tracer.path_of_module(self), (input, hx), {})
        if self.implementation in _OF_TORCH:
            self.implementation_used = "torch"
            return super().forward(input, hx)
        states = [] if hx is None else list(hx) if self._mode() == "lstm" else [hx]
        if not self._can_compute(input, states):
            self.implementation_used = "torch"
            return super().forward(input, hx)
        self.implementation_used = "naive" if choice.needs_torch() else self.implementation
        return self._run(input, states)

    def _mode(self) -> str:
        raise NotImplementedError

    def _can_compute(self, input, states: list) -> bool:
        """Whether rnnlab has what the call needs. Where not, torch.nn's code computes it, or says what is wrong."""
        if choice.is_exporting() or torch.jit.is_tracing():  # the program is then one that runs without rnnlab
            return False
        if not isinstance(input, torch.Tensor) or input.dim() not in (1, 2) or input.numel() == 0:
            return False
        weight, shape = self.weight_ih, (*input.shape[:-1], self.hidden_size)
        has_kind = input.is_floating_point() and input.device.type in ("cpu", "cuda")
        kind = input.dtype, input.device
        is_alike = all(isinstance(tensor, torch.Tensor) and (tensor.dtype, tensor.device) == kind
                       for tensor in (weight, *states))
        fits = input.size(-1) == self.input_size and all(state.shape == shape for state in states if is_alike)
        has_mode = self._mode() in ("lstm", "gru", "rnn_tanh", "rnn_relu")
        has_states = len(states) in (0, 1 + (self._mode() == "lstm"))
        return has_kind and is_alike and fits and has_mode and has_states and choice.autocast_type(input.device) is None

    def _run(self, input, given: list):
        step = input if input.dim() == 2 else input.unsqueeze(0)
        mode = self._mode()
        states = [state.view(1, step.size(0), -1) if state.dim() == 1 else state.unsqueeze(0) for state in given]
        states = states or operators.zero_states(step, 1, self.hidden_size, 1 + (mode == "lstm"))
        work = operators.Work(mode, self.implementation, 1, False, 0.0, self.training, None, input.dtype, input.dtype)
        final = operators.compute(work, step.unsqueeze(0), states, self._weights(), None, Extras())[1]
        results = tuple(state.squeeze(0) if input.dim() == 2 else state.view(-1) for state in final)
        return results if mode == "lstm" else results[0]

    def _weights(self) -> list:
        biases = [self.bias_ih, self.bias_hh] if self.bias else []
        return self._completed([self.weight_ih, self.weight_hh, *biases])


class LSTMCell(TwinOfCell, torch.nn.LSTMCell):
    """torch.nn.LSTMCell: one step of an LSTM, computed by `implementation`; LSTM has the equations.

    input: (B, input_size), or (input_size). hx: the pair (h, c), each (B, hidden_size), or (hidden_size); None: zeros.
    Returns the pair (h, c) after the step. Parameters, their order and their first values are torch.nn.LSTMCell's.
    """

    _torch_class = torch.nn.LSTMCell

    if TYPE_CHECKING:

        def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Device = None,
                     dtype: torch.dtype | None = None, *, implementation: str = "auto") -> None: ...

    def _mode(self) -> str:
        return "lstm"


class GRUCell(TwinOfCell, torch.nn.GRUCell):
    """torch.nn.GRUCell: one step of a GRU, computed by `implementation`; GRU has the equations.

    input: (B, input_size), or (input_size). hx: h, (B, hidden_size), or (hidden_size); None: zeros.
    Returns h after the step. Parameters, their order and their first values are those of torch.nn.GRUCell.
    """

    _torch_class = torch.nn.GRUCell

    if TYPE_CHECKING:

        def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Device = None,
                     dtype: torch.dtype | None = None, *, implementation: str = "auto") -> None: ...

    def _mode(self) -> str:
        return "gru"


class RNNCell(TwinOfCell, torch.nn.RNNCell):
    """torch.nn.RNNCell: one step of an RNN, computed by `implementation`; RNN has the equations.

    input: (B, input_size), or (input_size). hx: h, (B, hidden_size), or (hidden_size); None: zeros.
    Returns h after the step. Parameters, their order and their first values are those of torch.nn.RNNCell.
    """

    _torch_class = torch.nn.RNNCell

    if TYPE_CHECKING:

        def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
                     device: Device = None, dtype: torch.dtype | None = None, *,
                     implementation: str = "auto") -> None: ...

    def _mode(self) -> str:
        return f"rnn_{self.nonlinearity}"
