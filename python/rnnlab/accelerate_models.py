# SPDX-License-Identifier: Apache-2.0
"""Lets rnnlab compute the recurrent layers of a model that was written with torch.nn."""

from __future__ import annotations

import dataclasses

import torch

from .layers import GRU, LSTM, RNN, Recurrent
from .operators import check_implementation

_TWINS = {torch.nn.LSTM: LSTM, torch.nn.GRU: GRU, torch.nn.RNN: RNN}


@dataclasses.dataclass
class Acceleration:
    """What accelerate() changed.

    changed: the names of the layers that rnnlab computes now, "" for the model itself.
    skipped: the names of recurrent layers that stay as they are, each with the reason.
    """

    changed: dict[str, Recurrent]
    skipped: dict[str, str]

    def undo(self) -> None:
        """Gives every changed layer its class of torch.nn back; weights, hooks and references stay.

        A second call changes nothing.
        """
        for layer in self.changed.values():
            if not isinstance(layer, Recurrent):
                continue
            layer._unregister()
            layer.__class__ = layer._torch_class

    def __str__(self) -> str:
        lines = [f"{name or 'the model'}: {layer}" for name, layer in self.changed.items()]
        lines += [f"{name or 'the model'} was skipped: {reason}" for name, reason in self.skipped.items()]
        return "\n".join(lines) or "the model has no LSTM, GRU or RNN"


def accelerate(model: torch.nn.Module, implementation: str = "auto") -> Acceleration:
    """Lets rnnlab compute every LSTM, GRU and RNN of `model`, in place.

    A layer changes only its class, so its weights, hooks, names and references stay, and so does an optimizer that
    holds its weights. Layers with proj_size are skipped, and so are those of other classes derived from these three,
    because they may override forward. TypeError if `model` is not a module, ValueError if there is no such
    implementation.
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"accelerate: the model is a {type(model).__name__}, expected a torch.nn.Module")
    check_implementation(implementation)
    done = Acceleration(changed={}, skipped={})
    for name, module in model.named_modules():
        if not isinstance(module, tuple(_TWINS)):
            continue
        reason = _reason_to_skip(module)
        if reason:
            done.skipped[name] = reason
            continue
        module.__class__ = _TWINS[type(module)]
        module._register(implementation)
        done.changed[name] = module
    return done


def _reason_to_skip(module) -> str:
    if type(module) not in _TWINS:
        base = next(f"torch.nn.{base.__name__}" for base in _TWINS if isinstance(module, base))
        return f"{type(module).__name__} is derived from {base} and may compute differently"
    return f"rnnlab has no layers with projections (proj_size={module.proj_size})" if module.proj_size else ""
