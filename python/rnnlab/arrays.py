# SPDX-License-Identifier: Apache-2.0
"""Writes arrays of NumPy, PyTorch, pandas and Arrow as archives that the program reads, without NumPy."""

from __future__ import annotations

import ctypes
import hashlib
import pathlib
import sys
import zipfile
from typing import NamedTuple

from ._files import write_once

# The types that the program reads, by the names of PyTorch's.
_TORCH_TYPES = {"float64": "<f8", "float32": "<f4", "float16": "<f2", "int64": "<i8", "int32": "<i4", "int16": "<i2",
                "int8": "|i1", "uint8": "|u1", "bool": "|b1"}

_OTHER_TYPES = ("uint16", "uint32", "uint64")  # of NumPy


class Array(NamedTuple):
    """A dense array in C order: its type as NumPy writes it, its shape, and its bytes, which keep their owner."""

    type: str
    shape: tuple[int, ...]
    data: memoryview


def array_of(values, name: str) -> Array:
    """Returns an array without a copy if its layout allows. TypeError, with the name, if the values are no array."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(values, torch.Tensor):
        return _of_tensor(values, name)
    for method in ("to_numpy", "__array__"):  # of frames and columns of pandas and Arrow; of most others
        if hasattr(values, method) and not hasattr(values, "__array_interface__"):
            values = getattr(values, method)()
    if isinstance(values, (list, tuple)):
        import torch

        try:
            return _of_tensor(torch.tensor(values), name)
        except (ValueError, TypeError) as error:
            raise TypeError(f"{name}: the list is no array of numbers: {error}") from None
    if not hasattr(values, "__array_interface__"):
        raise TypeError(f"{name} is a {type(values).__name__}, expected an array, a tensor or a list of numbers")
    return _of_numpy(values, name)


def _of_tensor(tensor, name: str) -> Array:
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype == "bfloat16":
        tensor, dtype = tensor.float(), "float32"
    if str(tensor.layout) != "torch.strided" or tensor.is_meta:
        raise TypeError(f"{name} is a tensor of {tensor.layout} on {tensor.device}, expected a dense one with numbers")
    if dtype not in _TORCH_TYPES:
        raise TypeError(f"{name} is a tensor of {dtype}, expected numbers: {', '.join(_TORCH_TYPES)} or bfloat16")
    dense = tensor.detach().cpu().contiguous()
    size = dense.numel() * dense.element_size()
    return Array(_TORCH_TYPES[dtype], tuple(dense.shape), _bytes_of(dense, dense.data_ptr(), size))


def _of_numpy(values, name: str) -> Array:
    if values.dtype.name not in (*_TORCH_TYPES, *_OTHER_TYPES):
        raise TypeError(f"{name} is an array of {values.dtype}, expected numbers of at most 64 bits")
    if hasattr(values, "mask"):
        raise TypeError(f"{name} is a masked array, whose mask would be lost; fill it: {name}.filled(float('nan'))")
    if not values.flags.c_contiguous or values.dtype.byteorder == ">":
        values = values.astype(values.dtype.newbyteorder("<"), order="C")
    interface = values.__array_interface__
    return Array(interface["typestr"], tuple(values.shape), _bytes_of(values, interface["data"][0], values.nbytes))


def _bytes_of(owner, address: int, size: int) -> memoryview:
    if size == 0:
        return memoryview(b"")
    memory = (ctypes.c_char * size).from_address(address)
    memory.owner = owner  # type: ignore[attr-defined]  # which lives as long as the view of its memory
    return memoryview(memory).cast("B")


def _header(array: Array) -> bytes:
    """The header of NumPy's format, version 1.0: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html."""
    shape = ", ".join(map(str, array.shape)) + ("," if len(array.shape) == 1 else "")
    text = f"{{'descr': '{array.type}', 'fortran_order': False, 'shape': ({shape}), }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode("ascii")


def write_archive(arrays: dict[str, Array], folder: pathlib.Path) -> pathlib.Path:
    """Writes an .npz archive whose name is that of its content, unless it is there, and returns its path."""
    digest = hashlib.sha256()
    for name, array in arrays.items():
        digest.update(name.encode() + _header(array))
        digest.update(array.data)

    def write(target) -> None:
        with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    member.write(_header(array))
                    member.write(array.data)

    return write_once(folder / f"{digest.hexdigest()[:16]}.npz", write)
