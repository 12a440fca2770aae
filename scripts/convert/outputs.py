# SPDX-License-Identifier: Apache-2.0
"""The files that a conversion writes, and the lines of YAML that train on npy files."""

import contextlib
import csv
import os
import shutil
import sys
import time
from pathlib import Path
from types import SimpleNamespace

from .common import EXIT_ENVIRONMENT, EXIT_USAGE, ConvertError, in_bytes, need, quoted, say, signals_wait

SETS = ("x.npy", "y.npy", "lengths.npy", "classes.txt", "files.csv")


class Outputs:
    """The files of one conversion, in one folder. They have temporary names until all of them are complete.

    `names` are all files that such a conversion may write. Those that it did not write are removed with --force, so
    that files of an earlier conversion do not mix with the new ones.
    """

    def __init__(self, folder, names, force):
        self.folder, self.names, self.streams = Path(folder), names, {}
        self.made_folder = False
        existing = [name for name in names if os.path.lexists(self.folder / name)]
        if existing and not force:
            raise ConvertError(f"{self.folder / existing[0]} exists: choose another --out, or replace it with --force",
                               EXIT_USAGE)
        if self.folder.exists() and not self.folder.is_dir():
            raise ConvertError(f"{self.folder}: expected a folder, got a file: choose another --out", EXIT_USAGE)

    def require_space(self, num_bytes):
        place = next(path for path in [self.folder, *self.folder.absolute().parents] if path.exists())
        free = shutil.disk_usage(place).free
        if num_bytes > free:
            raise ConvertError(f"{self.folder}: the files need {in_bytes(num_bytes)}, but {in_bytes(free)} are free: "
                               "choose another --out", EXIT_ENVIRONMENT)

    def temporary(self, name):
        return self.folder / f".{name}.{os.getpid()}.part"

    def open(self, name):
        with signals_wait():
            self.made_folder = self.made_folder or not self.folder.exists()
            self.folder.mkdir(parents=True, exist_ok=True)
            self.streams[name] = open(self.temporary(name), "xb")
        return self.streams[name]

    def write_text(self, name, text):
        self.open(name).write(text.encode())

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        with signals_wait():
            try:
                if kind is None:
                    self.commit()
            finally:
                self.remove_temporary()

    def commit(self):
        for stream in self.streams.values():
            stream.flush()
            os.fsync(stream.fileno())
        for name in self.streams:
            os.replace(self.temporary(name), self.folder / name)
        for name in self.names:
            if name not in self.streams:
                (self.folder / name).unlink(missing_ok=True)

    def remove_temporary(self):
        for name, stream in self.streams.items():
            with contextlib.suppress(OSError):
                stream.close()
            with contextlib.suppress(OSError):
                self.temporary(name).unlink(missing_ok=True)
        if self.made_folder:
            with contextlib.suppress(OSError):  # a folder with files stays
                self.folder.rmdir()


class NpyWriter:
    """An npy file of a known shape that is written from front to back, so that it may be larger than the memory.

    A memory map (numpy.lib.format.open_memmap) would end the program by SIGBUS if the disk is full.
    """

    def __init__(self, outputs, name, dtype, shape):
        self.numpy = need("numpy")
        self.dtype, self.shape = self.numpy.dtype(dtype).newbyteorder("="), tuple(int(size) for size in shape)
        self.stream, self.path = outputs.open(name), outputs.folder / name
        descr = self.numpy.lib.format.dtype_to_descr(self.dtype)
        self.numpy.lib.format.write_array_header_1_0(
            self.stream, {"descr": descr, "fortran_order": False, "shape": self.shape})

    def append(self, block):
        self.stream.write(memoryview(self.numpy.ascontiguousarray(block, dtype=self.dtype)).cast("B"))

    def describe(self):
        say(f"{self.path}: {' x '.join(map(str, self.shape))} {self.dtype}, {in_bytes(self.stream.tell())}")


class Progress:
    """One line that counts, on a terminal only."""

    def __init__(self, total, unit):
        self.total, self.unit, self.next_time, self.shown = total, unit, 0.0, False

    def show(self, done):
        if not sys.stderr.isatty() or time.monotonic() < self.next_time:
            return
        self.next_time, self.shown = time.monotonic() + 0.2, True
        print(f"\r{done:,} of {self.total:,} {self.unit}", end="", file=sys.stderr, flush=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def write_rows(stream, rows):
    """Writes rows of CSV that end in a line feed.

    The writer quotes a cell with a carriage return only if that character is part of its line end, and rnnlab reads
    such a character outside quotes as the end of a row. So the writer ends each row with both, and one is removed.
    """
    lines = []
    row_by_row = SimpleNamespace(write=lambda row: lines.append(row.removesuffix("\r\n") + "\n"))
    csv.writer(row_by_row, lineterminator="\r\n").writerows(rows)
    stream.write("".join(lines).encode())


def npy_yaml(folder, kind, *more, has_lengths=False):
    """The lines that train on x.npy and y.npy; kind is classifier or regressor."""
    lengths = ['  train_lengths: "lengths.npy"'] if has_lengths else []
    return ["data:", "  source: npy", f"  path: {quoted(folder)}", '  train_inputs: "x.npy"',
            '  train_targets: "y.npy"', *lengths, *more, "model:", f"  kind: sequence_{kind}"]
