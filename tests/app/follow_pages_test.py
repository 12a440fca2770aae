# SPDX-License-Identifier: Apache-2.0
"""Follows a page word for word, as a reader would: its commands run in order, and its outputs are compared.

usage: follow_pages_test.py PROGRAM PAGE     PAGE is one of PAGES, such as docs/tutorial.md
       follow_pages_test.py rule             unit tests of the rule of comparison, without a program

The commands of a page run in one bash with `set -e`, in a new folder that has copies of `experiments`, `scripts` and
`data`, and the program as build/release/rnnlab. Their output goes to a terminal of 100 columns. No GPU is visible.

**The tutorial** runs as it is: every ```bash fence. A ```text fence is compared with the output of the ```bash fence
before it. Its ```sh fence builds the program, and is not run.

**docs/pytorch.md** has plain fences, whose commands run, and then ```python fences, which run as one program. The clone's
.venv and Python module are there; MODEL is the model that the page takes as given.

**README.md and docs/commands.md** have plain fences. Each of their lines that begins as a command runs, except those
that NOT_RUN names with the reason; a line that the page repeats runs once. They run on smaller data, so that this takes
seconds: SMALLER changes the copies of the experiments. PREPARE and the writers of files make what the pages take as
given. So RUN, which stands for a run, is a folder of that name, and MNIST is a few images of noise. Lines below a
command that begins with `$ ` are compared with its output. OF_FILES names fences that are compared with a file at the
end.
check_commands.py checks the options and keys of all commands, also of those that are not run here.

**The rule.** Each shown line must occur in the real output, and in the same order. Lines of the real output that the
page does not show are passed over. A line occurs if all its words, brackets and signs do, one directly after the other.
These things are equal to each other:
- any two numbers, unless the table EXACT names the line: there they must have the same value;
- any two dates, and any two durations, also if their units differ (`364 us`, `1.2 s`, `1 min 5 s`);
- `train ms` and `train s` in the heading of a table; `thread` and `threads`, for a busy machine gets one;
- the name of the page's CPU and that of this machine's CPU;
- any two amounts of white space, or of dashes in a row.
A shown line begins where a real one begins, and ends where a real one ends. Terminals break long lines at different
words, so a line that is indented may also go on from the one before it, on either side. Where the page says `left out
here` in the line after a fence, columns are missing: there, the words of a line need only occur in order in one line.
Where rnnlab itself warned that other programs used the CPU, a VERDICT on times may be another one.
"""
import fcntl
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

sys.dont_write_bytecode = True  # the folder of the tests stays as it is

from fences import fences_of, lines_outside  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ("docs/tutorial.md", "README.md", "docs/commands.md", "docs/pytorch.md")
CPU_OF_PAGES = "Intel(R) Xeon(R) Processor"
COMMAND = re.compile(r"\$ |rnnlab |export |source |python3 |scripts/|data/fetch|~/|\.venv/")
MARK = "=-=-= command "
COLUMNS = 100

# Shown lines whose numbers have one right value, on each machine.
EXACT = re.compile(
    r"(?:recurrent|output)\.|total  |data      digits|          features|baseline|          mean of the training part|"
    r"10 runs in 5 rounds|=== round|the run reached|time,humidity|day \d|data/weather\.csv:|  (?:time|humidity): |"
    r"  temperature: |  'day|hint: |data      csv from|rnnlab: note: 24 rows|"
    r"bad\.yaml:|rnnlab: error: bad\.yaml|argument 'seed")

