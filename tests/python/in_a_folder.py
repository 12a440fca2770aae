# SPDX-License-Identifier: Apache-2.0
"""InAFolder: a test case whose runs are in a temporary folder, which is the current one while the test runs."""

import os
import tempfile
import unittest

import rnnlab

FAST = {"training.epochs": 2, "training.num_threads": 1, "model.hidden_size": 8}


class InAFolder(unittest.TestCase):
    layer = "blocked"

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def fit(self, *data, overrides=None, **options):
        return rnnlab.fit(*data, device="cpu", layer=self.layer, quiet=True, overrides={**FAST, **(overrides or {})},
                          **options)
