# SPDX-License-Identifier: Apache-2.0
"""Runs a Python function on symbols, and writes what it computes as the equations of a cell."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import math
import numbers
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from types import CodeType, FrameType
from typing import Any

import torch
from torch.nn import functional

# The functions of the language, each by PyTorch's name for it, and how many arguments it takes.
_FUNCTIONS: dict[Any, tuple[str, int]] = {
    torch.sigmoid: ("sigmoid", 1), torch.tanh: ("tanh", 1), torch.relu: ("relu", 1), functional.relu: ("relu", 1),
    torch.exp: ("exp", 1), torch.log: ("log", 1), functional.softplus: ("softplus", 1),
    functional.logsigmoid: ("log_sigmoid", 1), torch.abs: ("abs", 1), torch.detach: ("constant", 1),
    torch.minimum: ("min", 2), torch.min: ("min", 2), torch.maximum: ("max", 2), torch.max: ("max", 2),
    torch.where: ("where", 3),
}
_NAMES_OF_FUNCTIONS = ("torch.sigmoid, tanh, relu, exp, log, abs, minimum, maximum, where, detach, and softplus and "
                       "logsigmoid of torch.nn.functional")
_TAKEN = frozenset(name for name, _ in _FUNCTIONS.values()) | {"x", "inf"}
_SUM, _PRODUCT, _SIGN, _ATOM = range(4)  # what binds less comes first
_LEVELS = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "negate": _SIGN}
_MOST_DEPTH = 24  # of an expression in one line; the language has a limit of 64
_MOST_OF_NAME = 64


@dataclasses.dataclass(frozen=True)
class Traced:
    """The fields of a cell that a function computes."""

    equations: str
    gates: list[str]
    states: list[str]
    vectors: list[str]


class Trace:
    """One run of a function: the names that it reads, in the order in which it does, and its local variables."""

    def __init__(self, code: CodeType | None):
        self.code = code
        self.gates: list[str] = []
        self.rows: dict[str, list[str]] = {}  # by vector
        self.num_symbols = 0
        self._frame: FrameType | None = None

    def number(self) -> int:
        """Returns the number of a new symbol. Its first call also finds the frame, whose variables outlive the call."""
        if self._frame is None and self.code is not None:
            frame: FrameType | None = sys._getframe(1)
            while frame is not None and frame.f_code is not self.code:
                frame = frame.f_back
            self._frame = frame
        self.num_symbols += 1
        return self.num_symbols

    def take_variables(self) -> dict[str, Any]:
        """Returns the function's variables as they were at its end, once: nothing holds the frame afterwards."""
        variables = {} if self._frame is None else dict(self._frame.f_locals)
        self._frame, self.code = None, None
        return variables

    def gate(self, name: str) -> str:
        if name not in self.gates:
            self.gates.append(name)
        return name


class _Operators:
    """What Python and PyTorch do with a symbol: arithmetic makes another symbol, and everything else is refused."""

    trace: Trace

    def __add__(self, other):
        return _sum(self, other)

    def __radd__(self, other):
        return _sum(other, self)

    def __sub__(self, other):
        return _made("-", self, other)

    def __rsub__(self, other):
        return _made("-", other, self)

    def __mul__(self, other):
        return _made("*", self, other)

    def __rmul__(self, other):
        return _made("*", other, self)

    def __truediv__(self, other):
        return _made("/", self, other)

    def __rtruediv__(self, other):
        return _made("/", other, self)

    def __neg__(self):
        return _made("negate", self)

    def __pos__(self):
        return self

    def __abs__(self):
        return _made("abs", self)

    def __lt__(self, other):
        return _condition("<", self, other)

    def __le__(self, other):
        return _condition("<=", self, other)

    def __gt__(self, other):
        return _condition(">", self, other)

    def __ge__(self, other):
        return _condition(">=", self, other)

    def __eq__(self, other) -> Any:
        return _condition("==", self, other)

    def __ne__(self, other) -> Any:
        return _condition("!=", self, other)

    __hash__ = object.__hash__

    def __bool__(self):
        raise TypeError("a symbol is neither true nor false, because it stands for the numbers of every step: write "
                        "torch.where(a < b, p, q) in place of if, and torch.minimum or maximum in place of min or max")

    def __float__(self):
        raise TypeError(f"a symbol is not a number yet: use {_NAMES_OF_FUNCTIONS}")

    __int__ = __index__ = __complex__ = __float__

    def __pow__(self, _):
        raise TypeError("equations have no powers: write a product, or torch.exp(p * torch.log(a))")

    __rpow__ = __pow__

    def __matmul__(self, _):
        raise TypeError("equations have no products of matrices: x.NAME is W x + b of the gate NAME, "
                        "h.NAME is R h + b, and h.NAME(a) is R a + b")

    __rmatmul__ = __matmul__

    def __iter__(self):
        raise TypeError("a symbol is the number of one unit and has no parts: give each state an argument of its own, "
                        "as in def cell(x, h, c)")

    def __len__(self):
        return self.__iter__()

    def __getitem__(self, _):
        return self.__iter__()

    def __setattr__(self, name, value):
        if name not in ("trace", "_number", "_kind", "_operands", "_text"):
            raise AttributeError(f"{name} cannot be set: give the value a name of its own, {name} = ...")
        super().__setattr__(name, value)

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), named=None):
        named = {name: value for name, value in (named or {}).items() if name != "inplace"}
        known, count = _FUNCTIONS.get(function, ("", 0))
        if not known:
            raise TypeError(f"{_name_of(function)} cannot be traced: equations have the operators + - * / and "
                            f"{_NAMES_OF_FUNCTIONS}; a tensor cannot be part of one, but .item() of it can")
        if named or len(arguments) != count:
            plural = "s" * (count > 1)
            raise TypeError(f"{_name_of(function)} takes {count} argument{plural} in equations, without names")
        return _made(known, *arguments)

    def __array_ufunc__(self, function, method, *arguments, **named):
        operators = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
        if method == "__call__" and function.__name__ in operators and not named:  # a number of NumPy stands first
            return _made(operators[function.__name__], *arguments)
        raise TypeError(f"numpy.{function.__name__} cannot be traced: use {_NAMES_OF_FUNCTIONS}")


