# SPDX-License-Identifier: Apache-2.0
"""What the peers share: the work of an rnnlab experiment as `rnnlab export` writes it, the clock around an epoch, and the
run folder that `rnnlab compare` reads beside rnnlab's own. docs/timing.md has both formats. It needs Python alone.
"""
import argparse
import hashlib
import importlib
import json
import math
import mmap
import os
import pathlib
import resource
import secrets
import statistics
import struct
import subprocess
import sys
import tempfile
import time

USAGE, DIVERGED = 2, 5  # exit codes, as rnnlab's

# Settings that the work file has done already, that are compared apart, or that lie outside the timed part.
WITHOUT_WORK = ("name", "device", "layer", "auto_layer", "cudnn_algorithm", "convolution", "seed", "data.",
                "model.initialization", "model.initial_weights", "training.epochs", "training.max_steps", "training.batch_size",
                "training.valid_batch_size", "training.shuffle", "training.drop_last", "training.learning_rate",
                "training.schedule", "training.warmup_steps", "training.decay_rate", "training.decay_steps",
                "training.minimum_learning_rate", "training.patience", "training.min_delta", "training.warmup_epochs",
                "training.num_threads", "checkpoint.save", "checkpoint.every_epochs", "checkpoint.every_seconds",
                "checkpoint.best", "checkpoint.keep")


def fail(message, code=USAGE):
    print(f"{pathlib.Path(sys.argv[0]).name}: error: {message}", file=sys.stderr)
    sys.exit(code)


def package(name):
    """The module of this name, which this Python must have."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        fail(f"{sys.executable} cannot import {name} ({error}): install it there with all that it depends on, or run "
             "this script by a Python that has it")


def parse_arguments(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", help="an experiment file of rnnlab")
    parser.add_argument("settings", nargs="*", metavar="key=value", help="as of `rnnlab train`")
    parser.add_argument("--program", default="build/release/rnnlab", help="rnnlab (build/release/rnnlab)")
    parser.add_argument("--out", default="runs", metavar="DIR", help="where the run folder goes (runs)")
    parser.add_argument("--turn", metavar="MEASUREMENT:ROUND:POSITION:CASE", help="of a measurement in rounds")
    return parser.parse_intermixed_args()


class Tensor:
    """Of the work file: its type in words, its shape, and its bytes."""

    def __init__(self, facts, data):
        begin, end = facts["data_offsets"]
        self.dtype, self.shape, self.bytes = facts["dtype"], facts["shape"], data[begin:end]


class Work:
    """What `rnnlab export` wrote: settings, samples, weights, orders and learning rates."""

    def __init__(self, path):
        with open(path, "rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        header_bytes, = struct.unpack("<Q", content[:8])
        header = json.loads(content[8:8 + header_bytes])
        facts = json.loads(header.pop("__metadata__")["rnnlab_work"])
        data = memoryview(content)[8 + header_bytes:]
        self.tensors = {name: Tensor(each, data) for name, each in header.items()}
        self.settings, self.defaults, self.shape = facts["settings"], facts["defaults"], facts["shape"]
        self.identity, self.environment = facts["identity"], facts["environment"]
        self.config, self.settings_sha256 = facts["config"], facts["settings_sha256"]
        rates = self.tensors["learning_rates"]
        self.learning_rates = struct.unpack(f"<{rates.shape[0]}d", rates.bytes)
        self.num_epochs, self.num_samples = self.tensors["order"].shape
        self.steps_per_epoch = self.shape["steps_per_epoch"]
        self.batch_size = self.identity["batch_size"]
        self.num_threads = self.environment["num_threads"]
        self.began = time.monotonic()  # after the start in environment.json

    def text(self, key):
        return self.settings.get(key, "").strip('"')

    def number(self, key):
        return float(self.text(key) or 0)

    def count(self, key):
        return int(self.text(key) or 0)

    def flag(self, key):
        return self.text(key) == "true"

    def sizes(self, key):
        return json.loads(self.settings.get(key, "[]"))

    def weights(self):
        prefix = "weights."
        return {name[len(prefix):]: tensor for name, tensor in self.tensors.items() if name.startswith(prefix)}

    def batch_bounds(self, epoch):
        """(number of the step, first sample, end) of each batch of an epoch from 0."""
        for i in range(self.steps_per_epoch):
            begin = i * self.batch_size
            yield epoch * self.steps_per_epoch + i, begin, min(begin + self.batch_size, self.num_samples)

    def valid_bounds(self):
        num_valid = self.tensors["valid.inputs"].shape[0] if "valid.inputs" in self.tensors else 0
        size = self.count("training.valid_batch_size")
        return [(begin, min(begin + size, num_valid)) for begin in range(0, num_valid, size)]


def export_work(options):
    """By the program itself, in this process's place: with its CPUs, its variables, and nothing on the GPU yet."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "work.safetensors")
        command = [options.program, "export", options.experiment, *options.settings, "-o", path]
        try:
            result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        except OSError as error:
            fail(f"{options.program} cannot be started ({error.strerror}): build rnnlab, or name it by --program")
        if result.returncode != 0:
            sys.stderr.write(result.stderr)
            sys.exit(result.returncode)
        work = Work(path)
    # What rnnlab sets for itself, as a size of cuBLAS's workspace, holds for both.
    for name, value in (work.environment["variables"] or {}).items():
        os.environ.setdefault(name, value)
    return work


