#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains three PyTorch models with LSTMs, as they are written and after rnnlab.accelerate(model).

usage: pytorch_models.py --check                      compares the losses of all steps; exit code 1 on a failure
       pytorch_models.py OUT.json [--processes N]     times an epoch, with the optimizer and everything else

  tagger          words to tags: a bidirectional LSTM and a conditional random field (Huang et al. 2015, arXiv
                  1508.01991). The sentences have different lengths and are packed.
  forecaster      DeepAR: an LSTM gives mean and deviation of the next value (Salinas et al. 2017, arXiv 1704.04110)
  language_model  the next word, with dropout as in Zaremba et al. 2014 (arXiv 1409.2329). Tied weights and dropout
                  masks for whole sequences are as in Merity et al. 2017 (arXiv 1708.02182). Batches carry states on.

Data are made here by known rules; --text PATH trains the language model on a text. Without --sizes, sizes are "full" on
a GPU and "tiny" on a CPU. Ways to run an epoch:

  eager     the training loop as a program writes it
  compiled  the same with torch.compile(model); it needs a C compiler
  graph     every training step is the replay of one CUDA graph; not for the tagger, whose shapes change

Each process times torch.nn's and rnnlab's epochs in turn, in several rounds, and keeps the median of each. A row has
the median over the processes of the quotient nn's time / rnnlab's time, with the smallest and the largest. bf16 is
autocast to bfloat16, under which torch.nn's LSTMs and GRUs compute in float16 on a GPU, and rnnlab's in bfloat16.
"""

import argparse
import collections
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
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import pytorch_model_data as data
import rnnlab
from pytorch_layers import captured

WAYS = ("eager", "compiled", "graph")
NUM_WARMUP_STEPS = 3

# The largest difference of two losses of the same step, relative to max(1, loss). Both sides round the same products,
# but add them in another order. The bounds of TF32 and bfloat16 are 8 units of rounding of a factor, 2^-11 and 2^-9.
# That of float32 is 80 times the differences seen on a CPU (2.5e-7), because a sum of 1024 products rounds more often.
# It finds small mistakes: the tiny models exceed it in float32 after 20 steps with a learning rate that is 0.1 %
# larger. In float32 "persistent" has factors of 22 bits, and of fewer where they are small (docs/persistent.md).
BOUNDS = {"float32": 2e-5, "tf32": 8 * 2**-11, "bf16": 8 * 2**-9}
BOUND_OF_FEWER_BITS = 2e-4

UNLIKELY = -1e4  # the logarithm of a zero; minus infinity has no derivative


Sizes = collections.namedtuple(  # num_words is the number of series, too; num_batches is an epoch's
    "Sizes", "num_words input_size hidden_size num_layers num_steps batch_size num_batches learning_rate")


def adam(parameters, learning_rate):
    parameters = list(parameters)
    is_cuda = parameters[0].is_cuda
    return torch.optim.Adam(parameters, learning_rate, fused=is_cuda, capturable=is_cuda)


class Model(nn.Module):
    """A model is called with a batch and states, and returns the loss and the next states."""

    has_fixed_shapes = True

    def first_states(self, batch):
        return ()


class ConditionalRandomField(nn.Module):
    """Scores a sequence of tags by each word's scores and by each pair of neighbouring tags.

    scores: (steps, batch, tags); tags and mask: (steps, batch), where the mask is true for words and false behind them.
    """

    def __init__(self, num_tags):
        super().__init__()
        self.transitions = nn.Parameter(0.1 * torch.randn(num_tags, num_tags))  # from the row's tag to the column's
        self.first = nn.Parameter(torch.zeros(num_tags))

    def forward(self, scores, tags, mask):
        """Returns the negative log-likelihood of the tags, divided by the number of words."""
        return (self.log_of_sum(scores, mask) - self.score(scores, tags, mask)).sum() / mask.sum()

    def score(self, scores, tags, mask):
        of_words = scores.gather(-1, tags.unsqueeze(-1)).squeeze(-1)
        of_pairs = self.transitions[tags[:-1], tags[1:]]
        return (of_words * mask).sum(0) + (of_pairs * mask[1:]).sum(0) + self.first[tags[0]]

    def log_of_sum(self, scores, mask):
        """Returns the logarithm of the sum over all sequences of tags, (batch).

        The sum is a product of one matrix a step. Matrices are multiplied in pairs, which takes log2(steps) rounds.
        """
        unit = torch.full_like(self.transitions, UNLIKELY).fill_diagonal_(0)
        matrices = torch.where(mask[1:, :, None, None], self.transitions + scores[1:].unsqueeze(-2), unit)
        while matrices.size(0) > 1:
            if matrices.size(0) % 2:
                matrices = torch.cat([matrices, unit.expand_as(matrices[:1])])
            matrices = torch.logsumexp(matrices[0::2].unsqueeze(-1) + matrices[1::2].unsqueeze(-3), dim=-2)
        first = self.first + scores[0]
        return torch.logsumexp(first.unsqueeze(-1) + matrices[0], dim=(-2, -1))

    def best_tags(self, scores, mask):
        """Returns the sequence of tags with the largest score, by Viterbi's algorithm, (steps, batch)."""
        best, origins = self.first + scores[0], []
        stay = torch.arange(scores.size(-1), device=scores.device).expand_as(best)
        for step in range(1, scores.size(0)):
            is_word = mask[step].unsqueeze(-1)
            values, origin = (best.unsqueeze(-1) + self.transitions).max(dim=-2)
            best = torch.where(is_word, values + scores[step], best)
            origins.append(torch.where(is_word, origin, stay))
        tags = [best.argmax(-1)]
        for origin in reversed(origins):
            tags.append(origin.gather(-1, tags[-1].unsqueeze(-1)).squeeze(-1))
        return torch.stack(tags[::-1])


