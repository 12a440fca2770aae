# SPDX-License-Identifier: Apache-2.0
"""What every format needs: errors with exit codes, packages that may be missing, and the texts of messages."""

import json
import sys

from user_errors import (UserError as ConvertError, counted, exit_code_of, import_or_refuse,  # noqa: F401
                         signals_wait)

EXIT_USAGE, EXIT_DATA, EXIT_ENVIRONMENT, EXIT_NOT_FINITE = 2, 3, 4, 5
MAX_FLOAT32 = 3.4028234663852886e38
NOT_FINITE = "rnnlab trains on finite float32 numbers only: correct the file"
# docs/convert.md has the same command. Debian's own Python refuses to install packages outside a virtual environment.
INSTALL = "python3 -m venv ~/convert-venv && . ~/convert-venv/bin/activate && python3 -m pip install"


def need(module, package=None):
    """Imports a package that only some formats need."""
    return import_or_refuse(module, package, "this format", INSTALL)


def say(text):
    print(text, file=sys.stderr)


def note(text):
    say(f"convert-data: {text}")


def quoted(text):
    """A text as YAML and messages write it."""
    return json.dumps(str(text), ensure_ascii=False)


def listed(texts, most=10):
    shown = ", ".join(quoted(text) for text in texts[:most])
    return shown + (f" and {len(texts) - most} more" if len(texts) > most else "")


def in_bytes(size):
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.3g} {unit}" if unit != "bytes" else f"{size} bytes"
        size /= 1024
    return f"{size:,.1f} GiB"


def require_file(path):
    if not path.exists():
        raise ConvertError(f"{path}: the file does not exist: check the path")
    if not path.is_file():
        raise ConvertError(f"{path}: expected a file, got something else, such as a folder: name a file")


def is_finite(numpy, block):
    """Which values are finite as float32."""
    return numpy.abs(block) <= MAX_FLOAT32 if block.dtype.itemsize == 8 else numpy.isfinite(block)


def require_finite(numpy, path, name, block, first=0):
    """Refuses a block of floats with its first value that is not finite; `first` is the index of its first sample."""
    if block.dtype.kind != "f":
        return
    good = is_finite(numpy, block)
    if good.all():
        return
    place = tuple(int(index) for index in numpy.argwhere(~good)[0])
    where = ", ".join(map(str, (first + place[0], *place[1:])))
    raise ConvertError(f"{path}: {name}[{where}] is {block[place]}: {NOT_FINITE}", EXIT_NOT_FINITE)
