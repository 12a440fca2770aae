#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains twelve PyTorch models with recurrent layers, as they are written and after rnnlab.accelerate(model).

usage: pytorch_models.py --check                      compares the losses of all steps; exit code 1 on a failure
       pytorch_models.py OUT.json [--processes N]     times training steps, with the optimizer and everything else
       pytorch_models.py --list                       the models, what they follow and their recurrent layers

Each model is written from its paper, which --list names:

  tagger          words to tags: a bidirectional LSTM and a conditional random field. The sentences have different
                  lengths and are packed.
  language_model  AWD-LSTM: the next word, with dropout on recurrent weights and tied weights. Batches carry states on.
  elmo            the next and the last word from the characters of words, as in ELMo
  text_vae        a variational autoencoder of sentences, of two LSTMs
  forecaster      DeepAR: an LSTM gives mean and deviation of the next value
  lstnet          many series: a convolution, a GRU, and a GRU over the days of each hour
  gru4rec         the next item of a session
  actor_critic    an agent whose LSTM computes one step at a time
  translator      a bidirectional GRU and a GRU with attention, which computes one step at a time
  listener        LAS: a pyramid of bidirectional LSTMs, and an LSTM with attention that computes one step at a time
  tacotron        characters to sounds: a bidirectional LSTM, and LSTMCells, which rnnlab leaves as they are
  crnn            the text of an image: convolutions, bidirectional LSTMs and CTC

Data are made here by known rules; --text PATH trains the language models on a text. Without --sizes, sizes are "full"
on a GPU; on a CPU they are "tiny" for --check and "small" for times. Ways to train:

  eager     the training loop as a program writes it
  compiled  the same with torch.compile(model); it needs a C compiler
  graph     every training step is the replay of one CUDA graph; not for the tagger and crnn

