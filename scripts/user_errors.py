# SPDX-License-Identifier: Apache-2.0
"""What scripts/convert-data and the export scripts share: errors with exit codes, packages that may be missing, and the
frame around a script's work."""

import contextlib
import importlib
import os
import signal
import sys

EXIT_DATA, EXIT_ENVIRONMENT = 3, 4


class UserError(Exception):
    """A mistake that the user can read and correct."""

    def __init__(self, message, code=EXIT_DATA):
        super().__init__(message)
        self.code = code


class Stopped(BaseException):
    """A signal asks the program to end."""


def import_or_refuse(module, package, subject, install):
    """Imports a package that only some uses need; `install` is the command to which its name is added."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = package or module.partition(".")[0]
        raise UserError(f"{subject} needs the Python package {package} ({error}); install it in a virtual environment: "
                        f"{install} {package}", EXIT_ENVIRONMENT) from error


def counted(number, noun):
    return f"{number:,} {noun}" + ("" if number == 1 else "es" if noun.endswith("s") else "s")


class _HeldSignals:
    depth = 0  # of signals_wait
    number = None  # of the signal that came meanwhile


def stop(number, _):
    if _HeldSignals.depth == 0:
        raise Stopped(number)
    _HeldSignals.number = number


@contextlib.contextmanager
def signals_wait():
    """Holds back the signals that raise Stopped until the block is done, for steps that must not be cut in two: a file
    that is made and then noted for removal, or files that get their names together. A mask of the thread's signals would
    not do, because the system may give a signal to a thread of NumPy."""
    _HeldSignals.depth += 1
    try:
        yield
    finally:
        _HeldSignals.depth -= 1
        if _HeldSignals.depth == 0 and _HeldSignals.number is not None:
            number, _HeldSignals.number = _HeldSignals.number, None
            raise Stopped(number)


def exit_code_of(work, note, unfinished, file="a file"):
    """Does a script's work and returns its exit code; `note` prints the one message of an error. `unfinished` says what
    a signal cut off, and `file` stands for a file whose name the system does not tell."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        return work()
    except UserError as error:
        note(f"error: {error}")
        return error.code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python would write the rest again
        return 128 + signal.SIGPIPE
    except OSError as error:
        note(f"error: {error.filename or file}: {error.strerror or error}")
        return EXIT_ENVIRONMENT
    except Stopped as stopped:
        note(f"stopped by a signal before {unfinished}")
        return 128 + stopped.args[0]
