# SPDX-License-Identifier: Apache-2.0
"""Models of words for experiments/pytorch_models.py: a tagger, two language models and a variational autoencoder."""

import math

import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import pytorch_model_data as data
from pytorch_model_parts import Model, Sizes, locked_dropout, zero_states

UNLIKELY = -1e4  # the logarithm of a zero; minus infinity has no derivative


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

    paper = "Huang et al. 2015, arXiv 1508.01991"
    sizes = {"full": Sizes(10000, 256, 512, 2, 64, 64, 50, 1e-3), "small": Sizes(1000, 64, 64, 2, 24, 16, 6, 1e-3),
             "tiny": Sizes(40, 12, 16, 2, 24, 16, 30, 1e-2)}
    batches = staticmethod(data.sentences)
    dropout_share = 0.5
    of_host, no_graph = (1,), "its shapes change"  # packing needs the lengths on the CPU

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


class WeightDropout(nn.Module):
    """Drops elements of a weight in training. As a parametrization it is computed once a pass (parametrize.cached)."""

    def __init__(self, share):
        super().__init__()
        self.share = share

    def forward(self, weight):
        return nn.functional.dropout(weight, self.share, self.training)


class LanguageModel(Model):
    """AWD-LSTM: the output has the embedding's weights, the recurrent weights have dropout, and so have the features of
    whole sequences. A batch is words and the next words, (steps, batch), and carries states on."""

    paper = "Merity et al. 2017, arXiv 1708.02182"
    sizes = {"full": Sizes(10000, 1024, 1024, 3, 70, 64, 50, 20.0), "small": Sizes(1000, 128, 128, 2, 20, 16, 6, 20.0),
             "tiny": Sizes(50, 24, 24, 2, 16, 16, 30, 20.0)}
    batches = staticmethod(data.text)
    make_optimizer, clip_norm, dropout_share = staticmethod(torch.optim.SGD), 0.25, 0.4

    def __init__(self, sizes, dropout):
        super().__init__()
        self.embedding = nn.Embedding(sizes.num_words, sizes.hidden_size)
        self.lstm = nn.LSTM(sizes.hidden_size, sizes.hidden_size, sizes.num_layers, dropout=dropout)
        self.dropout = dropout
        self.head = nn.Linear(sizes.hidden_size, sizes.num_words)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.head.weight = self.embedding.weight
        for i in range(sizes.num_layers if dropout else 0):
            parametrize.register_parametrization(self.lstm, f"weight_hh_l{i}", WeightDropout(dropout))

    def forward(self, batch, states):
        words, next_words = batch
        with parametrize.cached():
            output, states = self.lstm(locked_dropout(self.embedding(words), self.dropout, self.training), states)
        scores = self.head(locked_dropout(output, self.dropout, self.training))
        return nn.functional.cross_entropy(scores.flatten(0, 1), next_words.flatten()), states

    def first_states(self, batch):
        return zero_states(self.lstm, batch[0].size(1))

    def quality(self, batch):
        """Returns the perplexity."""
        return math.exp(self(batch, self.first_states(batch))[0].item())


class Spelling(nn.Module):
    """Vectors of words from their characters: convolutions, the maximum over the word, a highway layer, a projection.

    Words are numbers here; their characters are the digits of the number to the base 16.
    """

    NUM_CHARACTERS, WORD_LENGTH = 16, 6

    def __init__(self, num_words, vector_size, output_size):
        super().__init__()
        digits = torch.arange(num_words).unsqueeze(1) // 16 ** torch.arange(self.WORD_LENGTH)
        self.register_buffer("characters", digits % self.NUM_CHARACTERS)
        self.embedding = nn.Embedding(self.NUM_CHARACTERS, vector_size)
        self.convolutions = nn.ModuleList(nn.Conv1d(vector_size, width * vector_size, width) for width in (1, 2, 3))
        self.highway = nn.Linear(6 * vector_size, 12 * vector_size)
        self.projection = nn.Linear(6 * vector_size, output_size)

    def forward(self, words):
        letters = self.embedding(self.characters[words.flatten()]).transpose(1, 2)
        found = torch.cat([convolution(letters).amax(-1) for convolution in self.convolutions], dim=-1).relu()
        new, gate = self.highway(found).chunk(2, dim=-1)
        gate = torch.sigmoid(gate)
        return self.projection(gate * new.relu() + (1 - gate) * found).view(*words.shape, -1)


