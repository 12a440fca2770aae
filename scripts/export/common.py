# SPDX-License-Identifier: Apache-2.0
"""What both scripts need: errors with exit codes, packages that may be missing, and messages."""

import json
import sys
from pathlib import Path

from user_errors import UserError as ExportError, counted, exit_code_of, import_or_refuse  # noqa: F401

EXIT_DIFFERENT, EXIT_USAGE, EXIT_DATA, EXIT_ENVIRONMENT = 1, 2, 3, 4
SCHEMA_VERSION = 3  # of run folders and checkpoints
# docs/export.md has the same command. Debian's own Python refuses to install packages outside a virtual environment.
INSTALL = "python3 -m venv ~/export-venv && . ~/export-venv/bin/activate && python3 -m pip install"


def need(module, package=None):
    """Imports a package that only some uses need."""
    return import_or_refuse(module, package, "this", INSTALL)


def note(text):
    print(f"{Path(sys.argv[0]).name}: {text}", file=sys.stderr)


def read_text(path):
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ExportError(f"{path}: the file does not exist: name a run folder, such as runs/NAME/TIME-cpu-fused"
                          ) from error
    except UnicodeDecodeError as error:
        raise ExportError(f"{path}: is not UTF-8 ({error.reason} at byte {error.start}): copy the run again") from error


def read_json(path):
    """Reads a JSON object of a run; a later version of the files is refused."""
    try:
        content = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise ExportError(f"{path}:{error.lineno}: is not JSON ({error.msg}): copy the run again") from error
    if not isinstance(content, dict):
        raise ExportError(f"{path}: expected a JSON object: copy the run again")
    return checked_version(content, path)


def checked_version(content, path):
    version = content.get("schema_version", 1)
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise ExportError(f"{path}: has schema_version {version}, this script reads up to {SCHEMA_VERSION}: use the "
                          "script of the rnnlab that wrote it")
    return content


def run_main(run, options):
    """Runs a script's work and returns its exit code; each error is one message."""
    return exit_code_of(lambda: run(options), note, "the end")