class Tagger(Model):
    """A bidirectional LSTM with a conditional random field. A batch is words, lengths (on the CPU), tags and mask."""

    sizes = {"full": Sizes(10000, 256, 512, 2, 64, 64, 50, 1e-3), "tiny": Sizes(40, 12, 16, 2, 24, 16, 30, 1e-2)}
    make_optimizer, clip_norm, dropout_share = staticmethod(adam), 5.0, 0.5
    has_fixed_shapes = False

    def __init__(self, sizes, dropout):
        super().__init__()
        self.embedding = nn.Embedding(sizes.num_words, sizes.input_size)
        self.lstm = nn.LSTM(sizes.input_size, sizes.hidden_size, sizes.num_layers, bidirectional=True, dropout=dropout)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(2 * sizes.hidden_size, 1 + 2 * data.NUM_KINDS)
        self.field = ConditionalRandomField(1 + 2 * data.NUM_KINDS)

    @torch.compiler.disable  # torch.compile fails at packed sequences after a graph break
    def encoded(self, vectors, lengths):
        packed = pack_padded_sequence(vectors, lengths, enforce_sorted=False)
        return pad_packed_sequence(self.lstm(packed)[0], total_length=vectors.size(0))[0]

    def scores(self, words, lengths):
        output = self.encoded(self.dropout(self.embedding(words)), lengths)
        return self.head(self.dropout(output)).to(self.head.weight.dtype)

    def forward(self, batch, states):
        words, lengths, tags, mask = batch
        return self.field(self.scores(words, lengths), tags, mask), states

    def quality(self, batch):
        """Returns the share of right tags."""
        words, lengths, tags, mask = batch
        right = self.field.best_tags(self.scores(words, lengths), mask) == tags
        return (right & mask).sum().item() / mask.sum().item()