class Input(_Operators):
    """The input of a step, which equations read as the gates' products with it: x.f is W x + b of the gate f."""

    def __init__(self, trace: Trace):
        self.trace = trace

    def __getattr__(self, name) -> Any:
        _check_gate(name, "x")
        return Symbol(self.trace, "input side", text=self.trace.gate(name))


class Symbol(_Operators):
    """A number of one unit: a state, a gate's side, a learned number, or what was computed of them."""

    def __init__(self, trace: Trace, kind: str, operands: tuple[Symbol, ...] = (), text: str = ""):
        self.trace, self._kind, self._operands, self._text = trace, kind, operands, text
        self._number = trace.number()

    def __getattr__(self, name) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if _call_of(name):
            raise AttributeError(f"a symbol has no {name}: functions are called as {_call_of(name)}")
        raise AttributeError(f"a symbol has no {name}: only the function's first two arguments, the input and the hidden "
                             f"state before the step, have gates, as in x.{name} + h.{name}, and vectors have rows")

    def __call__(self, *arguments) -> Any:
        raise TypeError("this symbol is not a function: only h.NAME, of a gate NAME and the hidden state h, takes an "
                        "argument, h.NAME(a)")


class Hidden(Symbol):
    """The hidden state, which also has the gates' products with it: h.f is R h + b of the gate f."""

    def __getattr__(self, name) -> Any:
        _check_gate(name, "h")
        return HiddenSide(self.trace, "hidden side", (self,), self.trace.gate(name))


class HiddenSide(Symbol):
    """R h + b of a gate; called with another symbol, R a + b."""

    def __call__(self, *arguments) -> Any:
        if len(arguments) != 1 or not isinstance(arguments[0], Symbol):
            raise TypeError(f"h.{self._text}(a) is the product of the gate {self._text} with one symbol a; functions "
                            f"are called as torch.{self._text}(a), for example torch.tanh(h)")
        value = _value_of(self.trace, arguments[0])
        return self if isinstance(value, Hidden) else Symbol(self.trace, "product", (value,), self._text)


class Vector(Symbol):
    """Learned numbers, one for each unit; its attributes are rows of one parameter."""

    def __getattr__(self, name) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        rows = self.trace.rows.setdefault(self._text, [])
        if name not in rows:
            rows.append(name)
        return Symbol(self.trace, "row", text=f"{self._text}.{name}")


class Condition(_Operators):
    """A comparison, which only torch.where reads."""

    def __init__(self, trace: Trace, sign: str, left: Symbol, right: Symbol):
        self.trace, self._text, self._operands = trace, sign, (left, right)

    def __and__(self, _):
        raise TypeError("equations have no and, or and not: write one torch.where as an argument of another")

    __or__ = __rand__ = __ror__ = __and__

    def __invert__(self):
        return self & self


