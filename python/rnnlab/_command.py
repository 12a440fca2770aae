# SPDX-License-Identifier: Apache-2.0
"""The command `rnnlab`: runs the program with the LibTorch of the installed torch, which it does not import."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import os
import pathlib
import sys

CANNOT_RUN = 4  # the program's exit code for a machine or an environment that does not suit it
_PACKAGE = pathlib.Path(__file__).parent


def required_torch() -> str:
    """Returns the version of torch that rnnlab's libraries were built for, such as "2.11"."""
    return (_PACKAGE / "lib" / "torch_version").read_text().strip()


def how_to_get_torch() -> str:
    return f"pip install 'torch=={required_torch()}.*'"


def program() -> pathlib.Path:
    """Returns the program's file. ImportError if it cannot be executed, as in a wheel that was unpacked without pip."""
    file = _PACKAGE / "bin" / "rnnlab"
    if not os.access(file, os.X_OK):
        raise ImportError(f"{file} is missing or not executable; install rnnlab again by pip, which sets the mode of "
                          "files: pip install --force-reinstall --no-deps dist/rnnlab-*.whl")
    return file


def environment() -> dict[str, str]:
    """Returns the environment for the program.

    The libraries of rnnlab look for torch's in their own site-packages. If torch is in another one, LD_LIBRARY_PATH says
    where. ImportError if torch is missing or has another version.
    """
    variables = dict(os.environ)
    site = _folder_of_torch().parent
    if not site.samefile(_PACKAGE.parent):
        folders = [site / folder for folder in ("torch/lib", *_nvidia_folders(site))]
        variables["LD_LIBRARY_PATH"] = ":".join([*map(str, folders), *filter(None, [variables.get("LD_LIBRARY_PATH")])])
    return variables


def _nvidia_folders(site: pathlib.Path) -> list[str]:
    return sorted(str(folder.relative_to(site)) for folder in site.glob("nvidia/*/lib"))


def check_version(torch_version: str) -> None:
    """ImportError if rnnlab was not built for this version of torch."""
    if torch_version.split(".")[:2] != required_torch().split("."):
        raise ImportError(f"torch {torch_version} is installed, and rnnlab was built for torch {required_torch()}: "
                          f"{how_to_get_torch()}")


@functools.cache
def _folder_of_torch() -> pathlib.Path:
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(f"torch is missing; install it: {how_to_get_torch()}")
    check_version(importlib.metadata.version("torch"))
    return pathlib.Path(spec.submodule_search_locations[0])


def main() -> None:
    try:
        file, variables = program(), environment()
    except ImportError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(CANNOT_RUN)
    os.execve(file, ["rnnlab", *sys.argv[1:]], variables)
