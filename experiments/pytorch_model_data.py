# SPDX-License-Identifier: Apache-2.0
"""The data of experiments/pytorch_models.py: sentences, series, sessions, sounds and images, made by known rules.

Each function yields the batches of an epoch. `sizes` has num_words, num_steps and batch_size; tensors are on the CPU.
"""

import collections
import itertools
import math
import pathlib
import re

import torch

NUM_KINDS = 4  # of the tagger's entities
NUM_OPENING, NUM_CLOSING = 2 * NUM_KINDS, 6  # words
DAY, WEEK = 24, 168  # steps
NUM_LATENT = 16  # of the autoencoder's draws
SOUNDS_A_CHARACTER = 4  # steps of a recording
GLYPH_WIDTH, STEPS_A_GLYPH = 8, 2  # columns of an image, and the steps that the convolutions make of them


def skewed(num_words, *shape):
    """Returns words of which the small ones are frequent, so that a model first learns how frequent each is."""
    return (num_words * torch.rand(shape) ** 3).long()


def sentences(sizes, num_batches, text_path):
    """The rule of the tags: a word below 8 opens an entity of kind word % 4, and a word from 8 to 13 closes it.

    It must be closed before the next opening word. Its first word has the tag 1 + kind, its other words have 5 + kind,
    and words outside have 0, so a tag depends on words on both sides.
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
    """The rule of a series: level * (1 + daily wave + weekly wave + noise)."""
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
    if text_path:
        words = words_of(text_path, sizes.num_words)
    else:
        choices = torch.randint(4, (sizes.batch_size * stream_length,)).tolist()
        made = itertools.accumulate(choices, lambda word, choice: (5 * word + choice) % sizes.num_words)
        words = torch.tensor(list(made))
    stream_length = min(stream_length, len(words) // sizes.batch_size)
    streams = words[: stream_length * sizes.batch_size].view(sizes.batch_size, stream_length).t().contiguous()
    for begin in range(0, stream_length - sizes.num_steps, sizes.num_steps):
        yield tuple(streams[begin + i : begin + i + sizes.num_steps] for i in (0, 1))


def words_of(path, num_words):
    """Returns words, marks and line ends as numbers, the frequent ones first. The last number is that of rare words."""
    tokens = re.findall(r"\w+|[^\w\s]|\n", pathlib.Path(path).read_text(encoding="utf-8"))
    numbers = {token: i for i, (token, _) in enumerate(collections.Counter(tokens).most_common(num_words - 1))}
    return torch.tensor([numbers.get(token, num_words - 1) for token in tokens])


def sentences_and_noise(sizes, num_batches, text_path):
    """Each word is the one before or the next number, modulo num_words; the first is a frequent one."""
    for _ in range(num_batches):
        steps = torch.randint(2, (sizes.num_steps, sizes.batch_size)).cumsum(0)
        words = (skewed(sizes.num_words, sizes.batch_size) + steps) % sizes.num_words
        yield words, torch.randn(sizes.batch_size, NUM_LATENT)


def sessions(sizes, num_batches, text_path):
    """One of four items, (5 * item + 0 .. 3) % num_words, follows an item. Sessions have different lengths."""
    for _ in range(num_batches):
        items = [skewed(sizes.num_words, sizes.batch_size)]
        for choice in torch.randint(4, (sizes.num_steps, sizes.batch_size)):
            items.append((5 * items[-1] + choice) % sizes.num_words)
        lengths = torch.randint(2, sizes.num_steps + 1, (sizes.batch_size,))
        yield torch.stack(items), torch.arange(sizes.num_steps).unsqueeze(1) < lengths


def windows_of_series(sizes, num_batches, text_path):
    """Each series is a daily and a weekly wave with phases of its own, and noise."""
    phases = 6.28 * torch.rand(2, sizes.num_words)
    for _ in range(num_batches):
        steps = torch.randint(10 * WEEK, (sizes.batch_size, 1)) + torch.arange(sizes.num_steps + 1).view(-1, 1, 1)
        waves = [torch.sin(2 * math.pi * steps / period + phase) for period, phase in zip((DAY, WEEK), phases)]
        values = sum(waves) + 0.1 * torch.randn(waves[0].shape)
        yield values[:-1].contiguous(), values[-1]


def symbols(sizes, num_batches, text_path):
    """Symbols to remember, and the uniform numbers by which actions are drawn."""
    for _ in range(num_batches):
        shape = sizes.num_steps, sizes.batch_size
        yield torch.randint(sizes.num_words, shape), torch.rand(shape)


def translations(sizes, num_batches, text_path):
    """The target is the source from its end, with each word's number plus one."""
    for _ in range(num_batches):
        source = skewed(sizes.num_words, sizes.num_steps, sizes.batch_size)
        yield source, (source.flip(0) + 1) % sizes.num_words


def sounds_of(characters, patterns, num_steps):
    """Returns (num_steps, batch, bands): each character's pattern for as many steps, with noise."""
    sounds = patterns[characters].repeat_interleave(num_steps // len(characters), dim=0)
    return sounds + 0.2 * torch.randn(sounds.shape)


def readings(sizes, num_batches, text_path):
    """Characters and their sounds. Each character has a pattern of bands."""
    patterns = torch.randn(sizes.num_words, sizes.input_size)
    for _ in range(num_batches):
        characters = skewed(sizes.num_words, sizes.num_steps // SOUNDS_A_CHARACTER, sizes.batch_size)
        yield characters, sounds_of(characters, patterns, sizes.num_steps)


def recordings(sizes, num_batches, text_path):
    """Sounds and their characters, as many as the pyramid makes steps of the sounds."""
    patterns = torch.randn(sizes.num_words, sizes.input_size)
    for _ in range(num_batches):
        characters = skewed(sizes.num_words, sizes.num_steps // 2**sizes.num_layers, sizes.batch_size)
        yield sounds_of(characters, patterns, sizes.num_steps), characters


def images_of_text(sizes, num_batches, text_path):
    """A character is a random picture; an image has the pictures of its characters side by side, and noise."""
    glyphs = (torch.rand(sizes.num_words, sizes.input_size, GLYPH_WIDTH) < 0.5).float()
    for _ in range(num_batches):
        characters = 1 + skewed(sizes.num_words - 1, sizes.batch_size, sizes.num_steps // STEPS_A_GLYPH)
        images = glyphs[characters].transpose(1, 2).flatten(2)
        yield (images + 0.1 * torch.randn(images.shape)).unsqueeze(1), characters
