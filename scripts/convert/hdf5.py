# SPDX-License-Identifier: Apache-2.0
"""HDF5: datasets become npy files, or are listed."""

from pathlib import Path

from .common import (EXIT_USAGE, ConvertError, counted, is_finite, listed, need, note, quoted, require_file,
                     require_finite)
from .outputs import SETS, NpyWriter, Outputs, Progress, npy_yaml

BLOCK_BYTES = 16 << 20


class Hdf5File:
    """The datasets of one file; each error of reading names the file and the dataset."""

    def __init__(self, path):
        self.h5py, self.path = need("h5py"), Path(path)
        require_file(self.path)
        try:
            self.file = self.h5py.File(self.path, "r")
        except OSError as error:
            raise ConvertError(f"{self.path}: cannot be read as HDF5 ({error}): check the path, or write it "
                               "again") from error

    def names(self):
        found = []

        def add(name, item):
            if isinstance(item, self.h5py.Dataset):
                found.append("/" + name)
        self.file.visititems(add)
        return sorted(found)

    def list_lines(self):
        names = self.names()
        shapes = [str(self.file[name].shape or "one value") for name in names]
        first, second = max(map(len, names), default=0), max(map(len, shapes), default=0)
        return [f"{self.path}: {counted(len(names), 'dataset')}",
                *(f"  {name:<{first}}  {shape:<{second}}  {self.file[name].dtype}"
                  for name, shape in zip(names, shapes))]

    def dataset(self, name, option):
        try:
            item = self.file[name]
        except KeyError:
            item = None
        if not isinstance(item, self.h5py.Dataset):
            what = "is missing" if item is None else "is a group"
            raise ConvertError(f"{self.path}: {option} {quoted(name)} {what}, expected one of {listed(self.names())}",
                               EXIT_USAGE)
        if item.dtype.kind not in "biuf" or item.dtype.itemsize > 8:
            raise ConvertError(f"{self.path}: {item.name} holds {item.dtype}, expected bool, integers or floats of at "
                               "most 8 bytes: name another dataset")
        if item.shape is None or 0 in item.shape:
            raise ConvertError(f"{self.path}: {item.name} is empty, expected samples: name another dataset")
        return item

    def blocks(self, dataset):
        """Yields (index of the first sample, samples); a block has at least one row of the file's chunks."""
        row_bytes = max(1, dataset.dtype.itemsize * (dataset.size // len(dataset)))
        chunk = dataset.chunks[0] if dataset.chunks else 1
        num_rows = max(1, BLOCK_BYTES // row_bytes // chunk) * chunk
        for first in range(0, len(dataset), num_rows):
            try:
                yield first, dataset[first:first + num_rows]
            except OSError as error:
                raise ConvertError(f"{self.path}: {dataset.name} is damaged ({error}): write the file again") from error


def require_shapes(path, inputs, targets, lengths):
    if inputs.ndim < 2:
        raise ConvertError(f"{path}: {inputs.name} has the shape {inputs.shape}, expected (samples, steps) or "
                           "(samples, steps, features): name another dataset with --inputs")
    has_numbers_of_steps = targets.ndim == 3 and targets.shape[1] == inputs.shape[1]
    if targets.ndim not in (1, 2) and not has_numbers_of_steps:
        raise ConvertError(f"{path}: {targets.name} has the shape {targets.shape}, expected (samples), (samples, "
                           f"targets) or, with the steps of {inputs.name}, (samples, {inputs.shape[1]}, targets): name "
                           "another dataset with --targets")
    if lengths is not None and (lengths.ndim != 1 or lengths.dtype.kind not in "iu"):
        raise ConvertError(f"{path}: {lengths.name} holds {lengths.shape} {lengths.dtype}, expected one integer a "
                           "sample: name another dataset with --lengths")
    for other in filter(lambda item: item is not None, (targets, lengths)):
        if len(other) != len(inputs):
            raise ConvertError(f"{path}: {inputs.name} holds {counted(len(inputs), 'sample')}, but {other.name} holds "
                               f"{len(other):,}: name datasets that belong together")


def read_lengths(file, dataset, num_steps):
    """Returns all lengths, which are few numbers beside the inputs."""
    blocks = []
    for first, block in file.blocks(dataset):
        for i, length in enumerate(block.tolist()):
            if not 1 <= length <= num_steps:
                raise ConvertError(f"{file.path}: {dataset.name}[{first + i}] is {length}, expected 1 to {num_steps}, "
                                   "the steps of the inputs: correct the file")
        blocks.append(block)
    return need("numpy").concatenate(blocks)


def stored_type(dataset):
    """rnnlab trains in float32, so that float64 would only double the file."""
    return "float32" if dataset.dtype.kind == "f" and dataset.dtype.itemsize == 8 else dataset.dtype


def padding_of(numpy, block, first, lengths):
    """Which values of a block are beyond the lengths of their samples, in a shape that broadcasts to the block."""
    if lengths is None:
        return numpy.zeros((1,) * block.ndim, bool)
    is_padding = numpy.arange(block.shape[1]) >= lengths[first:first + len(block), None]
    return is_padding.reshape(*is_padding.shape, *(1,) * (block.ndim - 2))


def copy_dataset(file, dataset, outputs, name, lengths=None):
    """Copies a dataset in blocks; the padding beyond `lengths` gets zeros in place of numbers that are not finite.

    lengths: for a dataset of (samples, steps, ...), how many steps of each sample count; by default all.
    Returns whether an integer within the lengths is negative.
    """
    writer = NpyWriter(outputs, name, stored_type(dataset), dataset.shape)
    numpy, has_negative = writer.numpy, False
    with Progress(len(dataset), f"samples of {dataset.name}") as progress:
        for first, block in file.blocks(dataset):
            is_padding = padding_of(numpy, block, first, lengths)
            if block.dtype.kind == "f" and lengths is not None:
                block[is_padding & ~is_finite(numpy, block)] = 0
            require_finite(numpy, file.path, dataset.name, block, first)
            has_negative |= block.dtype.kind == "i" and bool(numpy.any((block < 0) & ~is_padding))
            writer.append(block)
            progress.show(first + len(block))
    writer.describe()
    return has_negative


def have_steps(inputs, targets):
    """Whether the targets are those of steps: the rules of `rnnlab data inspect`.

    Floats (samples, steps) are not, because they may as well be as many targets of a whole sample.
    """
    if targets.shape[:2] != inputs.shape[:2]:
        return False
    return targets.ndim == 3 or (targets.dtype.kind in "biu" and inputs.ndim == 3 and targets.shape[1] > 1)


def task_lines(inputs, targets, has_negative):
    """Returns the kind of model, and the lines of YAML that say what the targets are."""
    of_steps = have_steps(inputs, targets)
    one_number = targets.ndim == 1 or (targets.ndim == 2 and (of_steps or targets.shape[1] == 1))
    is_class = one_number and targets.dtype.kind in "biu" and not has_negative
    kind, task = ("classifier", "classification") if is_class else ("regressor", "regression")
    lines = [f"  task: {task}"]
    if of_steps:
        lines.append(f"  target_per: step   # {'a class' if is_class else 'numbers'} for each step")
    elif targets.ndim == 2 and targets.shape == inputs.shape[:2] and not one_number:
        lines.append("  # target_per: step   # if each step has one of these numbers")
    return kind, lines


def convert_hdf5(options):
    named = [options.inputs, options.targets, options.lengths]
    if any(named) and not (options.inputs and options.targets and options.out):
        raise ConvertError("hdf5 needs --inputs, --targets and --out together; without any of them it lists the "
                           "datasets", EXIT_USAGE)
    outputs = Outputs(options.out, SETS, options.force) if options.inputs else None
    file = Hdf5File(options.file)
    return convert_datasets(options, file, outputs) if outputs else file.list_lines()


def convert_datasets(options, file, outputs):
    inputs, targets = file.dataset(options.inputs, "--inputs"), file.dataset(options.targets, "--targets")
    lengths_set = file.dataset(options.lengths, "--lengths") if options.lengths else None
    require_shapes(file.path, inputs, targets, lengths_set)
    lengths = None if lengths_set is None else read_lengths(file, lengths_set, inputs.shape[1])
    of_steps = have_steps(inputs, targets)
    outputs.require_space(inputs.size * inputs.dtype.itemsize + targets.size * targets.dtype.itemsize)
    with outputs:
        copy_dataset(file, inputs, outputs, "x.npy", lengths)
        has_negative = copy_dataset(file, targets, outputs, "y.npy", lengths if of_steps else None)
        if lengths_set is not None:
            copy_dataset(file, lengths_set, outputs, "lengths.npy")
    if of_steps and targets.ndim == 2 and has_negative:  # often the padding of classes
        note(f"warning: {file.path}: {targets.name} has negative integers, so a regression is assumed: if they are "
             "padding, name the lengths of the samples with --lengths")
    kind, lines = task_lines(inputs, targets, has_negative)
    return npy_yaml(options.out, kind, *lines, has_lengths=lengths is not None)
