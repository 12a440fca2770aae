# SPDX-License-Identifier: Apache-2.0
"""Lets rnnlab compute the recurrent layers of a model that was written with torch.nn."""

from __future__ import annotations

import dataclasses

import torch
from torch.nn.utils.parametrize import is_parametrized

from .layers import GRU, LSTM, RNN, TwinOfTorch
from .operators import check_implementation
from .single_steps import TwinOfCell

# Packages whose modules ask whether their layer is an instance of torch.nn's class, and compute it by other code if not.
_ASK_FOR_THE_CLASS = ("torchrl.",)
_TWINS = {torch.nn.LSTM: LSTM, torch.nn.GRU: GRU, torch.nn.RNN: RNN}


@dataclasses.dataclass
class Acceleration:
    """What accelerate() changed.

    changed: the names of the layers that rnnlab computes now, "" for the model itself.
    skipped: the names of recurrent layers that stay as they are, each with the reason.
    """

    changed: dict[str, TwinOfTorch]
    skipped: dict[str, str]

    def undo(self) -> None:
        """Gives every changed layer its class of torch.nn back; weights, hooks and references stay.

        A second call changes nothing.
        """
        for layer in self.changed.values():
            _restore(layer)

    def __str__(self) -> str:
        lines = [f"{name or 'the model'}: {layer}" for name, layer in self.changed.items()]
        lines += [f"{name or 'the model'} was skipped: {reason}" for name, reason in self.skipped.items()]
        return "\n".join(lines) or "the model has no LSTM, GRU or RNN"


def accelerate(model: torch.nn.Module, implementation: str = "auto") -> Acceleration:
    """Lets rnnlab compute every LSTM, GRU and RNN of `model`, in place.

    A layer changes only its class, so its weights, hooks, names, parametrizations and references stay, and so does an
    optimizer that holds its weights. A layer of rnnlab gets this implementation. Other layers that compute steps are
    skipped: those with proj_size, cells such as LSTMCell, because rnnlab has nothing faster for a single step,
    quantized and scripted layers, classes derived from these three, because they may override forward, and the layers in
    TorchRL's modules, which look for torch.nn's classes.
    TypeError if `model` is not a module, ValueError if there is no such implementation.
    """
    _check_module(model, "accelerate")
    check_implementation(implementation)
    done = Acceleration(changed={}, skipped={})
    for name, module in model.named_modules():
        if not _is_recurrent(module):
            continue
        reason = _reason_to_skip(module) or _reason_of_owner(model.get_submodule(name.rpartition(".")[0]))
        if reason:
            done.skipped[name] = reason
            continue
        if not isinstance(module, TwinOfTorch):
            _replace_class(module, _TWINS[_class_of(module)])
        module._set_implementation(implementation)
        done.changed[name] = module
    return done


def undo(model: torch.nn.Module) -> None:
    """Gives every layer and cell of rnnlab in `model` its class of torch.nn, in place, however it was made.

    Weights, hooks, parametrizations and references stay. TypeError if `model` is not a module.
    """
    _check_module(model, "undo")
    for module in model.modules():
        _restore(module)


def _check_module(model, caller: str) -> None:
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"{caller}: the model is a {type(model).__name__}, expected a torch.nn.Module")


def _class_of(module) -> type:
    """The module's class; parametrizations put a class of their own before it."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def _replace_class(module, new: type) -> None:
    """Gives the module another class. A class that parametrizations made is made again on top of the new one."""
    if not is_parametrized(module):
        module.__class__ = new
        return
    made = type(module)
    members = {name: value for name, value in vars(made).items() if name not in ("__dict__", "__weakref__")}
    module.__class__ = type(made.__name__, (new,), members)


def _restore(module) -> None:
    known = _class_of(module)
    if known not in _TWINS.values() and known not in TwinOfCell.__subclasses__():
        return
    del module.implementation, module.implementation_used
    module.__dict__.pop("_last", None)
    _replace_class(module, module._torch_class)


def _is_recurrent(module) -> bool:
    is_scripted = isinstance(module, torch.jit.ScriptModule) and module.original_name in ("LSTM", "GRU", "RNN")
    return is_scripted or isinstance(module, (torch.nn.RNNBase, torch.nn.RNNCellBase)) or _is_quantized(module)


def _is_quantized(module) -> bool:
    return type(module).__module__.startswith("torch.ao.nn.quantized") and "RNN" in [
        base.__name__.removesuffix("Base") for base in type(module).__mro__
    ]


def _reason_of_owner(owner) -> str:
    asking = next((base for base in type(owner).__mro__ if base.__module__.startswith(_ASK_FOR_THE_CLASS)), None)
    if asking is None:
        return ""
    return f"{asking.__module__}.{asking.__name__} computes it by other code if it is not of torch.nn's class"


def _reason_to_skip(module) -> str:
    if isinstance(module, torch.jit.ScriptModule):
        return "TorchScript has compiled it; accelerate the model before torch.jit.script or torch.jit.trace"
    if _is_quantized(module):
        return "it is quantized, and rnnlab's layers compute in floating point"
    if isinstance(module, torch.nn.RNNCellBase):
        name = _class_of(module).__name__
        is_known = name in ("LSTMCell", "GRUCell", "RNNCell")
        advice = f"; use {name.removesuffix('Cell')} for sequences" if is_known else ""
        return f"rnnlab has nothing faster for the single steps of {name}{advice}"
    known = _class_of(module)
    if known not in _TWINS and known not in _TWINS.values():
        base = next((f"torch.nn.{base.__name__}" for base in _TWINS if isinstance(module, base)), "torch.nn.RNNBase")
        return f"{known.__name__} is derived from {base} and may compute differently"
    return f"rnnlab has no layers with projections (proj_size={module.proj_size})" if module.proj_size else ""