# What a command of README.md or docs/commands.md begins with or holds, and why it is not run.
NOT_RUN = {
    "scripts/quickstart": "builds the program",
    "scripts/test": "builds the program",
    "scripts/python-module": "builds the program",
    "python3 -m venv": "downloads packages",
    "~/viewer/bin/tensorboard": "is a server of a package that would have to be downloaded",
    "experiments/cnn_mnist.yaml": "trains 20,000 steps, which take many minutes on a CPU",
    "rnnlab bench": "takes many minutes on a CPU",
    "--gpus": "needs a GPU",
    "rnnlab train --task 3": "is a run on a GPU for some of the machines that number the tasks",
    "runs/gru_speed": "needs runs of a GPU",
    "man ./rnnlab.1": "needs the program man, and a reader who turns pages",
    "--prompt": "needs the text of a download, and minutes of training",
    "theirs.safetensors": "needs a file of Keras",
}
VERDICT = re.compile(r"\bfaster$|times as fast")
BUSY = re.compile("THE CPU (?:IS BUSY|WAS SHARED)")
# The exit codes of commands that a page shows to fail.
FAILS = {"rnnlab check bad.yaml seed=x": 2}
OF_FILES = {"index,row,prediction": "classes.csv"}
SMALLER = {
    "quickstart.yaml": {"num_train: 4000": "num_train: 256", "num_valid: 1000": "num_valid: 128",
                        "repeats: 5": "repeats: 1"},
    "mnist_rows.yaml": {"epochs: 6": "epochs: 2"},
    "csv_forecast.yaml": {"epochs: 6": "epochs: 1"},
}
BAD = "name: bad\ndata: {source: digits}\nmodel: {hiden_size: 64}\ntraining:\n  epochs: ten\n  batch_size: 0\n"
FLOWERS = """name: flowers
data: {source: csv, path: flowers.csv, target: [species], num_test: 30}
model: {kind: sequence_classifier, hidden_size: 8}
training: {epochs: 60, batch_size: 16, learning_rate: 1e-2}
"""
MODEL = """import torch
model = torch.nn.Sequential(torch.nn.LSTM(8, 8))
"""
# With one thread: on a busy machine rnnlab would use fewer threads in some runs, and compare would refuse these.
PREPARE = {
    "README.md": "export OMP_NUM_THREADS=1\nrnnlab train experiments/quickstart.yaml device=cpu",
    "docs/commands.md": """export OMP_NUM_THREADS=1
rnnlab train flowers.yaml device=cpu
mv runs/flowers/*-cpu-fused RUN
rm -r runs/flowers""",
}


# ---- the rule ----

NUMBER = re.compile(r"(?<![A-Za-z_])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
DATE = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d[-:]\d\d[-:]\d\dZ)?")
DURATION = re.compile(r"<\d[^>]*>(?: (?:ns|us|ms|s|min|h)\b)(?: <\d[^>]*> (?:ms|s|min)\b)*")
WORD = re.compile(r"<[^>]*>|\w+|\S")


def this_cpu():
    found = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return found.group(1).strip() if found else CPU_OF_PAGES


def words_of(line):
    """The words of a line. What may differ is `<date>`, `<duration>`, `<unit>`, `<cpu>` or, of numbers, `<7.0>`."""
    line = line.replace(this_cpu(), "<cpu>").replace(CPU_OF_PAGES, "<cpu>")
    line = re.sub(r"^(=== round .*?layer=)\w+", r"\1<drawn>", line)  # the order of a round is drawn
    line = re.sub(r"-{2,}", "--", DATE.sub("<date>", line))
    line = re.sub(r"\btrain m?s\b", "train <unit>", re.sub(r"\bthread\b", "threads", line))
    line = NUMBER.sub(lambda found: f"<{float(found.group().replace(',', ''))!r}>", line)
    return WORD.findall(DURATION.sub("<duration>", line))


def equal(words, others, exact):
    return words == others if exact else list(map(any_number, words)) == list(map(any_number, others))


def any_number(word):
    return re.sub(r"^<[\d.einf+-]*>$", "<number>", word)


def indent_of(line):
    return len(line) - len(line.lstrip())


