# SPDX-License-Identifier: Apache-2.0
"""Trains with the program, stops it, goes on, and reads the event files with TensorBoard's own readers.

usage: read_with_tensorboard.py RNNLAB
Exit code 77 where the tensorboard package is not there (requirements-test.txt).
"""
import csv
import glob
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / ".venv" / "test-packages"))
try:
    from tensorboard import context
    from tensorboard.backend.event_processing import data_ingester, data_provider, event_accumulator, plugin_event_multiplexer
    from tensorboard.compat.proto import graph_pb2
    from tensorboard.plugins import base_plugin
    from tensorboard.plugins.hparams import api_pb2, backend_context, list_session_groups
    from tensorboard.plugins.hparams import metadata as hparams
except ImportError as error:
    if os.environ.get("CI"):
        raise
    print(f"skipped: no tensorboard package ({error}); scripts/test installs it")
    sys.exit(77)

EXPERIMENT = """name: board
device: cpu
data: {source: digits, num_train: 200, num_valid: 50}
model: {kind: image_classifier, dense: [16]}
training: {epochs: 4, batch_size: 50, tensorboard: true, tensorboard_histograms: true}
checkpoint: {every_steps: 1, keep: 100}
"""


SWEEP = """name: grid
device: cpu
data: {source: digits, num_train: 200, num_valid: 50}
model: {hidden_size: 8}
training: {epochs: 2, batch_size: 50, tensorboard: true}
checkpoint: {every_steps: 1, keep: 100}
sweep: {seed: [1, 2], layer: [naive, fused]}
"""


def main():
    rnnlab = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        run = train(rnnlab, folder)
        check_scalars(run, read(run))
        give_the_name_of_an_earlier_version(run)
        go_on_within_the_third_epoch(rnnlab, run)
        assert len(glob.glob(str(run / "events.out.tfevents.*"))) == 2
        read_again = read(run)
        check_scalars(run, read_again)
        check_histograms(read_again)
        check_graph(read_again)
        check_pages(run)
        check_hparams_page(rnnlab, folder)
        check_command_that_shows_each_run_once(folder)
    print("TensorBoard reads what rnnlab writes")


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: exit code {done.returncode}\n{done.stderr}"


def train(rnnlab, folder):
    (folder / "board.yaml").write_text(EXPERIMENT)
    call(rnnlab, "train", str(folder / "board.yaml"), "--out", str(folder / "runs"), "--quiet")
    (run,) = (path for path in (folder / "runs" / "board").iterdir() if not path.is_symlink())
    return run


def give_the_name_of_an_earlier_version(run):
    """The name of a file told the host before it was left out."""
    (file,) = run.glob("events.out.tfevents.*.rnnlab.*")
    file.rename(run / file.name.replace(".rnnlab.", ".jane-laptop.example."))


def go_on_within_the_third_epoch(rnnlab, run):
    """Takes the run back to step 9 of 16, as if it had been killed there after its logs were written."""
    resume_after(rnnlab, run, 9)


def resume_after(rnnlab, run, step):
    for checkpoint in (run / "checkpoints").glob("step-*"):
        if int(checkpoint.name.removeprefix("step-")) > step:
            for file in checkpoint.iterdir():
                file.unlink()
            checkpoint.rmdir()
    (run / "checkpoints" / "best.json").unlink()
    call(rnnlab, "train", "--resume", str(run), "--quiet")


def read(run):
    """With the reader for scripts; the pages of TensorBoard itself are check_pages' affair."""
    everything = {event_accumulator.SCALARS: 0, event_accumulator.HISTOGRAMS: 0}
    return event_accumulator.EventAccumulator(str(run), size_guidance=everything).Reload()


def check_scalars(run, accumulator):
    """Every epoch once, with the numbers of epochs.csv."""
    rows = list(csv.DictReader((run / "epochs.csv").open()))
    assert [int(row["epoch"]) for row in rows] == [1, 2, 3, 4], rows
    for tag, column in [("train/loss", "train_loss"), ("valid/accuracy", "valid_accuracy"),
                        ("training/gradient_norm", "gradient_norm"), ("measured/train_seconds", "train_seconds")]:
        points = [(event.step, event.value) for event in accumulator.Scalars(tag)]
        wanted = [(int(row["epoch"]), as_float32(float(row[column]))) for row in rows]
        assert points == wanted, f"{tag}: {points}, expected {wanted}"


def as_float32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def check_histograms(accumulator):
    for tag, count in [("weights/convolution1/weight", 64 * 32 * 25), ("gradients/output/bias", 10)]:
        events = accumulator.Histograms(tag)
        assert [event.step for event in events] == [1, 2, 3, 4], events
        for event in events:
            histogram = event.histogram_value
            assert histogram.num == sum(histogram.bucket) == count, histogram
            limits = [histogram.min, *histogram.bucket_limit]
            assert len(limits) == 31 and limits == sorted(limits) and limits[-1] == histogram.max, histogram


