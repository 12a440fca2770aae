# SPDX-License-Identifier: Apache-2.0
"""LSTM, GRU and RNN with the arguments, results and state_dict of torch.nn, computed by rnnlab's layers."""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
import time
import weakref

import torch
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from .operators import check_implementation  # registers torch.ops.rnnlab too

_owners = itertools.count(1)
# Not "cudnn", because torch.nn runs cuDNN too. In float32 without TF32, "persistent" computes small factors with fewer
# digits than cuDNN does, so only a program that names it gets it, as in experiment files.
_CANDIDATES = {"cuda": ("torch", "persistent"), "cuda float32": ("torch",), "cpu": ("torch", "blocked", "hoisted")}
_WARMUP_PASSES = 2
_TIMED_PASSES = 4
_LONG_ENOUGH = 0.5  # seconds after which no further pass of a candidate is timed
_fastest: dict[tuple, str] = {}  # by the work of a pass


class Recurrent(torch.nn.RNNBase):
    """What LSTM, GRU and RNN have in common.

    It is not a subclass of torch.nn.LSTM, because torch.compile breaks its graph at those by name.

    implementation: "auto", "torch" (torch.nn's own code), or a layer of rnnlab ("persistent", "cudnn", "hoisted" ...),
    as `layer:` in experiment files. ValueError if there is no such implementation; a call raises it with the reason if
    the implementation cannot compute the layer.
    """

    _torch_class: type[torch.nn.RNNBase]

    def __init__(self, mode: str, *args, implementation: str = "auto", **kwargs):
        check_implementation(implementation)
        super().__init__(mode, *args, **kwargs)
        self._register(implementation)

    def _register(self, implementation: str) -> None:
        self.implementation = implementation
        self.implementation_used: str | None = None
        self._owner = next(_owners)
        weakref.finalize(self, torch.ops.rnnlab.release, self._owner)

    def _unregister(self) -> None:
        torch.ops.rnnlab.release(self._owner)
        del self.implementation, self.implementation_used, self._owner

    def __setstate__(self, state):
        super().__setstate__(state)
        self._register(self.implementation)

    def __deepcopy__(self, memo):
        twin = type(self).__new__(type(self))
        memo[id(self)] = twin
        twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
        twin._init_flat_weights()
        twin._register(self.implementation)
        return twin

    def __getstate__(self):
        state = self.__dict__.copy()
        state.pop("_flat_weight_refs", None)
        return state

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, implementation={self.implementation}"

    def forward(self, input, hx=None):
        implementation = self._choose(input)
        self.implementation_used = implementation
        if implementation == "torch":
            return self._run_torch(input, hx)
        if isinstance(input, PackedSequence):
            return self._run_packed(implementation, input, hx)
        return self._run_whole(implementation, input, hx)

    @torch.compiler.disable  # torch.compile skips torch.nn's layers too; it cannot trace oneDNN's operator
    def _run_torch(self, input, hx):
        return self._torch_class.forward(self, input, hx)

    def _choose(self, input) -> str:
        data = input.data if isinstance(input, PackedSequence) else input
        has_kind = data.is_floating_point() and data.device.type in ("cpu", "cuda")
        can_be_computed = self.proj_size == 0 and data.numel() > 0 and has_kind
        if not can_be_computed or _is_transformed():
            return "torch"
        return self._fastest_for(input) if self.implementation == "auto" else self.implementation

    def _fastest_for(self, input) -> str:
        """Returns the fastest implementation, which is measured once for work of this size.

        Nothing can be measured while torch.compile traces or a CUDA graph is captured: torch.nn's code runs then, if
        no call before has measured the work.
        """
        data = input.data if isinstance(input, PackedSequence) else input
        names = _candidates_for(data)
        if len(names) == 1:
            return names[0]
        num_steps, batch_size = self._size_of(input)
        work = (self.mode, self.input_size, self.hidden_size, self.num_layers, self.bidirectional, self.bias,
                self.training, torch.is_grad_enabled(), data.device, data.dtype, _autocast_type(data),
                names, _rounded(num_steps), _rounded(batch_size))
        if work in _fastest:
            return _fastest[work]
        if torch.compiler.is_compiling() or (data.is_cuda and torch.cuda.is_current_stream_capturing()):
            return "torch"
        _fastest[work] = self._measure(names, data.new_empty(num_steps, batch_size, self.input_size).normal_)
        return _fastest[work]

    def _size_of(self, input) -> tuple[int, int]:
        if isinstance(input, PackedSequence):
            return input.batch_sizes.size(0), int(input.batch_sizes[0])
        if input.dim() == 2:
            return input.size(0), 1
        return (input.size(1), input.size(0)) if self.batch_first else (input.size(0), input.size(1))

    def _measure(self, names, draw) -> str:
        """Returns the implementation with the shortest pass; the random numbers of the caller stay as they are."""
        device = self.weight_ih_l0.device
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            steps = draw()
            steps = steps.transpose(0, 1) if self.batch_first else steps
            seconds = {name: self._seconds_of_pass(name, steps) for name in names}
        return min(seconds, key=seconds.get)

    def _seconds_of_pass(self, implementation, steps) -> float:
        shortest, total = math.inf, 0.0
        with contextlib.suppress(ValueError, RuntimeError):  # an implementation that cannot run here is not chosen
            for number in range(_WARMUP_PASSES + _TIMED_PASSES):
                began = time.perf_counter()
                self._pass(implementation, steps)
                if steps.is_cuda:
                    torch.cuda.synchronize(steps.device)
                seconds = time.perf_counter() - began
                if number < _WARMUP_PASSES:  # kernels are compiled and loaded
                    continue
                shortest = min(shortest, seconds)
                total += seconds
                if total > _LONG_ENOUGH:
                    break
        return shortest

    def _pass(self, implementation, steps) -> None:
        is_torch = implementation == "torch"
        output, _ = self._torch_class.forward(self, steps) if is_torch else self._run_whole(implementation, steps, None)
        weights = [weight for weight in self._weights() if weight.requires_grad]
        if torch.is_grad_enabled() and weights:
            torch.autograd.grad(output.sum(), weights)

    def _run_whole(self, implementation, input, hx):
        if input.dim() not in (2, 3):
            name = self._torch_class.__name__
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        is_batched = input.dim() == 3
        batch_axis = 0 if self.batch_first else 1
        batch = input if is_batched else input.unsqueeze(batch_axis)
        steps = batch.transpose(0, 1) if self.batch_first else batch
        states = self._states_of(hx, steps, is_batched)
        self._check_arguments(batch, states, None)
        output, states = self._compute(implementation, steps, states, None)
        if self.batch_first:
            output = output.transpose(0, 1)
        if not is_batched:
            output, states = output.squeeze(batch_axis), [state.squeeze(1) for state in states]
        return output, self._as_hidden(states)

    @torch.compiler.disable  # torch.compile cannot trace sequences that are packed outside its graph
    def _run_packed(self, implementation, input, hx):
        states = None if hx is None else self.permute_hidden(hx, input.sorted_indices)
        in_order = PackedSequence(input.data, input.batch_sizes)
        steps, lengths = pad_packed_sequence(in_order)
        states = self._states_of(states, steps, True)
        self._check_arguments(input.data, states, input.batch_sizes)
        output, states = self._compute(implementation, steps, states, lengths)
        data = pack_padded_sequence(output, lengths).data
        packed = PackedSequence(data, input.batch_sizes, input.sorted_indices, input.unsorted_indices)
        return packed, self.permute_hidden(self._as_hidden(states), input.unsorted_indices)

    def _states_of(self, hx, steps, is_batched) -> list:
        is_lstm = self.mode == "LSTM"
        if hx is None:
            num_directions = 2 if self.bidirectional else 1
            zeros = steps.new_zeros(self.num_layers * num_directions, steps.size(1), self.hidden_size)
            return [zeros, zeros] if is_lstm else [zeros]
        if is_lstm and isinstance(hx, torch.Tensor):
            raise TypeError("LSTM: hx is one tensor, expected a pair of tensors (h_0, c_0)")
        states = list(hx) if is_lstm else [hx]
        wanted = 3 if is_batched else 2
        if any(state.dim() != wanted for state in states):
            kind = "batched 3-D" if is_batched else "unbatched 2-D"
            raise RuntimeError(f"For {kind} input, hx should also be {wanted}-D but got {states[0].dim()}-D tensor")
        return states if is_batched else [state.unsqueeze(1) for state in states]

    def _as_hidden(self, states):
        return tuple(states) if self.mode == "LSTM" else states[0]

    def _check_arguments(self, input, states, batch_sizes) -> None:
        self.check_forward_args(input, self._as_hidden(states), batch_sizes)

    def check_forward_args(self, input, hidden, batch_sizes):
        return self._torch_class.check_forward_args(self, input, hidden, batch_sizes)

    def get_expected_cell_size(self, input, batch_sizes):
        return self._torch_class.get_expected_cell_size(self, input, batch_sizes)

    def permute_hidden(self, hx, permutation):
        return self._torch_class.permute_hidden(self, hx, permutation)

    def _compute(self, implementation, steps, states, lengths):
        weights = self._weights()
        is_recorded = torch.is_grad_enabled()
        output, states, _ = torch.ops.rnnlab.recurrent(
            steps, states, weights, lengths, self.mode.lower(), implementation, self.num_layers, self.bidirectional,
            float(self.dropout), self.training,
            is_recorded and steps.requires_grad,
            is_recorded and any(state.requires_grad for state in states),
            is_recorded and any(weight.requires_grad for weight in weights),
            _autocast_type(steps), self._owner)
        return output, states

    def _weights(self) -> list:
        """The weights in the order that the operator expects: without biases, zeros take their places."""
        given = [getattr(self, name) for name in self._flat_weights_names]  # functional_call replaces only attributes
        if self.bias:
            return given
        weights = []
        for matrix, recurrent in zip(given[::2], given[1::2]):
            zeros = matrix.new_zeros(matrix.size(0))
            weights += [matrix, recurrent, zeros, zeros]
        return weights


