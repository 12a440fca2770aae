# SPDX-License-Identifier: Apache-2.0
"""rnnlab in Python: recurrent layers for PyTorch as in torch.nn, computed by faster code, and the program's runs."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what type checkers read in place of __getattr__
    from . import functional as functional
    from .accelerate_models import Acceleration as Acceleration
    from .accelerate_models import accelerate as accelerate
    from .accelerate_models import undo as undo
    from .cells import Cell as Cell
    from .layers import GRU as GRU
    from .layers import LSTM as LSTM
    from .layers import RNN as RNN
    from .measured import Choice as Choice
    from .measured import choices as choices
    from .measured import fix_choice as fix_choice
    from .measured import forget_choices as forget_choices
    from .measured import load_choices as load_choices
    from .measured import save_choices as save_choices
    from .recurrent import MinGRU as MinGRU
    from .recurrent import MinLSTM as MinLSTM
    from .recurrent import PeepholeLSTM as PeepholeLSTM
    from .recurrent import Recurrent as Recurrent
    from .recurrent import SLSTM as SLSTM
    from .runs import Comparison as Comparison
    from .runs import ProgramError as ProgramError
    from .runs import RunResult as RunResult
    from .runs import TrainedModel as TrainedModel
    from .runs import TrainResult as TrainResult
    from .runs import compare as compare
    from .runs import copy_experiments as copy_experiments
    from .runs import fit as fit
    from .runs import load_model as load_model
    from .runs import load_run as load_run
    from .runs import train as train
    from .single_steps import GRUCell as GRUCell
    from .single_steps import LSTMCell as LSTMCell
    from .single_steps import RNNCell as RNNCell
    from .streams import Stream as Stream
    from .verify_layers import Verification as Verification
    from .verify_layers import verify as verify

# Imported at their first use, so that the command `rnnlab` need not wait for torch.
_PLACES = {
    "Cell": "cells",
    "GRU": "layers",
    "GRUCell": "single_steps",
    "LSTM": "layers",
    "LSTMCell": "single_steps",
    "MinGRU": "recurrent",
    "MinLSTM": "recurrent",
    "PeepholeLSTM": "recurrent",
    "RNN": "layers",
    "RNNCell": "single_steps",
    "Recurrent": "recurrent",
    "SLSTM": "recurrent",
    "Acceleration": "accelerate_models",
    "accelerate": "accelerate_models",
    "Choice": "measured",
    "Comparison": "runs",
    "ProgramError": "runs",
    "RunResult": "runs",
    "Stream": "streams",
    "TrainResult": "runs",
    "TrainedModel": "runs",
    "Verification": "verify_layers",
    "choices": "measured",
    "compare": "runs",
    "copy_experiments": "runs",
    "fit": "runs",
    "fix_choice": "measured",
    "forget_choices": "measured",
    "load_choices": "measured",
    "load_model": "runs",
    "load_run": "runs",
    "save_choices": "measured",
    "train": "runs",
    "undo": "accelerate_models",
    "verify": "verify_layers",
}
_MODULES = ("functional",)  # of the package, as attributes
__all__ = sorted([*_PLACES, *_MODULES])


def __getattr__(name: str):
    if name == "__version__":
        return _version()
    if name not in __all__:
        raise AttributeError(f"module 'rnnlab' has no attribute {name!r}")
    try:
        module = importlib.import_module(f".{_PLACES.get(name, name)}", __name__)
        return module if name in _MODULES else getattr(module, name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        from ._command import how_to_get_torch

        raise ImportError(f"torch is missing; install it: {how_to_get_torch()}") from None


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("rnnlab")
    except PackageNotFoundError:
        raise AttributeError("rnnlab has no __version__, because it runs from a build folder") from None


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
