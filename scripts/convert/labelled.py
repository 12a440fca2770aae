# SPDX-License-Identifier: Apache-2.0
"""Files with a class each, in class folders or listed in a CSV file: what WAV and images have in common."""

import contextlib
import csv
import os
from dataclasses import dataclass
from pathlib import Path

from .common import EXIT_USAGE, ConvertError, counted, listed, note, quoted, require_file, say
from .outputs import NpyWriter, write_rows


@dataclass
class LabelledFile:
    path: Path
    name: str  # relative to the folder
    label: str


def is_hidden(path):
    return path.name.startswith(".")


def sorted_labels(labels):
    """As rnnlab sorts classes: as numbers if all are integers, else by their bytes."""
    labels = sorted(set(labels), key=lambda label: label.encode())
    with contextlib.suppress(ValueError):
        labels.sort(key=int)
    return labels


def visible(folder):
    try:
        paths = [path for path in folder.iterdir() if not is_hidden(path)]
    except OSError as error:
        raise ConvertError(f"{folder}: cannot be listed ({error.strerror}): check the path and its "
                           "permissions") from error
    return sorted(paths, key=lambda path: os.fsencode(path.name))


def require_plain_name(path):
    if not path.name.isprintable():
        raise ConvertError(f"{ascii(str(path))}: the name has a line break or is not UTF-8: rename it")


def files_by_folder(folder, suffixes):
    """The files of each class folder, and the paths that were skipped."""
    files, skipped = [], []
    for place in visible(folder):
        if not place.is_dir():
            skipped.append(place)
            continue
        require_plain_name(place)
        inside = visible(place)
        wrong = next((path for path in inside if path.is_dir()), None)
        if wrong:
            raise ConvertError(f"{wrong}: is a folder inside a class folder, expected files: move its files to {place}")
        chosen = [path for path in inside if path.suffix.lower() in suffixes]
        if not chosen:
            raise ConvertError(f"{place}: no file ends in {' or '.join(suffixes)}, expected samples of the class: "
                               "remove the folder, or add files")
        skipped += [path for path in inside if path not in chosen]
        files += [LabelledFile(path, f"{place.name}/{path.name}", place.name) for path in chosen]
    if not files:
        raise ConvertError(f"{folder}: has no folders, expected a folder for each class: make them, or name a CSV file "
                           "of file,label with --labels")
    return files, skipped


def files_by_csv(folder, table):
    path = Path(table)
    require_file(path)
    files = {}
    try:
        with open(path, encoding="utf-8-sig", newline="") as stream:
            rows = csv.DictReader(stream, strict=True)
            for name in ("file", "label"):
                if name not in (rows.fieldnames or []):
                    raise ConvertError(f"{path}: no column is called {quoted(name)}, expected the header file,label; "
                                       f"the columns are {listed(rows.fieldnames or [])}")
            for row in rows:
                add_row(files, folder, f"{path}:{rows.line_num}", row)
    except (UnicodeDecodeError, csv.Error) as error:
        raise ConvertError(f"{path}: is not valid CSV in UTF-8 ({error}): correct the file") from error
    if not files:
        raise ConvertError(f"{path}: has no rows, expected one for each file: correct the file")
    return [files[name] for name in sorted(files, key=str.encode)]


def add_row(files, folder, where, row):
    name, label = (row["file"] or "").strip(), (row["label"] or "").strip()
    if not name or not label:
        raise ConvertError(f"{where}: got file {quoted(name)} and label {quoted(label)}, expected both: correct the "
                           "row")
    if name in files:
        raise ConvertError(f"{where}: the file {quoted(name)} is listed twice: remove one of the rows")
    if not (folder / name).is_file():
        raise ConvertError(f"{where}: the file {folder / name} does not exist: correct the row")
    if not label.isprintable() or not name.isprintable():
        raise ConvertError(f"{where}: the file or label has a line break: correct the row")
    files[name] = LabelledFile(folder / name, name, label)


def labelled_files(options, suffixes):
    """The files in their order, and the names of the classes."""
    folder = Path(options.folder)
    if not folder.is_dir():
        found = "a file" if folder.exists() else "nothing"
        raise ConvertError(f"{folder}: expected a folder, got {found}: check the path")
    if Path(options.out).resolve().is_relative_to(folder.resolve()):
        raise ConvertError(f"--out {quoted(options.out)} is inside {folder}, where it would become a class: choose "
                           "another --out", EXIT_USAGE)
    files, skipped = (files_by_csv(folder, options.labels), []) if options.labels else files_by_folder(folder, suffixes)
    if skipped:
        note(f"note: skipped {counted(len(skipped), 'file')} without the ending {' or '.join(suffixes)}, such as "
             f"{skipped[0]}")
    for file in files:
        require_plain_name(file.path)
    labels = labels_of(options, files)
    if not options.labels:
        files.sort(key=lambda file: labels.index(file.label))
    return files, labels


def labels_of(options, files):
    """The names of the classes: those of the files, or with --classes those of an earlier conversion."""
    found = sorted_labels(file.label for file in files)
    if not options.classes:
        if len(found) < 2:
            raise ConvertError(f"{options.folder}: all files have the class {quoted(found[0])}, expected at least two "
                               "classes: add files, or name the classes.txt of the training data with --classes")
        return found
    require_file(Path(options.classes))
    labels = Path(options.classes).read_bytes().decode(errors="replace").splitlines()
    for label in found:
        if label not in labels:
            raise ConvertError(f"{options.folder}: has the class {quoted(label)}, expected one of {listed(labels)} as "
                               f"in {options.classes}: correct the name of the class")
    return labels


def write_labels(outputs, files, labels):
    writer = NpyWriter(outputs, "y.npy", "int64", (len(files),))
    number_of = {label: number for number, label in enumerate(labels)}
    writer.append([number_of[file.label] for file in files])
    writer.describe()
    outputs.write_text("classes.txt", "".join(label + "\n" for label in labels))
    rows = ((index, file.name, file.label) for index, file in enumerate(files))
    write_rows(outputs.open("files.csv"), [("index", "file", "label"), *rows])
    say(f"{outputs.folder / 'classes.txt'}: {counted(len(labels), 'class')}, the first line is class 0")
    say(f"{outputs.folder / 'files.csv'}: the file and label of each sample")