class Forecaster(Model):
    """DeepAR with a normal distribution. A series is divided by 1 + its mean before the horizon.

    A batch is series (steps + 1, batch), calendar (steps, batch, 4) and the series' numbers (batch).
    """

    sizes = {"full": Sizes(370, 20, 512, 3, 192, 64, 50, 1e-3), "tiny": Sizes(20, 4, 16, 2, 32, 16, 30, 1e-2)}
    make_optimizer, clip_norm, dropout_share = staticmethod(adam), 10.0, 0.1

    def __init__(self, sizes, dropout):
        super().__init__()
        self.num_known = sizes.num_steps - sizes.num_steps // 8
        self.embedding = nn.Embedding(sizes.num_words, sizes.input_size)
        self.lstm = nn.LSTM(1 + 4 + sizes.input_size, sizes.hidden_size, sizes.num_layers, dropout=dropout)
        self.head = nn.Linear(sizes.hidden_size, 2)

    def distribution(self, scaled, calendar, number, states=None):
        """Returns mean and deviation of the next scaled value, (steps, batch) each, and the states."""
        of_series = self.embedding(number).expand(calendar.size(0), -1, -1)
        output, states = self.lstm(torch.cat([scaled.unsqueeze(-1), calendar, of_series], dim=-1), states)
        mean, deviation = self.head(output).to(scaled.dtype).unbind(-1)
        return mean, nn.functional.softplus(deviation) + 1e-3, states

    def scale(self, series):
        return 1 + series[: self.num_known].abs().mean(0)

    def forward(self, batch, states):
        series, calendar, number = batch
        scale = self.scale(series)
        mean, deviation, _ = self.distribution(series[:-1] / scale, calendar, number)
        distance = (series[1:] / scale - mean) / deviation
        return (0.5 * distance**2 + torch.log(deviation * scale) + 0.5 * math.log(2 * math.pi)).mean(), states

    def forecast(self, batch, num_samples=16):
        """Returns samples of the horizon, (steps, samples, batch): each drawn value is the next step's input."""
        series, calendar, number = (tensor.repeat_interleave(num_samples, min(1, tensor.dim() - 1)) for tensor in batch)
        scale, values = self.scale(series), []
        scaled, states = series[: self.num_known] / scale, None
        begin = 0
        while begin < calendar.size(0):
            end = begin + scaled.size(0)
            mean, deviation, states = self.distribution(scaled, calendar[begin:end], number, states)
            scaled, begin = torch.normal(mean[-1:], deviation[-1:]), end
            values.append(scaled[0] * scale)
        return torch.stack(values).view(len(values), -1, num_samples).transpose(1, 2)

    def quality(self, batch):
        """Returns the absolute error of the median of samples, divided by the absolute value."""
        wanted = batch[0][self.num_known :]
        error = (self.forecast(batch).median(1).values - wanted).abs().sum() / wanted.abs().sum()
        return error.item()


def locked_dropout(values, share, is_training):
    """Drops the same features in every step of a sequence, (steps, batch, features)."""
    if not is_training or share == 0:
        return values
    return values * nn.functional.dropout(torch.ones_like(values[:1]), share)


class LanguageModel(Model):
    """Layers of LSTM; the output has the embedding's weights. A batch is words and the next words, (steps, batch)."""

    sizes = {"full": Sizes(10000, 1024, 1024, 3, 70, 64, 50, 20.0), "tiny": Sizes(50, 24, 24, 2, 16, 16, 30, 20.0)}
    make_optimizer, clip_norm, dropout_share = staticmethod(torch.optim.SGD), 0.25, 0.4

    def __init__(self, sizes, dropout):
        super().__init__()
        self.embedding = nn.Embedding(sizes.num_words, sizes.hidden_size)
        self.lstm = nn.LSTM(sizes.hidden_size, sizes.hidden_size, sizes.num_layers, dropout=dropout)
        self.dropout = dropout
        self.head = nn.Linear(sizes.hidden_size, sizes.num_words)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.head.weight = self.embedding.weight

    def forward(self, batch, states):
        words, next_words = batch
        output, states = self.lstm(locked_dropout(self.embedding(words), self.dropout, self.training), states)
        scores = self.head(locked_dropout(output, self.dropout, self.training))
        return nn.functional.cross_entropy(scores.flatten(0, 1), next_words.flatten()), states

    def first_states(self, batch):
        weight = self.lstm.weight_hh_l0
        return tuple(weight.new_zeros(self.lstm.num_layers, batch[0].size(1), weight.size(1)) for _ in range(2))

    def quality(self, batch):
        """Returns the perplexity."""
        return math.exp(self(batch, self.first_states(batch))[0].item())


