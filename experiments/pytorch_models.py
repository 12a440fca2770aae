#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains three PyTorch models with LSTMs, as they are written and after rnnlab.accelerate(model).

usage: pytorch_models.py --check                 compares the losses of every training step; exit code 1 on a failure
       pytorch_models.py OUT.json [--processes N]     times an epoch, with the optimizer and everything else

  tagger          words to tags by a bidirectional LSTM and a conditional random field (Huang et al. 2015, arXiv 1508.01991)
  forecaster      DeepAR: an LSTM gives mean and deviation of the next value (Salinas et al. 2017, arXiv 1704.04110)
  language_model  the next word, with dropout as in Zaremba et al. 2014 (arXiv 1409.2329), tied weights and dropout masks
                  that stay for a sequence as in Merity et al. 2017 (arXiv 1708.02182), and states carried between batches

The tagger's sentences have different lengths and are packed. Data are made here by known rules; --text PATH trains the
language model on a text. Sizes are "full" on a GPU and "tiny" on a CPU, if --sizes does not say otherwise.

Ways to run an epoch:
  eager     the training loop as a program writes it
  compiled  the same with torch.compile(model); it needs a C compiler
  graph     every whole training step is the replay of one CUDA graph; not for the tagger, whose shapes change
Each process times torch.nn's and rnnlab's epochs in turn, in several rounds, and keeps the median of each. A row has the
median over the processes of the quotient nn's time / rnnlab's time, with the smallest and the largest.
"""

import argparse
import collections
import contextlib
import copy
import dataclasses
import json
import math
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import rnnlab

WAYS = ("eager", "compiled", "graph")
NUM_WARMUP_STEPS = 3

# The largest difference of two losses of the same step, relative to max(1, loss). Both sides round the same products, but
# add them in another order. A loss is a mean over hundreds of outputs, each of them rounded about as often in both
# directions, and 20 updates of an optimizer carry the differences on. The bounds of TF32 and bfloat16 are 16 units of
# rounding of a factor (2^-11 and 2^-9). That of float32 has 50 times the room of the differences seen (2e-6), and is below
# a tenth of what a learning rate 1 % larger changes (tests/python/test_models.py).
BOUNDS = {"float32": 1e-4, "tf32": 16 * 2**-11, "bf16": 16 * 2**-9}

UNLIKELY = -1e4  # the logarithm of a zero; minus infinity has no derivative


@dataclasses.dataclass(frozen=True)
class Sizes:
    num_words: int  # or series
    input_size: int
    hidden_size: int
    num_layers: int
    num_steps: int
    batch_size: int
    num_batches: int  # of an epoch
    learning_rate: float


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

        The sum is a product of one matrix a step. The matrices are multiplied in pairs, so that the number of operations
        grows with the logarithm of the steps.
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
        self.head = nn.Linear(2 * sizes.hidden_size, 1 + 2 * NUM_KINDS)
        self.field = ConditionalRandomField(1 + 2 * NUM_KINDS)

    def scores(self, words, lengths):
        packed = pack_padded_sequence(self.dropout(self.embedding(words)), lengths, enforce_sorted=False)
        output, _ = pad_packed_sequence(self.lstm(packed)[0], total_length=words.size(0))
        scores = self.head(self.dropout(output))
        return scores.float() if scores.dtype == torch.bfloat16 else scores

    def forward(self, batch, states):
        words, lengths, tags, mask = batch
        return self.field(self.scores(words, lengths), tags, mask), states

    def quality(self, batch):
        words, lengths, tags, mask = batch
        right = self.field.best_tags(self.scores(words, lengths), mask) == tags
        return "share of right tags", (right & mask).sum().item() / mask.sum().item()


class Forecaster(Model):
    """DeepAR with a normal distribution. A batch is series (steps + 1, batch), calendar (steps, batch, 4), number (batch).

    A series is divided by its scale, 1 + the mean of what is known before the horizon.
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
        wanted = batch[0][self.num_known :]
        error = (self.forecast(batch).median(1).values - wanted).abs().sum() / wanted.abs().sum()
        return "absolute error of the forecast / value", error.item()


class LockedDropout(nn.Module):
    """Drops the same features in every step of a sequence, (steps, batch, features)."""

    def __init__(self, share):
        super().__init__()
        self.share = share

    def forward(self, values):
        if not self.training or self.share == 0:
            return values
        return values * nn.functional.dropout(torch.ones_like(values[:1]), self.share)


