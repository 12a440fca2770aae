# SPDX-License-Identifier: Apache-2.0
"""Loads the operators of librnnlab_operators.so and tells PyTorch their shapes and their derivative."""

from __future__ import annotations

import pathlib

import torch

from ._command import REQUIRED_TORCH


def _load() -> None:
    if torch.__version__.split(".")[:2] != REQUIRED_TORCH.split("."):
        raise ImportError(
            f"rnnlab was built for torch {REQUIRED_TORCH}, and torch {torch.__version__} is installed; "
            f"install torch {REQUIRED_TORCH}: pip install 'torch=={REQUIRED_TORCH}.*'"
        )
    torch.ops.load_library(pathlib.Path(__file__).parent / "lib" / "librnnlab_operators.so")


_load()


@torch.library.register_fake("rnnlab::recurrent")
def _(input, states, weights, lengths, cell, implementation, num_layers, bidirectional, dropout, training,
      needs_input, needs_states, needs_weights, autocast, owner):
    num_steps, batch_size, _ = input.shape
    hidden_size = states[0].shape[2]
    dtype = autocast or input.dtype
    output = input.new_empty((num_steps, batch_size, hidden_size * (1 + bidirectional)), dtype=dtype)
    final_states = [state.new_empty(state.shape, dtype=dtype) for state in states]
    return output, final_states, torch.empty((1,), dtype=torch.uint8, device="cpu")


@torch.library.register_fake("rnnlab::recurrent_backward")
def _(graph, upstream, input, states, weights, needs_input, needs_states, needs_weights):
    needed = ([input] if needs_input else []) + (states if needs_states else []) + (weights if needs_weights else [])
    return [torch.empty_like(tensor, memory_format=torch.contiguous_format) for tensor in needed]


def _save_for_backward(ctx, inputs, output):
    (input, states, weights, *_, needs_input, needs_states, needs_weights, _autocast, _owner) = inputs
    ctx.num_states = len(states)
    ctx.needs = (needs_input, needs_states, needs_weights)
    ctx.save_for_backward(output[2], input, *states, *weights)
    ctx.set_materialize_grads(False)


def _backward(context, output_gradient, state_gradients, _):
    graph, input, *others = context.saved_tensors
    states, weights = others[: context.num_states], others[context.num_states :]
    upstream = [output_gradient, *(state_gradients or [None] * len(states))]
    found = iter(torch.ops.rnnlab.recurrent_backward(graph, upstream, input, states, weights, *context.needs))
    needs_input, needs_states, needs_weights = context.needs
    return (
        next(found) if needs_input else None,
        [next(found) if needs_states else None for _ in states],
        [next(found) if needs_weights else None for _ in weights],
        *[None] * 12,
    )


torch.library.register_autograd("rnnlab::recurrent", _backward, setup_context=_save_for_backward)