BATCHES = {"tagger": data.sentences, "forecaster": data.seasonal_series, "language_model": data.text}
MODELS = {"tagger": Tagger, "forecaster": Forecaster, "language_model": LanguageModel}


def moved(batch, device, dtype):
    """Packing needs the lengths, the second of a tagger's four tensors, on the CPU."""
    return tuple(
        tensor if (i, len(batch)) == (1, 4) else tensor.to(device, dtype if tensor.is_floating_point() else None)
        for i, tensor in enumerate(batch))


class Training:
    """A training loop as programs write it."""

    def __init__(self, model, batches, precision, learning_rate):
        self.model, self.batches, self.precision = model, batches, precision
        self.optimizer = model.make_optimizer(model.parameters(), learning_rate)
        self.device = next(model.parameters()).device
        self.called, self.run = model, self.step

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
    return list(BATCHES[name](sizes, num_batches, text_path))[:num_batches]


def model_of(name, sizes, dropout):
    torch.manual_seed(2)
    return MODELS[name](sizes, dropout)


def trained(model, batches, precision, learning_rate, device, dtype=torch.float32):
    """Trains the model for one epoch. Returns the loss of every step."""
    set_precision(precision)
    model.to(device, dtype)
    batches = [moved(batch, device, dtype) for batch in batches]
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
    return BOUND_OF_FEWER_BITS if (precision, used) == ("float32", "persistent") else BOUNDS[precision]


def bound_of(precision, used, rounding):
    """Returns the largest difference of two losses that rounding explains.

    Steps magnify it: it may be twice the difference that the precision itself makes to torch.nn's own losses.
    """
    return max(exact_bound_of(precision, used), 2 * rounding)


def check(name, sizes, batches, precision, implementation, device):
    """Trains torch.nn's model and its accelerated copy. Returns a row of the table."""
    *batches, held_out = batches
    exact = model_of(name, sizes, dropout=0.0)
    theirs, ours, first = copy.deepcopy(exact), copy.deepcopy(exact), copy.deepcopy(exact.lstm.state_dict())
    reference = trained(exact, batches, "float32", sizes.learning_rate, device, torch.float64)
    their_losses = trained(theirs, batches, precision, sizes.learning_rate, device)
    done = rnnlab.accelerate(ours, implementation)
    our_losses = trained(ours, batches, precision, sizes.learning_rate, device)
    used, batch = ours.lstm.implementation_used, moved(held_out, device, torch.float32)
    accelerated, _ = evaluated(ours, batch)
    done.undo()
    undone, our_quality = evaluated(ours, batch)
    rounding = difference(their_losses, reference)
    bound = bound_of(precision, used, rounding)
    conditions = {
        "the losses differ": difference(our_losses, their_losses) <= bound,
        "the loss does not fall": our_losses[-1] < our_losses[0],
        "accelerate() changed other layers": list(done.changed) == ["lstm"],
        "undo() left another class": type(ours.lstm) is nn.LSTM,
        "undo() changes the held-out loss": difference([accelerated], [undone]) <= exact_bound_of(precision, used),
        "a weight was not trained": not any(torch.equal(value.cpu(), first[key])
                                            for key, value in ours.lstm.state_dict().items()),
    }
    return dict(model=name, precision=precision, implementation=implementation, used=used, num_steps=len(our_losses),
                first=our_losses[0], last=our_losses[-1], difference=difference(our_losses, their_losses),
                bound=bound, rounding=rounding,
                their_quality=evaluated(theirs, batch)[1], our_quality=our_quality,
                failures=[failure for failure, holds in conditions.items() if not holds])


