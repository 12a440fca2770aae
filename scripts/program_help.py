# SPDX-License-Identifier: Apache-2.0
"""Reads the help of a program that CLI11 prints, for scripts/man-page and scripts/command-reference."""
import itertools
import re
import subprocess

OPTION = re.compile(r"  (\S.*?)(?: {2,}(\S.*))?$")
INDENT = 20  # columns; what is indented further belongs to the option above
NAME_WIDTH = 31  # of an option's name that leaves one space before its text


def help_of(program, *verbs):
    done = subprocess.run([program, *verbs, "--help"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{program} {' '.join(verbs)} --help ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def sections_of(lines):
    """The lines before the first heading, then (heading, lines) for each heading such as "Options:"."""
    sections = [("", [])]
    for line in lines:
        if re.fullmatch(r"[A-Z][A-Za-z ]*:", line):
            sections.append((line[:-1], []))
        else:
            sections[-1][1].append(line)
    return sections


def entries_of(lines):
    """Pairs of an option and its text."""
    entries = []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        match = OPTION.fullmatch(line)
        if match and indent == 2:
            entries.append([match[1], match[2] or ""])
        elif line.strip() and indent >= INDENT and entries:
            entries[-1][1] = f"{entries[-1][1]} {line.strip()}".strip()
    return [(name, text) if text else split_at_width(name) for name, text in entries]


def split_at_width(line):
    """An option and its text, if its name is as wide as its column and so only one space follows."""
    if line[NAME_WIDTH:NAME_WIDTH + 1] != " ":
        return line, ""
    return line[:NAME_WIDTH].rstrip(), line[NAME_WIDTH:].strip()


def verbs_of(lines):
    return [name.split()[0] for heading, content in sections_of(lines) if heading in ("Subcommands", "SUBCOMMANDS", "Verbs")
            for name, _ in entries_of(content)]


def usage_of(lines):
    """What follows "Usage:", or "" if the help has none."""
    return next((line[len("Usage:"):].strip() for line in lines if line.startswith("Usage:")), "")


def exit_codes_of(lines):
    """The sentence of the program's help that begins with "Exit codes:"."""
    first = next(index for index, line in enumerate(lines) if line.startswith("Exit codes:"))
    rest = itertools.takewhile(lambda line: line.startswith(" "), lines[first + 1:])
    return " ".join(line.strip() for line in [lines[first], *rest]).removeprefix("Exit codes:").strip()