def _check_gate(name: str, owner: str) -> None:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _TAKEN or name == "detach":
        advice = f"; functions are called as {_call_of(name)}" if _call_of(name) else ""
        raise AttributeError(f"{owner}.{name}: a gate cannot be called {name}{advice}")


def _call_of(name: str) -> str:
    """Returns how a function of the equations or of torch is called, "torch.tanh(x.n + h.n)"; "" for other names."""
    known = (function for function, (text, _) in _FUNCTIONS.items() if name in (text, function.__name__))
    function = next(known, None)
    return "" if function is None else f"{_name_of(function)}(x.n + h.n)"


def _name_of(function) -> str:
    known = torch.overrides.resolve_name(function)
    return known or getattr(function, "__name__", str(function))


def _value_of(trace: Trace, value) -> Symbol:
    """Returns the value itself, or a symbol for a number."""
    if isinstance(value, Symbol):
        if value.trace is not trace:
            raise ValueError("the symbol is of another call: compute it in this function")
        return value
    if isinstance(value, Input):
        raise TypeError("the input is not a value of its own: x.NAME is the product W x + b of a gate NAME")
    if isinstance(value, Condition):
        raise TypeError("a comparison is not a number: it can only be the first argument of torch.where")
    if isinstance(value, torch.Tensor):
        raise TypeError("a tensor cannot be part of equations: use .item() of a number, and an argument after * in the "
                        "function's list for numbers that each unit learns")
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"equations have symbols and numbers, got {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError("the number is too large for equations, whose numbers are of float64") from None
    if math.isnan(number):
        raise ValueError("nan cannot be part of equations")
    return Symbol(trace, "number", text=_written(number))


def _written(number: float) -> str:
    is_short_integer = number.is_integer() and abs(number) < 1e15
    return str(int(number)) if is_short_integer else repr(number)


def _made(kind: str, *operands) -> Symbol:
    trace = next(operand.trace for operand in operands if isinstance(operand, _Operators))
    if kind == "where":
        condition, *others = operands
        if not isinstance(condition, Condition):
            raise TypeError("torch.where takes a comparison first, such as torch.where(a < b, p, q)")
        values = [_value_of(trace, operand) for operand in others]
        return Symbol(trace, kind, (*condition._operands, *values), condition._text)
    return Symbol(trace, kind, tuple(_value_of(trace, operand) for operand in operands))


def _condition(sign: str, left, right) -> Condition:
    trace = left.trace
    return Condition(trace, sign, _value_of(trace, left), _value_of(trace, right))


def _sum(left, right) -> Symbol:
    """x.f + h.f is the gate f."""
    found = _made("+", left, right)
    sides = {operand._kind: operand for operand in found._operands}
    if sides.keys() != {"input side", "hidden side"} or len({side._text for side in sides.values()}) > 1:
        return found
    hidden = sides["hidden side"]
    return Symbol(found.trace, "gate", hidden._operands, hidden._text)


def traced(function: Callable, gates: Sequence[str] | None, vectors: Sequence[str] | None) -> Traced:
    """Returns the cell that the function computes.

    gates, vectors: the order of the rows; None: that in which the function reads them.
    TypeError, ValueError or AttributeError, with what to write, if the function does what equations cannot say.
    """
    states, names = _arguments_of(function)
    trace = Trace(getattr(inspect.unwrap(function), "__code__", None))
    symbols = [(Hidden if name == states[0] else Symbol)(trace, "state", text=name) for name in states]
    learned = {name: Vector(trace, "vector", text=name) for name in names}
    results = _results_in(trace, states, function(Input(trace), *symbols, **learned))
    needed = _needed_for(results)
    _check_gates(trace, needed, gates)
    gates = trace.gates if gates is None else gates
    vectors = list(_vectors_of(trace, names, needed)) if vectors is None else vectors
    return Traced(_equations(trace, states, names, needed, results), list(gates), states, list(vectors))


def _arguments_of(function: Callable) -> tuple[list[str], list[str]]:
    """Returns the names of the states and of the vectors."""
    positional: list[str] = []
    learned: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        is_open = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if is_open or parameter.default is not parameter.empty:
            raise TypeError(f"the function's argument {parameter.name} has no fixed meaning: a cell is "
                            "def cell(x, h, ...), the input and a name for each state, and after * a name for each "
                            "learned vector")
        (learned if parameter.kind == parameter.KEYWORD_ONLY else positional).append(parameter.name)
    if len(positional) < 2:
        raise TypeError(f"the function's arguments are ({', '.join(positional)}), expected the input and each state, "
                        "as in def cell(x, h)")
    return positional[1:], learned