def _rounded(count: int) -> int:
    """Returns the next power of two: work of nearly the same size is measured once."""
    return 1 << (count - 1).bit_length()


def _is_transformed() -> bool:
    """Whether torch.func transforms the call (grad, vmap ...): operators of torch.library cannot be transformed."""
    return not torch.compiler.is_compiling() and torch._C._functorch.peek_interpreter_stack() is not None


@torch.compiler.assume_constant_result  # torch.compile cannot trace the flag; what is compiled keeps its value
def _torch_runs_tf32() -> bool:
    return torch.backends.cudnn.rnn.fp32_precision == "tf32"


def _candidates_for(tensor) -> tuple[str, ...]:
    runs_tf32, number_type = _torch_runs_tf32(), _autocast_type(tensor) or tensor.dtype
    is_exact = tensor.device.type == "cuda" and number_type == torch.float32 and not runs_tf32
    return _CANDIDATES["cuda float32" if is_exact else tensor.device.type]


def _autocast_type(tensor):
    device = tensor.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None


class LSTM(Recurrent):
    """torch.nn.LSTM, computed by `implementation` (Recurrent)."""

    _torch_class = torch.nn.LSTM

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)


class GRU(Recurrent):
    """torch.nn.GRU, computed by `implementation` (Recurrent)."""

    _torch_class = torch.nn.GRU

    def __init__(self, *args, **kwargs):
        super().__init__("GRU", *args, **kwargs)


class RNN(Recurrent):
    """torch.nn.RNN, computed by `implementation` (Recurrent)."""

    _torch_class = torch.nn.RNN

    def __init__(self, *args, nonlinearity: str = "tanh", **kwargs):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        self.nonlinearity = nonlinearity
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
