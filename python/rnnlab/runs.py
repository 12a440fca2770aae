# SPDX-License-Identifier: Apache-2.0
"""train, fit, load_run and compare: the program's own verbs and files, as Python values.

The program trains in a process of its own. Everything here is read from its JSON output and from run folders.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

from . import _command
from ._files import write_once
from .arrays import Array, array_of, write_archive

if TYPE_CHECKING:
    from .streams import Stream

SCHEMA_VERSION = 3  # of run folders and of the program's JSON
_SIGNAL_BASE = 128


class ProgramError(RuntimeError):
    """The program failed. `exit_code` is one of those that `rnnlab --help` lists; the text is the program's message."""

    def __init__(self, message: str, exit_code: int):
        super().__init__(message)
        self.exit_code = exit_code


class _Usable:
    """What a run and the file of a whole model can both do: predict and evaluate, by `_path` and `config_text`."""

    _path: pathlib.Path
    config_text: str

    def predict(self, x, lengths=None, **keys) -> dict[str, list]:
        """Predicts new data by `rnnlab predict`, and returns the columns of its table by name.

        x: inputs as in training, an array or tensor (N, T) or (N, T, F), or a frame with the columns of the inputs.
        lengths: (N), how many of the T steps count. keys: such as device="cpu". Numbers are in the targets' own units;
        of classes there are `prediction` and `probability_NAME` of each. Missing values are None.
        ProgramError if the program fails; TypeError or ValueError if the data do not fit the run.
        """
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder) / "predictions.jsonl"
            data = _settings_of_new_data(self.config_text, pathlib.Path(folder), x, None, lengths)
            _run("predict", str(self._path), *data, *_settings(keys), "--out", str(table))
            rows = [_as_table(row, has_class_names=_is_frame(x)) for row in _read_lines(table)]
        return {name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)}

    def stream(self, state=None, **keys) -> Stream:
        """Starts a stream, whose `predict` reads rows as they arrive and carries the state from one to the next.

        state: a file. If it exists, the stream goes on where the stream that wrote it ended; at its end the stream writes
        it. None: begins with zeros and keeps nothing. keys: such as device="cpu".
        ProgramError, from the first row on, if the model cannot be used so, with the reason, if the state is that of
        another model, or if another process uses the file. ValueError if the name of the file is empty.
        """
        from .streams import Stream

        if state is not None and str(state) == "":
            raise ValueError("state: got an empty name, expected a file, or None to keep no state")
        return Stream(self, None if state is None else str(state), keys)

    def evaluate(self, x, y=None, lengths=None, **keys) -> dict:
        """Computes loss and metrics on other data by `rnnlab evaluate`, and returns its JSON output.

        x, lengths, keys: as in predict; a frame also has the target's columns. y: targets of an array x, as in training.
        ProgramError if the program fails; TypeError or ValueError if the data do not fit the run.
        """
        with tempfile.TemporaryDirectory() as folder:
            data = _settings_of_new_data(self.config_text, pathlib.Path(folder), x, y, lengths)
            return json.loads(_run("evaluate", str(self._path), *data, *_settings(keys), "--json"))


@dataclasses.dataclass(frozen=True)
class RunResult(_Usable):
    """What a run folder holds. A run that was interrupted has the epochs until then, and no summary.

    folder: the run's folder.
    epochs: a dict for each epoch, with the columns of epochs.csv, times in seconds; None where a value does not exist.
    summary: summary.json, or None.
    environment: environment.json: hardware, versions and settings that decide about times.
    """

    folder: pathlib.Path
    epochs: list[dict]
    summary: dict | None
    environment: dict

    @property
    def is_complete(self) -> bool:
        """Whether the run came to its end, so that it has a summary."""
        return self.summary is not None

    @property
    def _path(self) -> pathlib.Path:  # type: ignore[override]
        return self.folder

    @property
    def config_text(self) -> str:  # type: ignore[override]
        """The effective experiment, as YAML."""
        return (self.folder / "config.yaml").read_text(encoding="utf-8")

    def frame(self):
        """Returns the epochs as a pandas DataFrame, indexed by the epoch. ImportError if pandas is missing."""
        return _pandas().DataFrame(self.epochs).set_index("epoch")

    def save(self, folder) -> RunResult:
        """Copies the run to a new folder, from which load_run reads it again. FileExistsError if it exists."""
        return load_run(shutil.copytree(self.folder, folder))

    def save_model(self, file) -> TrainedModel:
        """Writes the model of the run's best checkpoint as one file, by `rnnlab convert --whole`, to give it away.

        file: a name that ends in .safetensors. ProgramError if the run has no checkpoint or the file cannot be written.
        """
        _run("convert", str(self.folder), "--whole", "-o", str(file))
        return load_model(file)

    def __str__(self) -> str:
        state = "complete" if self.is_complete else "not complete"
        return f"{self.folder}: {len(self.epochs)} epochs, {state}"


