# SPDX-License-Identifier: Apache-2.0
"""Reads a trained model, of a run or of a file of `rnnlab convert --whole`: structure from config.yaml, its cell by `rnnlab
cell`, weights by `rnnlab convert`, scaling from the checkpoint."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from export.common import EXIT_ENVIRONMENT, ExportError, checked_version, read_json, read_text
from export.settings import read_settings

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("sequence_classifier", "sequence_regressor", "language_model")
# Of keys that the files of older versions lack.
DEFAULTS = {"reset_gate": "after", "activation": "tanh", "pooling": "last", "dense": [], "dense_activation": "relu",
            "tied": False, "bidirectional": False, "front": [], "front_kernel_size": 5, "front_stride": 1,
            "decoder": False}
DISTRIBUTIONS = ("quantile", "gaussian", "student", "poisson")
# Plain float32 on the CPU, whatever trained the model.
PLAIN = ("device=cpu", "layer=naive", "precision=fp32")


@dataclass
class Trained:
    folder: Path     # or the file of a whole model
    checkpoint: str  # its name, such as step-000123; that of the file
    settings: dict   # by dotted key
    state: dict      # state.json

    @property
    def arguments(self):
        """What names the model for the program."""
        return [self.folder] if self.folder.is_file() else [self.folder, "--checkpoint", self.checkpoint]

    def model(self, key):
        found = self.settings.get(f"model.{key}", DEFAULTS.get(key))
        if found is None:
            raise ExportError(f"{self.folder}: its settings have no model.{key}: copy the run again")
        return found

    @property
    def shape(self):
        return self.state["shape"]

    @property
    def loss(self):
        return str(self.settings.get("training.loss") or "auto")

    @property
    def levels(self):
        """The levels of the quantiles, if the outputs describe a distribution of each target."""
        return (self.settings.get("training.quantiles") or [0.1, 0.5, 0.9]) if self.loss in DISTRIBUTIONS else []

    @property
    def byte_maximum(self):
        """What bytes are divided by, with the normalization unit."""
        return self.settings.get("data.byte_maximum") or 255

    def number_scales(self, num_numbers):
        """The scales of features, or of columns that are steps; categories, which come last, are not scaled."""
        scales = self.state.get("feature_scales") or []
        return scales[:num_numbers] if len(scales) == self.shape["input_size"] else scales

    def names(self, key):
        """A setting that is a name, a list of them or nothing, as a list."""
        found = self.settings.get(key) or []
        return found if isinstance(found, list) else [found]

    @property
    def num_horizons(self):
        return len(self.names("data.horizon")) or 1

    @property
    def num_columns(self):
        """The columns of the targets, each of which has a number for every horizon."""
        return self.shape["num_outputs"] // self.num_horizons

    def numbers_ahead(self, num_numbers):
        """Where what is known of the rows of the horizons is among the numbers of a step, how many numbers of data.known
        there are, and how many of data.calendar_ahead behind them; none if there is no decoder to read them
        (modules/data/csv_features.cpp)."""
        if not self.model("decoder"):
            return num_numbers, 0, 0
        known = len(self.names("data.known")) * self.num_horizons
        others = self.num_phases + (self.settings.get("data.gaps") == "mask")
        calendar = self.num_phases * len(self.calendar_shifts)
        return num_numbers - others - calendar - known, known, calendar

    @property
    def num_phases(self):
        return 2 * len(self.names("data.calendar"))

    @property
    def horizons(self):
        return [int(horizon) for horizon in self.names("data.horizon")]

    @property
    def calendar_shifts(self):
        """By how many rows the columns of data.calendar_ahead are later than their own."""
        if not self.settings.get("data.calendar_ahead"):
            return []
        return list(range(self.horizons[-1], self.horizons[0] - 1, -self.settings["data.window"]))

    @property
    def calendar_places(self):
        """The step of each horizon's phases, and where they begin among the numbers of data.calendar_ahead."""
        window = self.settings["data.window"]
        before = [self.horizons[-1] - horizon for horizon in self.horizons]
        return [(window - 1 - rows % window, rows // window * self.num_phases) for rows in before]

    @property
    def has_tokens(self):
        return self.model("kind") == "language_model"

    @property
    def has_lengths(self):
        return bool(self.shape.get("has_lengths"))

    @property
    def has_step_targets(self):
        return self.has_tokens or bool(self.shape.get("target_per_step"))


def find_program(given):
    candidates = [given] if given else ["rnnlab", str(ROOT / "build" / "release" / "rnnlab")]
    for candidate in candidates:
        if found := shutil.which(candidate):
            return found
    raise ExportError(f"{candidates[-1]}: the program was not found: build it, or name it with --rnnlab PROGRAM",
                      EXIT_ENVIRONMENT)


def run_program(program, *arguments):
    """Runs the program; its error is passed on. Returns its standard output."""
    result = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        last = (result.stderr.strip().splitlines() or [f"exit code {result.returncode}"])[-1]
        raise ExportError(f"rnnlab {arguments[0]}: {last.removeprefix('rnnlab: error: ')}",
                          result.returncode if 0 < result.returncode < 7 else EXIT_ENVIRONMENT)
    return result.stdout


def checkpoint_name(folder, wanted):
    """Returns the name of a checkpoint's folder: the best one if one is marked, else the last."""
    checkpoints = folder / "checkpoints"
    steps = sorted(path.name for path in checkpoints.glob("step-*") if path.is_dir())
    if not steps:
        raise ExportError(f"{folder}: has no checkpoint: train it with checkpoint.save: true")
    if wanted in (None, "best") and (checkpoints / "best.json").exists():
        wanted = f"step-{read_json(checkpoints / 'best.json')['step']:06d}"
    elif wanted in (None, "last"):
        wanted = max(steps, key=lambda name: int(re.sub(r"\D", "", name) or 0))
    if wanted not in steps:
        raise ExportError(f"{folder}: has no checkpoint {wanted}, but {', '.join(steps)}: choose with --checkpoint")
    return wanted


def require_supported(trained):
    kind = trained.model("kind")
    if kind not in KINDS:
        raise ExportError(f"model.kind: {kind} has no counterpart in ONNX here: this script converts "
                          f"{', '.join(KINDS)}")


def require_states(trained):
    """Refuses models whose outputs need more of a sequence than its next steps and the states before them."""
    reason = None
    is_row = trained.settings.get("data.source") == "csv" and not trained.settings.get("data.window")
    if trained.model("bidirectional"):
        reason = "model.bidirectional: true also reads each sequence from its end, which has not arrived yet"
    elif not trained.has_step_targets and trained.model("pooling") != "last":
        reason = f"model.pooling: {trained.model('pooling')} needs all steps of a sequence, and a state has only the last one"
    elif trained.model("front") and trained.model("front_kernel_size") > 1:
        reason = f"model.front reads {trained.model('front_kernel_size')} steps for each output, and a state has only the last one"
    elif trained.model("decoder"):
        reason = "model.decoder: true forecasts from the last step of a window, with what is known ahead of it"
    elif trained.state.get("normalization") == "column_minmax":
        reason = "data.normalize: column_minmax scales all steps of a sequence together"
    elif is_row and not trained.has_step_targets:
        reason = "each row of the table is a sample of its own, not a step of a series"
    if reason:
        raise ExportError(f"--states: {reason}")


def read_model_file(path, wanted):
    """Reads a file of `rnnlab convert RUN --whole`, which the program verifies when it reads it for the cell."""
    if wanted is not None:
        raise ExportError(f"{path}: is a file and has no checkpoints: leave --checkpoint out")
    entry = read_header(path)[0].get("__metadata__", {}).get("rnnlab.model")
    if entry is None:
        raise ExportError(f"{path}: holds weights without the settings of their model: name the run, or a file of "
                          "`rnnlab convert RUN --whole`")
    try:
        state = checked_version(json.loads(entry), path)
        return Trained(path, path.name, read_settings(state["experiment"], path), state)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ExportError(f"{path}: its entry rnnlab.model is damaged: copy the file again ({error})") from error


def read_trained(folder, wanted):
    """Reads all but the cell and the weights; refuses what cannot be converted."""
    folder = Path(folder)
    if folder.is_file():
        trained = read_model_file(folder, wanted)
        require_supported(trained)
        return trained
    config = folder / "config.yaml"
    trained = Trained(folder, "", read_settings(read_text(config), config), {})
    require_supported(trained)
    trained.checkpoint = checkpoint_name(folder, wanted)
    trained.state = read_json(folder / "checkpoints" / trained.checkpoint / "state.json")
    if "shape" not in trained.state:
        raise ExportError(f"{folder}: its checkpoint is of an older rnnlab and has no shape: train it again")
    return trained


def read_header(path):
    """Returns the header of a safetensors file, and the bytes of its tensors."""
    content = Path(path).read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    try:
        return json.loads(content[8:begin]), content[begin:]
    except ValueError as error:
        raise ExportError(f"{path}: is not a safetensors file of rnnlab ({error})") from error


def read_safetensors(numpy, path):
    """Returns the tensors by name, and the metadata."""
    kinds = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "I32": "<i4", "U8": "u1"}
    header, content = read_header(path)
    try:
        metadata = header.pop("__metadata__", {})
        tensors = {}
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            tensors[name] = numpy.frombuffer(content[begin:end], kinds[entry["dtype"]]).reshape(entry["shape"])
    except (ValueError, KeyError) as error:
        raise ExportError(f"{path}: is not a safetensors file of rnnlab ({error})") from error
    return tensors, metadata


def read_cell(program, trained):
    """Returns the cell's parameters, states and operations (docs/export.md)."""
    return json.loads(run_program(program, "cell", trained.folder, "--json"))


def read_weights(numpy, program, trained):
    """Returns the tensors by the names of PyTorch."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "weights.safetensors"
        run_program(program, "convert", *trained.arguments, "-o", path)
        weights, _ = read_safetensors(numpy, path)
    for name, values in weights.items():
        if not numpy.isfinite(values).all():
            print(f"warning: {name} has values that are not finite", file=sys.stderr)
    return weights