class Output:
    """The words of a real output; `starts` has where a line begins, with its indentation."""

    def __init__(self, text):
        self.lines = [line for line in text.splitlines() if line.strip()]
        self.words, self.starts = [], {}
        for line in self.lines:
            self.starts[len(self.words)] = indent_of(line)
            self.words += words_of(line)
        self.starts[len(self.words)] = 0

    def end_of(self, line, at):
        """Where the line would end if its words are those from the word `at` on; None where they are not."""
        shown = words_of(line)
        end = at + len(shown)
        if not equal(self.words[at:end], shown, EXACT.match(line)):
            return None
        spans_lines = any(self.starts.get(i) == 0 for i in range(at + 1, end))
        return None if spans_lines else end

    def find(self, line, following, position):
        """The end of the first such line at or after the word `position`, or None. `following` may go on from it."""
        for at in range(position, len(self.words)):
            if at in self.starts or (at == position and indent_of(line)):
                end = self.end_of(line, at)
                if end in self.starts or (end and indent_of(following) and self.end_of(following, end)):
                    return end
        return None


def holds_in_order(words, shown):
    rest = iter(map(any_number, words))
    return all(any_number(word) in rest for word in shown)


def missing_lines(shown, text, columns_left_out=False):
    """The shown lines that do not occur, in order, in the text of the real output."""
    output = Output(text)
    lines = [line for line in shown.splitlines() if line.strip()]
    if columns_left_out:
        return lines_without_columns(lines, output)
    missing, position = [], 0
    for i, line in enumerate(lines):
        end = output.find(line, lines[i + 1] if i + 1 < len(lines) else "", position)
        if end is None:
            missing.append(line)
        else:
            position = end
    return missing


def lines_without_columns(lines, output):
    missing, position = [], 0
    for line in lines:
        shown = words_of(line)
        rest = range(position, len(output.lines))
        at = next((i for i in rest if holds_in_order(words_of(output.lines[i]), shown)), None)
        if at is None:
            missing.append(line)
        else:
            position = at + 1
    return missing


# ---- a page ----

class Step:
    """A command of a page, and what the page shows of its output."""

    def __init__(self, number, command):
        self.number, self.command, self.shown = number, command, []


def steps_of_tutorial(text):
    steps = []
    for fence in fences_of(text):
        if fence.language == "bash":
            steps.append(Step(fence.number, fence.content))
        elif fence.language == "text":
            steps[-1].shown.append((fence.content, "left out here" in fence.after))
    return steps


def reason_not_run(command):
    return next((reason for part, reason in NOT_RUN.items() if part in command), None)


def steps_of_plain_fences(text):
    steps, of_files = [], []
    for fence in fences_of(text):
        lines = fence.lines
        if fence.language:
            continue
        if not COMMAND.match(lines[0]):
            of_files += [(fence.content, file) for begin, file in OF_FILES.items() if lines[0].startswith(begin)]
        elif lines[0].startswith("$ "):
            steps.append(Step(fence.number, lines[0].removeprefix("$ ") + "\n"))
            steps[-1].shown.append(("\n".join(lines[1:]), False))
        else:
            steps += [Step(fence.number + i, line + "\n") for i, line in enumerate(lines) if not reason_not_run(line)]
    steps = list({step.command: step for step in reversed(steps)}.values())[::-1]
    for content, file in of_files:
        steps.append(Step(0, f"cat {file}\n"))
        steps[-1].shown.append((content, False))
    return steps


def steps_of_pytorch(text):
    programs = [fence for fence in fences_of(text) if fence.language == "python"]
    code = MODEL + "".join(fence.content for fence in programs)
    return steps_of_plain_fences(text) + [Step(programs[0].number, f".venv/bin/python - <<'PYTHON'\n{code}PYTHON\n")]


def steps_of(page, text):
    ways = {"docs/tutorial.md": steps_of_tutorial, "docs/pytorch.md": steps_of_pytorch}
    return ways.get(page, steps_of_plain_fences)(text)


# ---- a bare system ----

def write_mnist(folder):
    """Images of noise in MNIST's format, under the names that `data/fetch mnist` gives."""
    folder.mkdir(parents=True)
    for part, count in (("train", 256), ("t10k", 128)):
        pixels = bytes((i * 2654435761 >> 11) % 256 for i in range(count * 28 * 28))
        (folder / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 2051, count, 28, 28) + pixels)
        labels = bytes(i % 10 for i in range(count))
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 2049, count) + labels)


