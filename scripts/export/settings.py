# SPDX-License-Identifier: Apache-2.0
"""Reads config.yaml as rnnlab writes it: nested maps of plain or double-quoted values and lists, without texts of several
lines. Needs no package."""

import re

from export.common import ExportError

LINE = re.compile(r"( *)([A-Za-z_][\w.-]*):(?: +(.*))?$")
ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)")
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
PLAIN = re.compile(r"[^\s,\[\]{}#\"'](?:[^,\[\]#\"]|(?<! )#)*")
LETTERS = {"n": "\n", "r": "\r", "t": "\t"}
WORDS = {"true": True, "false": False, "null": None, "~": None}
PATH_KEYS = re.compile(r"data\.(path|\w+_(file|inputs|targets|lengths))|model\.initial_weights")


def unescaped(match):
    code = match[1]
    return chr(int(code[1:], 16)) if code[0] in "xuU" and len(code) > 1 else LETTERS.get(code, code)


def plain_value(text):
    if text in WORDS:
        return WORDS[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def scalar_at(text, begin):
    """Returns a value and where it ends."""
    if found := QUOTED.match(text, begin):
        return ESCAPE.sub(unescaped, found[1]), found.end()
    found = PLAIN.match(text, begin)
    if not found:
        raise ValueError
    return plain_value(found[0].rstrip()), found.end()


def spaces_end(text, begin):
    return begin + len(text[begin:]) - len(text[begin:].lstrip(" "))


def list_at(text, begin):
    items, end = [], spaces_end(text, begin + 1)
    while text[end:end + 1] != "]":
        item, end = scalar_at(text, end)
        items.append(item)
        end = spaces_end(text, end)
        if text[end:end + 1] == ",":
            end = spaces_end(text, end + 1)
        elif text[end:end + 1] != "]":
            raise ValueError
    return items, end + 1


def value_at(text):
    """Returns the value at the begin of a line's rest, and where it ends."""
    value, end = list_at(text, 0) if text.startswith("[") else scalar_at(text, 0)
    rest = text[end:].strip()
    if rest and not rest.startswith("#"):
        raise ValueError
    return value, end


def lines_of(text, path):
    """Yields the number of each line that sets a key, the dotted key, and its value's text (None for a map)."""
    groups = []  # (indent, key)
    block = -1  # the indent of the key whose value is the block of lines below it; -1 outside of one
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if block >= 0 and len(line) - len(line.lstrip(" ")) > block:
            continue  # equations, which nothing reads here: `rnnlab cell` has them
        block = -1
        found = LINE.match(line)
        if not found:
            raise ExportError(f"{path}:{number}: expected a key and a value as rnnlab writes them")
        indent, key, rest = len(found[1]), found[2], found[3] or ""
        while groups and groups[-1][0] >= indent:
            groups.pop()
        dotted = ".".join([*(group for _, group in groups), key])
        if rest == "|":
            block = indent
            continue
        is_map = not rest or rest.startswith("#")
        if is_map:
            groups.append((indent, key))
        yield number, dotted, None if is_map else rest


def read_settings(text, path):
    """Returns the settings by dotted key. Keys that are off are absent."""
    settings = {}
    for number, key, rest in lines_of(text, path):
        if rest is None:
            continue
        try:
            settings[key] = value_at(rest)[0]
        except ValueError:
            raise ExportError(f"{path}:{number}: {key} has no value that rnnlab writes: copy the run again") from None
    return settings


def last_name(value):
    """A path without the folders above it."""
    return value.replace("\\", "/").rstrip("/").rpartition("/")[2] if isinstance(value, str) else value


def paths_in(settings):
    return [value for key, value in settings.items() if PATH_KEYS.fullmatch(key) and isinstance(value, str) and value]


def without_folders(settings):
    return {key: last_name(value) if PATH_KEYS.fullmatch(key) else value for key, value in settings.items()}


def config_without_folders(text, path):
    """Returns the text of a config.yaml whose paths are cut to their last names. Its seal holds for it too."""
    lines = text.splitlines(keepends=True)
    for number, key, rest in lines_of(text, path):
        if rest is None or not PATH_KEYS.fullmatch(key):
            continue
        value, end = value_at(rest)
        if isinstance(value, str) and last_name(value) != value:
            name = last_name(value).replace("\\", "\\\\").replace('"', '\\"')
            lines[number - 1] = lines[number - 1].replace(rest[:end], f'"{name}"', 1)
    return "".join(lines)