Each process times torch.nn's and rnnlab's training in turn: epochs on a GPU, single steps on a CPU. Its quotient is
the median over the turns of nn's time / rnnlab's time. A row has the median of the quotients over the processes, with
the smallest and the largest; the last lines are geometric means over the models. bf16 is autocast to bfloat16, under
which torch.nn's layers compute in float16 on a GPU, and so do rnnlab's (docs/pytorch.md, Types).
"""

import argparse
import copy
import itertools
import json
import math
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

import torch
from torch import nn

import rnnlab
from pytorch_attention_models import Crnn, ListenAttendSpell, Tacotron, Translator
from pytorch_layers import captured
from pytorch_model_parts import recurrent_layers, recurrent_weights
from pytorch_series_models import ActorCritic, Forecaster, Gru4Rec, LstNet
from pytorch_text_models import Elmo, LanguageModel, Tagger, TextVae

WAYS = ("eager", "compiled", "graph")
NUM_WARMUP_STEPS = 3

# The largest difference of two losses of the same step, relative to max(1, loss). Both sides round the same products,
# but add them in another order. The bounds of TF32 and bfloat16 are 8 units of rounding of a factor, 2^-11 and 2^-9.
# That of float32 is 80 times the differences seen on a CPU (2.5e-7), because a sum of 1024 products rounds more often.
# It finds small mistakes: the tiny models exceed it in float32 after 20 steps with a learning rate that is 0.1 %
# larger. In float32 "persistent" has factors of 22 bits, and of fewer where they are small (docs/persistent.md).
BOUNDS = {"float32": 2e-5, "tf32": 8 * 2**-11, "bf16": 8 * 2**-9}
BOUND_OF_FEWER_BITS = 2e-4

MODELS = {
    "tagger": Tagger, "language_model": LanguageModel, "elmo": Elmo, "text_vae": TextVae, "forecaster": Forecaster,
    "lstnet": LstNet, "gru4rec": Gru4Rec, "actor_critic": ActorCritic, "translator": Translator,
    "listener": ListenAttendSpell, "tacotron": Tacotron, "crnn": Crnn,
}


def moved(batch, device, dtype, of_host=()):
    return tuple(
        tensor if i in of_host else tensor.to(device, dtype if tensor.is_floating_point() else None)
        for i, tensor in enumerate(batch))


class Training:
    """A training loop as programs write it."""

    def __init__(self, model, batches, precision, learning_rate):
        self.model, self.batches, self.precision = model, batches, precision
        self.optimizer = model.make_optimizer(model.parameters(), learning_rate)
        self.device = next(model.parameters()).device
        self.called, self.run, self.rest = model, self.step, None

    def step(self, batch, states):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, torch.bfloat16, self.precision == "bf16", cache_enabled=False):
            loss, states = self.called(batch, states)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.model.clip_norm)
        self.optimizer.step()
        return loss.detach(), tuple(state.detach() for state in states)

    def losses(self):
        """Yields the loss of every batch of an epoch, as tensors."""
        states = self.model.first_states(self.batches[0])
        for batch in self.batches:
            loss, states = self.run(batch, states)
            yield loss

    def epoch(self):
        """Returns the mean loss, which is read once."""
        total = torch.zeros((), device=self.device)
        for loss in self.losses():
            total += loss
        return total.item() / len(self.batches)

    def next_loss(self):
        """Returns the loss of the next step, of a new epoch after the last one's end."""
        self.rest = self.rest or self.losses()
        loss = next(self.rest, None)
        if loss is None:
            self.rest = self.losses()
            loss = next(self.rest)
        return loss.item()

    def change_to(self, way):
        if way == "compiled":
            self.called = torch.compile(self.model)
        if way == "graph":
            self.run = self.captured_step()

    def captured_step(self):
        """Returns a step that replays a CUDA graph over copies of its batch and states, which the step keeps."""
        batch = tuple(tensor.clone() for tensor in self.batches[0])
        results = torch.zeros((), device=self.device), *self.model.first_states(batch)

        def work():
            loss, states = self.step(batch, results[1:])
            copy_all(results, (loss, *states))

        replay = captured(work)

        def run(new_batch, states):
            copy_all((*batch, *results[1:]), (*new_batch, *states))
            replay()
            return results[0], results[1:]

        return run


def copy_all(targets, sources):
    for target, source in zip(targets, sources, strict=True):
        if target is not source:
            target.copy_(source)


def set_precision(precision):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != "float32"


def batches_of(name, sizes, num_batches, text_path=None):
    torch.manual_seed(1)
    return list(itertools.islice(MODELS[name].batches(sizes, num_batches, text_path), num_batches))


def model_of(name, sizes, dropout):
    torch.manual_seed(2)
    return MODELS[name](sizes, dropout)


def trained(model, batches, precision, learning_rate, device, dtype=torch.float32):
    """Trains the model for one epoch. Returns the loss of every step."""
    set_precision(precision)
    model.to(device, dtype)
    batches = [moved(batch, device, dtype, model.of_host) for batch in batches]
    return [loss.item() for loss in Training(model, batches, precision, learning_rate).losses()]


def difference(ours, theirs):
    """Returns the largest difference of two losses of the same step."""
    return max(abs(a - b) / max(1, abs(b)) for a, b in zip(ours, theirs, strict=True))


@torch.no_grad()
def evaluated(model, batch):
    """Returns the loss of a held-out batch and what quality() says, without dropout."""
    model.eval()
    torch.manual_seed(3)
    return model(batch, model.first_states(batch))[0].item(), model.quality(batch)


def exact_bound_of(precision, used):
    return BOUND_OF_FEWER_BITS if precision == "float32" and "persistent" in used else BOUNDS[precision]


def bound_of(precision, used, rounding):
    """Returns the largest difference of two losses that rounding explains.

    Steps magnify it: it may be twice the difference that the precision itself makes to torch.nn's own losses.
    """
    return max(exact_bound_of(precision, used), 2 * rounding)


