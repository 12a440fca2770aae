# SPDX-License-Identifier: Apache-2.0
"""rnnlab's recurrent layers for PyTorch: LSTM, GRU and RNN as in torch.nn, computed by faster code."""

import importlib

# Imported at their first use, so that the command `rnnlab` need not wait for torch.
_PLACES = {
    "GRU": "layers",
    "LSTM": "layers",
    "RNN": "layers",
    "Acceleration": "accelerate_models",
    "accelerate": "accelerate_models",
}
__all__ = sorted(_PLACES)


def __getattr__(name: str):
    if name not in _PLACES:
        raise AttributeError(f"module 'rnnlab' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_PLACES[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
