# SPDX-License-Identifier: Apache-2.0
"""Reads run folders: parameters, metrics of each epoch with its time, tags, and files that may be shared."""

import csv
import hashlib
import io
import json
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

from export.common import ExportError, read_json, read_text
from export.settings import config_without_folders, last_name, paths_in, read_settings, without_folders

LOG_LINE = re.compile(r"(\d{4}-\d\d-\d\dT[\d:.]+Z) info +(\S+) ")
SEGMENTS = r"(?:[^/\s\"']+/)*"  # folders without blanks
# The folders of a path that no setting names.
FOLDERS = re.compile(rf"(?<![\w./~-])(?:file://)?(?:/(?=[^/\s\"']+/)|~/|\.\./){SEGMENTS}")
NOT_METRICS = ("epoch",)
MOST_TEXT = 5000  # letters of a parameter


@dataclass
class Epoch:
    number: int
    metrics: dict  # by column, floats
    time: float    # seconds since 1970, at its end


@dataclass
class Run:
    folder: Path
    settings: dict  # by dotted key
    summary: dict
    environment: dict
    epochs: list
    start: float
    has_machine: bool
    has_log: bool

    @property
    def name(self):
        return str(self.summary.get("name") or self.settings.get("name") or "rnnlab")

    @property
    def run_id(self):
        """The same for every copy of the folder; another one if the run was resumed."""
        seal = self.summary.get("seal") or hashlib.sha256(read_text(self.folder / "epochs.csv").encode()).hexdigest()
        return hashlib.sha256(f"{self.folder.name} {seal}".encode()).hexdigest()[:24]

    @property
    def end(self):
        return max([self.start, *(epoch.time for epoch in self.epochs)])

    def params(self):
        settings = self.settings if self.has_machine else without_folders(self.settings)
        return {key: param_text(value) for key, value in settings.items()}

    def tags(self):
        software = self.environment.get("software", {})
        values = {"layer": self.summary.get("layer"), "device": self.summary.get("device"),
                  "precision": self.summary.get("precision"), "seed": self.summary.get("seed"),
                  "ending": self.summary.get("ending"), "stop_reason": self.summary.get("stop_reason"),
                  "version": software.get("rnnlab"), "program": software.get("program"),
                  "libtorch": software.get("libtorch"), "path": self.summary.get("path"),
                  "folder": self.folder.name, "seal": self.summary.get("seal"), "id": self.run_id}
        if self.has_machine:
            values["hostname"] = self.environment.get("host", {}).get("hostname")
        return {f"rnnlab.{key}": self.shared(str(value)) for key, value in values.items() if value not in (None, "")}

    def totals(self):
        """Numbers of the whole run."""
        epoch_time = self.summary.get("epoch_time") or {}
        values = {"median_seconds": epoch_time.get("median_seconds"), "fit_seconds": self.summary.get("fit_seconds"),
                  "total_seconds": self.summary.get("total_seconds")}
        return {key: float(value) for key, value in values.items() if value is not None}

    def shared(self, text):
        """A text without folders and the host's name, unless they were asked for."""
        if self.has_machine:
            return text
        host = self.environment.get("host", {}).get("hostname", "")
        for folder, name in self.known_folders():
            below = "" if name else SEGMENTS
            text = re.sub(rf"(?<![\w.~-])(?:file://)?{re.escape(folder)}{below}", lambda _, name=name: name, text)
        text = FOLDERS.sub("", text)
        return re.sub(rf"(?<![\w-]){re.escape(host)}(?![\w-])", "HOST", text) if len(host) > 1 else text

    def known_folders(self):
        """Returns the paths of the settings, of the run and of the user, and what replaces each, longest first."""
        replaced = {}
        for path in [*paths_in(self.settings), str(self.folder), *home_folder()]:
            replaced |= {path: last_name(path), path.rstrip("/") + "/": ""}
            replaced |= {f"{folder}/": "" for folder in map(str, PurePosixPath(path).parents) if folder not in "./.."}
        for count in range(1, len(self.folder.parts) - 1):  # the run's folder as a relative path
            folder = "/".join(self.folder.parts[-1 - count:])
            replaced[folder] = self.folder.name
        spellings = {spelling: name for path, name in replaced.items() for spelling in (path, json.dumps(path)[1:-1])}
        return sorted(spellings.items(), key=lambda item: -len(item[0]))

    def files(self):
        """Returns the texts of the files to store, by name."""
        names = ["epochs.csv", "summary.json"]
        names += ["environment.json"] if self.has_machine else []
        names += ["train.log"] if self.has_log and (self.folder / "train.log").exists() else []
        config = read_text(self.folder / "config.yaml")
        path = self.folder / "config.yaml"
        files = {"config.yaml": config if self.has_machine else config_without_folders(config, path)}
        return files | {name: self.shared(read_text(self.folder / name)) for name in names}


