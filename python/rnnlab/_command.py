"""The command `rnnlab` of the wheel: runs the program with the LibTorch of the installed torch."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pathlib
import sys

_PACKAGE = pathlib.Path(__file__).parent
_REQUIRED_TORCH = "2.11"
_CANNOT_RUN = 4  # the exit code of a machine that cannot run the program


def _folder_of_torch() -> pathlib.Path:
    """Returns the folder of torch without importing it, which would take longer than the program's own start."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        _fail(f"torch is missing; install it: pip install 'torch=={_REQUIRED_TORCH}.*'")
    version = importlib.metadata.version("torch")
    if version.split(".")[:2] != _REQUIRED_TORCH.split("."):
        _fail(f"torch {version} is installed; rnnlab needs {_REQUIRED_TORCH}: pip install 'torch=={_REQUIRED_TORCH}.*'")
    return pathlib.Path(spec.submodule_search_locations[0])


def _fail(message: str) -> None:
    print(f"rnnlab: {message}", file=sys.stderr)
    sys.exit(_CANNOT_RUN)


def _environment(torch: pathlib.Path) -> dict[str, str]:
    """Returns the environment of the program; its libraries find torch's by their places in one site-packages."""
    environment = dict(os.environ)
    site = torch.parent
    if site.resolve() != _PACKAGE.parent.resolve():
        folders = [torch / "lib", site / "nvidia/cu13/lib", site / "nvidia/cudnn/lib", site / "nvidia/nccl/lib"]
        given = environment.get("LD_LIBRARY_PATH")
        environment["LD_LIBRARY_PATH"] = ":".join([*map(str, folders), *([given] if given else [])])
    return environment


def main() -> None:
    program = _PACKAGE / "bin" / "rnnlab"
    os.execve(program, ["rnnlab", *sys.argv[1:]], _environment(_folder_of_torch()))