def check(name, sizes, batches, precision, implementation, device):
    """Trains torch.nn's model and its accelerated copy. Returns a row of the table."""
    *batches, held_out = batches
    exact = model_of(name, sizes, dropout=0.0)
    theirs, ours = copy.deepcopy(exact), copy.deepcopy(exact)
    classes = {key: type(layer) for key, layer in recurrent_layers(exact).items()}
    first = recurrent_weights(exact)
    reference = trained(exact, batches, "float32", sizes.learning_rate, device, torch.float64)
    their_losses = trained(theirs, batches, precision, sizes.learning_rate, device)
    done = rnnlab.accelerate(ours, implementation)
    our_losses = trained(ours, batches, precision, sizes.learning_rate, device)
    used, batch = used_by(ours), moved(held_out, device, torch.float32, ours.of_host)
    accelerated, _ = evaluated(ours, batch)
    done.undo()
    undone, our_quality = evaluated(ours, batch)
    rounding = difference(their_losses, reference)
    bound = bound_of(precision, used, rounding)
    last = recurrent_weights(ours)
    conditions = {
        "the losses differ": difference(our_losses, their_losses) <= bound,
        "it does not learn": ours.has_learned(our_losses[0], our_losses[-1], our_quality),
        "accelerate() changed other layers": list(done.changed) == list(classes),
        "undo() left another class": {key: type(layer) for key, layer in recurrent_layers(ours).items()} == classes,
        "undo() changes the held-out loss": difference([accelerated], [undone]) <= exact_bound_of(precision, used),
        "a weight was not trained": not any(torch.equal(value, first[key]) for key, value in last.items()),
    }
    return dict(model=name, precision=precision, implementation=implementation, used=used, num_steps=len(our_losses),
                first=our_losses[0], last=our_losses[-1], difference=difference(our_losses, their_losses),
                bound=bound, rounding=rounding,
                their_quality=evaluated(theirs, batch)[1], our_quality=our_quality,
                failures=[failure for failure, holds in conditions.items() if not holds])


def used_by(model):
    """Returns the implementations that computed the recurrent layers last, separated by commas."""
    layers = recurrent_layers(model).values()
    return ",".join(sorted({getattr(layer, "implementation_used", "torch") for layer in layers}))


def print_check(row):
    """Prints the row, or for None the head of the table."""
    table = ("model:16 precision:10 implementation:15 used:16 num_steps:10 first:8.4f last:8.4f difference:11.1e "
             "bound:8.1e rounding:9.1e their_quality:14.4g our_quality:12.4g")
    columns = [column.split(":") for column in table.split()]
    if row is None:
        print(*(f"{name:{form.split('.')[0]}}" for name, form in columns), "result", flush=True)
    else:
        print(*(f"{row[name]:{form}}" for name, form in columns), ", ".join(row["failures"]) or "passed", flush=True)


def check_all(arguments):
    """Prints the table and returns its rows.

    difference: of rnnlab's losses from nn's. rounding: of nn's losses from nn's in float64, which is what the precision
    itself changes. The qualities are those of held-out data, as a model's quality() says.
    """
    print_check(None)
    rows = []
    for name in arguments.models:
        sizes = MODELS[name].sizes[arguments.sizes]
        batches = batches_of(name, sizes, arguments.steps + 1, arguments.text)
        for precision in arguments.precisions:
            for implementation in arguments.implementations:
                rows.append(check(name, sizes, batches, precision, implementation, arguments.device))
                print_check(rows[-1])
    return rows


def training_of(name, sizes, batches, implementation, way, precision, device):
    """Returns a training after an epoch in its way: the layer "auto" has measured, and kernels are compiled."""
    model = model_of(name, sizes, MODELS[name].dropout_share).to(device)
    if implementation != "nn":
        rnnlab.accelerate(model, implementation)
    training = Training(model, batches, precision, sizes.learning_rate)
    list(itertools.islice(training.losses(), NUM_WARMUP_STEPS))
    training.change_to(way)
    training.epoch()
    return training