def home_folder():
    """Returns the user's folder; nothing if there is none, as in some containers."""
    try:
        home = str(Path.home())
    except RuntimeError:
        return []
    return [home] if len(home) > 1 else []


def param_text(value):
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "none"}[value]
    text = ", ".join(map(param_text, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + " ..."


def seconds_of(text, path):
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()
    except ValueError:
        raise ExportError(f"{path}: got {text!r}, expected a time such as 2026-11-21T02:59:51Z: copy the run again"
                          ) from None


def times_in_log(path):
    """Returns when each epoch ended, by its number, as far as the log tells."""
    if not path.exists():
        return {}
    times, is_table = {}, False
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        found = LOG_LINE.match(line)
        if not found:
            continue
        is_table = is_table or found[2] == "epoch"
        if is_table and found[2].isdecimal():
            times[int(found[2])] = seconds_of(found[1], path)
    return times


def metrics_of(row, path):
    try:
        return {key: float(value) for key, value in row.items()
                if key not in NOT_METRICS and key and value not in (None, "")}
    except (TypeError, ValueError):
        raise ExportError(f"{path}: epoch {row.get('epoch')} has a value that is no number: copy the run again"
                          ) from None


def read_epochs(folder, start):
    """The time of an epoch is that of its line in the log, else the sum of the epochs until then."""
    path = folder / "epochs.csv"
    logged, epochs, time = times_in_log(folder / "train.log"), [], start
    for row in csv.DictReader(io.StringIO(read_text(path))):
        if not (row.get("epoch") or "").isdecimal():
            raise ExportError(f"{path}: a row has no epoch: copy the run again")
        metrics, number = metrics_of(row, path), int(row["epoch"])
        time = logged.get(number, time + metrics.get("train_seconds", 0) + metrics.get("valid_seconds", 0))
        epochs.append(Epoch(number, metrics, time))
    return epochs


def read_run(folder, has_machine=False, has_log=False):
    """Returns None for a run that has not ended."""
    folder = folder.resolve()  # a run folder may be named by a link
    if not (folder / "summary.json").exists():
        return None
    environment = read_json(folder / "environment.json")
    start = seconds_of(environment.get("start_time"), folder / "environment.json")
    config = folder / "config.yaml"
    return Run(folder, read_settings(read_text(config), config), read_json(folder / "summary.json"), environment,
               read_epochs(folder, start), start, has_machine, has_log)


def is_run(folder):
    return (folder / "config.yaml").is_file() and (folder / "environment.json").is_file()


def find_runs(paths):
    """Returns the run folders among and below the paths, each once, in the order of their names."""
    found = {}
    for path in map(Path, paths):
        if not path.is_dir():
            raise ExportError(f"{path}: is no folder: name a run folder, or a folder full of them")
        folders = [path] if is_run(path) else sorted(file.parent for file in path.rglob("config.yaml")
                                                     if is_run(file.parent))
        if not folders:
            raise ExportError(f"{path}: holds no run: a run folder has config.yaml and environment.json")
        found |= {folder.resolve(): folder for folder in folders}
    return list(found)
