# SPDX-License-Identifier: Apache-2.0
"""Stream: a trained model that reads rows as they arrive, by `rnnlab predict --stream`."""

from __future__ import annotations

import json
import struct
import subprocess
import tempfile
from collections.abc import Iterator

from . import _command
from .arrays import array_of
from .runs import ProgramError, _as_table, _exit_code, _frame_text, _is_frame, _message_in, _settings, _Usable

_STRUCT_CODES = {"f8": "d", "f4": "f", "f2": "e", "i8": "q", "i4": "i", "i2": "h", "i1": "b", "u1": "B", "u2": "H",
                 "u4": "I", "u8": "Q", "b1": "?"}


class Stream:
    """A trained model that carries its state from row to row, for use in a `with` block.

    The method `stream` of a run, or of a model in a file, makes it.

    At the end of the block the state is written to the file that `stream` named, also if the block raises.
    """

    def __init__(self, run: _Usable, state: str | None, keys: dict):
        arguments = ["predict", str(run._path), *_settings(keys), "--stream", "--json", *(["--state", state] if state else [])]
        self._reads_names = _reads_names(run)
        self._names: str | None = None
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # a pipe could fill up
        self._process = subprocess.Popen([str(_command.program()), *arguments], env=_command.environment(), text=True,
                                         encoding="utf-8", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors)

    def predict(self, x) -> dict[str, list]:
        """Reads the next rows, and returns their predictions: the columns of predict's table by name.

        x: of a run on arrays, one row (F) or several (T, F); of a run on a frame or a CSV file, a frame with the columns of
        the inputs, always the same ones. `row` counts the rows of this stream. Numbers are in the targets' own units.
        ProgramError if the program refuses a row; TypeError or ValueError if the rows do not fit the run.
        """
        lines = self._lines_of_frame(x) if _is_frame(x) else self._lines_of_array(x)
        rows = [_as_table(self._prediction_of(line), has_class_names=self._reads_names) for line in lines]
        return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}

    def close(self) -> None:
        """Ends the stream and writes its state. ProgramError if that fails. A second call does nothing."""
        if self._errors.closed:
            return
        try:
            self._end()
        finally:
            self._errors.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind, *_) -> None:
        try:
            self.close()
        except ProgramError:
            if kind is None:  # else the error of the block says more
                raise

    def _lines_of_frame(self, frame) -> list[str]:
        if not self._reads_names:
            raise TypeError("the run was trained on arrays: give rows of numbers, and no frame")
        names, *lines = _records(_frame_text(frame))
        if self._names is None:
            self._send(names)
            self._names = names
        if names != self._names:
            raise ValueError(f"the frame has the columns {names}, expected those of the first one: {self._names}")
        return lines

    def _lines_of_array(self, x) -> list[str]:
        if self._reads_names:
            raise TypeError("the run was trained on named columns: give a frame with the columns of the inputs")
        array = array_of(x, "x")
        if len(array.shape) not in (1, 2):
            raise ValueError(f"x has the shape {array.shape}, expected (features) for one row or (rows, features)")
        width = array.shape[-1]
        count = 1
        for size in array.shape:
            count *= size
        numbers = struct.unpack(f"<{count}{_STRUCT_CODES[array.type[1:]]}", bytes(array.data))
        return [",".join(repr(float(number)) for number in numbers[begin:begin + width]) for begin in range(0, count, width)]

    def _send(self, line: str) -> None:
        if self._errors.closed:
            raise ValueError("the stream is closed")
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self._fail()

    def _prediction_of(self, line: str) -> dict:
        self._send(line)
        assert self._process.stdout is not None
        answer = self._process.stdout.readline()
        if not answer:
            self._fail()
        return json.loads(answer)

    def _fail(self) -> None:
        self.close()
        raise ProgramError("the program ended before the stream did", 1)

    def _end(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass  # its exit code says why it has ended
        self._process.stdout.close()
        if self._process.wait() == 0:
            return
        self._errors.seek(0)
        raise ProgramError(_message_in(self._errors.readlines()), _exit_code(self._process.returncode))


def _records(text: str) -> Iterator[str]:
    """The rows of a CSV text. A row is a line, or several if a cell has line breaks."""
    record: list[str] = []
    for line in text.split("\n")[:-1]:
        record.append(line)
        if sum(part.count('"') for part in record) % 2 == 0:
            yield "\n".join(record)
            record = []


def _reads_names(run: _Usable) -> bool:
    """Whether the run reads a table whose first line has the names of its columns."""
    settings = [line.split("#")[0].replace('"', "").split() for line in run.config_text.splitlines()]
    return ["source:", "csv"] in settings and ["header:", "false"] not in settings