class LanguageModel(Model):
    """Layers of LSTM whose output has the embedding's weights. A batch is words and the words after them, (steps, batch)."""

    sizes = {"full": Sizes(10000, 1024, 1024, 3, 70, 64, 50, 20.0), "tiny": Sizes(50, 24, 24, 2, 16, 16, 30, 20.0)}
    make_optimizer, clip_norm, dropout_share = staticmethod(torch.optim.SGD), 0.25, 0.4

    def __init__(self, sizes, dropout):
        super().__init__()
        self.embedding = nn.Embedding(sizes.num_words, sizes.hidden_size)
        self.lstm = nn.LSTM(sizes.hidden_size, sizes.hidden_size, sizes.num_layers, dropout=dropout)
        self.dropout = LockedDropout(dropout)
        self.head = nn.Linear(sizes.hidden_size, sizes.num_words)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.head.weight = self.embedding.weight

    def forward(self, batch, states):
        words, next_words = batch
        output, states = self.lstm(self.dropout(self.embedding(words)), states)
        scores = self.head(self.dropout(output))
        return nn.functional.cross_entropy(scores.flatten(0, 1), next_words.flatten()), states

    def first_states(self, batch):
        weight = self.lstm.weight_hh_l0
        return tuple(weight.new_zeros(self.lstm.num_layers, batch[0].size(1), weight.size(1)) for _ in range(2))

    def quality(self, batch):
        return "perplexity", math.exp(self(batch, self.first_states(batch))[0].item())


NUM_KINDS = 4  # of the tagger's entities
NUM_OPENING, NUM_CLOSING = 2 * NUM_KINDS, 6  # words
DAY, WEEK = 24, 168  # steps


