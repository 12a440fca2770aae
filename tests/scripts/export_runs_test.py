# SPDX-License-Identifier: Apache-2.0
"""scripts/export-runs on small runs.

usage: export_runs_test.py GROUP PROGRAM      GROUP is files, mlflow or wandb; PROGRAM is rnnlab

files needs no package. Exit code 77, with the reason, if the others lack theirs: mlflow and wandb.
"""

import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest.mock import Mock, patch

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "export-runs"
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))

from export.common import ExportError  # noqa: E402
from export.mlflow_store import MlflowStore  # noqa: E402
from export.runs import find_runs, read_run  # noqa: E402
from export.settings import config_without_folders, read_settings  # noqa: E402
from export.wandb_store import WandbStore  # noqa: E402

EXPERIMENT = """name: tiny
device: cpu
layer: naive
data: {source: text, path: PATH, sequence_length: 5, num_train: 8, num_valid: 4}
model: {kind: language_model, hidden_size: 2}
training: {epochs: 2, batch_size: 4, num_threads: 1}
"""
PROGRAM = None


class RunsTest(unittest.TestCase):
    """Trains a run once for all tests; each gets a fresh folder, which is the current folder of the script."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.trained = Path(folder.name)
        (cls.trained / "private").mkdir()
        text = cls.trained / "private" / "text file.txt"
        text.write_text("some words of a text. " * 50)
        (cls.trained / "tiny.yaml").write_text(EXPERIMENT.replace("PATH", f'"{text}"'))
        subprocess.run([PROGRAM, "train", "tiny.yaml", "--quiet"], cwd=cls.trained, check=True, capture_output=True)
        folders = (cls.trained / "runs" / "tiny").iterdir()
        cls.folder = next(folder for folder in folders if not folder.is_symlink()).resolve()
        environment = cls.folder / "environment.json"
        host = read_run(cls.folder).environment["host"]["hostname"]
        environment.write_text(environment.read_text().replace(f'"hostname": "{host}"', '"hostname": "secret-host"'))
        with open(cls.folder / "train.log", "a", encoding="utf-8") as log:
            log.write("2026-11-27T09:49:15.740Z info    a note of secret-host\n")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def run_script(self, *arguments, **more):
        environment = {**os.environ, "HOME": str(self.root), "WANDB_MODE": "offline", **more}
        return subprocess.run([sys.executable, str(SCRIPT), *map(str, arguments)], cwd=self.root, env=environment,
                              capture_output=True, text=True, timeout=300)

    def export(self, *arguments):
        """Returns standard output and standard error."""
        result = self.run_script(self.folder, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout, result.stderr

    def bytes_below(self, folder):
        return b"".join(path.read_bytes() for path in Path(folder).rglob("*") if path.is_file())


class FilesTest(RunsTest):
    """Needs no package."""

    def test_settings_are_read_as_they_are_written(self):
        text = ('# An experiment\nname: a     # the name (default "b")\nquoted: "a # \\"b\\" \\x01\\u00e9"\n'
                "group:   # keys\n  off: null  # none\n  # absent:   # 5\n  list: [1, 2.5, \"a, b\", true]\n"
                "  inner:\n    e: 1e-08\n  none: []\nlast: cuda:0\n")
        self.assertEqual(read_settings(text, "f"), {
            "name": "a", "quoted": 'a # "b" \x01é', "group.off": None, "group.list": [1, 2.5, "a, b", True],
            "group.inner.e": 1e-8, "group.none": [], "last": "cuda:0"})
        for wrong in ("a: [1", "a: {b: 1}", "- a", 'a: "b', "a: 'b' c, d]"):
            with self.assertRaises(ExportError):
                read_settings(wrong, "f")

    def test_equations_of_several_lines_are_left_out(self):
        text = "model:\n  cell:\n    gates: [f]\n    equations: |\n      f = sigmoid(f)\n      h = f * h\n  hidden_size: 32\n"
        self.assertEqual(read_settings(text, "f"), {"model.cell.gates": ["f"], "model.hidden_size": 32})

    def test_paths_lose_their_folders_and_nothing_else_changes(self):
        text = 'data:\n  path: "/home/me/a b.csv"   # a comment with /home\n  train_file: ../x.csv\n  target: [y]\n'
        cut = config_without_folders(text, "f")
        self.assertEqual(cut, 'data:\n  path: "a b.csv"   # a comment with /home\n  train_file: "x.csv"\n'
                              "  target: [y]\n")

    def test_a_run_has_epochs_at_their_own_times(self):
        run = read_run(self.folder)
        self.assertEqual([epoch.number for epoch in run.epochs], [1, 2])
        first, second = run.epochs
        self.assertLessEqual(run.start, first.time)
        self.assertLess(first.time, second.time)
        self.assertLess(second.time - run.start, 600)
        self.assertIn("valid_perplexity", first.metrics)
        self.assertEqual((run.params()["model.hidden_size"], run.tags()["rnnlab.ending"]), ("2", "complete"))

    def test_nothing_tells_the_host_and_the_folders(self):
        shared = read_run(self.folder, has_log=True)
        text = repr((shared.params(), shared.tags(), shared.files()))
        for secret in ("secret-host", str(self.trained.resolve()), "private"):
            self.assertNotIn(secret, text)
        self.assertEqual(sorted(shared.files()), ["config.yaml", "epochs.csv", "summary.json", "train.log"])
        self.assertEqual(shared.files()["summary.json"], (self.folder / "summary.json").read_text())
        whole = read_run(self.folder, has_machine=True)
        self.assertEqual(whole.params()["data.path"], str(self.trained / "private" / "text file.txt"))
        self.assertEqual(whole.tags()["rnnlab.hostname"], "secret-host")
        self.assertIn("environment.json", whole.files())

    def test_paths_with_blanks_and_relative_paths_are_cut(self):
        run = read_run(self.folder, has_log=True)
        run.settings |= {"data.path": "jane doe/secret project/a: b #1.csv", "data.test_file": "/a b/é.csv"}
        run.folder = Path("/home/jane doe/out/runs/tiny/2026-cpu")
        for text, cut in {"csv from jane doe/secret project/a: b #1.csv: 3 rows": "csv from a: b #1.csv: 3 rows",
                          "jane doe/secret project/other.csv": "other.csv",
                          "run       out/runs/tiny/2026-cpu": "run       2026-cpu",
                          "/home/jane doe/out/runs/other": "other",
                          "file:///home/me/x.csv file:///home/jane doe/out/y": "x.csv y",
                          "'../me/secret' ../../me/x ~/a/b": "'secret' x b",
                          '"/a b/\\u00e9.csv"': '"é.csv"',
                          "see https://a.org/b, 3 samples/s, and/or 1/2": "see https://a.org/b, 3 samples/s, and/or 1/2",
                          }.items():
            self.assertEqual(run.shared(text), cut)

    def test_the_same_run_has_the_same_id(self):
        copy = self.root / "copies" / self.folder.name
        copy.parent.mkdir()
        subprocess.run(["cp", "-r", str(self.folder), str(copy)], check=True)
        self.assertEqual(find_runs([self.root, copy]), [copy.resolve()])
        self.assertEqual(read_run(copy).run_id, read_run(self.folder).run_id)
        (copy / "summary.json").unlink()
        self.assertIsNone(read_run(copy))

    def test_a_run_is_complete_in_mlflow_after_everything_else(self):
        store = MlflowStore.__new__(MlflowStore)
        store.client, store.entities = Mock(), Mock()
        store.client.set_terminated.side_effect = OSError
        with self.assertRaises(OSError):
            store.write(read_run(self.folder), "0")
        store.client.set_tag.assert_not_called()

    def test_an_error_of_wandb_does_not_mean_that_the_run_is_missing(self):
        store = WandbStore.__new__(WandbStore)
        store.mode, store.entity, store.project, store.wandb, store.errors = "online", None, "p", Mock(), RuntimeError
        store.wandb.Api().run.side_effect = RuntimeError("Could not find run <Run p/1>")
        self.assertFalse(store.is_there(read_run(self.folder)))
        store.wandb.Api().run.side_effect = RuntimeError("HTTP 401: login failed")
        with self.assertRaisesRegex(ExportError, "^Weights & Biases: HTTP 401: login failed$"):
            store.is_there(read_run(self.folder))

    def test_a_missing_package_and_wrong_folders_are_one_message(self):
        environment = "python3 -m venv ~/export-venv && . ~/export-venv/bin/activate"
        self.assertIn(environment + "\npython3 -m pip install ", (ROOT / "docs" / "export.md").read_text("utf-8"))
        for package, more in {"mlflow": [], "wandb": ["--project", "p"]}.items():
            result = subprocess.run([sys.executable, "-I", "-S", SCRIPT, self.folder, "--to", package, *more],
                                    capture_output=True, text=True, timeout=60)
            self.assertEqual((result.returncode, result.stdout), (4, ""))
            self.assertEqual(result.stderr, "export-runs: error: this needs the Python package "
                             f"{package} (No module named '{package}'); install it in a virtual environment: "
                             f"{environment} && python3 -m pip install {package}\n")
        for folder in (self.root, self.root / "none"):
            self.assertEqual(self.run_script(folder, "--to", "mlflow").returncode, 3)
        self.assertEqual(self.run_script(self.folder, "--to", "wandb").returncode, 2)
        self.assertEqual(self.run_script(self.folder).returncode, 2)


class MlflowTest(RunsTest):
    URI = "sqlite:///store.db"

    def client(self):
        import mlflow
        return mlflow.MlflowClient(tracking_uri=f"sqlite:///{self.root}/store.db")

    def test_a_run_is_there_once(self):
        self.export("--to", "mlflow", "--uri", self.URI)
        output, errors = self.export("--to", "mlflow", "--uri", self.URI)
        self.assertEqual(output, f"0 runs exported, 1 skipped: MLflow at {self.URI}\n")
        self.assertIn(f"{self.folder.name}: skipped, it was exported before\n", errors)
        client = self.client()
        experiment = client.get_experiment_by_name("tiny")
        (found,) = client.search_runs([experiment.experiment_id])
        run = read_run(self.folder)
        self.assertEqual((found.info.status, found.info.run_name, found.info.user_id),
                         ("FINISHED", self.folder.name, "unknown"))
        self.assertEqual(found.data.params, run.params())
        self.assertEqual(found.data.tags, found.data.tags | run.tags())
        history = client.get_metric_history(found.info.run_id, "train_loss")
        self.assertEqual([(one.step, one.value, one.timestamp) for one in history],
                         [(epoch.number, epoch.metrics["train_loss"], round(epoch.time * 1000))
                          for epoch in run.epochs])

    def test_an_export_that_was_cut_off_is_done_again(self):
        self.export("--to", "mlflow", "--uri", self.URI)
        client = self.client()
        experiment = client.get_experiment_by_name("tiny").experiment_id
        (found,) = client.search_runs([experiment])
        client.set_tag(found.info.run_id, "rnnlab.export", "begun")
        self.export("--to", "mlflow", "--uri", self.URI)
        (again,) = client.search_runs([experiment])
        self.assertNotEqual(again.info.run_id, found.info.run_id)

    def test_the_store_does_not_tell_the_host(self):
        self.export("--to", "mlflow", "--uri", self.URI, "--with-log", "--experiment", "mine")
        self.assertIsNotNone(self.client().get_experiment_by_name("mine"))
        content = self.bytes_below(self.root)
        self.assertNotIn(b"secret-host", content)
        self.assertNotIn(str(self.trained).encode(), content)


class WandbTest(RunsTest):
    def test_a_run_is_there_once_and_does_not_tell_the_host(self):
        arguments = ["--to", "wandb", "--project", "p", "--with-log"]
        self.export(*arguments)
        output, errors = self.export(*arguments)
        self.assertEqual(output, "0 runs exported, 1 skipped: wandb, to be sent by `wandb sync`\n")
        self.assertIn("it was exported before", errors)
        (folder,) = (self.root / "wandb").glob("offline-run-*")
        self.assertTrue(folder.name.endswith(read_run(self.folder).run_id))
        content = self.bytes_below(folder)
        for word in (b"valid_perplexity", b"model.hidden_size", b"rnnlab.seal"):
            self.assertIn(word, content)
        self.assertNotIn(b"secret-host", content)
        self.assertNotIn(str(self.trained).encode(), content)
        table = folder / "files" / "rnnlab" / "epochs.csv"
        self.assertEqual(hashlib.sha256(table.read_bytes()).digest(),
                         hashlib.sha256((self.folder / "epochs.csv").read_bytes()).digest())

    def test_an_export_that_was_cut_off_leaves_nothing(self):
        import wandb
        run = read_run(self.folder)
        options = Mock(project="p", entity=None, experiment=None, dir=str(self.root), mode="offline")
        with patch.object(WandbStore, "add_files", side_effect=KeyboardInterrupt):
            with self.assertRaises(KeyboardInterrupt):
                WandbStore(options).export(run)
        self.assertEqual(list((self.root / "wandb").glob("*run-*")), [])
        with patch.object(WandbStore, "add_files", side_effect=KeyboardInterrupt):
            with patch.object(WandbStore, "remove_begun"):  # as if the process was killed
                with self.assertRaises(KeyboardInterrupt):
                    WandbStore(options).export(run)
        self.assertEqual(len(list((self.root / "wandb").glob("offline-run-*"))), 1)
        self.assertTrue(WandbStore(options).export(run))
        self.assertEqual(len(list((self.root / "wandb").glob("offline-run-*"))), 1)
        self.assertFalse(WandbStore(options).export(run))
        wandb.teardown()

    def test_another_project_gets_the_run_too(self):
        self.export("--to", "wandb", "--project", "p")
        self.assertIn("1 run exported", self.export("--to", "wandb", "--project", "q")[0])


def main(arguments):
    global PROGRAM
    group, PROGRAM = arguments[0], os.path.abspath(arguments[1])
    if group != "files" and importlib.util.find_spec(group) is None:
        print(f"skipped {group}: the Python package {group} is missing")
        return 77
    if group == "mlflow" and importlib.util.find_spec("sqlalchemy") is None:
        print("skipped mlflow: the Python package sqlalchemy is missing, which mlflow brings along")
        return 77
    tests = {"files": FilesTest, "mlflow": MlflowTest, "wandb": WandbTest}[group]
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(tests)
    return 0 if unittest.TextTestRunner().run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
