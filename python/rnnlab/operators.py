# SPDX-License-Identifier: Apache-2.0
"""Loads the operators of librnnlab_torch_ops.so and tells PyTorch their shapes."""

from __future__ import annotations

import difflib
import pathlib
from typing import NamedTuple

import torch
from torch.utils.checkpoint import checkpoint

from . import choice
from ._command import check_version
from .sequences import Extras


def _load() -> None:
    check_version(torch.__version__)
    torch.ops.load_library(pathlib.Path(__file__).parent / "lib" / "librnnlab_torch_ops.so")


_load()
LAYERS = tuple(name for name in torch.ops.rnnlab.implementations() if name != "auto")
IMPLEMENTATIONS = ("auto", "torch", *LAYERS)


def check_implementation(name: str, names: tuple[str, ...] = IMPLEMENTATIONS) -> None:
    """ValueError if no implementation of layers has this name."""
    if name in names:
        return
    near = difflib.get_close_matches(str(name), names, n=1)
    advice = f" (did you mean {near[0]!r}?)" if near else ""
    raise ValueError(f"implementation is {name!r}{advice}; use {', '.join(names[:-1])} or {names[-1]}")


class Work(NamedTuple):
    """What the operators compute, without tensors.

    cell: the name of a cell, or what Cell.spec returns. number_type: that of products under autocast, or None.
    result_type: of the output and the hidden state; inner_type: of the other states.
    """

    cell: str
    implementation: str
    num_layers: int
    bidirectional: bool
    dropout: float
    training: bool
    number_type: torch.dtype | None
    result_type: torch.dtype
    inner_type: torch.dtype


def zero_states(steps, num_rows: int, hidden_size: int, count: int) -> list:
    """Returns `count` states that are zero, as the operators take them: without elements, (num_rows, 0, hidden_size)."""
    return [steps.new_empty((num_rows, 0, hidden_size))] * count


def states_with_gradients(zeros: list, steps) -> list:
    """Returns the same states with elements, (num_rows, B, hidden_size), which may need gradients."""
    return [steps.new_zeros((zero.size(0), steps.size(1), zero.size(2)), requires_grad=True) for zero in zeros]


def compute(work: Work, steps, states: list, weights: list, lengths, extras: Extras):
    """Computes a layer, and returns its output (T, B, D * H), its final states, and the states after each step.

    states: as zero_states() returns them, or each (L * D, B, H). weights: in the order of rnnlab's parameters, biases
    included. The states after each step are (L * D, T, B, H); none if extras do not ask for them.
    """
    layer = (work.num_layers, work.bidirectional, work.dropout, work.training)
    types = (work.number_type, work.result_type, work.inner_type)
    if choice.needs_torch():  # PyTorch transforms its own operators
        output, others = torch.ops.rnnlab.recurrent_by_steps(
            steps, states, weights, lengths, extras.starts, work.cell, *layer, *types, extras.all_states)
    else:
        is_recorded = torch.is_grad_enabled()
        needs = (is_recorded and steps.requires_grad,
                 is_recorded and any(state.requires_grad for state in states),
                 is_recorded and any(weight.requires_grad for weight in weights))
        output, others, _ = torch.ops.rnnlab.recurrent(
            steps, states, weights, lengths, work.cell, work.implementation, *layer, *needs, *types, extras.starts,
            extras.all_states)
    return output, others[:len(states)], others[len(states):]


def compute_in_parts(size: int, work: Work, steps, states: list, weights: list, extras: Extras):
    """Does what compute() does for whole sequences and one direction, in parts of `size` steps.

    The backward pass computes each part again, so that only the states between the parts are kept.
    """
    outputs, parts = [], []
    for first in range(0, steps.size(0), size):
        marks = None if extras.starts is None else extras.starts[first:first + size]
        output, states, all = checkpoint(compute, work, steps[first:first + size], states, weights, None,
                                         Extras(marks, extras.all_states), use_reentrant=False)
        outputs.append(output)
        parts.append(all)
    return torch.cat(outputs), states, [torch.cat(all, dim=1) for all in zip(*parts)]


# PyTorch gives a type that came through C++ as its number, which saved programs hold, too.
_TYPES = {5: torch.float16, 6: torch.float32, 7: torch.float64, 15: torch.bfloat16}


@torch.library.register_fake("rnnlab::recurrent")
@torch.library.register_fake("rnnlab::recurrent_with_graph")
def _(input, states, weights, lengths, cell, implementation, num_layers, bidirectional, dropout, training,
      needs_input, needs_states, needs_weights, autocast, result_type, inner_type, starts=None, all_states=False):
    # A single tensor on "meta" brings a call with real data here, which would return memory that nobody has written.
    for tensor in (*states, *weights):
        if tensor.device != input.device:
            raise RuntimeError(f"the input is on {input.device}, but a state or weight is on {tensor.device}")
    num_steps, batch_size, _ = input.shape
    num_rows, _, hidden_size = states[0].shape
    dtype, inner = (_TYPES.get(given, given) for given in (result_type, inner_type))
    output = input.new_empty((num_steps, batch_size, hidden_size * (1 + bidirectional)), dtype=dtype)
    types = [dtype] + [inner] * (len(states) - 1)
    others = [input.new_empty((num_rows, batch_size, hidden_size), dtype=kind) for kind in types]
    if all_states:
        others += [input.new_empty((num_rows, num_steps, batch_size, hidden_size), dtype=kind) for kind in types]
    return output, others, torch.empty((1,), dtype=torch.uint8, device="cpu")


@torch.library.register_fake("rnnlab::recurrent_backward")
def _(graph, upstream, input, states, weights, needs_input, needs_states, needs_weights):
    needed = ([input] if needs_input else []) + (states if needs_states else []) + (weights if needs_weights else [])
    return [torch.empty_like(tensor, memory_format=torch.contiguous_format) for tensor in needed]