def seconds_of_turn(training):
    """Returns the seconds of an epoch on a GPU, where the host runs ahead of it, and those of a step on a CPU."""
    synchronize = torch.cuda.synchronize if training.device.type == "cuda" else torch.cpu.synchronize
    synchronize()
    began = time.perf_counter()
    if training.device.type == "cuda":
        training.epoch()
    else:
        training.next_loss()
    synchronize()
    return time.perf_counter() - began


def reason_against(name, way, device):
    has_compiler = any(map(shutil.which, ("cc", "c++", "gcc")))
    no_graph = MODELS[name].no_graph
    reasons = {"graph": {"a CPU has no CUDA graphs": device == "cpu", no_graph: no_graph},
               "compiled": {"there is no C compiler": not has_compiler}}
    return next((reason for reason, holds in reasons.get(way, {}).items() if holds), None)


def measure(name, sizes, batches, way, precision, arguments):
    """Yields a row for every side; a side that cannot run has the reason instead of a time."""
    set_precision(precision)
    torch.compiler.reset()  # it compiles a model's code again only a few times
    case = dict(model=name, precision=precision, way=way)
    reason = reason_against(name, way, arguments.device)
    if reason:
        yield dict(case, missing=reason)
        return
    of_host = MODELS[name].of_host
    batches = [moved(batch, arguments.device, torch.float32, of_host) for batch in batches]
    sides = {}
    for side in ("nn", *arguments.implementations):
        try:
            sides[side] = training_of(name, sizes, batches, side, way, precision, arguments.device)
        except Exception as error:  # whatever a way raises is its reason
            lines = str(error).strip().splitlines() or [""]
            yield dict(case, implementation=side, missing=f"{type(error).__name__}: {lines[0][:200]}")
    times = {side: [] for side in sides}
    num_turns = arguments.rounds * (1 if arguments.device == "cuda" else len(batches))
    for number in range(num_turns):
        for side in list(sides)[:: -1 if number % 2 else 1]:  # no side always follows the same one
            times[side].append(seconds_of_turn(sides[side]))
    num_steps = len(batches) if arguments.device == "cuda" else 1  # of a turn
    for side, training in sides.items():
        quotients = [theirs / ours for theirs, ours in zip(times.get("nn", ()), times[side])]
        yield dict(case, implementation=side, used=used_by(training.model), loss=training.epoch(),
                   milliseconds=1000 * statistics.median(times[side]) / num_steps,
                   quotient=statistics.median(quotients or [math.nan]))


def measure_all(arguments):
    """Prints a line of JSON a row."""
    for name in arguments.models:
        sizes = MODELS[name].sizes[arguments.sizes]
        batches = batches_of(name, sizes, sizes.num_batches, arguments.text)
        for precision in arguments.precisions:
            for way in arguments.ways:
                for row in measure(name, sizes, batches, way, precision, arguments):
                    print(json.dumps(row), flush=True)


