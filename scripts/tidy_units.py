# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy on the units of the release build that hold the chosen files: what scripts/check-tidy does once
clang-tidy is installed and the build is configured. scripts/check-tidy --help has the arguments."""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLANG_TIDY = ROOT / ".venv/tidy-packages/clang_tidy/data/bin/clang-tidy"
COMPILE_COMMANDS = ROOT / "build/release/compile_commands.json"
FOLDERS = ("app", "modules", "tests")
SECONDS_A_DAY = 24 * 60 * 60

OUR_INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
FINDING = re.compile(r"^(?P<file>/[^:]+):(?P<place>\d+:\d+): (?:error|warning): ")
NOT_FOR_CLANG = re.compile(r"-W.*|-fno-semantic-interposition|-fopenmp|-c")


class TidyError(Exception):
    """A mistake in the arguments."""


@dataclasses.dataclass
class Unit:
    """One call of the compiler: a source, or several that a generated source includes."""

    main: pathlib.Path
    folder: pathlib.Path
    arguments: list
    sources: list  # relative to the root


# ---- which files are chosen ----


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TidyError(done.stderr.strip())
    return done.stdout.splitlines()


def is_ours(name):
    return name.startswith(tuple(f"{folder}/" for folder in FOLDERS)) and name.endswith((".cpp", ".h"))


def all_files():
    return [name for name in git("ls-files", "--cached", "--others", "--exclude-standard") if is_ours(name)]


def files_since(commit):
    tracked = git("diff", "--name-only", "--diff-filter=d", "--no-renames", commit, "--")
    return [name for name in [*tracked, *git("ls-files", "--others", "--exclude-standard")] if is_ours(name)]


def files_of_last_day():
    """All files if the history is shorter than a day, as in a shallow clone."""
    newest = int(git("log", "-1", "--format=%ct")[0])
    older = git("rev-list", "-1", f"--before={newest - SECONDS_A_DAY}", "HEAD")
    return files_since(older[0]) if older else all_files()


def named_file(name):
    path = pathlib.Path(os.path.abspath(name))
    relative = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else name
    if not path.is_file() or not is_ours(relative):
        raise TidyError(f"'{name}' is not a .cpp or .h file of {', '.join(FOLDERS[:-1])} or {FOLDERS[-1]}")
    return relative


def chosen_files(options):
    if options.files:
        return [named_file(name) for name in options.files]
    if options.all:
        return all_files()
    return files_since(options.since) if options.since else files_of_last_day()


def newest_first(files):
    """Files with uncommitted changes, then those of HEAD, and so on."""
    changes = [line[3:] for line in git("status", "--porcelain", "--untracked-files=all")]
    changes += git("log", "--format=", "--name-only")
    rank = {name: number for number, name in reversed(list(enumerate(changes)))}
    return sorted(files, key=lambda name: rank.get(name, len(changes)))


# ---- which units hold them ----


def clang_arguments(command):
    """The arguments of a GCC call that clang-tidy can use: without warnings, precompiled headers, input and output, and
    without OpenMP, whose header belongs to GCC."""
    words, kept = shlex.split(command), []
    words = words[next(i for i, word in enumerate(words) if word.startswith("-D") or word.startswith("-I")):]
    while words:
        word = words.pop(0)
        if word == "-o" or (word == "-include" and words[0].endswith("cmake_pch.hxx")):
            words.pop(0)
        elif not NOT_FOR_CLANG.fullmatch(word):
            kept.append(word)
    return kept[:-1]  # the last one is the source


def sources_of_unit(main):
    """The files of this repository that a unit compiles: what a generated unit includes, or the unit itself."""
    files = [main]
    if "/Unity/" in str(main):
        files = [pathlib.Path(name) for name in OUR_INCLUDE.findall(main.read_text())]
    return [str(file.relative_to(ROOT)) for file in files if file.is_relative_to(ROOT) and is_ours(str(file.relative_to(ROOT)))]


def units_of_build():
    units = []
    for entry in json.loads(COMPILE_COMMANDS.read_text()):
        main = pathlib.Path(entry["file"])
        sources = [] if main.suffix == ".cu" else sources_of_unit(main)
        if sources:
            units.append(Unit(main, pathlib.Path(entry["directory"]), clang_arguments(entry["command"]), sources))
    return units


def included_by(name, known):
    """The headers of this repository that a file includes, directly or not. `known` keeps answers between calls."""
    if name not in known:
        known[name] = set()  # ends a circle
        for header in OUR_INCLUDE.findall((ROOT / name).read_text()):
            places = [f"modules/{header}", f"tests/{header}", f"app/{header}", str(pathlib.Path(name).parent / header)]
            for place in places:
                if (ROOT / place).is_file():
                    known[name] |= {place} | included_by(place, known)
                    break
    return known[name]


def files_of_units(files, units):
    """[(unit, its files among `files`)] in the order of `files`, and the files that no unit has. A header belongs to
    the unit of its .cpp file, else to a unit that is checked anyway, else to the first one that includes it."""
    unit_of = {source: unit for unit in units for source in unit.sources}
    known, chosen, left = {}, {}, []

    def choose(name, unit):
        chosen.setdefault(str(unit.main), (unit, []))[1].append(name)

    headers = []
    for name in files:
        source = name.removesuffix(".h") + ".cpp" if name.endswith(".h") else name
        if source in unit_of:
            choose(name, unit_of[source])
        else:
            (headers if name.endswith(".h") else left).append(name)
    for name in headers:
        candidates = [unit for unit, _ in chosen.values()] + units
        users = (unit for unit in candidates if any(name in included_by(source, known) for source in unit.sources))
        unit = next(users, None)
        if unit is None:
            left.append(name)
        else:
            choose(name, unit)
    rank = {name: number for number, name in enumerate(files)}
    return sorted(chosen.values(), key=lambda pair: min(rank[name] for name in pair[1])), left


# ---- clang-tidy ----


def findings_in(text):
    """The findings in clang-tidy's output, each with its lines of code and notes."""
    found = []
    for line in text.splitlines():
        if FINDING.match(line):
            found.append([line])
        elif found:
            found[-1].append(line)
    return ["\n".join(lines).replace(f"{ROOT}/", "") for lines in found]


