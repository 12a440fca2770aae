# SPDX-License-Identifier: Apache-2.0
"""The tests of class folders and label files, which the formats WAV and images share."""


class LabelledTests:
    """The tests of class folders; a class of tests of a format has its `name`, an `ending` of its files, and `make`."""

    def test_class_folders(self):
        name, ending = self.name, self.ending
        for file in ("b/2", "b/10", "a/1", ".hidden/1", "a/.hidden"):
            self.make(f"in/{file}{ending}")
        self.write("in/a/notes.txt", "")
        code, _, errors = self.run_script(name, "in", "--out", "out")
        self.assertEqual(code, 0, errors)
        self.assertIn(", such as in/a/notes.txt\n", errors)
        self.assertEqual(self.text("out/classes.txt"), "a\nb\n")
        self.assertEqual(self.text("out/files.csv"),
                         f"index,file,label\n0,a/1{ending},a\n1,b/10{ending},b\n2,b/2{ending},b\n")
        self.assertEqual(self.load("out/y.npy").tolist(), [0, 1, 1])
        self.assertEqual(self.refusal(2, name, "in", "--out", "in/out"),
                         '--out "in/out" is inside in, where it would become a class: choose another --out')
        self.make(f"in/a/more/1{ending}")
        self.assertEqual(self.refusal(3, name, "in", "--out", "other"),
                         "in/a/more: is a folder inside a class folder, expected files: move its files to in/a")

    def test_label_file(self):
        name, ending = self.name, self.ending.upper()
        for file in ("1", "2", "3"):
            self.make(f"in/{file}{ending}")
        self.write("labels.csv", f"label,file\n10,3{ending}\n9,1{ending}\n")
        self.convert(name, "in", "--labels", "labels.csv", "--out", "out")
        self.assertEqual(self.text("out/classes.txt"), "9\n10\n")  # numbers are sorted as numbers
        self.assertEqual(self.text("out/files.csv"), f"index,file,label\n0,1{ending},9\n1,3{ending},10\n")
        self.write("labels.csv", f"file,label\n1{ending},a\n4{ending},b\n")
        self.assertEqual(self.refusal(3, name, "in", "--labels", "labels.csv", "--out", "o"),
                         f"labels.csv:3: the file in/4{ending} does not exist: correct the row")
        self.write("labels.csv", f"name,label\n1{ending},a\n")
        self.assertEqual(self.refusal(3, name, "in", "--labels", "labels.csv", "--out", "o"),
                         'labels.csv: no column is called "file", expected the header file,label; the columns are '
                         '"name", "label"')

    def test_classes_of_an_earlier_conversion(self):
        name, ending = self.name, self.ending
        self.make(f"in/b/1{ending}")
        self.write("classes.txt", "a\nb\n")
        self.convert(name, "in", "--classes", "classes.txt", "--out", "out")
        self.assertEqual(self.load("out/y.npy").tolist(), [1])
        self.make(f"in/c/1{ending}")
        self.assertEqual(self.refusal(3, name, "in", "--classes", "classes.txt", "--out", "o"),
                         'in: has the class "c", expected one of "a", "b" as in classes.txt: correct the name of the '
                         "class")