def _results_in(trace: Trace, states: list[str], returned) -> list[Symbol]:
    given = list(returned) if isinstance(returned, (tuple, list)) else [returned]
    expected = f"return {', '.join(f'the new {name}' for name in states)}, in the order of the arguments"
    if returned is None:
        raise TypeError(f"the function returns nothing: {expected}")
    if len(given) != len(states):
        raise ValueError(f"the function returns {len(given)} value{'s' * (len(given) != 1)} for {len(states)} state"
                         f"{'s' * (len(states) != 1)}: {expected}")
    return [_value_of(trace, value) for value in given]


def _needed_for(results: Iterable[Symbol]) -> list[Symbol]:
    """Returns the symbols of which the results are computed, in the order in which they were made."""
    found: dict[int, Symbol] = {}
    waiting = list(results)
    while waiting:
        symbol = waiting.pop()
        if symbol._number not in found:
            found[symbol._number] = symbol
            waiting.extend(symbol._operands)
    return [found[number] for number in sorted(found)]


def _check_gates(trace: Trace, needed: list[Symbol], gates: Sequence[str] | None) -> None:
    used = {symbol._text for symbol in needed if symbol._kind in ("input side", "hidden side", "gate", "product")}
    for name in trace.gates:
        if name not in used:
            raise ValueError(f"the gate {name} is read, but no returned state depends on it: use it, or remove it")
        if gates is not None and name not in gates:
            near = difflib.get_close_matches(name, gates, n=1)
            advice = f" (did you mean {near[0]}?)" if near else ""
            raise ValueError(f"the function reads the gate {name}, and gates are {', '.join(gates)}{advice}")


def _vectors_of(trace: Trace, names: list[str], needed: list[Symbol]) -> Iterable[str]:
    whole = {symbol._text for symbol in needed if symbol._kind == "vector"}
    for name in names:
        rows = trace.rows.get(name, [])
        if rows and name in whole:
            raise ValueError(f"the vector {name} is read as a whole and by the row {name}.{rows[0]}: read one or the "
                             "other")
        yield from [f"{name}.{row}" for row in rows] or [name]


class _Writer:
    """Writes symbols as text. Some have an equation of their own, and a name in every other."""

    def __init__(self) -> None:
        self.equations: dict[int, str] = {}  # the names of what has been written, by the symbol's number

    def expression(self, symbol: Symbol) -> str:
        return self._text(symbol)[0]

    def operand(self, symbol: Symbol, least_level: int) -> str:
        if symbol._number in self.equations:
            return self.equations[symbol._number]
        text, level = self._text(symbol)
        return text if level >= least_level else f"({text})"

    def _text(self, symbol: Symbol) -> tuple[str, int]:
        kind, operands, text = symbol._kind, symbol._operands, symbol._text
        if kind in ("state", "vector", "row"):
            return text, _ATOM
        if kind == "number":
            return text, _SIGN if text.startswith("-") else _ATOM
        if kind in ("input side", "hidden side"):
            return f"{kind[0].replace('i', 'x')}.{text}", _ATOM
        if kind == "gate":
            return (text, _ATOM) if text not in self.equations.values() else (f"x.{text} + h.{text}", _SUM)
        if kind == "product":
            return f"h.{text}({self.operand(operands[0], _SUM)})", _ATOM
        if kind == "negate":
            return f"-{self.operand(operands[0], _SIGN)}", _SIGN
        if kind in _LEVELS:
            level = _LEVELS[kind]
            return f"{self.operand(operands[0], level)} {kind} {self.operand(operands[1], level + 1)}", level
        arguments = [self.operand(operand, _SUM) for operand in operands]
        if kind == "where":
            arguments[:2] = [f"{arguments[0]} {text} {arguments[1]}"]
        return f"{kind}({', '.join(arguments)})", _ATOM


def _equations(trace: Trace, states: list[str], vectors: list[str], needed: list[Symbol], results: list[Symbol]) -> str:
    """Returns the text. A local variable of the function is an equation, and a state's last one assigns the state."""
    names = _local_names(trace, vectors)
    roots = _roots(needed, results, names)
    reads = {number: _states_read(root, roots) for number, root in roots.items()}
    at_once = _assigned_at_once(states, results, roots, reads)
    chosen = _chosen_names(trace, roots, at_once, names, {*states, *vectors, *_TAKEN, "h"})
    writer, lines = _Writer(), []
    for number, root in roots.items():
        lines.append(f"{chosen[number]} = {writer.expression(root)}")
        writer.equations[number] = chosen[number]
    waiting = {state: result for state, result in zip(states, results) if at_once.get(result._number) != state}
    saved, last = _last_assignments(waiting, writer, {*chosen.values(), *states, *vectors, *trace.gates, *_TAKEN, "h"})
    return "\n".join([*saved, *lines, *last]) + "\n"