def write_flowers(folder):
    rows = []
    for i in range(150):
        kind = i % 3
        rows.append(f"{5 + kind / 2 + i % 7 / 10},{3.4 - kind / 4},{1.5 + 2 * kind + i % 5 / 10},{0.2 + kind},"
                    + ("setosa", "versicolor", "virginica")[kind])
    header = "sepal_length,sepal_width,petal_length,petal_width,species"
    for name in ("flowers.csv", "weather.csv"):
        (folder / name).write_text("\n".join([header, *rows, ""]))
    (folder / "new.csv").write_text("\n".join(row.rpartition(",")[0] for row in [header, *rows]) + "\n")
    (folder / "flowers.yaml").write_text(FLOWERS)
    (folder / "bad.yaml").write_text(BAD)


def make_smaller(experiments):
    for name, changes in SMALLER.items():
        text = (experiments / name).read_text()
        for old, new in changes.items():
            if old not in text:
                raise SystemExit(f"experiments/{name} has no '{old}', which SMALLER would change")
            text = text.replace(old, new)
        (experiments / name).write_text(text)


def make_folder(folder, program, page):
    for name in ("experiments", "scripts"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "data").mkdir()
    for name in ("fetch", "README.md"):
        shutil.copy(ROOT / "data" / name, folder / "data" / name)
    (folder / "build" / "release").mkdir(parents=True)
    (folder / "build" / "release" / "rnnlab").symlink_to(program)
    (folder / "build" / "release" / "python").symlink_to(program.parent / "python")
    (folder / ".venv").symlink_to(ROOT / ".venv")
    if page in PREPARE:
        make_smaller(folder / "experiments")
        write_mnist(folder / "data" / "mnist")
        write_flowers(folder)


def script_of(steps, prepare=""):
    parts = ["set -e\n", prepare + "\n"]
    for i, step in enumerate(steps):
        parts.append(f"printf '\\n{MARK}%s\\n' {i}\n")
        code = FAILS.get(step.command.strip())
        parts.append(step.command if code is None else f"{step.command.strip()} || [[ $? == {code} ]]\n")
    return "".join(parts)


def run_script(script, folder):
    """The exit code, and what a terminal showed."""
    terminal, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    environment = {"PATH": f"{folder}/build/release:{os.environ['PATH']}", "HOME": str(folder), "LC_ALL": "C.UTF-8",
                   "NO_COLOR": "1", "CUDA_VISIBLE_DEVICES": "", "TERM": "xterm"}
    (folder / "script").write_text(script)
    process = subprocess.Popen(["bash", "script"], cwd=folder, stdin=subprocess.DEVNULL, stdout=inner, stderr=inner,
                               env=environment)
    os.close(inner)
    parts = []
    while part := read_some(terminal):
        parts.append(part)
    os.close(terminal)
    return process.wait(), what_stays(b"".join(parts).decode(errors="replace"))