def is_without_work(key):
    return any(key == each or (each.endswith(".") and key.startswith(each)) for each in WITHOUT_WORK)


def require_supported(work, program, supported):
    """Ends the process, naming each setting that the peer cannot do. `supported` has the values by key; None: any."""
    refused = []
    for key in sorted(set(work.settings) | set(work.defaults)):
        value, default = work.settings.get(key, ""), work.defaults.get(key, "")
        if value == default or is_without_work(key):
            continue
        if key not in supported:
            refused.append(f"{key}: {value or 'unset'}, expected {default or 'nothing'}")
        elif supported[key] is not None and value not in supported[key]:
            refused.append(f"{key}: {value}, expected {' or '.join(supported[key])}")
    for key in ("data.target_per", "data.categories"):
        if work.settings.get(key, "") != work.defaults.get(key, ""):
            refused.append(f"{key}: {work.settings[key]}, expected one target a sequence and inputs that are numbers")
    if "train.lengths" in work.tensors:
        refused.append("data.train_lengths: given, expected sequences of one length")
    if work.identity["placement"] != "device":
        refused.append("data.placement: host, expected device")
    if work.shape["total_steps"] % work.steps_per_epoch:
        refused.append("training.max_steps: it ends within an epoch, expected whole epochs; leave it to training.epochs")
    if refused:
        fail(f"{program} cannot do these settings here; change them on both sides:\n  " + "\n  ".join(refused))


class Witness:
    """The clocks around an epoch: Python's, the kernel's since boot, CPU seconds and switches of the process."""

    def __init__(self):
        self.began = self.read()

    @staticmethod
    def read():
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return {"voluntary_switches": usage.ru_nvcsw, "forced_switches": usage.ru_nivcsw,
                "cpu_seconds": time.process_time(), "boot_seconds": time.clock_gettime(time.CLOCK_BOOTTIME),
                "train_seconds": time.perf_counter()}

    def stop(self):
        ended = time.perf_counter()
        return {name: value - self.began[name] for name, value in {**self.read(), "train_seconds": ended}.items()}


def precision_that_ran(wanted, recurrent, others):
    """In words, from the sets of 16-bit formats that recurrent and other layers gave results in; `wanted` where they gave none.

    A program chooses formats for each operation: PyTorch's autocast runs cuDNN's recurrent layers in float16, also where
    bfloat16 is set. `rnnlab compare` refuses rows of different precision, and prints these words.
    """
    recurrent, others = recurrent or others or {wanted}, others or recurrent or {wanted}
    if recurrent == others:
        return " and ".join(sorted(recurrent))
    return f"{' and '.join(sorted(recurrent))} in recurrent layers, {' and '.join(sorted(others))} elsewhere"


