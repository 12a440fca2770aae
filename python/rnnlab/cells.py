# SPDX-License-Identifier: Apache-2.0
"""Cells of equations, which rnnlab's layers compute and differentiate."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
from collections.abc import Callable, Sequence
from typing import Any

import torch

from . import operators, symbols  # operators also registers torch.ops.rnnlab

_SIZE_TO_ASK_WITH = 64


@dataclasses.dataclass(frozen=True, repr=False, init=False)
class Cell:
    """A recurrent cell: how one unit gets from its states and the sums of its gates to its next states.

    equations: lines such as "f = sigmoid(f)", or a Python function that computes them. In lines, a gate's name is its
    sum W x + b + R h + b, with the sides x.f and h.f, and assigning to a state's name gives its value after the step.
    gates: their names, in the order of the rows of weight_ih and weight_hh.
    states: their names; the first is the hidden state, which is also the output.
    vectors: names of learned numbers of each unit; "p.i" and "p.f" are two rows of one parameter p.
    biases: "two", one for each side of a gate as in torch.nn, or "one", of the input's side only.
    heads: whether Recurrent(heads=...) may divide the products of the hidden state into blocks.
    name: for people; None: the function's, or "own".

    A function takes the input, the states before the step, and after * the learned vectors, and returns the states
    after the step, in the same order. x.f and h.f are the sides of a gate f, for the first two arguments x and h, and
    h.f(a) is R a + b; p.i is a row of a vector p. Other names are numbers of one unit, with + - * /, comparisons for
    torch.where, and torch.sigmoid, tanh, relu, exp, log, abs, minimum, maximum, detach (a value without a gradient),
    and softplus and logsigmoid of torch.nn.functional. The function runs once, and `equations` is what it computed, as
    text. gates and vectors may be given to say the order of the rows; by default it is that in which the function reads
    them.

    docs/write-a-cell.md describes the language. ValueError with every mistake of the text, its line, column and a
    suggestion. TypeError, ValueError or AttributeError, with what to write, where a function does what equations cannot
    say.
    """

    equations: str
    gates: Sequence[str]
    states: Sequence[str]
    vectors: Sequence[str] = ()
    biases: str = "two"
    heads: bool = False
    name: str = "own"

    def __init__(self, equations: str | Callable[..., Any], *, gates: Sequence[str] | None = None,
                 states: Sequence[str] | None = None, vectors: Sequence[str] | None = None, biases: str = "two",
                 heads: bool = False, name: str | None = None):
        given: dict[str, Any] = {"biases": biases, "heads": heads, "name": "own" if name is None else name}
        if callable(equations):
            if states is not None:
                raise TypeError("states: leave them out, because they are the function's arguments after the input")
            found = symbols.traced(equations, gates, vectors)
            given |= dataclasses.asdict(found)
            given |= {"name": _name_of(equations)} if name is None else {}
        else:
            if gates is None or states is None:
                raise TypeError("equations as text need gates=[...] and states=[...], the names of both")
            given |= {"equations": equations, "gates": gates, "states": states, "vectors": vectors or ()}
        self._set(torch.ops.rnnlab.read_cell(_json({key: _plain(value) for key, value in given.items()})))

    @classmethod
    def from_file(cls, path: str | os.PathLike) -> Cell:
        """Reads a file of equations in YAML, as `model.cell` of an experiment file has it.

        ValueError with every mistake of the file, its line and column, or if there is no such file.
        """
        return cls._made_of(torch.ops.rnnlab.read_cell_file(os.fspath(path)))

    @classmethod
    def named(cls, name: str) -> Cell:
        """Returns a cell of rnnlab's own, such as "lstm", "gru" or "slstm", with its equations.

        ValueError, with the names that there are, if it is not one of them.
        """
        return cls._made_of(torch.ops.rnnlab.listed_cell(name))

    @classmethod
    def _made_of(cls, fields: str) -> Cell:
        cell = cls.__new__(cls)
        cell._set(fields)
        return cell

    def _set(self, fields: str) -> None:
        values = {key: tuple(value) if isinstance(value, list) else value for key, value in json.loads(fields).items()}
        # Mistakes were reported with the lines and columns of the given text, so its indentation can go now.
        values["equations"] = inspect.cleandoc(str(values["equations"])) + "\n"
        for key, value in values.items():
            object.__setattr__(self, key, value)

    def layers(self, device: str = "cpu") -> list[str]:
        """Returns the implementations that can compute the cell on "cpu" or "cuda"."""
        return [name for name, reason in self._reasons(device).items() if not reason]

    def why_not(self, implementation: str, device: str = "cpu") -> str | None:
        """Returns why the implementation cannot compute the cell there; None if it can.

        ValueError if there is no such implementation.
        """
        operators.check_implementation(implementation, operators.LAYERS)
        return self._reasons(device)[implementation] or None

    def _reasons(self, device: str) -> dict[str, str]:
        size = _SIZE_TO_ASK_WITH
        return json.loads(torch.ops.rnnlab.layers_for(self.spec(), size, size, 1, False, torch.device(device).type, []))

    def spec(self, **options) -> str:
        """Returns the text by which operators take the cell, with values of its options, such as reset_gate."""
        fields = {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}
        return _json({"cell": fields, **options})

    def __repr__(self) -> str:
        lines = "".join(f"    {line}\n" for line in self.equations.splitlines())
        parts = [f'"""\n{lines}    """', f"gates={list(self.gates)}", f"states={list(self.states)}"]
        if self.vectors:
            parts.append(f"vectors={list(self.vectors)}")
        parts += [f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self)
                  if field.name in ("biases", "heads", "name") and getattr(self, field.name) != field.default]
        return f"Cell({', '.join(parts)})"


def _name_of(function: Callable) -> str:
    name = getattr(function, "__name__", "own")
    return "own" if name == "<lambda>" else name


def _plain(value):
    return list(value) if isinstance(value, (tuple, list)) else value


def _json(value) -> str:
    """JSON is YAML, too, apart from surrogate pairs, which ensure_ascii would write."""
    return json.dumps(value, ensure_ascii=False)


def cell_of(cell: Cell | str | os.PathLike) -> Cell:
    """Returns the cell itself, or the one of a name or of a file, as `model.cell` of an experiment file names it."""
    if isinstance(cell, Cell):
        return cell
    if not isinstance(cell, (str, os.PathLike)):
        advice = "; make a cell of a function by rnnlab.Cell(function)" if callable(cell) else ""
        raise TypeError(f"the cell is {type(cell).__name__}, expected a rnnlab.Cell, the name of a cell or a file"
                        f"{advice}")
    is_file = os.fspath(cell).endswith((".yaml", ".yml"))
    return Cell.from_file(cell) if is_file else Cell.named(os.fspath(cell))
