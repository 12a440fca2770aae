# SPDX-License-Identifier: Apache-2.0
"""Parquet: a table becomes a CSV file."""

import difflib
from pathlib import Path

from .common import (EXIT_NOT_FINITE, EXIT_USAGE, NOT_FINITE, ConvertError, counted, in_bytes, listed, need, note,
                     quoted, require_file, say)
from .outputs import Outputs, Progress, write_rows

CELLS_PER_BATCH = 250_000
MAX_CSV_BYTES = (1 << 32) - 1  # rnnlab reads CSV files of less than 4 GiB


class ParquetTable:
    """Files with the same columns, one after the other."""

    def __init__(self, files, columns):
        self.arrow, self.parquet = need("pyarrow"), need("pyarrow.parquet")
        self.compute, self.types = need("pyarrow.compute"), need("pyarrow.types")
        self.files = [Path(file) for file in files]
        self.opened = [self.open(file) for file in self.files]
        self.require_equal_schemas()
        schema = self.opened[0].schema_arrow
        self.names = columns or list(schema.names)
        self.require_columns(schema.names)
        self.column_types = {name: self.plain_type(schema.field(name).type) for name in self.names}
        self.require_cells()
        self.num_rows = sum(file.metadata.num_rows for file in self.opened)
        if self.num_rows == 0:
            raise ConvertError(f"{self.files[0]}: the table has no rows, expected at least one: check the file")

    def open(self, path):
        require_file(path)
        try:  # with a buffer, a column of a row group is not read as a whole
            return self.parquet.ParquetFile(path, buffer_size=1 << 20)
        except (self.arrow.ArrowException, OSError) as error:
            raise ConvertError(f"{path}: cannot be read as Parquet ({error}): check the path, or write it "
                               "again") from error

    def plain_type(self, kind):
        return kind.value_type if self.types.is_dictionary(kind) else kind

    def require_equal_schemas(self):
        first = self.opened[0].schema_arrow
        for path, file in zip(self.files, self.opened):
            if not file.schema_arrow.equals(first):
                raise ConvertError(f"{path}: the columns differ from those of {self.files[0]}: convert the files one "
                                   "by one")

    def require_columns(self, existing):
        for name in self.names:
            if name not in existing:
                close = difflib.get_close_matches(name, existing, 1)
                hint = f" Did you mean {quoted(close[0])}?" if close else ""
                raise ConvertError(f"{self.files[0]}: no column is called {quoted(name)}.{hint} "
                                   f"The columns are {listed(existing)}", EXIT_USAGE)
        trimmed = [name.strip() for name in self.names]
        for name in trimmed:
            if name == "" or trimmed.count(name) > 1 or existing.count(name) > 1:
                what = "two columns are called" if name else "a column has no name:"
                raise ConvertError(f"{self.files[0]}: {what} {quoted(name)}: rename it, or choose other columns with "
                                   "--columns")

    def is_number(self, name):
        kind, types = self.column_types[name], self.types
        return types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)

    def is_text(self, name):
        kind = self.column_types[name]
        return any(check(kind) for check in (self.types.is_string, self.types.is_large_string,
                                             getattr(self.types, "is_string_view", lambda _: False)))

    def is_date(self, name):
        kind = self.column_types[name]
        return self.types.is_date(kind) or self.types.is_timestamp(kind) or self.types.is_time(kind)

    def fits_a_cell(self, name):
        is_null = self.types.is_null(self.column_types[name])
        return is_null or self.is_number(name) or self.is_text(name) or self.is_date(name)

    def require_cells(self):
        wrong = [name for name in self.names if not self.fits_a_cell(name)]
        if not wrong:
            return
        others = [name for name in self.names if name not in wrong]
        kinds = ", ".join(f"{quoted(name)} ({self.column_types[name]})" for name in wrong)
        advice = f"choose others with --columns {quoted(','.join(others))}" if others else "no other column is left"
        raise ConvertError(f"{self.files[0]}: these columns are nested or binary, expected numbers, texts and dates: "
                           f"{kinds}; {advice}")

    def batches(self):
        """Yields (file, record batch); one batch is in memory at a time."""
        size = max(1, min(65536, CELLS_PER_BATCH // len(self.names)))
        for path, file in zip(self.files, self.opened):
            try:
                for group in range(file.num_row_groups):  # a reader of several groups keeps all of them in memory
                    yield from ((path, batch) for batch in file.iter_batches(size, [group], self.names))
            except (self.arrow.ArrowException, OSError) as error:
                raise ConvertError(f"{path}: the data are damaged ({error}): write the file again") from error

    def cells(self, path, batch, first_row):
        """A list of texts for each column."""
        try:
            return [self.texts(path, name, batch.column(name), first_row) for name in self.names]
        except (self.arrow.ArrowException, UnicodeDecodeError) as error:
            raise ConvertError(f"{path}: rows {first_row + 1:,} to {first_row + batch.num_rows:,} cannot be written as "
                               f"text ({error}): correct the file") from error

    def texts(self, path, name, column, first_row):
        """The cells of a column: texts, or None where a value is missing."""
        kind, string, compute = self.column_types[name], self.arrow.string(), self.compute
        if self.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if self.types.is_boolean(kind):
            column = column.cast(self.arrow.int8())
        if self.types.is_floating(kind):
            column = self.finite(path, name, column, first_row)
        if self.is_date(name):
            return self.iso_texts(column, kind)
        cells = column.cast(string)
        if self.is_text(name) and compute.any(compute.match_substring(cells, "\0")).as_py():
            raise ConvertError(f"{path}: column {quoted(name)} has a text with a NUL byte: leave the column out with "
                               "--columns")
        return cells.to_pylist()

    def finite(self, path, name, column, first_row):
        """Returns the column with nulls in place of NaN, which data frames use for missing values."""
        if self.types.is_float16(column.type):
            column = column.cast(self.arrow.float32())
        found = self.compute.index(self.compute.is_inf(column), True).as_py()
        if found >= 0:
            raise ConvertError(f"{path}: column {quoted(name)}, row {first_row + found + 1:,} is {column[found]}: "
                               f"{NOT_FINITE}", EXIT_NOT_FINITE)
        return self.compute.if_else(self.compute.is_nan(column), None, column)

    def iso_texts(self, column, kind):
        is_zoned = self.types.is_timestamp(kind) and kind.tz is not None
        if is_zoned:
            column = column.cast(self.arrow.timestamp(kind.unit))  # in UTC
        if self.types.is_date64(kind):
            column = column.cast(self.arrow.date32())
        cells = self.compute.replace_substring(column.cast(self.arrow.string()), " ", "T")
        cells = self.compute.replace_substring_regex(cells, r"\.0+$", "")
        return [None if cell is None else cell + "Z" for cell in cells.to_pylist()] if is_zoned else cells.to_pylist()


def write_csv(table, outputs, name):
    """Returns the number of missing values of each column."""
    stream = outputs.open(name)
    missing = dict.fromkeys(table.names, 0)
    num_written = 0
    write_rows(stream, [table.names])
    with Progress(table.num_rows, "rows") as progress:
        for path, batch in table.batches():
            cells = table.cells(path, batch, num_written)
            for column, texts in zip(table.names, cells):
                missing[column] += sum(text is None or text.strip() == "" for text in texts)
            write_rows(stream, zip(*cells))
            num_written += batch.num_rows
            if stream.tell() > MAX_CSV_BYTES:
                raise ConvertError(f"{outputs.folder / name}: the table has 4 GiB or more as CSV, which rnnlab does "
                                   "not read: choose columns with --columns, or convert fewer files")
            progress.show(num_written)
    say(f"{outputs.folder / name}: {counted(num_written, 'row')}, {counted(len(table.names), 'column')}, "
        f"{in_bytes(stream.tell())}")
    return missing


def yaml_list(names):
    return f"[{', '.join(map(quoted, names))}]"


def csv_yaml(path, table, targets, missing):
    used = [name for name in table.names if table.is_number(name) and name not in targets]
    ids = [name for name in table.names if (table.is_date(name) or table.is_text(name)) and name not in targets]
    target = yaml_list(targets) if targets else "[FILL_IN]   # the column to predict; remove it from features"
    is_class, remark = target_task(table, targets)
    lines = ["data:", "  source: csv", f"  path: {quoted(path)}", f"  target: {target}",
             f"  task: {'classification' if is_class else 'regression'}{remark}"]
    if used:
        lines.insert(3, f"  features: {yaml_list(used)}")
    if ids:
        lines.append(f"  id: {yaml_list(ids)}   # predictions have copies of these columns")
    if not is_class:  # without other columns, only the rows before can be the inputs
        lines.append("  window: 24   # the rows that make one sample" if not used else
                     "  # window: 24   # for a series: the rows of one sample; then missing: mean or previous")
    if any(missing[name] for name in (used if is_class else used + targets)):
        lines.append("  missing: drop   # or mean, zero" if used else "  missing: previous   # or mean, zero")
    return lines + ["model:", f"  kind: sequence_{'classifier' if is_class else 'regressor'}"]


def target_task(table, targets):
    """Whether the targets are classes, and a remark if the type of the column does not tell."""
    if len(targets) != 1 or table.types.is_floating(table.column_types[targets[0]]):
        return False, "" if targets else "   # or classification"
    if table.is_text(targets[0]) or table.types.is_boolean(table.column_types[targets[0]]):
        return True, ""
    return (True, "   # or regression, if the numbers are amounts; kind is then sequence_regressor") \
        if table.types.is_integer(table.column_types[targets[0]]) else (False, "")


def require_targets(table, targets):
    for name in targets:
        if name not in table.names:
            raise ConvertError(f"--target {quoted(name)}: no such column in the result; the columns are "
                               f"{listed(table.names)}", EXIT_USAGE)
        if table.is_date(name) or (table.is_text(name) and len(targets) > 1):
            raise ConvertError(f"--target {quoted(name)}: got {table.column_types[name]}, expected numbers, or one "
                               "column of texts as classes", EXIT_USAGE)


def require_class_labels(path, table, targets, missing):
    for name in targets:
        if target_task(table, targets)[0] and missing[name]:
            note(f"warning: {path}: the class is missing in {counted(missing[name], 'row')} of column {quoted(name)}; "
                 "rnnlab refuses such rows: remove them before the conversion")


def convert_parquet(options):
    if Path(options.out).suffix not in (".csv", ".txt"):
        raise ConvertError(f"--out {quoted(options.out)}: expected a name that ends in .csv", EXIT_USAGE)
    out = Path(options.out)
    outputs = Outputs(out.parent, [out.name], options.force)
    table = ParquetTable(options.files, options.columns)
    require_targets(table, options.target)
    with outputs:
        missing = write_csv(table, outputs, out.name)
    require_class_labels(out, table, options.target, missing)
    return csv_yaml(out, table, options.target, missing)
