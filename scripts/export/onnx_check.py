# SPDX-License-Identifier: Apache-2.0
"""Compares an ONNX model with the program, on samples of the run's own data."""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from export.common import ExportError, need
from export.trained import PLAIN, read_safetensors, run_program

MOST_DIFFERENCE = 1e-4
BATCH = 256
MOST_SAMPLES = 4096


@dataclass
class Samples:
    inputs: object   # as the graph takes them
    lengths: object  # None if the data have none
    targets: object


def read_samples(numpy, program, trained, folder):
    """Returns the validation samples, or the training samples if the run has no others, and the name of the part."""
    experiment, work = folder / "experiment.yaml", folder / "work.safetensors"
    experiment.write_text(trained.state["experiment"], encoding="utf-8")  # with the absolute paths of the data
    # `export` counts the steps of an epoch, but writes all samples once only.
    run_program(program, "export", experiment, "device=cpu", "layer=naive", "precision=fp32", "devices=1",
                "training.cuda_graph=false", 'model.initial_weights=""', "training.epochs=1", "-o", work)
    tensors, _ = read_safetensors(numpy, work)
    part = "valid" if "valid.inputs" in tensors and len(tensors["valid.inputs"]) else "train"
    return Samples(tensors[f"{part}.inputs"], tensors.get(f"{part}.lengths"), tensors[f"{part}.targets"]), part


def unscaled(numpy, trained, inputs, num_numbers):
    """The program gives samples as they are fed to the network; the graph scales by itself."""
    how, scales = trained.state.get("normalization", "none"), trained.number_scales(num_numbers)
    values = numpy.array(inputs, dtype="f8")
    if how == "unit":
        values *= trained.byte_maximum
    elif how in ("standard", "minmax"):
        scale, offset = (numpy.array([entry[key] for entry in scales]) for key in ("scale", "offset"))
        if len(scales) != num_numbers:  # each column of a table is a step
            scale, offset = (one.reshape(-1, num_numbers) for one in (scale, offset))
        values[..., :num_numbers] = values[..., :num_numbers] * scale + offset
    return values.astype("f4")  # column_minmax: scaling what is scaled changes nothing


def lengths_of(numpy, trained, samples, begin):
    """The lengths of a batch; None if the graph takes none."""
    if not trained.has_lengths:
        return None
    inputs, lengths = samples.inputs[begin:begin + BATCH], samples.lengths
    return numpy.full(len(inputs), samples.inputs.shape[1], "i8") if lengths is None else lengths[begin:begin + BATCH].astype("i8")


def states_of(session):
    """The names of the states that the graph takes; none if it begins with zeros."""
    return [value.name for value in session.get_inputs() if value.name not in ("inputs", "lengths")]


def first_states(numpy, session, num_samples):
    shapes = {value.name: value.shape for value in session.get_inputs()}
    return {name: numpy.zeros((shapes[name][0], num_samples, shapes[name][2]), "f4") for name in states_of(session)}


def outputs_in_pieces(numpy, session, inputs, piece_lengths):
    """Gives the graph some steps of a batch at a time, with the states between them. Returns the outputs of each piece."""
    states, begin, pieces = first_states(numpy, session, len(inputs)), 0, []
    for length in piece_lengths:
        names = ["outputs", *(f"new_{name}" for name in states)]
        outputs, *new_states = session.run(names, {"inputs": inputs[:, begin:begin + length], **states})
        states = dict(zip(states, new_states))
        pieces.append(outputs)
        begin += length
    return pieces


def outputs_of_batch(numpy, session, trained, inputs, lengths):
    if lengths is not None:  # a piece in which a sequence has no step has no length for it
        feed = {"inputs": inputs, "lengths": lengths, **first_states(numpy, session, len(inputs))}
        return session.run(["outputs"], feed)[0]
    if not states_of(session):
        return session.run(["outputs"], {"inputs": inputs})[0]
    num_steps = inputs.shape[1]
    piece_lengths = [length for length in (1, min(3, num_steps - 1), num_steps - 4) if length > 0]
    pieces = outputs_in_pieces(numpy, session, inputs, piece_lengths)
    return numpy.concatenate(pieces, 1) if trained.has_step_targets else pieces[-1]


def outputs_of_graph(numpy, session, trained, samples):
    return numpy.concatenate([
        outputs_of_batch(numpy, session, trained, samples.inputs[begin:begin + BATCH],
                         lengths_of(numpy, trained, samples, begin))
        for begin in range(0, len(samples.inputs), BATCH)])


def rows_within(numpy, outputs, samples):
    """Outputs of each step as rows, without the steps beyond the lengths."""
    if samples.lengths is None:
        return outputs.reshape(-1, outputs.shape[-1])
    return numpy.concatenate([rows[:length] for rows, length in zip(outputs, samples.lengths)])


def compare_outputs(numpy, session, program, trained, samples, part, folder):
    """Returns the largest difference of the raw outputs, and the number of samples."""
    file = folder / "outputs.npy"
    run_program(program, "predict", *trained.arguments, *PLAIN, "--part", part, "--out", file)
    expected = numpy.load(file)
    num_numbers = samples.inputs.shape[2] - len(trained.state.get("categories") or [])
    samples.inputs = unscaled(numpy, trained, samples.inputs, num_numbers)
    if not trained.has_step_targets:
        samples.inputs, expected = samples.inputs[:MOST_SAMPLES], expected[:MOST_SAMPLES]
    outputs = outputs_of_graph(numpy, session, trained, samples)
    if trained.has_step_targets:
        outputs = rows_within(numpy, outputs, samples)
    if outputs.shape != expected.shape:
        raise ExportError(f"the program gave outputs of {expected.shape}, the graph of {outputs.shape}")
    return float(numpy.abs(outputs.astype("f8") - expected).max()), len(samples.inputs)


def compare_loss(numpy, session, program, trained, samples, part):
    """A language model has no raw outputs in files, so the mean losses of all tokens are compared."""
    if trained.settings.get("training.carry_state"):
        raise ExportError("--check: the program carries states from window to window in this run "
                          "(training.carry_state), and the graph begins each window with zeros")
    text = run_program(program, "evaluate", *trained.arguments, *PLAIN, "--part", part, "--json")
    samples.inputs = samples.inputs.astype("i8")
    logits = rows_within(numpy, outputs_of_graph(numpy, session, trained, samples), samples).astype("f8")
    targets = rows_within(numpy, samples.targets.astype("i8")[..., None], samples)[:, 0]
    top = logits.max(1)
    losses = numpy.log(numpy.exp(logits - top[:, None]).sum(1)) + top - logits[numpy.arange(len(targets)), targets]
    return abs(float(losses.mean()) - json.loads(text)["metrics"]["loss"]), len(samples.inputs)


def check(numpy, program, trained, file):
    """Returns the largest difference, the number of samples, and what was compared."""
    runtime = need("onnxruntime")
    session = runtime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        samples, part = read_samples(numpy, program, trained, folder)
        if trained.has_tokens:
            return *compare_loss(numpy, session, program, trained, samples, part), f"mean loss of the {part} samples"
        return *compare_outputs(numpy, session, program, trained, samples, part, folder), f"{part} samples"
