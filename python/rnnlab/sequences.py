# SPDX-License-Identifier: Apache-2.0
"""How a call's sequences are laid out: whole or packed, and how the operators take and return them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence


class Extras(NamedTuple):
    """What a call has beside input and states.

    starts: (T, B) bool, the steps before which the states are zero; None if there are none.
    all_states: whether the states after each step are results.
    """

    starts: torch.Tensor | None = None
    all_states: bool = False


def features_of(starts, all_states: bool) -> tuple[str, ...]:
    """Returns what a call needs of its layer, by the names that operators know."""
    return (("starts",) if starts is not None else ()) + (("all_states",) if all_states else ())


class Whole:
    """Sequences of one length: (T, B, I), (B, T, I) if batch_first, or (T, I) of one sequence."""

    lengths = None

    def __init__(self, input: torch.Tensor, batch_first: bool):
        self.is_batched = input.dim() == 3
        self.batch_first = batch_first
        self.batch = input if self.is_batched else input.unsqueeze(0 if batch_first else 1)
        self.steps = self.batch.transpose(0, 1) if batch_first else self.batch

    def given_states(self, states) -> list:
        """Returns states as the caller gave them, each (L * D, B, H) in the order of `steps`."""
        return list(states) if self.is_batched else [state.unsqueeze(1) for state in states]

    def marks(self, starts) -> torch.Tensor | None:
        """Returns the caller's starts, (T, B) in the order of `steps`; None if there are none."""
        if starts is None:
            return None
        shape = self.batch.shape[:2] if self.is_batched else self.steps.shape[:1]
        _check_starts(starts, shape, self.steps.device)
        if not self.is_batched:
            return starts.unsqueeze(1)
        return starts.t() if self.batch_first else starts

    def output(self, output):
        if not self.is_batched:
            return output.squeeze(1)
        return output.transpose(0, 1) if self.batch_first else output

    def final_states(self, states) -> tuple:
        return tuple(states) if self.is_batched else tuple(state.squeeze(1) for state in states)

    def states_of_steps(self, states) -> tuple:
        """Returns states (L * D, T, B, H) with the last three dimensions as those of the output."""
        if not self.is_batched:
            return tuple(state.squeeze(2) for state in states)
        return tuple(state.transpose(1, 2) if self.batch_first else state for state in states)


class Packed:
    """A PackedSequence. Its sequences are in another order inside if it has sorted_indices."""

    is_batched = True

    def __init__(self, input: PackedSequence, batch_first: bool):
        self.input, self.batch_first = input, batch_first
        self.steps, self.lengths = pad_packed_sequence(PackedSequence(input.data, input.batch_sizes))

    def given_states(self, states) -> list:
        order = self.input.sorted_indices
        return list(states) if order is None else [state.index_select(1, order) for state in states]

    def marks(self, starts) -> torch.Tensor | None:
        if starts is None:
            return None
        shape = self.steps.shape[:2]
        _check_starts(starts, shape[::-1] if self.batch_first else shape, self.steps.device)
        starts = starts.t() if self.batch_first else starts
        order = self.input.sorted_indices
        return starts if order is None else starts.index_select(1, order)

    def output(self, output) -> PackedSequence:
        data = pack_padded_sequence(output, self.lengths).data
        return PackedSequence(data, self.input.batch_sizes, self.input.sorted_indices, self.input.unsorted_indices)

    def final_states(self, states) -> tuple:
        order = self.input.unsorted_indices
        return tuple(states) if order is None else tuple(state.index_select(1, order) for state in states)

    def states_of_steps(self, states) -> tuple:
        """Returns states (L * D, T, B, H) as packed sequences of (L * D, H)."""
        return tuple(self.output(state.permute(1, 2, 0, 3)) for state in states)


def _check_starts(starts, shape, device) -> None:
    if not isinstance(starts, torch.Tensor):
        raise TypeError(f"starts is a {type(starts).__name__}, expected a tensor of torch.bool")
    if starts.dtype != torch.bool or starts.shape != shape:
        raise ValueError(f"starts is {starts.dtype} of shape {tuple(starts.shape)}, expected torch.bool of shape {tuple(shape)}")
    if starts.device != device:
        raise ValueError(f"starts is on {starts.device}, expected it on {device}, as the input")