def check_graph(accumulator):
    graph = accumulator.Graph()
    nodes = {node.name: node for node in graph.node}
    assert all(name in nodes for node in graph.node for name in node.input), "an edge that begins nowhere"
    convolution = nodes["convolution1/convolution"]
    assert convolution.op == "Convolution2D"
    shape = convolution.attr["_output_shapes"].list.shape[0]
    assert [dim.size for dim in shape.dim] == [-1, 64, 14, 14], shape
    assert isinstance(graph, graph_pb2.GraphDef) and nodes["loss"].op == "cross_entropy"


def check_pages(run):
    """What the pages of TensorBoard are made from."""
    multiplexer = plugin_event_multiplexer.EventMultiplexer().AddRunsFromDirectory(str(run.parent)).Reload()
    provider = data_provider.MultiplexerDataProvider(multiplexer, str(run.parent))
    here = {"ctx": context.RequestContext(), "experiment_id": ""}
    curves = provider.read_scalars(**here, plugin_name="scalars", downsample=100)[run.name]
    assert [point.step for point in curves["train/loss"]] == [1, 2, 3, 4], curves["train/loss"]
    buckets = provider.read_tensors(**here, plugin_name="histograms", downsample=100)[run.name]
    assert [point.step for point in buckets["weights/dense0/weight"]] == [1, 2, 3, 4]
    assert buckets["weights/dense0/weight"][0].numpy.shape == (30, 3)
    assert list(provider.list_blob_sequences(**here, plugin_name="graphs")[run.name]), "no graph"
    tags = provider.list_tensors(**here, plugin_name=hparams.PLUGIN_NAME)[run.name]
    start = hparams.parse_session_start_info_plugin_data(tags[hparams.SESSION_START_INFO_TAG].plugin_content)
    assert start.hparams["model.kind"].string_value == "image_classifier"
    assert start.hparams["training.batch_size"].number_value == 50
    assert start.hparams["training.tensorboard"].bool_value is True
    end = hparams.parse_session_end_info_plugin_data(tags[hparams.SESSION_END_INFO_TAG].plugin_content)
    assert end.status == 1, end


def check_hparams_page(rnnlab, folder):
    """Each run of a sweep is a row of its own, also runs that differ in their seed alone and one that was resumed."""
    (folder / "grid.yaml").write_text(SWEEP)
    call(rnnlab, "train", str(folder / "grid.yaml"), "--out", str(folder / "sweep"), "--quiet")
    runs = {run.name: run for run in (folder / "sweep" / "grid").iterdir()
            if (run / "summary.json").exists() and not run.is_symlink()}
    assert len(runs) == 4, runs
    check_rows(runs, folder / "sweep" / "grid")
    resumed = runs[sorted(runs)[0]]
    resume_after(rnnlab, resumed, 5)
    assert len(glob.glob(str(resumed / "events.out.tfevents.*"))) == 2
    check_rows(runs, folder / "sweep" / "grid")


def check_command_that_shows_each_run_once(folder):
    """The folders that docs/commands.md names to TensorBoard, which would follow the link `latest` by itself."""
    page = (ROOT / "docs" / "commands.md").read_text()
    listing = re.search(r'--logdir_spec "\$\((.*)\)"', page)[1]
    done = subprocess.run(listing, shell=True, cwd=folder, capture_output=True, text=True, check=True)
    named = set(data_ingester._parse_event_files_spec(done.stdout.strip()).values())
    runs = {str(path.relative_to(folder)) for path in (folder / "runs").glob("*/*") if not path.is_symlink()}
    assert named == runs and (folder / "runs" / "board" / "latest").is_symlink(), f"{named}, expected {runs}"


def check_rows(runs, logdir):
    rows = {}
    for group in session_groups(logdir):
        (session,) = group.sessions
        if session.name != "latest":  # a link to the newest run, which TensorBoard follows
            rows[session.name] = group
    assert rows.keys() == runs.keys(), f"{sorted(rows)}, expected {sorted(runs)}"
    settings = {(row.hparams["seed"].number_value, row.hparams["layer"].string_value) for row in rows.values()}
    assert settings == {(1, "naive"), (1, "fused"), (2, "naive"), (2, "fused")}, settings
    for name, run in runs.items():
        final = json.loads((run / "summary.json").read_text())["final_metrics"]
        shown = {value.name.tag: value.value for value in rows[name].metric_values}
        for tag, metric in [("train/loss", "train_loss"), ("valid/loss", "valid_loss"),
                            ("valid/accuracy", "valid_accuracy")]:
            assert shown[tag] == as_float32(final[metric]), f"{name}: {tag}: {shown[tag]}, expected {final[metric]}"


def session_groups(logdir):
    """What the HPARAMS page asks the server for: its rows."""
    multiplexer = plugin_event_multiplexer.EventMultiplexer().AddRunsFromDirectory(str(logdir)).Reload()
    board = base_plugin.TBContext(data_provider=data_provider.MultiplexerDataProvider(multiplexer, str(logdir)))
    request = api_pb2.ListSessionGroupsRequest(start_index=0, slice_size=100)
    request.allowed_statuses.extend(api_pb2.Status.values())
    handler = list_session_groups.Handler(context.RequestContext(), backend_context.Context(board), "", request)
    return handler.run().session_groups


if __name__ == "__main__":
    main()
