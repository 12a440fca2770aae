# SPDX-License-Identifier: Apache-2.0
"""Makes from_python.safetensors beside this script: pip install safetensors numpy, then python3 make_from_python.py"""
import pathlib

import numpy
from safetensors.numpy import save_file

tensors = {
    "bool": numpy.array([True, False, True]),
    "empty": numpy.zeros((0, 3), numpy.float32),
    "f16": numpy.array([1, -2], numpy.float16),
    "f32": numpy.arange(6, dtype=numpy.float32).reshape(2, 3) / 4,
    "f64": numpy.array([[numpy.pi]], numpy.float64),
    "i16": numpy.array([-300], numpy.int16),
    "i32": numpy.array([70000], numpy.int32),
    "i64": numpy.array([-1, 1 << 40], numpy.int64),
    "i8": numpy.array([-128, 127], numpy.int8),
    "scalar": numpy.array(2.5, numpy.float32),
    "u8": numpy.array([255], numpy.uint8),
    'größe "x"\n': numpy.array([1], numpy.uint8),
}
save_file(tensors, pathlib.Path(__file__).with_name("from_python.safetensors"), metadata={"format": "pt"})
