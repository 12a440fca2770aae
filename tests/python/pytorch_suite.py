#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs PyTorch's own tests of nn.LSTM, nn.GRU and nn.RNN with rnnlab's layers in their place.

SOURCE is a source tree of PyTorch, best of the release that is installed; its tests need expecttest, hypothesis and
numpy. A worker process loads the test files with the classes of torch.nn replaced, and runs one test after the other.
Another worker does the same with torch.nn unchanged: the control tells failures of the environment apart.

A test counts if it constructs such a layer in the control. Only tests that can do so are run: those with a layer in
their name, or in their source, or in the source of a function of the file that they call. `--all` runs every test,
which takes long and finds the tests that this selection misses.

Exit code: 0 if every test that passes with torch.nn alone passes with rnnlab too, or is in KNOWN_DIFFERENCES; else 1.
"""

import argparse
import ast
import collections
import faulthandler
import fnmatch
import functools
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import traceback
import unittest

# Patterns of test names, each with the reason why rnnlab's layers differ from torch.nn's there.
KNOWN_DIFFERENCES: dict[str, str] = {}

LAYERS = ("LSTM", "GRU", "RNN")
LAYER_IN_NAME = re.compile(r"lstm|gru|rnn", re.IGNORECASE)
LAYER_IN_SOURCE = re.compile(r"\b(LSTM|GRU|RNN)\b|rnn|lstm")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=pathlib.Path, help="source tree of PyTorch 2.11")
    parser.add_argument("--implementation", default="auto", help="what computes the layers (default: auto)")
    parser.add_argument("--files", nargs="+", default=["test_nn.py", "test_modules.py", "nn/test_*.py"],
                        help="patterns of test files in SOURCE/test")
    parser.add_argument("--match", default="", help="runs only tests whose names match this regular expression")
    parser.add_argument("--all", action="store_true", help="runs all tests of the files, not only the selected ones")
    parser.add_argument("--timeout", type=int, default=300, help="seconds for a test (default: 300)")
    parser.add_argument("--worker", choices=["torch", "rnnlab"], help=argparse.SUPPRESS)
    parser.add_argument("--results", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not (options.source / "test").is_dir():
        parser.error(f"{options.source} has no folder test; name the root of a source tree of PyTorch")
    return options


def test_files(options):
    folder = options.source.resolve() / "test"
    return sorted({file for pattern in options.files for file in folder.glob(pattern)})


class Selection:
    """Which tests of a file can construct a layer."""

    def __init__(self, file):
        functions = collections.defaultdict(str)
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("Test"):
                functions[node.name] += ast.unparse(node)
        self.functions = functions
        self.touching = {name for name, source in functions.items() if LAYER_IN_SOURCE.search(source)}
        while callers := {name for name in functions if name not in self.touching and self._uses_touching(name)}:
            self.touching |= callers

    def _uses_touching(self, name):
        return not self.touching.isdisjoint(re.findall(r"\w+", self.functions[name]))

    def contains(self, method):
        """Tests that PyTorch makes for devices and types have the name of their function and more behind it."""
        if LAYER_IN_NAME.search(method):
            return True
        own = max((name for name in self.functions if method.startswith(name)), key=len, default=None)
        return own in self.touching


def load_module(file):
    sys.path.insert(0, str(file.parent))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = sys.modules[file.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_tests(options):
    """Returns the tests by name, and the files that cannot be imported, each with the reason."""
    tests, unusable = {}, {}
    for file in test_files(options):
        selection = Selection(file)
        try:
            module = load_module(file)
        except Exception as error:
            unusable[file.name] = first_line(error)
            continue
        for value in list(vars(module).values()):
            if isinstance(value, type) and issubclass(value, unittest.TestCase) and value.__module__ == module.__name__:
                for test in unittest.defaultTestLoader.loadTestsFromTestCase(value):
                    name = f"{file.stem}.{value.__name__}.{test._testMethodName}"
                    if re.search(options.match, name) and (options.all or selection.contains(test._testMethodName)):
                        tests[name] = test
    return tests, unusable


def first_line(error):
    return traceback.format_exception_only(type(error), error)[-1].strip().splitlines()[0]


class Outcome(unittest.TestResult):
    """The result of one test: passed, failed or skipped, and why."""

    def __init__(self):
        super().__init__()
        self.status, self.reason = "passed", ""

    def _fail(self, error):
        if self.status != "failed":
            self.status, self.reason = "failed", first_line(error)

    def addError(self, test, err):
        self._fail(err[1])

    addFailure = addError

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self._fail(err[1])

    def addUnexpectedSuccess(self, test):
        self._fail(AssertionError("the test was expected to fail"))

    def addSkip(self, test, reason):
        if self.status == "passed":
            self.status, self.reason = "skipped", str(reason).splitlines()[0]


class Watch:
    """Counts the layers that a test constructs, and notes what computes them."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.num_layers = 0
        self.used = set()

    def count_layers(self):
        import torch

        construct = torch.nn.RNNBase.__init__

        @functools.wraps(construct)
        def counted(layer, *args, **kwargs):
            self.num_layers += 1
            construct(layer, *args, **kwargs)

        torch.nn.RNNBase.__init__ = counted

    def note_implementations(self):
        from rnnlab.layers import TwinOfTorch

        forward = TwinOfTorch.forward

        @functools.wraps(forward)
        def noted(layer, *args, **kwargs):
            result = forward(layer, *args, **kwargs)
            self.used.add(layer.implementation_used)
            return result

        TwinOfTorch.forward = noted