def _is_leaf(symbol: Symbol) -> bool:
    return symbol._kind in ("state", "vector", "row", "number", "input side", "hidden side", "gate")


def _local_names(trace: Trace, vectors: list[str]) -> dict[int, str]:
    """Returns the first variable of the function that has each symbol, if equations may have its name."""
    names: dict[int, str] = {}
    for name, value in trace.take_variables().items():
        can_be_one = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and len(name) <= _MOST_OF_NAME
        if isinstance(value, Symbol) and can_be_one and name not in _TAKEN and name not in vectors:
            names.setdefault(value._number, name)
    return names


def _roots(needed: list[Symbol], results: list[Symbol], names: dict[int, str]) -> dict[int, Symbol]:
    """Returns the symbols with equations of their own: of variables, of results, read twice, or of long expressions."""
    uses: dict[int, int] = {}
    for symbol in needed:
        for operand in symbol._operands:
            uses[operand._number] = uses.get(operand._number, 0) + 1
    ends = {result._number for result in results}
    roots: dict[int, Symbol] = {}
    depths: dict[int, int] = {}
    for symbol in needed:
        number = symbol._number
        depth = 1 + max((depths[operand._number] for operand in symbol._operands), default=0)
        is_root = number in names or number in ends or uses[number] > 1 or depth > _MOST_DEPTH
        if is_root and not _is_leaf(symbol):
            roots[number] = symbol
        depths[number] = 0 if number in roots or _is_leaf(symbol) else depth
    return roots


def _states_read(root: Symbol, roots: dict[int, Symbol]) -> set[str]:
    """Returns the states whose values before the step the symbol's equation reads."""
    found, waiting = set(), [root]
    while waiting:
        symbol = waiting.pop()
        if symbol._kind == "state":
            found.add(symbol._text)
        waiting.extend(operand for operand in symbol._operands if operand._number not in roots)
    return found


def _assigned_at_once(states, results, roots, reads) -> dict[int, str]:
    """Returns the results whose equations can assign their states, because nothing reads the old values afterwards."""
    read_at_the_end = {name: set() if result._number in roots else _states_read(result, roots)
                       for name, result in zip(states, results)}
    found: dict[int, str] = {}
    for state, result in zip(states, results):
        number = result._number
        is_read_later = any(state in reads[other] for other in roots if other > number)
        is_read_at_the_end = any(state in read for name, read in read_at_the_end.items() if name != state)
        if number in roots and number not in found and not is_read_later and not is_read_at_the_end:
            found[number] = state
    return found


def _chosen_names(trace: Trace, roots: Iterable[int], at_once: dict[int, str], names: dict[int, str],
                  reserved: set[str]) -> dict[int, str]:
    """Returns the name that each equation assigns: a state, the function's variable, or a new one."""
    chosen, used = dict(at_once), set(reserved)
    for number in roots:
        if number not in chosen:
            name = names.get(number, "")
            is_free = name and name not in used
            chosen[number] = name if is_free else _new_name(name or "v", {*used, *names.values(), *trace.gates})
            used.add(chosen[number])
    return chosen


def _new_name(stem: str, used: set[str]) -> str:
    return next(name for name in (f"{stem}_{number}" for number in range(1, len(used) + 2)) if name not in used)


def _last_assignments(waiting: dict[str, Symbol], writer: _Writer, used: set[str]) -> tuple[list[str], list[str]]:
    """Returns assignments of values to the waiting states, each after those that read the state's old value.

    If states exchange their values, there is no such order: the first lines then save an old value under another name.
    """
    texts = {state: writer.operand(result, _SUM) for state, result in waiting.items()}
    reads = {state: set() if result._number in writer.equations else _states_read(result, {})
             for state, result in waiting.items()}
    saved, lines = [], []
    while texts:
        free = [state for state in texts if all(state not in reads[other] for other in texts if other != state)]
        if free:
            lines.append(f"{free[0]} = {texts.pop(free[0])}")
            continue
        state = next(iter(texts))
        name = _new_name(state, used)
        saved.append(f"{name} = {state}")
        for other in texts:
            if other != state and state in reads[other]:
                texts[other], reads[other] = name, set()
    return saved, lines
