# SPDX-License-Identifier: Apache-2.0
"""Checks the commands that documents and experiments name: verbs, options, files and keys; experiments by `rnnlab check`.

usage: check_commands.py PROGRAM      names each mistake; exit code 1 if there is one, or no command at all

A command is a line of a code block, of a comment, or a text in backticks. Words that stand for something else (RUN, FILE, ...)
are passed over, and so is what a shell does with the output.
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True  # the folder of the tests stays as it is

from fences import fences_of, lines_outside  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ("*.md", "data/*.md", "docs/**/*.md", "experiments/*.yaml")
COMMAND = re.compile(r"(?:build/release/)?rnnlab [a-z]|python3 experiments/|(?:scripts|data)/[a-z]")
# Of this repository; data/, runs/ and the like are made later.
OWN_FILE = re.compile(r"(?:experiments|scripts|docs|tests)/.|data/fetch$")


def keys_of(schema, prefix=""):
    for name, value in schema.get("properties", {}).items():
        yield prefix + name
        yield from keys_of(value, prefix + name + ".")


def codes_in(line):
    return re.findall(r"`([^`]+)`", line)


def joined(lines):
    """Each line's index and text; a line that ends with a backslash goes on in the next one, as in a shell."""
    start = 0
    for end, line in enumerate(lines, 1):
        if not line.endswith("\\") or end == len(lines):
            yield start, "".join(part.removesuffix("\\") for part in lines[start:end])
            start = end


def texts_of_document(text):
    for fence in fences_of(text):
        yield from ((fence.number + i, line.removeprefix("$ ")) for i, line in joined(fence.lines))
    yield from ((number, code) for number, line in lines_outside(text) for code in codes_in(line))


def texts_of_experiment(text):
    for number, line in enumerate(text.splitlines(), 1):
        comment = line.partition("#")[2]
        for code in codes_in(comment) or [comment.partition(":  ")[2] or comment]:
            yield number, code


def texts_of(path):
    """The code in a document, and the comments of an experiment, with their lines' numbers."""
    read = texts_of_experiment if path.suffix == ".yaml" else texts_of_document
    return sorted(read(path.read_text()), key=lambda text: text[0])


def commands_in(path):
    for number, text in texts_of(path):
        text = text.strip()
        if COMMAND.match(text) and "..." not in text:
            yield number, text


def words_of(text):
    words = shlex.split(text, comments=True)
    for i, word in enumerate(words):
        if word in (">", "|", "&&"):
            return words[:i]
        if word.endswith(";"):
            return [*words[:i], word[:-1]]
    return words


def is_placeholder(word):
    return re.search(r"\b[A-Z]{2,}\b|[|\[\]]", word) and not word.startswith("sweep=")


def keys_in(words):
    return {word.partition("=")[0] for word in words if re.match(r"[a-z_.0-9]+=", word)}


def settings_in(words):
    """The files and assignments, without options and the value of `--resume auto`."""
    resumes = [i for i, word in enumerate(words) if word == "--resume"]
    return [word for i, word in enumerate(words) if not word.startswith("-") and i - 1 not in resumes]


class Verbs:
    """What the program's verbs take, by what they print about themselves."""

    def __init__(self, program):
        self.program = program
        self.names = re.findall(r"^  ([a-z]+)  ", self.run("--help").stdout, re.M)
        self.help = {}
        self.experiment_keys = set(keys_of(json.loads(self.run("check", "--json-schema").stdout)))
        self.bench_keys = set(re.findall(r"^([a-z_]+)  ", self.run("bench", "--schema").stdout, re.M))

    def run(self, *arguments):
        return subprocess.run([self.program, *arguments], cwd=ROOT, capture_output=True, text=True)

    def options(self, verb):
        """Of the verb and of those nested in it, such as `sweep work`."""
        if verb not in self.help:
            text = self.run(verb, "--help").stdout
            nested = re.findall(r"^  ([a-z]+)  ", text.partition("Subcommands:")[2], re.M)
            texts = [text, *(self.run(verb, name, "--help").stdout for name in nested)]
            self.help[verb] = set(re.findall(r"--?[a-z][a-z-]*", "\n".join(texts)))
        return self.help[verb]

    def keys(self, verb):
        return self.bench_keys if verb == "bench" else self.experiment_keys

    def mistakes(self, words):
        verb = words[0]
        if verb not in self.names and verb != "help":
            yield f"no verb '{verb}'"
            return
        for word in words[1:]:
            if word.startswith("-") and word.partition("=")[0] not in self.options(verb):
                yield f"{verb} has no option {word}"
        of_ours = any(OWN_FILE.match(word) for word in words[1:])  # another file stands for the reader's
        if verb in ("train", "check") and of_ours and not any(map(is_placeholder, words)):
            checked = self.run("check", *settings_in(words[1:]))
            yield from [checked.stderr.strip()] if checked.returncode != 0 else []
        else:
            yield from (f"{verb} has no key {key}" for key in sorted(keys_in(words[1:]) - self.keys(verb)))


def mistakes_in(text, verbs):
    try:
        words = words_of(text)
    except ValueError as error:
        yield f"no shell reads it: {error}"
        return
    for word in words:
        if OWN_FILE.match(word) and not is_placeholder(word) and not (ROOT / word).exists():
            yield f"no file {word}"
    if words[0].endswith("rnnlab"):
        yield from verbs.mistakes(words[1:])


def main(program):
    verbs = Verbs(program)
    seen = {}
    failed = False
    for path in sorted(file for pattern in FILES for file in ROOT.glob(pattern)):
        for number, text in commands_in(path):
            if text not in seen:
                seen[text] = list(mistakes_in(text, verbs))
            for mistake in seen[text]:
                print(f"{path.relative_to(ROOT)}:{number}: {text}\n    {mistake}")
                failed = True
    print(f"{len(seen)} commands")
    return int(failed or not seen)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