def replace_layers(implementation):
    """Puts rnnlab's classes wherever torch has its own. Test files import torch.nn only after that."""
    import torch
    from rnnlab import layers

    layers.TwinOfTorch.__init__.__kwdefaults__["implementation"] = implementation
    for module in (torch.nn, torch.nn.modules, torch.nn.modules.rnn):
        for name in LAYERS:
            setattr(module, name, getattr(layers, name))


def work(options):
    """Runs the tests that the file of results lacks, and appends a line for the start and for the end of each."""
    watch = Watch()
    watch.count_layers()
    if options.worker == "rnnlab":
        replace_layers(options.implementation)
        watch.note_implementations()
    done = {entry.get("name") for entry in read_results(options.results)}
    sys.argv = [sys.argv[0]]  # PyTorch's tests parse the arguments
    tests, unusable = load_tests(options)
    with options.results.open("a") as results:

        def write(**entry):
            print(json.dumps(entry), file=results, flush=True)

        write(unusable=unusable)
        for name, test in tests.items():
            if name in done:
                continue
            write(name=name, status="crashed", reason="the process ended, or the test timed out")
            faulthandler.dump_traceback_later(options.timeout, exit=True)
            watch.reset()
            outcome, began = Outcome(), time.monotonic()
            unittest.TestSuite([test]).run(outcome)
            write(name=name, status=outcome.status, reason=outcome.reason, num_layers=watch.num_layers,
                  used=sorted(map(str, watch.used)), seconds=time.monotonic() - began)
        write(finished=True)
    faulthandler.cancel_dump_traceback_later()


def read_results(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def run_worker(kind, folder):
    """Returns the results by test, and the files that cannot be imported. A new process follows one that crashed."""
    file, log = folder / f"{kind}.jsonl", folder / f"{kind}.log"
    file.touch()
    entries = []
    while not any("finished" in entry for entry in entries):
        num_before = count_tests(entries)
        with log.open("w") as output:
            subprocess.run([sys.executable, *sys.argv, "--worker", kind, "--results", file],
                           env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}, stdout=output, stderr=output)
        entries = read_results(file)
        if count_tests(entries) == num_before and not any("finished" in entry for entry in entries):
            sys.exit(f"the worker for {kind} fails before its next test:\n{log.read_text()[-2000:]}")
    unusable = next(entry["unusable"] for entry in entries if "unusable" in entry)
    return {entry["name"]: entry for entry in entries if "name" in entry}, unusable


def count_tests(entries):
    return sum("name" in entry for entry in entries)


def known_reason(name):
    return next((reason for pattern, reason in KNOWN_DIFFERENCES.items() if fnmatch.fnmatch(name, pattern)), None)


def describe(entry):
    return entry["status"] + (f" ({entry['reason']})" if entry["reason"] else "")


def report(control, ours):
    """Prints a line for each test that constructs a layer; returns the number of differences that are not known."""
    touching = [name for name, entry in control.items() if entry.get("num_layers") or name_differs(entry, ours[name])]
    num_unknown, counts, num_computed = 0, collections.Counter(), 0
    for name in touching:
        entry, expected = ours[name], control[name]
        used = f" [{', '.join(entry['used'])}]" if entry.get("used") else ""
        print(f"{name}: {describe(entry)}{used}")
        if expected["status"] != "passed":
            counts[f"{expected['status']} with torch.nn alone"] += 1
            if entry["status"] != expected["status"]:
                print(f"    with torch.nn alone: {describe(expected)}")
            continue
        counts["passed with torch.nn alone"] += 1
        counts["passed with both"] += entry["status"] == "passed"
        num_computed += entry["status"] == "passed" and any(used != "torch" for used in entry["used"])
        if entry["status"] != "passed":
            reason = known_reason(name)
            num_unknown += reason is None
            print(f"    known: {reason}" if reason else "    not known")
    print_summary(len(touching), counts, num_computed)
    return num_unknown


def name_differs(expected, entry):
    """A test that cannot count its layers, because it is skipped or crashes, counts if it passes on one side only."""
    return expected["status"] != entry["status"]


def print_summary(num_touching, counts, num_computed):
    num_control, num_passed = counts.pop("passed with torch.nn alone"), counts.pop("passed with both")
    print(f"\n{num_touching} tests construct LSTM, GRU or RNN; {num_control} of them pass with torch.nn alone")
    for what, number in counts.items():
        print(f"{number} {what}")
    share = 100 * num_passed / num_control if num_control else 0
    print(f"{num_passed} of {num_control} ({share:.1f} %) pass with rnnlab; rnnlab's own code computes {num_computed}")


def main():
    options = parse_arguments()
    if options.worker:
        return work(options)
    import torch

    version = options.source / "version.txt"
    print(f"tests of PyTorch {version.read_text().strip() if version.exists() else '(unknown)'}, "
          f"torch {torch.__version__}, implementation {options.implementation}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        control, unusable = run_worker("torch", pathlib.Path(folder))
        ours, unusable_here = run_worker("rnnlab", pathlib.Path(folder))
    for file, reason in (unusable | unusable_here).items():
        print(f"{file} cannot be imported{'' if file in unusable else ' with rnnlab alone'}: {reason}")
    num_unknown = report(control, ours)
    print(f"{num_unknown} differences are not known; {time.monotonic() - began:.0f} s")
    return 1 if num_unknown or unusable_here.keys() - unusable.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
