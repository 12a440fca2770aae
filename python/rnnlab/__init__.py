# SPDX-License-Identifier: Apache-2.0
"""rnnlab in Python: recurrent layers for PyTorch as in torch.nn, computed by faster code, and the program's runs."""

import importlib

# Imported at their first use, so that the command `rnnlab` need not wait for torch.
_PLACES = {
    "Cell": "cells",
    "GRU": "layers",
    "LSTM": "layers",
    "MinGRU": "recurrent",
    "MinLSTM": "recurrent",
    "PeepholeLSTM": "recurrent",
    "RNN": "layers",
    "Recurrent": "recurrent",
    "SLSTM": "recurrent",
    "Acceleration": "accelerate_models",
    "accelerate": "accelerate_models",
    "Choice": "measured",
    "Comparison": "runs",
    "ProgramError": "runs",
    "RunResult": "runs",
    "TrainResult": "runs",
    "Verification": "verify_layers",
    "choices": "measured",
    "compare": "runs",
    "copy_experiments": "runs",
    "fix_choice": "measured",
    "forget_choices": "measured",
    "load_choices": "measured",
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
        raise ImportError("torch is missing; install it: pip install 'torch==2.11.*'") from None


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("rnnlab")
    except PackageNotFoundError:
        raise AttributeError("rnnlab has no __version__, because it runs from a build folder") from None


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