class Training:
    """What a peer is: it makes its network, batches and optimiser from the work, and trains epochs."""

    program = ""       # "PyTorch 2.11.0"
    layer = ""         # what computes, in a word
    path = ""          # what really ran
    path_notes = ()    # what else is to be known
    precision = ""     # that really ran
    num_threads = 0
    software = {}      # versions, as in environment.json
    aten = ""          # the instruction set of ATen, where it is there

    def train_epoch(self, epoch):
        """From 0. Returns what float() makes the mean loss of, without waiting for it."""
        raise NotImplementedError

    def wait(self):
        """For the device."""

    def device_seconds(self):
        """Of the last epoch, by the device's own clock."""
        return None

    def validate(self):
        """Loss and accuracy, or None."""
        raise NotImplementedError


def train_epochs(work, training):
    """The rows of epochs.csv."""
    num_warmup, rows = work.count("training.warmup_epochs"), []
    for epoch in range(work.num_epochs):
        training.wait()
        witness = Witness()
        loss = training.train_epoch(epoch)
        training.wait()
        seen = witness.stop()
        row = {"epoch": epoch + 1, "train_loss": float(loss), "warmup": epoch < num_warmup, "data_seconds": 0.0,
               "learning_rate": work.learning_rates[(epoch + 1) * work.steps_per_epoch - 1],
               "samples_per_second": work.num_samples / seen["train_seconds"], "device_seconds": training.device_seconds(),
               **seen}
        if not math.isfinite(row["train_loss"]):
            fail(f"training diverged: epoch {epoch + 1} has a loss of {row['train_loss']}", DIVERGED)
        began = time.perf_counter()
        if work.valid_bounds():
            row["valid_loss"], row["valid_accuracy"] = training.validate()
            row["valid_seconds"] = time.perf_counter() - began
        rows.append({name: value for name, value in row.items() if value is not None})
    return rows


def cell(value):
    """As rnnlab writes it: the shortest text that reads back as the same number."""
    text = repr(int(value) if isinstance(value, bool) else value)
    return text[:-2] if text.endswith(".0") else text


def rows_sha256(rows):
    chain = ""
    for row in rows:
        cells = "".join(f"\n{name}={cell(row[name])}" for name in sorted(row))
        chain = hashlib.sha256((chain + cells).encode()).hexdigest()
    return chain


def sealed(summary):
    text = json.dumps(summary, indent=2, ensure_ascii=False)[:-2] + ",\n"
    return text + f'  "seal": "{hashlib.sha256(text.encode()).hexdigest()}"\n}}\n'


def epoch_time(rows):
    """Median and its 95 % interval by the binomial distribution, the whole range of few epochs."""
    seconds = sorted(row["train_seconds"] for row in rows if not row["warmup"])
    if not seconds:
        return None
    count = rank = 0
    while sum(math.comb(len(seconds), i) for i in range(count + 1)) <= 0.025 * 2**len(seconds):
        count += 1
        rank = count - 1
    return {"num_epochs": len(seconds), "median_seconds": statistics.median(seconds), "low_seconds": seconds[rank],
            "high_seconds": seconds[-1 - rank]}


def final_metrics(rows):
    names = ("train_loss", "valid_loss", "valid_accuracy")
    return {name: rows[-1][name] for name in names if rows and name in rows[-1]}


def software_of(work, training):
    return {"rnnlab": work.environment["software"]["rnnlab"], "libtorch": "", "cuda": "", "cudnn": "",
            "libtorch_commit": "", **training.software, "program": training.program}


def environment_of(work, training):
    """The machine as rnnlab found it, and this program in the place of rnnlab's build."""
    build = {"type": "", "compiler": "", "optimized": True, "assertions": False, "sanitizer": "", "git_revision": "",
             "git_dirty": False}
    command = [pathlib.Path(sys.argv[0]).name, *sys.argv[1:]]
    process = {**work.environment["process"], "program_id": ""}
    return {**work.environment, "command_line": command, "num_threads": training.num_threads, "build": build,
            "process": process, "software": software_of(work, training),
            "instruction_sets": {"aten": training.aten, "onednn": "", "mkl": ""}}


