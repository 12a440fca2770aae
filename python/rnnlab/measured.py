# SPDX-License-Identifier: Apache-2.0
"""What "auto" chose: seen, saved and fixed."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import threading
from typing import NamedTuple

import torch

from ._files import write_whole


class Work(NamedTuple):
    """Work that is measured once. Steps and sequences are rounded up to powers of two.

    cell: a name of torch.nn ("LSTM"), or the text of a cell (Cell.spec). gradients: of what a call needs them, "weights",
    "input" and "states"; none without autograd. number_type: that of the products.
    is_captured: a CUDA graph replays the pass, so that only the GPU's time counts.
    """

    cell: str
    input_size: int
    hidden_size: int
    num_layers: int
    bidirectional: bool
    bias: bool
    training: bool
    gradients: tuple[str, ...]
    is_packed: bool
    features: tuple[str, ...]
    device: torch.device
    dtype: torch.dtype
    number_type: torch.dtype
    candidates: tuple[str, ...]
    num_steps: int
    num_sequences: int
    is_captured: bool = False


_NUM_FIELDS_OF_KIND = Work._fields.index("num_steps")


@dataclasses.dataclass(frozen=True)
class Choice:
    """What "auto" chose for work, such as a layer of a size and a type.

    work: the cell, sizes, types, device, and the number of steps and sequences, rounded up to powers of two.
    implementation: what was chosen.
    seconds: of a pass by each candidate; inf if it cannot compute the work.
    is_fixed: whether fix_choice() decided, and not the seconds.
    """

    work: Work
    implementation: str
    seconds: dict[str, float]
    is_fixed: bool = False

    def __str__(self) -> str:
        times = ", ".join(f"{name} {1e3 * seconds:.3g} ms" for name, seconds in self.seconds.items())
        work = self.work
        what = f"{_name_of(work.cell)}, {work.num_layers} x {work.hidden_size} units, {work.num_steps} steps of {work.num_sequences}"
        place = f"{_text(work.number_type)} on {work.device}" + (" in a CUDA graph" if work.is_captured else "")
        return f"{self.implementation} for {what} sequences, {place} ({times})"


# What PyTorch takes around an operator in compiled code, a forward pass and a training step: less on a fast processor.
_SECONDS_OF_COMPILED_PASS, _SECONDS_OF_COMPILED_STEP = 30e-6, 300e-6

_known: dict[Work, Choice] = {}
_last: dict[tuple, Choice] = {}  # by the fields of Work before the size: what was used or decided last without a capture
_lock = threading.Lock()
num_changes = 0  # another number whenever a choice may be another one


def find(work: Work) -> str | None:
    """Returns what was chosen for the work, or None."""
    choice = _known.get(work)
    if choice is None:
        return None
    _remember(choice)
    return choice.implementation


def _remember(choice: Choice) -> None:
    if not choice.work.is_captured:
        _last[choice.work[:_NUM_FIELDS_OF_KIND]] = choice


def last_for_compiled(kind: tuple) -> str | None:
    """Returns what compiled code takes: by what was used or decided last for work of a kind, of any size; or None.

    torch.nn's code runs outside of the compiled graph as it does otherwise. Within it, an operator and its derivative take
    some time around them, which can be more than a small layer gains.
    """
    choice = _last.get(kind)
    if choice is None or choice.is_fixed:
        return choice and choice.implementation
    more = _SECONDS_OF_COMPILED_STEP if choice.work.gradients else _SECONDS_OF_COMPILED_PASS
    return min(choice.seconds, key=lambda name: choice.seconds[name] + more * (name != "torch"))


def add(choice: Choice) -> None:
    global num_changes
    with _lock:
        _known[choice.work] = choice
        _remember(choice)
        num_changes += 1


def choices() -> list[Choice]:
    """Returns every choice of "auto" in this process, oldest first."""
    with _lock:
        return list(_known.values())


def fix_choice(choice: Choice, implementation: str) -> None:
    """Lets "auto" take another implementation for this work. ValueError unless it is a candidate for the work."""
    *others, last = choice.work.candidates
    if implementation not in choice.work.candidates:
        raise ValueError(f"implementation is {implementation!r}, but the candidates are {', '.join(others)} and {last}")
    add(dataclasses.replace(choice, implementation=implementation, is_fixed=True))


def forget_choices() -> None:
    """Lets "auto" measure again, as after a measurement beside other programs."""
    global num_changes
    with _lock:
        _known.clear()
        _last.clear()
        num_changes += 1


def save_choices(path: str | os.PathLike) -> None:
    """Writes every choice to a JSON file, for load_choices in another process on a machine of the same kind.

    OSError if the file cannot be written.
    """
    found = [_to_json(choice) for choice in choices()]
    text = json.dumps({"machine": _machine(), "choices": found}, indent=1) + "\n"
    write_whole(pathlib.Path(path), lambda file: file.write(text.encode()))


def load_choices(path: str | os.PathLike) -> int:
    """Takes over the choices of a file, and returns their number.

    ValueError if it is no such file, or if it is of another machine or another version of torch, whose times differ;
    OSError if it cannot be read.
    """
    try:
        content = json.loads(pathlib.Path(path).read_text())
        machine, found = content["machine"], [_from_json(fields) for fields in content["choices"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{os.fspath(path)} has no choices that save_choices wrote: {error!r}") from None
    if machine != _machine():
        raise ValueError(f"{os.fspath(path)} has choices for {machine}, and this is {_machine()}; measure here instead")
    for choice in found:
        add(choice)
    return len(found)


def _machine() -> dict[str, object]:
    """What decides about times, besides the work."""
    machine: dict[str, object] = {"torch": torch.__version__, "threads": torch.get_num_threads(), "cpu": torch.backends.cpu.get_cpu_capability()}
    for number in range(torch.cuda.device_count()):
        machine[f"cuda:{number}"] = torch.cuda.get_device_name(number)
    return machine


def _name_of(cell: str) -> str:
    fields = json.loads(cell)["cell"] if cell.startswith("{") else cell
    return fields["name"] if isinstance(fields, dict) else fields


def _text(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _to_json(choice: Choice) -> dict:
    work = choice.work._asdict()
    work |= {"device": str(choice.work.device), "dtype": _text(choice.work.dtype), "number_type": _text(choice.work.number_type)}
    seconds = {name: value if value < float("inf") else None for name, value in choice.seconds.items()}
    return {"work": work, "implementation": choice.implementation, "seconds": seconds, "is_fixed": choice.is_fixed}


def _from_json(fields: dict) -> Choice:
    work = fields["work"]
    types = {name: getattr(torch, work[name]) for name in ("dtype", "number_type")}
    lists = {name: tuple(work[name]) for name in ("gradients", "features", "candidates")}
    seconds = {name: float("inf") if value is None else value for name, value in fields["seconds"].items()}
    read = Work(**{**work, "device": torch.device(work["device"]), **types, **lists})
    return Choice(read, fields["implementation"], seconds, fields["is_fixed"])
