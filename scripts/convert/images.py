# SPDX-License-Identifier: Apache-2.0
"""Images: files with a class each become npy files, with a row of pixels as a step."""

import contextlib
import warnings

from .common import ConvertError, need
from .labelled import labelled_files, write_labels
from .outputs import SETS, NpyWriter, Outputs, Progress, npy_yaml

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")
GRAY_MODES = ("1", "L", "LA")
COLOR_MODES = ("P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")


class Images:
    """Reads images with Pillow, one at a time: upright, with white in place of transparent parts."""

    def __init__(self):
        self.image, self.ops = need("PIL.Image", "pillow"), need("PIL.ImageOps", "pillow")
        warnings.simplefilter("error", self.image.DecompressionBombWarning)

    @contextlib.contextmanager
    def open(self, path):
        try:
            with self.image.open(path) as image:
                yield image
        except (OSError, SyntaxError, ValueError, self.image.DecompressionBombError,
                self.image.DecompressionBombWarning) as error:
            raise ConvertError(f"{path}: cannot be read as an image ({error}): check or remove the file") from error

    def header(self, path):
        """Returns (height, width, mode) without reading the pixels."""
        with self.open(path) as image:
            if image.mode not in GRAY_MODES + COLOR_MODES:
                raise ConvertError(f"{path}: has pixels of the kind {image.mode}, expected 8 bits a channel: convert "
                                   "it")
            if getattr(image, "n_frames", 1) > 1 and image.format != "MPO":
                raise ConvertError(f"{path}: holds {image.n_frames} images, expected one: save one of them as a file")
            width, height = image.size
            is_turned = image.getexif().get(0x0112) in (5, 6, 7, 8)
            return (width, height, image.mode) if is_turned else (height, width, image.mode)

    def pixels(self, path, size, color):
        with self.open(path) as image:
            image = self.ops.exif_transpose(image)
            if image.mode in ("LA", "PA", "RGBA") or "transparency" in image.info:
                image = image.convert("RGBA")
                white = self.image.new("RGBA", image.size, "white")
                image = self.image.alpha_composite(white, image)
            image = image.convert("L" if color == "gray" else "RGB")
            height, width = size
            if image.size == (width, height):
                return image
            return image.resize((width, height), self.image.Resampling.BILINEAR)


def size_for(files, headers, wanted):
    if wanted:
        return wanted
    first = headers[0][:2]
    for file, header in zip(files, headers):
        if header[:2] != first:
            raise ConvertError(f"{file.path}: has {header[0]} x {header[1]} pixels (height x width), expected "
                               f"{first[0]} x {first[1]} as {files[0].path} has: resize all of them with --size HxW")
    return first


def color_for(files, headers, wanted):
    if wanted:
        return wanted
    is_gray = [header[2] in GRAY_MODES for header in headers]
    if any(is_gray) and not all(is_gray):
        gray, coloured = files[is_gray.index(True)].path, files[is_gray.index(False)].path
        raise ConvertError(f"{gray} is gray, but {coloured} has colours: choose --color gray or --color rgb")
    return "gray" if is_gray[0] else "rgb"


def convert_images(options):
    numpy, images = need("numpy"), Images()
    outputs = Outputs(options.out, SETS, options.force)
    files, labels = labelled_files(options, SUFFIXES)
    headers = [images.header(file.path) for file in files]
    height, width = size_for(files, headers, options.size)
    color = color_for(files, headers, options.color)
    row = width if color == "gray" else 3 * width
    outputs.require_space(len(files) * height * row)
    with outputs:
        writer = NpyWriter(outputs, "x.npy", "uint8", (len(files), height, row))
        with Progress(len(files), "files") as progress:
            for number, file in enumerate(files, 1):
                writer.append(numpy.asarray(images.pixels(file.path, (height, width), color)).reshape(height, row))
                progress.show(number)
        writer.describe()
        write_labels(outputs, files, labels)
    return npy_yaml(options.out, "classifier", f"  num_classes: {len(labels)}", "  normalize: unit")
