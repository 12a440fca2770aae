# SPDX-License-Identifier: Apache-2.0
"""Loads the operators of librnnlab_torch_ops.so and tells PyTorch their shapes."""

from __future__ import annotations

import difflib
import pathlib

import torch

from ._command import check_version


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


def compute(cell: str, implementation: str, steps, states: list, weights: list, lengths, num_layers: int,
            bidirectional: bool, dropout: float, training: bool, number_type, result_type, inner_type):
    """Computes a layer, and returns its output (T, B, D * H) and final states.

    cell: the name of a cell, or what Cell.spec returns. weights: in the order of rnnlab's parameters, biases included.
    number_type: that of products under autocast, or None. result_type: of the output and the hidden state;
    inner_type: of the other states.
    """
    is_recorded = torch.is_grad_enabled()
    output, states, _ = torch.ops.rnnlab.recurrent(
        steps, states, weights, lengths, cell, implementation, num_layers, bidirectional, dropout, training,
        is_recorded and steps.requires_grad,
        is_recorded and any(state.requires_grad for state in states),
        is_recorded and any(weight.requires_grad for weight in weights),
        number_type, result_type, inner_type)
    return output, states


# PyTorch gives a type that came through C++ as its number, which saved programs hold, too.
_TYPES = {5: torch.float16, 6: torch.float32, 7: torch.float64, 15: torch.bfloat16}


@torch.library.register_fake("rnnlab::recurrent")
def _(input, states, weights, lengths, cell, implementation, num_layers, bidirectional, dropout, training,
      needs_input, needs_states, needs_weights, autocast, result_type, inner_type):
    # A single tensor on "meta" brings a call with real data here, which would return memory that nobody has written.
    for tensor in (*states, *weights):
        if tensor.device != input.device:
            raise RuntimeError(f"the input is on {input.device}, but a state or weight is on {tensor.device}")
    num_steps, batch_size, _ = input.shape
    hidden_size = states[0].shape[2]
    dtype, inner = (_TYPES.get(given, given) for given in (result_type, inner_type))
    output = input.new_empty((num_steps, batch_size, hidden_size * (1 + bidirectional)), dtype=dtype)
    types = [dtype] + [inner] * (len(states) - 1)
    final_states = [state.new_empty(state.shape, dtype=kind) for state, kind in zip(states, types)]
    return output, final_states, torch.empty((1,), dtype=torch.uint8, device="cpu")


@torch.library.register_fake("rnnlab::recurrent_backward")
def _(graph, upstream, input, states, weights, needs_input, needs_states, needs_weights):
    needed = ([input] if needs_input else []) + (states if needs_states else []) + (weights if needs_weights else [])
    return [torch.empty_like(tensor, memory_format=torch.contiguous_format) for tensor in needed]
