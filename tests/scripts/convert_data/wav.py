# SPDX-License-Identifier: Apache-2.0
"""The tests of WAV: samples, frames, spectra, damaged files, signals and a full disk."""

import csv
import signal
import struct
import wave

from convert_data.common import NPY, ConvertTest
from convert_data.labelled import LabelledTests


class WavTest(LabelledTests, ConvertTest):
    name, ending = "wav", ".wav"

    def make(self, name, values=(0, 1, 2, 3), width=2, channels=1, rate=8000):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with wave.open(str(path), "wb") as file:
            file.setnchannels(channels)
            file.setsampwidth(width)
            file.setframerate(rate)
            file.writeframes(b"".join(value.to_bytes(width, "little", signed=width > 1) for value in values))

    def frames(self, *arguments):
        self.convert("wav", "in", "--out", "out", "--force", *arguments)
        return self.load("out/x.npy")

    def test_every_width_of_samples_is_from_minus_1_to_1(self):
        self.make("in/b/1.wav")
        for width, values in ((1, (0, 64, 128, 192)), (2, (-2**15, -2**14, 0, 2**14)), (3, (-2**23, -2**22, 0, 2**22)),
                              (4, (-2**31, -2**30, 0, 2**30))):
            self.make("in/a/1.wav", values, width)
            self.assertEqual(self.frames("--frame", "2")[0].tolist(), [[-1, -0.5], [0, 0.5]], width)

    def test_stereo_becomes_the_mean_of_both_channels(self):
        self.make("in/a/1.wav", (2**14, 0, -2**14, -2**14), channels=2)
        self.make("in/b/1.wav", (0, 0))
        self.assertEqual(self.frames("--frame", "2")[0].tolist(), [[0.25, -0.5]])

    def test_unequal_durations_are_padded_and_have_lengths(self):
        self.make("in/a/1.wav", [2**14] * 3)
        self.make("in/b/1.wav", [2**14] * 5)
        self.assertEqual(self.frames("--frame", "2").tolist(),
                         [[[0.5, 0.5], [0.5, 0], [0, 0]], [[0.5, 0.5], [0.5, 0.5], [0.5, 0]]])
        self.assertEqual(self.load("out/lengths.npy").tolist(), [2, 3])
        self.make("in/a/1.wav", [2**14] * 6)
        self.frames("--frame", "2")  # lengths of an earlier conversion do not stay
        self.assertFalse((self.root / "out/lengths.npy").exists())

    def test_the_spectrum_has_its_peak_at_the_tone(self):
        import math
        self.make("in/a/1.wav", [round(2**14 * math.sin(2 * math.pi * i * 1000 / 8000)) for i in range(256)])
        self.make("in/b/1.wav", [0] * 128)
        frames = self.frames("--frame", "64", "--features", "spectrum")
        self.assertEqual(frames.shape, (2, 4, 33))
        self.assertEqual(frames[0].argmax(axis=1).tolist(), [8] * 4)  # 1000 Hz of 4000 Hz
        self.assertAlmostEqual(float(frames[1, 0, 0]), math.log(1e-5), places=4)
        self.assertEqual(frames[1, 2:].tolist(), [[0] * 33] * 2)

    def test_the_printed_lines_train(self):
        for i in range(10):
            self.make(f"in/a/{i}.wav", [100 * i] * (40 + i))
            self.make(f"in/b/{i}.wav", [-100 * i] * 50)
        yaml = self.convert("wav", "in", "--frame", "10", "--out", "out")
        self.assertEqual(yaml, NPY + '  train_lengths: "lengths.npy"\n  num_classes: 2\n  normalize: standard\nmodel:\n'
                                     "  kind: sequence_classifier\n")
        for prediction, file in zip(self.train(yaml) or [], csv.DictReader(self.text("out/files.csv").splitlines())):
            label = str("ab".index(file["label"]))
            self.assertEqual((prediction["index"], prediction["target"]), (file["index"], label))

    def test_an_extensible_header_is_read(self):
        guid = struct.pack("<H", 1) + bytes(14)
        form = struct.pack("<HHIIHHHHI", 0xFFFE, 1, 8000, 24000, 3, 24, 22, 24, 4) + guid
        data = b"\0\0\x40" * 2
        chunks = b"WAVE" + b"LIST" + struct.pack("<I", 3) + b"abc\0" + b"fmt " + struct.pack("<I", len(form)) + form
        chunks += b"data" + struct.pack("<I", len(data)) + data
        self.write("in/a/1.wav", b"RIFF" + struct.pack("<I", len(chunks)) + chunks)
        self.make("in/b/1.wav")
        self.assertEqual(self.frames("--frame", "2")[0, 0].tolist(), [0.5, 0.5])

    def wav_refusal(self, code, content):
        self.make("in/a/1.wav")
        self.write("in/b/1.wav", content)
        return self.refusal(code, "wav", "in", "--out", "out")

    def test_refuses_damaged_files(self):
        self.make("whole.wav", [1] * 100)
        whole = (self.root / "whole.wav").read_bytes()
        self.assertEqual(self.wav_refusal(3, whole[:-50]),
                         "in/b/1.wav: is cut off, with 150 of 200 bytes of samples: copy it again, or remove it")
        self.assertEqual(self.wav_refusal(3, b"ID3 music"),
                         "in/b/1.wav: begins with b'ID3 ', expected RIFF and WAVE: convert it to WAV, or remove it")
        self.assertEqual(self.wav_refusal(3, whole.replace(b"\x10\0data", b"\x0c\0data")),
                         "in/b/1.wav: has format 1 with 12 bits, expected PCM of 8, 16, 24 or 32 bits: convert it, for "
                         "example with sox or ffmpeg")
        for end in range(0, 60, 6):  # each cut of the header is one message
            self.wav_refusal(3, whole[:end])

    def test_refuses_unequal_rates(self):
        self.make("in/a/1.wav")
        self.make("in/b/1.wav", rate=16000)
        self.assertEqual(self.refusal(3, "wav", "in", "--out", "out"),
                         "in/b/1.wav: has 16000 samples a second, expected 8000 as in/a/1.wav has: resample one of "
                         "them, for example with sox or ffmpeg")

    def test_one_class_cannot_be_learned(self):
        self.make("in/a/1.wav")
        self.assertTrue(self.refusal(3, "wav", "in", "--out", "out")
                        .startswith('in: all files have the class "a", expected at least two classes: add files'))

    def test_a_signal_leaves_no_files(self):
        for i in range(500):
            self.make(f"in/{'ab'[i % 2]}/{i}.wav", [0] * 16000)
        before = self.files()
        process = self.start("wav", "in", "--out", "out", "--frame", "2", "--features", "spectrum")
        while process.poll() is None and not list(self.root.glob("out/.x.npy.*.part")):
            pass
        process.send_signal(signal.SIGTERM)
        errors = process.communicate(timeout=60)[1]
        self.assertEqual((process.returncode, errors.splitlines()[-1]),
                         (143, "convert-data: stopped by a signal before the conversion was complete"))
        self.assertEqual(self.files(), before)

    def test_a_full_disk_is_one_message(self):
        self.make("in/a/1.wav", [0] * 100_000)
        self.make("in/b/1.wav")
        limit = 200_000  # of a file's size, as `ulimit -f` sets it

        def set_limit():
            import resource
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        process = self.start("wav", "in", "--out", "out", preexec_fn=set_limit)
        output, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, output, errors), (4, "", "convert-data: error: out: File too large\n"))
        self.assertFalse((self.root / "out").exists())