def identity_of(work, training, environment):
    software = environment["software"]
    commit = software["libtorch_commit"][:12]
    conditions = {**work.identity["conditions"], "instruction_sets": environment["instruction_sets"],
                  "libtorch": software["libtorch"] + (f" of {commit}" if commit else ""), "compiler": "", "sources": "",
                  "program_id": ""}
    return {**work.identity, "precision": training.precision, "build_type": "", "num_threads": training.num_threads,
            "conditions": conditions}


def turn_of(options):
    measurement, *numbers = options.turn.split(":") if options.turn else ("", "0", "0", "0")
    if len(numbers) != 3 or not all(number.isdigit() for number in numbers):
        fail(f"--turn: got {options.turn}, expected a name and three numbers, such as a1b2:1:2:1")
    round_number, position, case = map(int, numbers)
    return {"process": secrets.token_hex(8), "measurement": measurement, "round": round_number, "position": position,
            "case_number": case}


def text_of(environment):
    return json.dumps(environment, indent=2, ensure_ascii=False) + "\n"


def summary_of(work, training, rows, fit_seconds, environment, turn):
    return {"schema_version": environment["schema_version"], "name": work.text("name"), "device": work.text("device"),
            "layer": training.layer, "precision": work.text("precision"), "seed": work.count("seed"), "epochs": len(rows),
            "stop_reason": f"all {len(rows)} epochs done", "final_metrics": final_metrics(rows),
            "epoch_time": epoch_time(rows), "fit_seconds": fit_seconds, "total_seconds": time.monotonic() - work.began,
            "path": training.path, "path_notes": list(training.path_notes), "warnings": [],
            "identity": identity_of(work, training, environment), "ending": "complete", "turn": turn,
            "rows_sha256": rows_sha256(rows), "settings_sha256": work.settings_sha256,
            "was_resumed": False, "environment_sha256": hashlib.sha256(text_of(environment).encode()).hexdigest()}


def make_folder(out, work, program):
    start = work.environment["start_time"].replace(":", "-")
    kind = program.split()[0].lower()
    name = f"{start}-{work.text('device').replace(':', '')}-{kind}"
    for number in range(1, 1000):
        folder = pathlib.Path(out) / work.text("name") / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            continue
    return fail(f"{out}: no folder {name} can be made")


def csv_text(rows):
    columns = list(dict.fromkeys(name for row in rows for name in row))
    lines = [",".join(cell(row[name]) if name in row else "" for name in columns) for row in rows]
    return "\n".join([",".join(columns), *lines]) + "\n"


def write_folder(folder, work, rows, environment, summary):
    version = {"schema_version": environment["schema_version"]}
    (folder / "config.yaml").write_text(work.config, encoding="utf-8")
    (folder / "environment.json").write_text(text_of(environment), encoding="utf-8")
    (folder / "epochs.csv").write_text(csv_text(rows), encoding="utf-8")
    (folder / "epochs.jsonl").write_text("".join(json.dumps({**version, **row}) + "\n" for row in rows), encoding="utf-8")
    (folder / "summary.json").write_text(sealed(summary), encoding="utf-8")


def run(options, work, training):
    """Trains, writes the run folder, and prints what was done."""
    turn = turn_of(options)
    began = time.perf_counter()
    rows = train_epochs(work, training)
    fit_seconds = time.perf_counter() - began
    environment = environment_of(work, training)
    folder = make_folder(options.out, work, training.program)
    write_folder(folder, work, rows, environment, summary_of(work, training, rows, fit_seconds, environment, turn))
    time_text = f"{epoch_time(rows)['median_seconds']:.5g} s an epoch" if epoch_time(rows) else "no epoch after warm-up"
    print(f"{work.text('name')}: {training.program} on {work.text('device')}, {training.precision}, {time_text} of "
          f"{work.num_samples} samples in {work.steps_per_epoch} steps, train loss {rows[-1]['train_loss']:.4f}\n{folder}")