def check_unit(unit, files):
    """The findings of clang-tidy in `files`; its whole output if it fails without a finding."""
    line_filter = json.dumps([{"name": str(ROOT / name)} for name in files])
    command = [str(CLANG_TIDY), "--quiet", f"--config-file={ROOT / '.clang-tidy'}", f"--line-filter={line_filter}",
               f"--header-filter=^{re.escape(str(ROOT))}/({'|'.join(FOLDERS)})/", str(unit.main), "--", *unit.arguments]
    done = subprocess.run(command, cwd=unit.folder, capture_output=True, text=True, check=False)
    found = findings_in(done.stdout)
    if done.returncode != 0 and not found:
        found = [f"{unit.main}: clang-tidy failed with exit code {done.returncode}\n{done.stdout}{done.stderr}"]
    return found


def check_units(chosen, jobs, seconds):
    """Prints the findings. Returns their number, and the files that were not checked when the time was over."""
    begin, printed, skipped = time.monotonic(), set(), []

    def check(unit, files):
        return None if time.monotonic() - begin > seconds else check_unit(unit, files)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for (_, files), found in zip(chosen, pool.map(lambda pair: check(*pair), chosen)):
            if found is None:
                skipped += files
                continue
            for finding in found:
                if finding not in printed:
                    print(finding, flush=True)
                printed.add(finding)
    return len(printed), skipped


# ---- the command line ----


def parsed(arguments):
    parser = argparse.ArgumentParser(prog="scripts/check-tidy", description=__doc__)
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--all", action="store_true")
    choice.add_argument("--since", metavar="COMMIT")
    choice.add_argument("files", nargs="*", default=[], metavar="FILE")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--jobs", type=int, default=1)
    return parser.parse_args(arguments)


def by_folder(files):
    """A text such as "3 files (2 in app, 1 in tests/data)"."""
    folders = collections.Counter(str(pathlib.Path(name).parent) for name in files)
    return f"{len(files)} files ({', '.join(f'{count} in {folder}' for folder, count in sorted(folders.items()))})"


def main(arguments):
    options = parsed(arguments)
    try:
        files = newest_first(chosen_files(options))
    except TidyError as error:
        print(f"error: {error} (scripts/check-tidy --help)", file=sys.stderr)
        return 2
    begin = time.monotonic()
    chosen, not_built = files_of_units(files, units_of_build())
    num_findings, skipped = check_units(chosen, options.jobs, options.minutes * 60)
    num_checked = sum(len(names) for _, names in chosen) - len(skipped)
    if not_built:
        print(f"Not checked, because no unit of this build has them: {by_folder(not_built)}")
    if skipped:
        print(f"NOT CHECKED, because {options.minutes:g} minutes are over: {by_folder(skipped)}")
    print(f"clang-tidy: {num_checked} of {len(files)} files checked in {len(chosen)} units and "
          f"{time.monotonic() - begin:.0f} s, {num_findings} findings")
    return 1 if num_findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
