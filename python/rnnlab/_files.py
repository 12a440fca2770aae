# SPDX-License-Identifier: Apache-2.0
"""Files that others see only when they are whole."""

from __future__ import annotations

import os
import pathlib
import tempfile


def write_whole(file: pathlib.Path, write) -> None:
    """Lets write(target) write the binary file beside its place, and moves it there."""
    with tempfile.NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}.", delete=False) as target:
        try:
            write(target)
        except BaseException:
            pathlib.Path(target.name).unlink()
            raise
    os.chmod(target.name, 0o666 & ~_umask())
    os.replace(target.name, file)


def write_once(file: pathlib.Path, write) -> pathlib.Path:
    """Does the same, and makes the folder, unless the file is there."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, write)
    return file


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
