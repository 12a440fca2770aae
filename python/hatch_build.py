# SPDX-License-Identifier: Apache-2.0
"""Gives the wheel its tag: it contains programs for Linux on x86-64 and works with every Python 3 that torch supports."""

from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class NativeWheel(BuildHookInterface):
    def initialize(self, version, build_data):
        program = Path(self.root, "build/wheel/rnnlab/bin/rnnlab")
        if not program.exists():
            raise FileNotFoundError(f"{program} is missing. Run scripts/package, which builds it and makes the wheel.")
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-linux_x86_64"