def what_stays(text):
    """The text without control sequences, and without progress that a carriage return has overwritten."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.replace("\r\n", "\n"))
    return re.sub(r"[^\n]*\r", "", text)


def read_some(terminal):
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the last process has closed it
        return b""


def follow(text, page, folder, prepare=""):
    """The mistakes of a page: commands that fail, shown lines that do not occur."""
    steps = steps_of(page, text)
    code, output = run_script(script_of(steps, prepare), folder)
    _, *outputs = output.split(f"\n{MARK}")
    if not steps or code != 0:
        at = steps[len(outputs) - 1] if outputs else None
        where = f"{page}:{at.number}: {at.command}" if at else f"{page}: before its first command\n"
        return [f"{where}exit code {code} after:\n{(outputs or [output])[-1][-3000:]}"]
    mistakes = []
    for step, real in zip(steps, outputs):
        real = real.partition("\n")[2]
        missing = [line for shown, left_out in step.shown for line in missing_lines(shown, real, left_out)]
        if BUSY.search(output):
            missing = [line for line in missing if not VERDICT.search(line)]
        if missing:
            mistakes.append(f"{page}:{step.number}: {step.command}does not print, in this order:\n" + "\n".join(missing)
                            + f"\nbut:\n{real}")
    return mistakes


def main(program, page):
    started = time.monotonic()
    text = (ROOT / page).read_text()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_folder(folder, pathlib.Path(program).resolve(), page)
        mistakes = follow(text, page, folder, PREPARE.get(page, ""))
    print("\n\n".join(mistakes))
    print(f"{page}: {len(steps_of(page, text))} commands, {len(mistakes)} mistakes, {time.monotonic() - started:.0f} s")
    return int(bool(mistakes))


# ---- tests of the rule ----

LOG = f"""run       runs/first/2026-11-27T08-53-50Z-cpu-fused
device    {CPU_OF_PAGES} (2 threads)
data      digits generated by seed 1: 4,000 training samples of 28 steps x 28
          features, 10 classes
name                 shape      parameters
recurrent.weight_ih  (512, 28)      14,336
epoch  train acc  train ms
    1     0.2185     326.9  (warm-up)
    2     0.4688     317.2