class Elmo(Model):
    """A language model in both directions on characters of words, as ELMo's; here without projections in the LSTMs.

    A batch is words and the next words, (steps, batch). The backward model reads the next words from their end.
    """

    paper = "Peters et al. 2018, arXiv 1802.05365"
    sizes = {"full": Sizes(10000, 32, 1024, 2, 20, 128, 50, 1e-3), "small": Sizes(500, 8, 96, 2, 20, 16, 6, 1e-3),
             "tiny": Sizes(40, 4, 16, 2, 12, 16, 30, 1e-2)}
    batches = staticmethod(data.text)
    clip_norm, dropout_share = 10.0, 0.1

    def __init__(self, sizes, dropout):
        super().__init__()
        self.spelling = Spelling(sizes.num_words, sizes.input_size, sizes.hidden_size)
        self.forwards, self.backwards = (
            nn.ModuleList(nn.LSTM(sizes.hidden_size, sizes.hidden_size) for _ in range(sizes.num_layers))
            for _ in range(2))
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(sizes.hidden_size, sizes.num_words)

    def loss_of(self, layers, words, next_words):
        vectors = self.dropout(self.spelling(words))
        for number, layer in enumerate(layers):
            output = self.dropout(layer(vectors)[0])
            vectors = output + vectors if number else output
        return nn.functional.cross_entropy(self.head(vectors).flatten(0, 1), next_words.flatten())

    def forward(self, batch, states):
        words, next_words = batch
        of_forwards = self.loss_of(self.forwards, words, next_words)
        of_backwards = self.loss_of(self.backwards, next_words.flip(0), words.flip(0))
        return (of_forwards + of_backwards) / 2, states

    def quality(self, batch):
        """Returns the perplexity, the geometric mean of both directions."""
        return math.exp(self(batch, ())[0].item())


class TextVae(Model):
    """A variational autoencoder of sentences: an LSTM gives a normal distribution, another writes from a draw of it.

    A batch is words (steps, batch) and the normal numbers of the draws (batch, latent). The divergence has a fixed
    weight, where the paper raises it slowly. Word 0 stands before the first word and for words that dropout hides.
    """

    paper = "Bowman et al. 2015, arXiv 1511.06349"
    sizes = {"full": Sizes(10000, 256, 512, 1, 32, 64, 50, 1e-3), "small": Sizes(500, 64, 128, 1, 32, 16, 6, 1e-3),
             "tiny": Sizes(40, 12, 16, 1, 12, 16, 30, 1e-2)}
    batches = staticmethod(data.sentences_and_noise)
    dropout_share = 0.25
    weight_of_divergence = 0.1

    def __init__(self, sizes, dropout):
        super().__init__()
        self.dropout = dropout
        self.embedding = nn.Embedding(sizes.num_words, sizes.input_size)
        self.encoder = nn.LSTM(sizes.input_size, sizes.hidden_size, sizes.num_layers)
        self.distribution = nn.Linear(sizes.hidden_size, 2 * data.NUM_LATENT)
        self.start = nn.Linear(data.NUM_LATENT, sizes.hidden_size)
        self.decoder = nn.LSTM(sizes.input_size, sizes.hidden_size, sizes.num_layers)
        self.head = nn.Linear(sizes.hidden_size, sizes.num_words)

    def forward(self, batch, states):
        words, noise = batch
        last, _ = self.encoder(self.embedding(words))[1]
        mean, log_variance = self.distribution(last[-1]).to(noise.dtype).chunk(2, -1)
        divergence = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(-1).mean()
        start = torch.tanh(self.start(mean + (0.5 * log_variance).exp() * noise)).unsqueeze(0)
        before = nn.functional.pad(words[:-1], (0, 0, 1, 0))
        if self.training and self.dropout:
            before = before * (torch.rand(before.shape, device=before.device) >= self.dropout)
        output, _ = self.decoder(self.embedding(before), (start, torch.zeros_like(start)))
        error = nn.functional.cross_entropy(self.head(output).flatten(0, 1), words.flatten())
        return error + self.weight_of_divergence * divergence / words.size(0), states

    def quality(self, batch):
        """Returns the perplexity's bound."""
        return math.exp(self(batch, ())[0].item())
