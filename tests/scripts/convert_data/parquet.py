# SPDX-License-Identifier: Apache-2.0
"""The tests of Parquet: cells, the printed lines, several files, and what is refused."""

from convert_data.common import ConvertTest


class ParquetTest(ConvertTest):
    def make(self, name="a.parquet", rows=3, **columns):
        import pyarrow
        import pyarrow.parquet
        pyarrow.parquet.write_table(pyarrow.table(columns), self.root / name, row_group_size=rows)

    def test_columns_become_cells(self):
        import datetime
        import decimal
        import pyarrow
        moment = datetime.datetime(2025, 1, 2, 3, 4, 5, 250000, datetime.timezone.utc)
        self.make(number=[1.5, None, float("nan"), 0.1], flag=[True, False, None, True],
                  kind=pyarrow.array(["a", 'b, "c"', None, "d"]).dictionary_encode(),
                  day=[datetime.date(2024, 2, 29)] * 4,
                  moment=pyarrow.array([moment] * 4, pyarrow.timestamp("us", "Asia/Tokyo")),
                  price=[decimal.Decimal("1.50")] * 4, large=pyarrow.array([2**64 - 1] * 4, pyarrow.uint64()))
        self.convert("parquet", "a.parquet", "--out", "a.csv")
        rest = "2024-02-29,2025-01-02T03:04:05.250000Z,1.50,18446744073709551615"
        self.assertEqual(self.text("a.csv"), "number,flag,kind,day,moment,price,large\n"
                                             f'1.5,1,a,{rest}\n,0,"b, ""c""",{rest}\n,,,{rest}\n0.1,1,d,{rest}\n')

    def test_a_missing_value_in_one_column_is_not_a_blank_line(self):
        self.make(a=[1, None, 3])
        self.convert("parquet", "a.parquet", "--out", "a.csv")
        self.assertEqual(self.text("a.csv"), 'a\n1\n""\n3\n')

    def test_a_carriage_return_is_quoted(self):
        self.make(**{"a\rb": ["x\ry", "\r", "z"] * 10, "v\r1": [1, 2, 3] * 10, "c": [1.5, 2.5, 3.5] * 10})
        yaml = self.convert("parquet", "a.parquet", "--out", "a.csv", "--target", "c")
        content = (self.root / "a.csv").read_bytes()
        self.assertEqual(content, b'"a\rb","v\r1",c\n' + b'"x\ry",1,1.5\n"\r",2,2.5\nz,3,3.5\n' * 10)
        self.assertIn('  id: ["a\\rb"]', yaml)
        self.train(yaml)

    def test_the_printed_lines_train(self):
        self.make(day=[f"day {i}" for i in range(40)], visits=list(range(40)), price=[1.5, None] * 20,
                  sales=[0.5 * i for i in range(40)])
        yaml = self.convert("parquet", "a.parquet", "--out", "a.csv", "--target", "sales")
        self.assertEqual(yaml, 'data:\n  source: csv\n  path: "a.csv"\n  features: ["visits", "price"]\n'
                               '  target: ["sales"]\n  task: regression\n'
                               '  id: ["day"]   # predictions have copies of these columns\n'
                               "  # window: 24   # for a series: the rows of one sample; then missing: mean or "
                               "previous\n  missing: drop   # or mean, zero\n"
                               "model:\n  kind: sequence_regressor\n")
        predictions = self.train(yaml)
        self.assertIn(predictions and predictions[2]["day"], (None, "day 2"))

    def test_a_column_of_texts_is_a_class(self):
        self.make(v=[float(i) for i in range(40)], kind=["a", "b"] * 20)
        yaml = self.convert("parquet", "a.parquet", "--out", "a.csv", "--target", "kind")
        self.assertIn("  task: classification\nmodel:\n  kind: sequence_classifier\n", yaml)
        self.train(yaml)

    def test_a_series_needs_a_window(self):
        self.make(v=[float(i % 7) for i in range(300)])
        yaml = self.convert("parquet", "a.parquet", "--out", "a.csv", "--target", "v")
        self.assertIn("  task: regression\n  window: 24   # the rows that make one sample\nmodel:", yaml)
        self.train(yaml)

    def test_several_files_are_one_table(self):
        self.make("a.parquet", a=[1, 2], b=["x", "y"])
        self.make("b.parquet", a=[3], b=["z"])
        self.make("c.parquet", a=[3.5])
        self.convert("parquet", "a.parquet", "b.parquet", "--out", "a.csv", "--columns", "b,a")
        self.assertEqual(self.text("a.csv"), "b,a\nx,1\ny,2\nz,3\n")
        self.assertEqual(self.refusal(3, "parquet", "a.parquet", "c.parquet", "--out", "c.csv"),
                         "c.parquet: the columns differ from those of a.parquet: convert the files one by one")

    def test_refuses_nested_columns_by_name(self):
        self.make(a=[1.5], position=[[1, 2]], colour=[{"red": 1}])
        self.assertEqual(self.refusal(3, "parquet", "a.parquet", "--out", "a.csv"),
                         'a.parquet: these columns are nested or binary, expected numbers, texts and dates: "position" '
                         '(list<element: int64>), "colour" (struct<red: int64>); choose others with --columns "a"')
        self.convert("parquet", "a.parquet", "--out", "a.csv", "--columns", "a")

    def test_refuses_what_has_no_table(self):
        self.make("inf.parquet", a=[1.0, 2.0, 3.0, float("inf")])
        self.assertEqual(self.refusal(5, "parquet", "inf.parquet", "--out", "a.csv"),
                         'inf.parquet: column "a", row 4 is inf: rnnlab trains on finite float32 numbers only: correct '
                         "the file")
        self.make("empty.parquet", a=[])
        self.assertEqual(self.refusal(3, "parquet", "empty.parquet", "--out", "a.csv"),
                         "empty.parquet: the table has no rows, expected at least one: check the file")
        self.write("text.parquet", "a,b\n")
        self.assertTrue(self.refusal(3, "parquet", "text.parquet", "--out", "a.csv")
                        .startswith("text.parquet: cannot be read as Parquet ("))

    def test_refuses_unknown_names(self):
        self.make(sales=[1.5], price=[2.5])
        self.assertEqual(self.refusal(2, "parquet", "a.parquet", "--out", "a.csv", "--columns", "sale"),
                         'a.parquet: no column is called "sale". Did you mean "sales"? The columns are "sales", '
                         '"price"')
        self.assertEqual(self.refusal(2, "parquet", "a.parquet", "--out", "a.csv", "--target", "x"),
                         '--target "x": no such column in the result; the columns are "sales", "price"')

    def test_replaces_a_file_only_with_force(self):
        self.make(a=[1])
        self.write("a.csv", "old")
        self.assertEqual(self.refusal(2, "parquet", "a.parquet", "--out", "a.csv"),
                         "a.csv exists: choose another --out, or replace it with --force")
        self.convert("parquet", "a.parquet", "--out", "a.csv", "--force")
        self.assertEqual(self.text("a.csv"), "a\n1\n")
