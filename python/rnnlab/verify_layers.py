# SPDX-License-Identifier: Apache-2.0
"""Compares a recurrent layer with the same layer in float64, step by step."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch.nn.utils.parametrize import is_parametrized

from .layers import TwinOfTorch
from .recurrent import Recurrent

# The largest error for which a layer passes, by the type of its weights; on a GPU, products may have TF32's 10 bits.
_TOLERANCES = {torch.float64: 1e-10, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}
_TF32_TOLERANCE = 1e-2


@dataclasses.dataclass(frozen=True)
class Verification:
    """What verify() found.

    errors: the largest error of each result and gradient, relative to its largest number, which counts as at least 1.
    tolerance: the largest error for which the layer passes.
    """

    errors: dict[str, float]
    tolerance: float

    @property
    def passed(self) -> bool:
        """Whether every error is a number of at most `tolerance`."""
        return all(error <= self.tolerance for error in self.errors.values())

    def __str__(self) -> str:
        width = max(map(len, self.errors))
        lines = [f"{name:{width}}  {error:.1e}{'' if error <= self.tolerance else '  too large'}"
                 for name, error in self.errors.items()]
        verdict = "passed" if self.passed else "failed"
        return "\n".join([*lines, f"{verdict}: errors of at most {self.tolerance:.0e} are allowed"])


def verify(layer: torch.nn.Module, input: torch.Tensor | None = None, *, tolerance: float | None = None) -> Verification:
    """Compares outputs, final states and all gradients of a layer with a computation in float64 on the CPU.

    layer: torch.nn.LSTM, GRU or RNN, or one of rnnlab's; its weights and gradients stay as they are.
    input: what the layer reads, as a tensor; None: normal numbers, 16 steps of 4 sequences, from a generator of its own.
    tolerance: the largest error for which it passes; None: usual for the type of its weights.
    The loss is the sum of all results times fixed numbers. The float64 side runs the cell's equations step by step, with
    PyTorch's own operators. TypeError for other modules; ValueError if dropout acts, because it draws other zeros there.
    """
    if not isinstance(layer, (torch.nn.RNNBase, Recurrent)):
        raise TypeError(f"verify: the layer is a {type(layer).__name__}, expected torch.nn.LSTM, GRU or RNN, or one of rnnlab's")
    if layer.training and layer.dropout > 0 and layer.num_layers > 1:
        raise ValueError("verify: dropout acts between the layers; call layer.eval() first")
    if is_parametrized(layer):
        raise TypeError("verify: the layer has parametrizations; torch.nn.utils.parametrize.remove_parametrizations makes them "
                        "weights")
    weight = next(layer.parameters())
    if input is None:
        shape = (4, 16, layer.input_size) if layer.batch_first else (16, 4, layer.input_size)
        input = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    input = input.detach().to(weight.device, weight.dtype)
    got = _results(layer, dict(layer.named_parameters()), input)
    weights = {name: parameter.detach().cpu().double() for name, parameter in layer.named_parameters()}
    wanted = _results(_reference_of(layer), weights, input.cpu().double())
    errors = {name: _error(got[name], wanted[name]) for name in got}
    return Verification(errors, _usual_tolerance(weight) if tolerance is None else tolerance)


def _usual_tolerance(weight) -> float:
    may_be_tf32 = weight.is_cuda and weight.dtype == torch.float32
    return _TF32_TOLERANCE if may_be_tf32 else _TOLERANCES[weight.dtype]


def _reference_of(layer) -> Recurrent:
    """Returns a layer of the same sizes whose cell runs step by step. Its own weights are not used."""
    sizes: dict[str, Any] = {name: getattr(layer, name) for name in ("num_layers", "bias", "batch_first", "bidirectional")}
    if isinstance(layer, Recurrent):
        return Recurrent(layer.cell, layer.input_size, layer.hidden_size, implementation="naive", device="meta",
                         **sizes, **layer.options)
    if layer.proj_size:
        raise TypeError(f"verify: rnnlab has no layers with projections (proj_size={layer.proj_size})")
    return Recurrent(layer.mode.lower(), layer.input_size, layer.hidden_size, implementation="naive", device="meta", **sizes)


def _results(layer, weights: dict, input) -> dict[str, torch.Tensor]:
    leaves = {name: weight.detach().requires_grad_() for name, weight in weights.items()}
    leaf = input.clone().requires_grad_()
    with torch.enable_grad():
        output, states = torch.func.functional_call(layer, leaves, (leaf,))
        results = [output, *([states] if isinstance(states, torch.Tensor) else states)]
        loss = sum((result * _factors(result)).sum() for result in results)
        gradients = torch.autograd.grad(loss, [leaf, *leaves.values()], allow_unused=True)
    names = ["output"] + [f"final state {number}" for number in range(len(results) - 1)]
    found = dict(zip(names, results))
    for name, argument, gradient in zip(["the input", *leaves], [leaf, *leaves.values()], gradients):
        found[f"gradient of {name}"] = torch.zeros_like(argument) if gradient is None else gradient
    return found


def _factors(result) -> torch.Tensor:
    """Fixed numbers between -1 and 1, different for neighbours."""
    return torch.linspace(0, 7919, result.numel(), dtype=torch.float64).sin().view(result.shape).to(result)


def _error(got, wanted) -> float:
    difference = (got.detach().cpu().double() - wanted).abs().max()
    return (difference / wanted.abs().max().clamp(min=1)).item()
