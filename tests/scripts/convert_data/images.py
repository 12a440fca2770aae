# SPDX-License-Identifier: Apache-2.0
"""The tests of images: gray and colours, sizes, orientation, and what is refused."""

from convert_data.common import NPY, ConvertTest
from convert_data.labelled import LabelledTests


class ImagesTest(LabelledTests, ConvertTest):
    name, ending = "images", ".png"

    def make(self, name, size=(3, 2), color=7, mode="L", **options):
        from PIL import Image
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new(mode, size, color).save(path, **options)

    def pixels(self, *arguments):
        self.convert("images", "in", "--out", "out", "--force", *arguments)
        return self.load("out/x.npy")

    def test_gray_and_colours(self):
        self.make("in/a/1.png")
        self.make("in/b/1.bmp", color=9)
        self.assertEqual(self.pixels().tolist(), [[[7] * 3] * 2, [[9] * 3] * 2])
        self.assertEqual(self.load("out/x.npy").dtype, "uint8")
        self.make("in/a/1.png", mode="RGB", color=(1, 2, 3))
        self.assertEqual(self.refusal(3, "images", "in", "--out", "other"),
                         "in/b/1.bmp is gray, but in/a/1.png has colours: choose --color gray or --color rgb")
        self.assertEqual(self.pixels("--color", "rgb")[0].tolist(), [[1, 2, 3] * 3] * 2)

    def test_unequal_sizes_need_a_size(self):
        self.make("in/a/1.png")
        self.make("in/b/1.png", size=(4, 4))
        self.assertEqual(self.refusal(3, "images", "in", "--out", "out"),
                         "in/b/1.png: has 4 x 4 pixels (height x width), expected 2 x 3 as in/a/1.png has: resize all "
                         "of them with --size HxW")
        self.assertEqual(self.pixels("--size", "5x6").shape, (2, 5, 6))

    def test_transparent_parts_are_white_and_photographs_are_upright(self):
        from PIL import Image
        self.make("in/a/1.png", mode="RGBA", color=(9, 9, 9, 0))
        exif = Image.Exif()
        exif[0x0112] = 6  # turned by 90 degrees
        self.make("in/b/1.jpg", mode="RGB", color=(0, 0, 0), size=(2, 3), exif=exif)
        values = self.pixels()
        self.assertEqual(values.shape, (2, 2, 9))
        self.assertEqual(values[0].min(), 255)

    def test_refuses_what_has_not_one_8_bit_picture(self):
        from PIL import Image
        self.make("in/a/1.png")
        self.make("in/b/1.png", mode="I;16", color=300)
        self.assertEqual(self.refusal(3, "images", "in", "--out", "out"),
                         "in/b/1.png: has pixels of the kind I;16, expected 8 bits a channel: convert it")
        (self.root / "in/b/1.png").unlink()
        self.make("in/b/1.gif", save_all=True, append_images=[Image.new("L", (3, 2), 8)])
        self.assertEqual(self.refusal(3, "images", "in", "--out", "out"),
                         "in/b/1.gif: holds 2 images, expected one: save one of them as a file")

    def test_refuses_damaged_files(self):
        self.make("in/a/1.png", size=(50, 50))
        self.make("in/b/1.png", size=(50, 50))
        whole = (self.root / "in/b/1.png").read_bytes()
        for content in (whole[:60], "text"):
            self.write("in/b/1.png", content)
            message = self.refusal(3, "images", "in", "--out", "out")
            self.assertTrue(message.startswith("in/b/1.png: cannot be read as an image ("), message)

    def test_the_printed_lines_train(self):
        for i in range(10):
            self.make(f"in/a/{i}.png", color=i)
            self.make(f"in/b/{i}.png", color=200 + i)
        yaml = self.convert("images", "in", "--out", "out")
        self.assertEqual(yaml, NPY + "  num_classes: 2\n  normalize: unit\nmodel:\n  kind: sequence_classifier\n")
        self.train(yaml)