def rows_of_process(arguments):
    """Yields the rows of a fresh process as they come."""
    command = [sys.executable, __file__, *sys.argv[1:], "--one-process"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if line.startswith("{"):
                yield json.loads(line)
    if process.returncode != 0:
        print(f"a process ended with exit code {process.returncode}", file=sys.stderr, flush=True)


def case_of(row):
    return " ".join(row[key] for key in ("model", "precision", "way"))


def print_row(number, row):
    side = row.get("implementation", "both sides")
    is_missing = "missing" in row
    time_of_step = "" if is_missing else f"{row['milliseconds']:8.2f} ms a step, loss {row['loss']:.4f}"
    result = f"missing: {row['missing']}" if is_missing else time_of_step
    print(f"process {number}: {case_of(row):32} {side:10} {result}", flush=True)


def summary_of(processes):
    """Returns a line for each case and side, then the geometric means over the models."""
    rows, lines, by_way = {}, [], {}
    for row in (row for rows_of_one in processes for row in rows_of_one if "milliseconds" in row):
        rows.setdefault((case_of(row), row["implementation"]), []).append(row)
    for (case, side), ours in rows.items():
        theirs = rows.get((case, "nn"), [])
        if side == "nn" or not theirs:
            continue
        quotients = sorted(row["quotient"] for row in ours)
        median = statistics.median(quotients)
        milliseconds = [statistics.median(row["milliseconds"] for row in side_rows) for side_rows in (theirs, ours)]
        used = "; ".join(sorted({row["used"] for row in ours}))
        lines.append(f"{case:32} {side:10} ({used}): a step of nn {milliseconds[0]:.2f} ms, of rnnlab "
                     f"{milliseconds[1]:.2f} ms, quotient {median:.2f} ({quotients[0]:.2f} .. {quotients[-1]:.2f})")
        by_way.setdefault(f"{ours[0]['precision']} {ours[0]['way']} {side}", []).append(median)
    for way, medians in by_way.items():
        lines.append(f"geometric mean of {len(medians)} models, {way}: {statistics.geometric_mean(medians):.3f}, "
                     f"the smallest {min(medians):.2f}")
    return lines


def print_list():
    for name, model in MODELS.items():
        layers = ", ".join(f"{key} ({type(layer).__name__})" for key, layer in
                           recurrent_layers(model(model.sizes["tiny"], 0.0)).items())
        print(f"{name:16} {model.paper}\n{'':16} {layers}")


def parsed_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", help="the JSON file of the times")
    parser.add_argument("--check", action="store_true", help="compare losses instead of timing")
    parser.add_argument("--list", action="store_true", help="print the models and their papers")
    parser.add_argument("--steps", type=int, default=20, help="of --check")
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3, help="epochs of each side in a process")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--precisions", nargs="+", choices=BOUNDS)
    parser.add_argument("--implementations", nargs="+", help="of rnnlab (docs/pytorch.md)")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--sizes", choices=["full", "small", "tiny"])
    parser.add_argument("--text", help="a text for the language models, such as Tiny Shakespeare's")
    parser.add_argument("--one-process", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not arguments.check and not arguments.list and arguments.out is None:
        parser.error("name the JSON file of the times, or give --check or --list")
    return with_defaults(arguments)


def fast_precisions(device):
    """torch.nn.LSTM fails in bfloat16 on a CPU for which oneDNN has no bfloat16."""
    if device == "cuda":
        return ["tf32", "bf16"]
    return ["bf16"] if torch.ops.mkldnn._is_mkldnn_bf16_supported() else []


def with_defaults(arguments):
    is_cuda = arguments.device == "cuda"
    arguments.sizes = arguments.sizes or ("full" if is_cuda else "tiny" if arguments.check else "small")
    if arguments.precisions is None:
        fast = fast_precisions(arguments.device)
        arguments.precisions = ["float32", *fast] if arguments.check or not is_cuda else fast
    if arguments.implementations is None:
        arguments.implementations = ["auto", "persistent" if is_cuda else "hoisted"] if arguments.check else ["auto"]
    return arguments


def main():
    arguments = parsed_arguments()
    if arguments.list:
        print_list()
        return
    if arguments.check:
        rows = check_all(arguments)
        sys.exit(any(row["failures"] for row in rows))
    if arguments.one_process:
        measure_all(arguments)
        return
    processes = []
    for number in range(arguments.processes):
        processes.append([])
        for row in rows_of_process(arguments):
            processes[-1].append(row)
            pathlib.Path(arguments.out).write_text(json.dumps(processes, indent=1) + "\n", encoding="utf-8")
            print_row(number, row)
    print("\n".join(summary_of(processes)), flush=True)


if __name__ == "__main__":
    main()
