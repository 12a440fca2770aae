# SPDX-License-Identifier: Apache-2.0
"""The parts of scripts/convert-data: a module for each format, and what formats have in common."""
