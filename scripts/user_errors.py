# SPDX-License-Identifier: Apache-2.0
"""What scripts/convert-data and the export scripts share: errors with exit codes, and packages that may be missing."""

import importlib

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
