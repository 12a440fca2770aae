# SPDX-License-Identifier: Apache-2.0
"""Prints "N passed, N failed, N skipped" over the single test cases of a ctest run, then why the skipped ones were skipped.

The folder holds one XML report of each GoogleTest program, and ctest.xml. A program that crashed leaves no report: it counts as
one failed test. A test that skipped itself (SKIP_RETURN_CODE) is skipped, and its last line of output is the reason; one
that ctest could not start is failed. Cases that Python's unittest skipped count beside their test; it names the reason if
it runs with verbosity 2.
Exit code: 1 if a test failed or none ran.
"""
import collections
import pathlib
import re
import sys
import xml.etree.ElementTree as xml

OF_UNITTEST = re.compile(r"\.\.\. skipped (['\"])(.*)\1$", re.M)
NUM_OF_UNITTEST = re.compile(r"^OK \(.*?\bskipped=(\d+)", re.M)


def last_line(text: str, otherwise: str) -> str:
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    return lines[-1] if lines else otherwise


def cases_of_program(report: pathlib.Path):
    """(outcome, reason) of each test case of a GoogleTest program."""
    for case in xml.parse(report).getroot().iter("testcase"):
        skipped = case.find("skipped")
        if case.get("status") != "run":
            continue
        if case.find("failure") is not None:
            yield "failed", ""
        elif skipped is None:
            yield "passed", ""
        else:  # its message is the place in the sources, and in the next line the reason
            yield "skipped", last_line(skipped.get("message"), "no reason")


def cases_of_entry(entry: xml.Element):
    """(outcome, reason) of a test of ctest, and of the cases that unittest skipped in it."""
    output = entry.findtext("system-out") or ""
    skipped = entry.find("skipped")
    if skipped is not None and skipped.get("message", "").startswith("SKIP_"):
        yield "skipped", last_line(output, "no reason").removeprefix("skipped, because ").removeprefix("skipped: ")
        return
    yield "passed" if entry.get("status") == "run" else "failed", ""
    reasons = [reason for _, reason in OF_UNITTEST.findall(output)]
    num_skipped = sum(map(int, NUM_OF_UNITTEST.findall(output)))
    for reason in [*reasons, *["no reason"] * (num_skipped - len(reasons))]:
        yield "skipped", reason


def cases_of_run(folder: pathlib.Path):
    """(test of ctest, outcome, reason) of all cases."""
    reports = {report.stem.removesuffix("_tests"): report for report in folder.glob("*_tests.xml")}
    for name, report in sorted(reports.items()):
        yield from ((name, *case) for case in cases_of_program(report))
    for entry in xml.parse(folder / "ctest.xml").getroot().iter("testcase"):
        if entry.get("name") not in reports:
            yield from ((entry.get("name"), *case) for case in cases_of_entry(entry))


def main() -> int:
    cases = list(cases_of_run(pathlib.Path(sys.argv[1])))
    counts = collections.Counter(outcome for _, outcome, _ in cases)
    print(", ".join(f"{counts[outcome]} {outcome}" for outcome in ("passed", "failed", "skipped")))
    reasons = collections.defaultdict(list)
    for name, outcome, reason in cases:
        if outcome == "skipped":
            reasons[reason].append(name)
    for reason, names in sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0])):
        print(f"  {len(names)} skipped in {', '.join(dict.fromkeys(names))}: {reason}")
    return int(counts["failed"] > 0 or not cases)


sys.exit(main())
