# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers as functions: the weights are arguments, as in torch.nn.functional."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence

import torch
from torch.nn.utils.rnn import PackedSequence

from .cells import Cell, cell_of
from .recurrent import Recurrent

Weights = Mapping[str, torch.Tensor] | Sequence[torch.Tensor]


def recurrent(cell: Cell | str | os.PathLike, input: torch.Tensor | PackedSequence, initial_states, weights: Weights, *,
              training: bool = False, starts: torch.Tensor | None = None, all_states: bool = False, **options):
    """Computes sequences with a cell, and returns what rnnlab.Recurrent returns.

    input, initial_states, starts, all_states: those of Recurrent's forward.
    weights: the parameters of such a Recurrent by their names ("weight_ih_l0" ...), or in their order, which is that of
    torch.nn; without those named bias_*, the sums have no biases. They also say the number of units.
    training: whether dropout acts between the layers.
    options: other arguments of Recurrent, such as num_layers, bidirectional, batch_first, dropout, implementation, heads.
    ValueError if weights are missing, too many, or of a wrong shape.
    """
    if wrong := {"bias", "device", "dtype"} & options.keys():
        raise TypeError(f"the weights and the input say {' and '.join(sorted(wrong))}; leave the argument out")
    cell = cell_of(cell)
    smallest = _layer(cell, 1, options.get("heads") or 1, **options)
    given = dict(weights) if isinstance(weights, Mapping) else _named(weights, smallest)
    if "weight_ih_l0" not in given:
        raise ValueError("weight_ih_l0 is missing from the weights")
    rows_of_smallest = smallest.get_parameter("weight_ih_l0").size(0)
    num_units = given["weight_ih_l0"].size(0) * smallest.hidden_size // rows_of_smallest
    data = input.data if isinstance(input, PackedSequence) else input
    has_biases = any(name.startswith("bias_") for name in given)
    layer = _with_weights(_layer(cell, data.size(-1), num_units, bias=has_biases, **options), given)
    layer.training = training
    return layer(input, initial_states, starts=starts, all_states=all_states)


def lstm(input, hx, weights: Weights, **options):
    """Computes an LSTM as recurrent("lstm", ...), and returns the output and (h_n, c_n).

    input: (T, B, inputs), (B, T, inputs) with batch_first=True, (T, inputs), or a PackedSequence.
    hx: (h_0, c_0), each (num_layers * directions, B, units), or None.
    weights, options: as for recurrent.
    """
    return recurrent("lstm", input, hx, weights, **options)


def gru(input, hx, weights: Weights, **options):
    """Computes a GRU as recurrent("gru", ...), and returns the output and (h_n,).

    input: (T, B, inputs), (B, T, inputs) with batch_first=True, (T, inputs), or a PackedSequence.
    hx: h_0, (num_layers * directions, B, units), or None.
    weights, options: as for recurrent.
    """
    return recurrent("gru", input, hx, weights, **options)


@functools.lru_cache(maxsize=256)
def _layer(cell: Cell, input_size: int, hidden_size: int, **options) -> Recurrent:
    return Recurrent(cell, input_size, hidden_size, device="meta", **options)


def _named(weights: Sequence[torch.Tensor], layer: Recurrent) -> dict[str, torch.Tensor]:
    names = [name for name, _ in layer.named_parameters()]
    without_biases = [name for name in names if not name.startswith("bias_")]
    for known in (names, without_biases):
        if len(weights) == len(known):
            return dict(zip(known, weights))
    raise ValueError(f"{len(weights)} weights were given, expected {len(names)}: {', '.join(names)}; or only the "
                     f"{len(without_biases)} that are no biases")


def _with_weights(layer: Recurrent, weights: dict[str, torch.Tensor]) -> Recurrent:
    """Returns a layer with these tensors for its parameters, for one call; others may use `layer` meanwhile."""
    wanted = dict(layer.named_parameters())
    if wrong := sorted(wanted.keys() ^ weights.keys()):
        raise ValueError(f"the weights should be {', '.join(wanted)}; missing or too many: {', '.join(wrong)}")
    for name, parameter in wanted.items():
        if weights[name].shape != parameter.shape:
            raise ValueError(f"{name} is {tuple(weights[name].shape)}, expected {tuple(parameter.shape)}")
    own = object.__new__(Recurrent)
    own.__dict__.update(layer.__dict__)
    own.__dict__["_parameters"] = dict(weights)
    return own