@dataclasses.dataclass(frozen=True)
class TrainedModel(_Usable):
    """A trained model in one file, as `rnnlab convert RUN --whole` writes it. It needs no run and no training data.

    file: the file.
    facts: its entry `rnnlab.model`: `origin` (versions, epoch, metrics of the validation part and of predictions without
        a model), `weights_sha256`, `shape`, `vocabulary`, scales and what else was fitted to the training part.
    """

    file: pathlib.Path
    facts: dict

    @property
    def _path(self) -> pathlib.Path:  # type: ignore[override]
        return self.file

    @property
    def config_text(self) -> str:  # type: ignore[override]
        """The experiment that trained the model, as YAML, without the folders of its paths."""
        return self.facts["experiment"]

    def weights(self):
        """Returns the tensors by their names in the file, such as "recurrent.weight_ih_l0"."""
        return _read_tensors(self.file)[1]

    def recurrent(self, **keys):
        """Returns the recurrent layers as a rnnlab.Recurrent with the model's weights.

        keys: of Recurrent, such as batch_first=True or implementation="naive". ValueError if the model has no such layers.
        """
        from .recurrent import Recurrent

        metadata, tensors = _read_tensors(self.file)
        weights = {name.removeprefix("recurrent."): values for name, values in tensors.items()
                   if name.startswith("recurrent.")}
        if not weights:
            raise ValueError(f"{self.file}: the model has no recurrent layers")
        cell = json.loads(_run("cell", str(self.file), "--json"))
        num_rows, input_size = weights["weight_ih_l0"].shape
        options = {key: metadata[f"rnnlab.{key}"] for key in ("reset_gate", "activation", "candidate")
                   if f"rnnlab.{key}" in metadata}
        if cell["heads"] > 1:
            options["heads"] = cell["heads"]
        layer = Recurrent(cell["cell"] or self._own_cell(), input_size,
                          num_rows // sum(gate["input_row"] is not None for gate in cell["gates"]),
                          sum(re.fullmatch(r"weight_ih_l\d+", name) is not None for name in weights),
                          bidirectional="weight_ih_l0_reverse" in weights, **options, **keys)
        layer.load_state_dict(weights)
        return layer

    def _own_cell(self):
        from .cells import Cell

        with tempfile.TemporaryDirectory() as folder:
            equations = pathlib.Path(folder) / "cell.yaml"
            equations.write_text(_run("cell", str(self.file), "--yaml"), encoding="utf-8")
            return Cell.from_file(equations)

    def __str__(self) -> str:
        return f"{self.file}: trained by rnnlab {self.facts['origin']['software']['rnnlab']}"


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The result of `rnnlab compare`.

    groups: a dict for each case, as `rnnlab compare --json` prints them: label, folders, seconds, ratio, verdict and more.
    table: the program's own table.
    """

    groups: list[dict]
    table: str

    def frame(self):
        """Returns the groups as a pandas DataFrame, indexed by the label. ImportError if pandas is missing."""
        return _pandas().DataFrame(self.groups).set_index("label")

    def __str__(self) -> str:
        return self.table


@dataclasses.dataclass(frozen=True)
class TrainResult:
    """What train() made. A sweep or `repeats` makes several runs.

    runs: in the order of `groups`.
    groups: as in Comparison; their epoch times, in seconds, are medians over the processes of a group.
    """

    runs: list[RunResult]
    groups: list[dict]

    @property
    def run(self) -> RunResult:
        """The only run. ValueError if there are several."""
        if len(self.runs) != 1:
            raise ValueError(f"there are {len(self.runs)} runs; use .runs")
        return self.runs[0]


def train(experiment, overrides: dict | None = None, *, out="runs", quiet: bool = False, **keys) -> TrainResult:
    """Trains an experiment file by `rnnlab train`, whose log goes to stderr.

    overrides: values by key, {"training.epochs": 5}; keys: the same for keys without a dot, device="cpu". None removes a
    key, True and False are written as YAML writes them. out: the folder for new run folders.
    ProgramError if the program fails; the run folders of what was trained until then stay. ImportError if the program or
    its torch is not installed as pip installs it.
    """
    settings = _settings({**(overrides or {}), **keys})
    options = ["--json", "--out", str(out), *(["--quiet"] if quiet else [])]
    result = json.loads(_run("train", str(experiment), *settings, *options, shows_log=not quiet))
    runs = [load_run(folder) for group in result["groups"] for folder in group["folders"]]
    return TrainResult(runs, result["groups"])


def fit(x, y=None, *, valid: tuple | None = None, lengths=None, target: str | list[str] | None = None, name: str = "fit",
        overrides: dict | None = None, out="runs", quiet: bool = False, **keys) -> RunResult:
    """Trains on data in memory by `rnnlab train`, and returns the run.

    x: inputs (N, T) or (N, T, F), an array of NumPy, a tensor, or nested lists; or a frame of pandas, polars or Arrow.
    y: targets of arrays: integers (N) are classes, floats (N) or (N, K) are numbers; (N, T) has one for each step.
    lengths: (N), how many of the T steps count. valid: (x, y) or (x, y, lengths) to validate on; None: a part of x.
    target: the columns of a frame to predict. overrides, keys: as in train(); {"data.window": 24} forecasts a series.

    The program proposes the other keys, as `rnnlab data inspect` does. The data are written once to the folder .data in
    `out`, under the name of their content, where the run finds them again.
    ProgramError if the program fails. TypeError or ValueError, with what to pass, if the data do not fit together.
    """
    if any(key.split(".")[0] in ("repeats", "sweep") for key in {**(overrides or {}), **keys}):
        raise TypeError("fit trains one run; use train() with an experiment file for repeats and sweeps")
    folder = pathlib.Path(out).resolve() / ".data"
    if _is_frame(x):
        if target is None or y is not None or valid is not None or lengths is not None:
            raise TypeError("fit: a frame takes target=..., the names of columns, and no y, valid and lengths")
        file = _write_frame(x, folder)
        overrides = {"data.target": [target] if isinstance(target, str) else list(target), **(overrides or {})}
    else:
        if y is None or target is not None:
            raise TypeError("fit: arrays take y, the targets, and no target=...")
        parts = {"train": (x, y, lengths), **({"valid": valid} if valid else {})}
        file = write_archive({key: array for part, data in parts.items() for key, array in _checked(part, *data).items()}, folder)
    with tempfile.TemporaryDirectory() as temporary:
        experiment = pathlib.Path(temporary) / "experiment.yaml"
        experiment.write_text(_run("data", "inspect", str(file), "--yaml"), encoding="utf-8")
        return train(experiment, {"name": name, **(overrides or {})}, out=out, quiet=quiet, **keys).run


def load_run(folder) -> RunResult:
    """Reads a run folder. ValueError if the folder is not one, or if a newer version of rnnlab wrote it."""
    folder = pathlib.Path(folder)
    if not folder.exists():
        raise ValueError(f"{folder} does not exist")
    if not (folder / "config.yaml").is_file():
        newest = folder / "latest"
        advice = f"; its newest run is {newest}" if newest.exists() else ""
        raise ValueError(f"{folder} is not a run folder: it has no config.yaml{advice}")
    environment = _read_json(folder / "environment.json")
    summary = _read_json(folder / "summary.json") if (folder / "summary.json").exists() else None
    return RunResult(folder, _read_lines(folder / "epochs.jsonl"), summary, environment)


def load_model(file) -> TrainedModel:
    """Reads a file of `rnnlab convert RUN --whole`. ValueError if it is not one, or if a newer version of rnnlab wrote it.

    Damage to the weights is noticed when they are used.
    """
    file = pathlib.Path(file)
    text = _read_tensors(file)[0].get("rnnlab.model")
    if text is None:
        raise ValueError(f"{file} holds weights without the settings of their model; write it by `rnnlab convert RUN --whole`")
    try:
        facts = _checked_version(json.loads(text), file)
        facts["experiment"]
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
        raise ValueError(f"{file}: its entry rnnlab.model is damaged: copy the file again ({error})") from error
    return TrainedModel(file, facts)


def compare(*runs, baseline: str | None = None) -> Comparison:
    """Compares runs (RunResults, folders of runs, or folders full of them) by `rnnlab compare`.

    baseline: a label of the table, or a folder. ProgramError if the runs cannot be compared, with the reason.
    """
    folders = [str(run.folder if isinstance(run, RunResult) else run) for run in runs]
    options = ["--baseline", baseline] if baseline else []
    groups = json.loads(_run("compare", "--json", *options, *folders))["groups"]
    return Comparison(groups, _run("compare", *options, *folders))


def copy_experiments(folder="experiments") -> pathlib.Path:
    """Copies the experiment files that the wheel contains into a new folder. FileExistsError if it exists."""
    if pathlib.Path(folder).exists():
        raise FileExistsError(f"{folder} exists already; give copy_experiments the name of a new folder")
    return pathlib.Path(shutil.copytree(pathlib.Path(__file__).parent / "experiments", folder))


def _named(part: str, inputs, targets=None, lengths=None) -> dict[str, Array]:
    """Returns arrays under the names by which `data inspect` knows them."""
    given = {f"{part}_inputs": inputs, f"{part}_targets": targets, f"{part}_lengths": lengths}
    return {name: array_of(values, name) for name, values in given.items() if values is not None}


def _checked(part: str, inputs, targets, lengths=None) -> dict[str, Array]:
    arrays = _named(part, inputs, targets, lengths)
    shapes = {name: array.shape for name, array in arrays.items()}
    if len(shapes[f"{part}_inputs"]) not in (2, 3):
        raise ValueError(f"{part}_inputs has the shape {shapes[f'{part}_inputs']}, expected (samples, steps) or (samples, steps, "
                         "features)")
    if len({shape[:1] for shape in shapes.values()}) > 1:
        raise ValueError("there are not as many of each: " + ", ".join(f"{name} {shape}" for name, shape in shapes.items()))
    return arrays


def _is_frame(x) -> bool:
    return hasattr(x, "columns") or hasattr(x, "column_names")


def _frame_text(frame) -> str:
    """Returns a frame as CSV. An index becomes columns, unless it only numbers the rows."""
    if hasattr(frame, "to_pandas"):  # of polars and Arrow
        frame = frame.to_pandas()
    index = frame.index
    if index.nlevels > 1 or index.name is not None or index.dtype.kind not in "iu":
        has_times = index.dtype.kind == "M" or type(index).__name__ == "PeriodIndex"
        names_it = has_times and index.name is None
        frame = (frame.rename_axis("time") if names_it else frame).reset_index()
    return frame.to_csv(index=False, lineterminator="\n")


def _write_frame(frame, folder: pathlib.Path) -> pathlib.Path:
    """Writes a CSV file under the name of its content."""
    text = _frame_text(frame).encode()
    return write_once(folder / f"{hashlib.sha256(text).hexdigest()[:16]}.csv", lambda file: file.write(text))


def _settings_of_new_data(config_text: str, folder: pathlib.Path, x, y, lengths) -> list[str]:
    if _is_frame(x):
        if y is not None or lengths is not None:
            raise TypeError("a frame has the targets in its columns, and takes no y and no lengths")
        return [f"data.path={_write_frame(x, folder)}"]
    arrays = _named("test", x, y, lengths)
    has_lengths = re.search(r"^ *train_lengths: *[\"']?[^\s\"'#]", config_text, re.MULTILINE) is not None
    if lengths is not None and not has_lengths:
        raise ValueError("the run was trained without lengths, so that it reads all steps; cut x instead")
    if lengths is None and has_lengths:
        num_samples, num_steps = arrays["test_inputs"].shape[:2]
        arrays |= _named("test", x, y, [num_steps] * num_samples)
    file = write_archive(arrays, folder)
    keys = ("test_inputs", "test_targets", "test_lengths")
    return [*(f"data.{key}=" + (f"{file}:{key}" if key in arrays else "''") for key in keys), "--part", "test"]


def _settings(values: dict) -> list[str]:
    return [f"{key}={_yaml_value(value)}" for key, value in values.items()]


def _as_table(row: dict, has_class_names: bool) -> dict:
    """Returns a row of predict's JSON with a column for each class. The classes of arrays are numbers."""
    row = dict(row)
    probabilities = row.pop("probabilities", None) or {}
    if not has_class_names and isinstance(row["prediction"], str):
        row["prediction"] = int(row["prediction"])
    return row | {f"probability_{name}": probability for name, probability in probabilities.items()}


