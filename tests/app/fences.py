# SPDX-License-Identifier: Apache-2.0
"""The fenced code blocks of a document in Markdown, for tests of what documents say.

A fence is opened by a line that begins with ```, perhaps after spaces, and closed by the next such line. The word after
``` is its language. A fence that is never closed is an error, because the rest of the page would be code.
"""
import dataclasses


@dataclasses.dataclass
class Fence:
    """A block of code; `number` is that of its first line of code in the page, counted from 1."""

    language: str
    number: int
    lines: list
    after: str = ""  # the first line after it that is not blank, if it follows at once or after one blank line

    @property
    def content(self):
        return "".join(line + "\n" for line in self.lines)


def is_mark(line):
    return line.lstrip().startswith("```")


def line_after(lines, at):
    following = [*lines[at + 1:at + 3], "", ""]
    return following[0] or following[1]


def fences_of(text):
    """The fences of a page, in order."""
    lines, fences, opened = text.splitlines(), [], None
    for at, line in enumerate(lines):
        if is_mark(line) and opened is None:
            opened = Fence(line.strip().removeprefix("```"), at + 2, [])
        elif is_mark(line):
            opened.after = line_after(lines, at)
            fences.append(opened)
            opened = None
        elif opened is not None:
            opened.lines.append(line)
    if opened is not None:
        raise ValueError(f"line {opened.number - 1}: this fence is never closed")
    return fences


def lines_outside(text):
    """(number, line) of the lines that are not in a fence; the marks of fences are left out."""
    lines = text.splitlines()
    inside = {number for fence in fences_of(text) for number in range(fence.number, fence.number + len(fence.lines))}
    return [(number, line) for number, line in enumerate(lines, 1) if number not in inside and not is_mark(line)]