def print_check(row):
    """Prints the row, or for None the head of the table."""
    table = ("model:16 precision:10 implementation:15 used:10 num_steps:10 first:8.4f last:8.4f difference:11.1e "
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


def seconds_of(training):
    """Returns the seconds and the mean loss of an epoch."""
    synchronize = torch.cuda.synchronize if training.device.type == "cuda" else torch.cpu.synchronize
    synchronize()
    began = time.perf_counter()
    loss = training.epoch()
    synchronize()
    return time.perf_counter() - began, loss


def reason_against(name, way, device):
    has_compiler = any(map(shutil.which, ("cc", "c++", "gcc")))
    reasons = {"graph": {"a CPU has no CUDA graphs": device == "cpu",
                         "its shapes change": not MODELS[name].has_fixed_shapes},
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
    batches = [moved(batch, arguments.device, torch.float32) for batch in batches]
    sides = {}
    for side in ("nn", *arguments.implementations):
        try:
            sides[side] = training_of(name, sizes, batches, side, way, precision, arguments.device)
        except Exception as error:  # whatever a way raises is its reason
            lines = str(error).strip().splitlines() or [""]
            yield dict(case, implementation=side, missing=f"{type(error).__name__}: {lines[0][:200]}")
    times = {side: [] for side in sides}
    losses = {}
    for _ in range(arguments.rounds):
        for side, training in sides.items():
            seconds, losses[side] = seconds_of(training)
            times[side].append(seconds)
    for side, training in sides.items():
        used = getattr(training.model.lstm, "implementation_used", "torch")
        yield dict(case, implementation=side, used=used, num_batches=len(batches), loss=losses[side],
                   seconds=statistics.median(times[side]))


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
    result = f"missing: {row['missing']}" if is_missing else f"{row['seconds']:.4f} s, loss {row['loss']:.4f}"
    print(f"process {number}: {case_of(row):32} {side:10} {result}", flush=True)


def summary_of(processes):
    times = {}
    for number, rows in enumerate(processes):
        for row in rows:
            if "seconds" in row:
                times.setdefault((case_of(row), row["implementation"]), {})[number] = row
    lines = []
    for (case, side), rows in times.items():
        theirs = times.get((case, "nn"), {})
        common = [number for number in rows if number in theirs]
        if side == "nn" or not common:
            continue
        ratios = sorted(theirs[number]["seconds"] / rows[number]["seconds"] for number in common)
        seconds = [statistics.median(by_side[number]["seconds"] for number in common) for by_side in (theirs, rows)]
        used = ",".join(sorted({row["used"] for row in rows.values()}))
        lines.append(f"{case:32} {side:10} ({used}): nn {seconds[0]:.4f} s, rnnlab {seconds[1]:.4f} s, quotient "
                     f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} .. {ratios[-1]:.2f})")
    return lines


def parsed_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", help="the JSON file of the times")
    parser.add_argument("--check", action="store_true", help="compare losses instead of timing")
    parser.add_argument("--steps", type=int, default=20, help="of --check")
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3, help="epochs of each side in a process")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--precisions", nargs="+", choices=BOUNDS)
    parser.add_argument("--implementations", nargs="+", help="of rnnlab (docs/pytorch.md)")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--sizes", choices=["full", "tiny"])
    parser.add_argument("--text", help="a text for the language model, such as Tiny Shakespeare's")
    parser.add_argument("--one-process", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not arguments.check and arguments.out is None:
        parser.error("name the JSON file of the times, or give --check")
    return with_defaults(arguments)


def fast_precisions(device):
    """torch.nn.LSTM fails in bfloat16 on a CPU for which oneDNN has no bfloat16."""
    if device == "cuda":
        return ["tf32", "bf16"]
    return ["bf16"] if torch.ops.mkldnn._is_mkldnn_bf16_supported() else []


def with_defaults(arguments):
    is_cuda = arguments.device == "cuda"
    arguments.sizes = arguments.sizes or ("full" if is_cuda else "tiny")
    if arguments.precisions is None:
        fast = fast_precisions(arguments.device)
        arguments.precisions = ["float32", *fast] if arguments.check or not is_cuda else fast
    if arguments.implementations is None:
        arguments.implementations = ["auto", "persistent" if is_cuda else "hoisted"] if arguments.check else ["auto"]
    return arguments


def main():
    arguments = parsed_arguments()
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
