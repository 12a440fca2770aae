# SPDX-License-Identifier: Apache-2.0
"""Prints "N passed, N failed, N skipped" over the single test cases of a ctest run; exit code 1 if one failed or none ran.

The folder holds one JSON report of each GoogleTest program, and ctest.xml. A program that crashed leaves no JSON report: it counts
as one failed test. A test that skipped itself (SKIP_RETURN_CODE) is skipped; one that ctest could not start is failed.
"""
import json
import pathlib
import sys
import xml.etree.ElementTree as xml


def outcomes(report: pathlib.Path):
    for suite in json.loads(report.read_text())["testsuites"]:
        for case in suite["testsuite"]:
            if case["status"] != "RUN":
                continue
            yield "failed" if case.get("failures") else "skipped" if case["result"] == "SKIPPED" else "passed"


def outcome_of(entry: xml.Element) -> str:
    skipped = entry.find("skipped")
    if skipped is not None and skipped.get("message", "").startswith("SKIP_"):
        return "skipped"
    return "passed" if entry.get("status") == "run" else "failed"


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    reports = {report.stem.removesuffix("_tests"): report for report in folder.glob("*.json")}
    for report in reports.values():
        for outcome in outcomes(report):
            counts[outcome] += 1
    for entry in xml.parse(folder / "ctest.xml").getroot().iter("testcase"):
        if entry.get("name") not in reports:
            counts[outcome_of(entry)] += 1
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return int(counts["failed"] > 0 or sum(counts.values()) == 0)


sys.exit(main())