def sentences(sizes, num_batches, text_path):
    """The rule of the tags: a word below 8 opens an entity of kind word % 4; one of the next six words closes it.

    An entity without a closing word before the next opening word or the end is none. Its first word has the tag 1 + kind,
    its other words 5 + kind, and every other word 0: a tag depends on words on both sides.
    """
    for _ in range(num_batches):
        lengths = torch.randint(sizes.num_steps // 4, sizes.num_steps + 1, (sizes.batch_size,))
        words = torch.randint(sizes.num_words, (sizes.num_steps, sizes.batch_size))
        special = torch.rand(words.shape) < 0.25
        words[special] %= NUM_OPENING + NUM_CLOSING
        mask = torch.arange(sizes.num_steps).unsqueeze(1) < lengths
        words[~mask] = 0
        yield words, lengths, tags_of(words, mask), mask


def tags_of(words, mask):
    opens, closes = words < NUM_OPENING, (words >= NUM_OPENING) & (words < NUM_OPENING + NUM_CLOSING)
    is_closed, will_close = torch.zeros_like(mask), torch.zeros_like(mask[0])
    for step in reversed(range(len(words))):
        is_closed[step] = will_close  # whether a closing word is the next special word
        will_close = mask[step] & (closes[step] | (will_close & ~opens[step]))
    tags, inside = torch.zeros_like(words), torch.zeros_like(words[0])  # 1 + kind of the entity that is open
    for step in range(len(words)):
        begins = opens[step] & is_closed[step]
        inside = torch.where(begins, 1 + words[step] % NUM_KINDS, inside * ~opens[step])
        tags[step] = torch.where(inside > 0, inside + NUM_KINDS * ~begins, 0)
        inside = inside * ~closes[step]
    return tags * mask


def seasonal_series(sizes, num_batches, text_path):
    """A series is level * (1 + daily wave + weekly wave) + noise; it is cut where its number and a random time say."""
    level = torch.empty(sizes.num_words).uniform_(1, 100)
    wave = torch.rand(2, sizes.num_words)
    phase = torch.rand(sizes.num_words)
    for _ in range(num_batches):
        number = torch.randint(sizes.num_words, (sizes.batch_size,))
        steps = torch.randint(10 * WEEK, (sizes.batch_size,)) + torch.arange(sizes.num_steps + 1).unsqueeze(1)
        angles = [2 * math.pi * steps / period for period in (DAY, WEEK)]
        waves = sum(wave[i, number] * torch.sin(angle + 6.28 * phase[number]) for i, angle in enumerate(angles))
        values = level[number] * (1 + 0.5 * waves + 0.05 * torch.randn(steps.shape))
        calendar = torch.stack([function(angle[1:]) for angle in angles for function in (torch.sin, torch.cos)], dim=-1)
        yield values, calendar, number


def text(sizes, num_batches, text_path):
    """Streams of words. The rule of a made text: one of four words, (5 * word + 0 .. 3) % num_words, follows a word."""
    stream_length = num_batches * sizes.num_steps + 1
    words = words_of(text_path, sizes.num_words) if text_path else made_words(sizes.num_words, sizes.batch_size * stream_length)
    stream_length = min(stream_length, len(words) // sizes.batch_size)
    streams = words[: stream_length * sizes.batch_size].view(sizes.batch_size, stream_length).t().contiguous()
    for begin in range(0, stream_length - sizes.num_steps, sizes.num_steps):
        yield tuple(streams[begin + i : begin + i + sizes.num_steps] for i in (0, 1))


def made_words(num_words, count):
    word, words = 1, []
    for choice in torch.randint(4, (count,)).tolist():
        word = (5 * word + choice) % num_words
        words.append(word)
    return torch.tensor(words)


def words_of(path, num_words):
    """Words, marks and line ends as numbers in the order of their frequency; the last number stands for all rare words."""
    tokens = re.findall(r"\w+|[^\w\s]|\n", pathlib.Path(path).read_text(encoding="utf-8"))
    numbers = {token: i for i, (token, _) in enumerate(collections.Counter(tokens).most_common(num_words - 1))}
    return torch.tensor([numbers.get(token, num_words - 1) for token in tokens])


BATCHES = {"tagger": sentences, "forecaster": seasonal_series, "language_model": text}
MODELS = {"tagger": Tagger, "forecaster": Forecaster, "language_model": LanguageModel}


def moved(batch, device, dtype):
    """Packing needs the lengths, the one vector of a tagger's batch, on the CPU."""
    is_packed = len(batch) == 4
    return tuple(
        tensor if is_packed and tensor.dim() == 1 else tensor.to(device, dtype if tensor.is_floating_point() else None)
        for tensor in batch)


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

    def warm_up(self):
        states = self.model.first_states(self.batches[0])
        for batch in self.batches[:NUM_WARMUP_STEPS]:
            _, states = self.run(batch, states)

    def change_to(self, way):
        if way == "compiled":
            self.called = torch.compile(self.model)
        if way == "graph":
            self.run = self.captured_step()

    def captured_step(self):
        """Returns a step that replays a CUDA graph over copies of its batch and states, which it keeps."""
        batch = tuple(tensor.clone() for tensor in self.batches[0])
        states = self.model.first_states(self.batches[0])

        def work():
            loss, new_states = self.step(batch, states)
            copy_all(states, new_states)
            return loss

        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(NUM_WARMUP_STEPS):
                work()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            loss = work()

        def replay(new_batch, new_states):  # the graph reads batch and states, which live as long as this function
            copy_all(batch, new_batch)
            copy_all(states, new_states)
            graph.replay()
            return loss, states

        return replay


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
    return model(batch, model.first_states(batch))[0].item(), model.quality(batch)[1]


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
    conditions = {
        "the losses differ": difference(our_losses, their_losses) <= BOUNDS[precision],
        "the loss does not fall": our_losses[-1] < our_losses[0],
        "accelerate() changed other layers": list(done.changed) == ["lstm"],
        "undo() left another class": type(ours.lstm) is nn.LSTM,
        "undo() changes the held-out loss": difference([accelerated], [undone]) <= BOUNDS[precision],
        "a weight was not trained": not any(torch.equal(value.cpu(), first[key])
                                            for key, value in ours.lstm.state_dict().items()),
    }
    return dict(model=name, precision=precision, implementation=implementation, used=used, num_steps=len(our_losses),
                first=our_losses[0], last=our_losses[-1], difference=difference(our_losses, their_losses),
                bound=BOUNDS[precision], rounding=difference(their_losses, reference),
                their_quality=evaluated(theirs, batch)[1], our_quality=our_quality,
                failures=[failure for failure, holds in conditions.items() if not holds])


CHECK_HEADER = (f"{'model':14} {'precision':9} {'layer':10} {'used':10} steps   first    last  {'nn-rnnlab':>9} "
                f"{'bound':>8} {'nn-f64':>8}  quality nn, rnnlab")


def print_check(row):
    print(f"{row['model']:14} {row['precision']:9} {row['implementation']:10} {row['used']:10} {row['num_steps']:5d} "
          f"{row['first']:7.4f} {row['last']:7.4f}  {row['difference']:9.1e} {row['bound']:8.1e} {row['rounding']:8.1e}  "
          f"{row['their_quality']:.4g}, {row['our_quality']:.4g}  {', '.join(row['failures']) or 'passed'}", flush=True)


def check_all(arguments):
    """Prints the table and returns its rows.

    "nn-rnnlab" is the largest difference of their losses, "nn-f64" that of nn's from nn's in float64: what the precision
    itself changes. The quality is that of held-out data, as a model's quality() says.
    """
    print(CHECK_HEADER, flush=True)
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
    """Returns a training that is warm: the layer "auto" has measured, and kernels are compiled."""
    model = model_of(name, sizes, MODELS[name].dropout_share).to(device)
    if implementation != "nn":
        rnnlab.accelerate(model, implementation)
    training = Training(model, batches, precision, sizes.learning_rate)
    training.warm_up()
    training.change_to(way)
    training.warm_up()
    return training


def seconds_of(training):
    is_cuda = training.device.type == "cuda"
    torch.cuda.synchronize() if is_cuda else None
    began = time.perf_counter()
    loss = training.epoch()
    torch.cuda.synchronize() if is_cuda else None
    return time.perf_counter() - began, loss


def reason_against(name, way, device):
    if way == "graph" and device == "cpu":
        return "a CPU has no CUDA graphs"
    if way == "graph" and not MODELS[name].has_fixed_shapes:
        return "its shapes change"
    if way == "compiled" and not any(map(shutil.which, ("cc", "c++", "gcc"))):
        return "there is no C compiler"
    return None


def measure(name, sizes, batches, way, precision, arguments):
    """Yields a row for every side; a side that cannot run has the reason instead of a time."""
    set_precision(precision)
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
        yield dict(case, implementation=side, used=used, num_batches=len(batches), seconds=statistics.median(times[side]),
                   loss=losses[side])


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
    result = f"missing, because {row['missing']}" if "missing" in row else f"{row['seconds']:.4f} s, loss {row['loss']:.4f}"
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
        seconds = [statistics.median(by_process[number]["seconds"] for number in common) for by_process in (theirs, rows)]
        used = ",".join(sorted({row["used"] for row in rows.values()}))
        lines.append(f"{case:32} {side:10} ({used}): nn {seconds[0]:.4f} s, rnnlab {seconds[1]:.4f} s, quotient "
                     f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} .. {ratios[-1]:.2f})")
    return lines


def parsed_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    is_gpu = torch.cuda.is_available()

    def words(allowed):
        def parse(value):
            chosen = value.split(",")
            wrong = [word for word in chosen if allowed and word not in allowed]
            if wrong:
                raise argparse.ArgumentTypeError(f"{wrong[0]} is not one of {', '.join(allowed)}")
            return chosen
        return parse

    parser.add_argument("out", nargs="?", help="the JSON file of the times")
    parser.add_argument("--check", action="store_true", help="compare losses instead of timing")
    parser.add_argument("--steps", type=int, default=20, help="of --check")
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3, help="epochs of each side in a process")
    parser.add_argument("--models", type=words(MODELS), default=list(MODELS), help="separated by commas, as what follows")
    parser.add_argument("--ways", type=words(WAYS), default=list(WAYS))
    parser.add_argument("--precisions", type=words(BOUNDS), help="of float32, tf32, bf16")
    parser.add_argument("--implementations", type=words(None), help="of rnnlab (docs/pytorch.md)")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda" if is_gpu else "cpu")
    parser.add_argument("--sizes", choices=["full", "tiny"])
    parser.add_argument("--text", help="a text for the language model, such as Tiny Shakespeare's input.txt")
    parser.add_argument("--one-process", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not arguments.check and arguments.out is None:
        parser.error("name the JSON file of the times, or give --check")
    return with_defaults(arguments)


def with_defaults(arguments):
    is_cuda = arguments.device == "cuda"
    arguments.sizes = arguments.sizes or ("full" if is_cuda else "tiny")
    if arguments.precisions is None:
        all_of_device = ["float32", "tf32", "bf16"] if is_cuda else ["float32", "bf16"]
        arguments.precisions = all_of_device if arguments.check else [all_of_device[-2], "bf16"]
    if arguments.implementations is None:
        arguments.implementations = ["auto"] + (["persistent" if is_cuda else "hoisted"] if arguments.check else [])
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
    with contextlib.suppress(BrokenPipeError):
        main()