def _yaml_value(value) -> str:
    return value if isinstance(value, str) else json.dumps(value)  # JSON is YAML


def _run(*arguments: str, shows_log: bool = False) -> str:
    """Returns the standard output of the program."""
    command = [str(_command.program()), *arguments]
    lines = []
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:  # a pipe could fill up while the log is read
        with subprocess.Popen(command, env=_command.environment(), stdout=output, stderr=subprocess.PIPE, text=True,
                              encoding="utf-8", errors="replace") as process:
            try:
                for line in process.stderr or ():
                    lines.append(line)
                    if shows_log:
                        print(line, end="", file=sys.stderr)
            except BaseException:  # for example KeyboardInterrupt: the program writes its results before it ends
                process.terminate()
                raise
        if process.returncode != 0:
            raise ProgramError(_message_in(lines), _exit_code(process.returncode))
        output.seek(0)
        return output.read()


def _exit_code(status: int) -> int:
    return status if status > 0 else _SIGNAL_BASE - status


def _message_in(lines: list[str]) -> str:
    """Returns the log from the first error on, or its last lines."""
    first = next((i for i, line in enumerate(lines) if "error:" in line), max(0, len(lines) - 5))
    return "".join(lines[first:]).strip()


def _read_json(path: pathlib.Path) -> dict:
    return _checked_version(json.loads(path.read_text(encoding="utf-8")), path)


def _checked_version(value: dict, path: pathlib.Path) -> dict:
    version = value.get("schema_version", 0)
    if version > SCHEMA_VERSION:
        raise ValueError(f"{path} has version {version}, written by a newer rnnlab; this one reads up to {SCHEMA_VERSION}")
    return value


def _read_tensors(path: pathlib.Path) -> tuple[dict, dict]:
    """Returns the metadata and the tensors of a safetensors file of float32. ValueError if it is none."""
    import torch

    content = bytearray(path.read_bytes())
    begin = 8 + int.from_bytes(content[:8], "little")
    try:
        header = json.loads(content[8:begin])
        metadata = header.pop("__metadata__", {})
        return metadata, {name: torch.frombuffer(content[begin + first:begin + last], dtype=torch.float32).view(entry["shape"])
                          for name, entry in header.items() for first, last in [entry["data_offsets"]]}
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError) as error:
        raise ValueError(f"{path} is not a safetensors file of rnnlab ({error})") from error


def _read_lines(path: pathlib.Path) -> list[dict]:
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1]]  # a line without an end was not written to its end


def _pandas():
    try:
        import pandas  # type: ignore[import-untyped]
    except ImportError:
        raise ImportError("pandas is missing; install it: pip install pandas") from None
    return pandas