the first round took 4.97 s; 4 more take about 19.9 s
"""
TABLE = """run        seeds  loss   s/epoch  verdict
---------  -----  -----  -------  -------
cpu fused  1      0.123  0.1697   faster
"""
PAGE = """# A page
```bash
echo "took 5 s"
echo second
```
```text
took 7 s
second
```
"""


class RuleTest(unittest.TestCase):
    def missing(self, old="", new=""):
        self.assertIn(old, LOG)
        return missing_lines(LOG.replace(old, new) if old else LOG, LOG)

    def test_the_same_text_occurs(self):
        self.assertEqual(self.missing(), [])

    def test_other_numbers_dates_and_durations_are_equal(self):
        self.assertEqual(self.missing("0.4688     317.2", "0.51  1,317.25"), [])
        self.assertEqual(self.missing("2026-11-27T08-53-50Z", "2027-01-02T00-00-00Z"), [])
        self.assertEqual(self.missing("4.97 s;", "1 min 4 s;"), [])
        self.assertEqual(self.missing(f"{CPU_OF_PAGES} (2", f"{this_cpu()} (64"), [])

    def test_an_exact_line_has_the_same_numbers(self):
        self.assertEqual(self.missing("14,336", "14336"), [])
        self.assertEqual(self.missing("14,336", "14,337"), ["recurrent.weight_ih  (512, 28)      14,337"])

    def test_a_word_a_sign_or_a_column_more_or_less_is_missed(self):
        self.assertEqual(self.missing("(warm-up)", "(warm-down)"), ["    1     0.2185     326.9  (warm-down)"])
        self.assertEqual(self.missing("317.2", "317.2  0.5"), ["    2     0.4688     317.2  0.5"])
        self.assertEqual(self.missing("epoch  train acc", "epoch"), ["epoch  train ms"])
        self.assertEqual(self.missing("4.97 s;", "4.97 s,"), ["the first round took 4.97 s, 4 more take about 19.9 s"])

    def test_lines_may_be_left_out_but_not_swapped(self):
        self.assertEqual(self.missing("    2     0.4688     317.2\n", ""), [])
        lines = LOG.splitlines()
        self.assertEqual(missing_lines(f"{lines[-1]}\n{lines[0]}", LOG), [lines[0]])

    def test_long_lines_may_break_at_other_words(self):
        self.assertEqual(self.missing("28 steps x 28\n          features", "28\n          steps x 28 features"), [])
        self.assertEqual(self.missing("28\n          features", "28 features"), [])

    def test_a_line_is_not_part_of_a_line_nor_two_of_them(self):
        self.assertEqual(missing_lines("the first round took 4.97 s", LOG), ["the first round took 4.97 s"])
        self.assertEqual(missing_lines("4 more take about 19.9 s", LOG), ["4 more take about 19.9 s"])
        self.assertEqual(missing_lines("a b", "a\nb\n"), ["a b"])

    def test_columns_may_be_left_out_where_the_page_says_so(self):
        shown = TABLE.replace("loss   ", "").replace("-----  -----  ", "-----  ").replace("0.123  ", "")
        self.assertEqual(missing_lines(shown, TABLE, columns_left_out=True), [])
        self.assertEqual(len(missing_lines(shown, TABLE)), 3)
        changed = shown.replace("faster", "slower")
        self.assertEqual(missing_lines(changed, TABLE, True), ["cpu fused  1      0.1697   slower"])

    def test_progress_that_was_overwritten_is_not_output(self):
        self.assertEqual(what_stays("one\r\n\r\x1b[K10 %\r\x1b[Ktwo\x1b[0m\r\n"), "one\ntwo\n")


class FencesTest(unittest.TestCase):
    PAGE = "a `b`\n```sh\nc\n\nd\n```\n\nleft out here\n- e\n  ```\n  f\n  ```\n"

    def test_have_a_language_a_place_and_what_follows(self):
        first, second = fences_of(self.PAGE)
        self.assertEqual((first.language, first.number, first.content), ("sh", 3, "c\n\nd\n"))
        self.assertEqual(first.after, "left out here")
        self.assertEqual((second.language, second.number, second.lines, second.after), ("", 11, ["  f"], ""))

    def test_the_other_lines_are_outside(self):
        self.assertEqual(lines_outside(self.PAGE), [(1, "a `b`"), (7, ""), (8, "left out here"), (9, "- e")])

    def test_must_be_closed(self):
        self.assertRaisesRegex(ValueError, "line 2: this fence is never closed", fences_of, "a\n```\nb\n")


class FollowTest(unittest.TestCase):
    def follow(self, text, page="docs/tutorial.md"):
        with tempfile.TemporaryDirectory() as name:
            return follow(text, page, pathlib.Path(name))

    def test_a_right_page_has_no_mistakes(self):
        self.assertEqual(self.follow(PAGE), [])

    def test_a_command_that_fails_is_named(self):
        mistakes = self.follow(PAGE.replace("echo second", "no_such_program"))
        self.assertRegex(mistakes[0], "^docs/tutorial.md:3: .*(?s:.*)code 127")

    def test_a_shown_line_that_is_not_printed_is_named(self):
        mistakes = self.follow(PAGE.replace("echo second", "echo other"))
        self.assertRegex(mistakes[0], "in this order:\nsecond\n")

    def test_the_changed_tutorial_of_this_repository_would_be_found(self):
        text = (ROOT / PAGES[0]).read_text()
        shown = [fence.content for fence in fences_of(text) if fence.language == "text"]
        for content in shown:
            self.assertEqual(missing_lines(content, content), [])
            for line in content.splitlines():
                changed = content.replace(line, line + " changed", 1)
                self.assertTrue(not line.strip() or missing_lines(changed, content), line)

    def test_commands_of_plain_fences_and_their_output(self):
        page = "```\nrnnlab info\nscripts/test\n```\n```\n$ rnnlab check x\nwrong\n```\n```yaml\na: 1\n```\n"
        steps = steps_of("README.md", page)
        self.assertEqual([step.command for step in steps], ["rnnlab info\n", "rnnlab check x\n"])
        self.assertEqual(steps[1].shown, [("wrong", False)])

    def test_each_reason_for_a_command_that_is_not_run_is_needed(self):
        texts = "".join((ROOT / page).read_text() for page in PAGES[1:])
        lines = [line for fence in fences_of(texts) if not fence.language for line in fence.lines]
        for part in NOT_RUN:
            self.assertTrue(any(part in line for line in lines), part)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[2] in PAGES:
        sys.exit(main(sys.argv[1], sys.argv[2]))
    if sys.argv[1:] != ["rule"]:
        sys.exit(__doc__)
    unittest.main(argv=sys.argv[:1])
