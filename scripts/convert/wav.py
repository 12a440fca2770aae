# SPDX-License-Identifier: Apache-2.0
"""WAV: files with a class each become npy files, with samples or spectra as features."""

import os
import struct
from dataclasses import dataclass
from pathlib import Path

from .common import ConvertError, counted, need, require_finite, say
from .labelled import labelled_files, write_labels
from .outputs import SETS, NpyWriter, Outputs, Progress, npy_yaml

MAGNITUDE_FLOOR = 1e-5  # about a third of a step of 16-bit audio; the logarithm of silence is finite


@dataclass
class Wav:
    """The header of a WAV file: where the samples are, and how they are stored."""
    path: Path
    rate: int = 0
    num_channels: int = 0
    format: int = 0  # 1: integers, 3: floats
    bits: int = 0
    offset: int = 0
    num_bytes: int = 0

    @property
    def num_samples(self):
        return self.num_bytes // (self.num_channels * self.bits // 8)


def read_wav_header(path):
    """Reads the chunks up to the samples.

    Python's `wave` refuses the extensible header, which files of 24 bits often have.
    """
    try:
        with open(path, "rb") as stream:
            return find_samples(Wav(path), stream)
    except (OSError, struct.error) as error:
        raise ConvertError(f"{path}: cannot be read as WAV ({error}): check or remove the file") from error


def find_samples(wav, stream):
    start = stream.read(12)
    if start[:4] != b"RIFF" or start[8:] != b"WAVE":
        raise ConvertError(f"{wav.path}: begins with {start[:4]!r}, expected RIFF and WAVE: convert it to WAV, or "
                           "remove it")
    size = os.fstat(stream.fileno()).st_size
    while len(head := stream.read(8)) == 8:
        name, num_bytes = struct.unpack("<4sI", head)
        if name == b"data":
            wav.offset, wav.num_bytes = stream.tell(), num_bytes
            return checked_wav(wav, size)
        end = stream.tell() + num_bytes + num_bytes % 2
        if name == b"fmt ":
            parse_format(wav, stream.read(min(num_bytes, 40)))
        stream.seek(end)
    raise ConvertError(f"{wav.path}: has no samples (no data chunk): record it again, or remove it")


def parse_format(wav, content):
    wav.format, wav.num_channels, wav.rate, _, _, wav.bits = struct.unpack("<HHIIHH", content[:16])
    if wav.format == 0xFFFE and len(content) >= 40:  # extensible: the format is the start of a GUID
        wav.format = struct.unpack("<H", content[24:26])[0]


def checked_wav(wav, file_size):
    if (wav.format, wav.bits) not in [(1, 8), (1, 16), (1, 24), (1, 32), (3, 32)]:
        raise ConvertError(f"{wav.path}: has format {wav.format} with {wav.bits} bits, expected PCM of 8, 16, 24 or "
                           "32 bits: convert it, for example with sox or ffmpeg")
    if wav.num_channels not in (1, 2) or wav.rate == 0:
        raise ConvertError(f"{wav.path}: has {counted(wav.num_channels, 'channel')} at {wav.rate} Hz, expected mono or "
                           "stereo: convert it")
    if wav.offset + wav.num_bytes > file_size:
        raise ConvertError(f"{wav.path}: is cut off, with {file_size - wav.offset:,} of {wav.num_bytes:,} bytes of "
                           "samples: copy it again, or remove it")
    if wav.num_samples == 0:
        raise ConvertError(f"{wav.path}: has no samples: remove it")
    return wav


def read_samples(numpy, wav):
    """Returns float32 samples from -1 to 1; stereo becomes the mean of both channels."""
    with open(wav.path, "rb") as stream:
        stream.seek(wav.offset)
        content = stream.read(wav.num_samples * wav.num_channels * wav.bits // 8)
    if wav.format == 3:
        values = numpy.frombuffer(content, "<f4")
    elif wav.bits == 8:
        values = (numpy.frombuffer(content, "u1").astype("f4") - 128) / 128
    elif wav.bits == 24:
        wide = numpy.zeros((len(content) // 3, 4), "u1")
        wide[:, 1:] = numpy.frombuffer(content, "u1").reshape(-1, 3)
        values = wide.view("<i4")[:, 0] / 2.0**31
    else:
        values = numpy.frombuffer(content, f"<i{wav.bits // 8}") / 2.0**(wav.bits - 1)
    values = values.reshape(-1, wav.num_channels).mean(axis=1, dtype="f8").astype("f4")
    require_finite(numpy, wav.path, "samples", values)
    return values


def frames_of(numpy, samples, frame, features):
    """(steps, features): the samples of each step, or the logarithms of the magnitudes of their spectrum."""
    num_steps = -(-len(samples) // frame)
    frames = numpy.zeros((num_steps, frame), "f4")
    frames.reshape(-1)[:len(samples)] = samples
    if features == "frames":
        return frames
    spectrum = numpy.fft.rfft(frames * numpy.hanning(frame), axis=1)
    return numpy.log(numpy.abs(spectrum) + MAGNITUDE_FLOOR).astype("f4")


def require_equal_rates(wavs):
    for wav in wavs:
        if wav.rate != wavs[0].rate:
            raise ConvertError(f"{wav.path}: has {wav.rate} samples a second, expected {wavs[0].rate} as "
                               f"{wavs[0].path} has: resample one of them, for example with sox or ffmpeg")


def write_frames(numpy, outputs, wavs, options, shape):
    writer = NpyWriter(outputs, "x.npy", "float32", shape)
    with Progress(len(wavs), "files") as progress:
        for number, wav in enumerate(wavs, 1):
            padded = numpy.zeros(shape[1:], "f4")
            frames = frames_of(numpy, read_samples(numpy, wav), options.frame, options.features)
            padded[:len(frames)] = frames
            writer.append(padded)
            progress.show(number)
    writer.describe()


def convert_wav(options):
    numpy = need("numpy")
    outputs = Outputs(options.out, SETS, options.force)
    files, labels = labelled_files(options, (".wav",))
    wavs = [read_wav_header(file.path) for file in files]
    require_equal_rates(wavs)
    lengths = [-(-wav.num_samples // options.frame) for wav in wavs]
    num_features = options.frame if options.features == "frames" else options.frame // 2 + 1
    shape = (len(wavs), max(lengths), num_features)
    outputs.require_space(4 * shape[0] * shape[1] * shape[2])
    has_lengths = min(lengths) < max(lengths)
    with outputs:
        write_frames(numpy, outputs, wavs, options, shape)
        write_labels(outputs, files, labels)
        if has_lengths:
            writer = NpyWriter(outputs, "lengths.npy", "int64", (len(lengths),))
            writer.append(lengths)
            writer.describe()
    say(f"a step is {options.frame} samples, {1000 * options.frame / wavs[0].rate:.4g} ms at {wavs[0].rate} Hz")
    return npy_yaml(options.out, "classifier", f"  num_classes: {len(labels)}", "  normalize: standard",
                    has_lengths=has_lengths)
