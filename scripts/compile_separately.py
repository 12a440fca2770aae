# SPDX-License-Identifier: Apache-2.0
"""Compiles each source of the preset `separate` without making an object: what scripts/check-includes does once that
preset is configured."""

import argparse
import concurrent.futures
import json
import pathlib
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMPILE_COMMANDS = ROOT / "build/separate/compile_commands.json"
FOLDERS = ("app", "modules", "python", "tests")


def sources():
    """The commands for our own sources, by file. CUDA sources are left out, because nvcc has no check of the syntax."""
    entries = json.loads(COMPILE_COMMANDS.read_text(encoding="utf-8"))
    ours = tuple(f"{ROOT / folder}/" for folder in FOLDERS)
    return {entry["file"]: entry for entry in entries
            if entry["file"].startswith(ours) and entry["file"].endswith(".cpp")}


def without_object(command):
    """The command's words without the compiler cache and the object."""
    words = shlex.split(command)
    compiler = next(number for number, word in enumerate(words) if "++" in pathlib.Path(word).name)
    place = words.index("-o")
    return [*words[compiler:place], *words[place + 2:], "-fsyntax-only"]


def fault_of(entry):
    """What the compiler says of a source; "" if it compiles."""
    done = subprocess.run(without_object(entry["command"]), cwd=entry["directory"], capture_output=True, text=True,
                          check=False)
    return "" if done.returncode == 0 else f"{done.stdout}{done.stderr}" or f"{entry['file']}: {done.returncode}"


def main():
    parser = argparse.ArgumentParser(prog="scripts/check-includes", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    begin, entries, num_faults = time.monotonic(), sources(), 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for fault in pool.map(fault_of, entries.values()):
            if fault:
                print(fault.replace(f"{ROOT}/", ""), flush=True)
                num_faults += 1
    print(f"{len(entries)} sources compiled by themselves in {time.monotonic() - begin:.0f} s, {num_faults} failed")
    return 1 if num_faults else 0


if __name__ == "__main__":
    sys.exit(main())
