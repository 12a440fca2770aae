# SPDX-License-Identifier: Apache-2.0
"""`python -m rnnlab` is the command `rnnlab`."""

from ._command import main

main()
