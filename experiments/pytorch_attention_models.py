# SPDX-License-Identifier: Apache-2.0
"""Models of speech, images and translation for experiments/pytorch_models.py: from one sequence to another.

In training each step of a decoder gets the wanted result of the step before. Three of them attend to the encoder's
outputs in each step, and compute one step of their recurrent layers at a time.
"""

import torch
from torch import nn

import pytorch_model_data as data
from pytorch_model_parts import AdditiveAttention, Model, Sizes, zero_states


def share_of_right(scores, wanted):
    return (scores.argmax(-1) == wanted).float().mean().item()


def before(values):
    """Returns the values of the steps before, with zeros for the first step."""
    return torch.cat([torch.zeros_like(values[:1]), values[:-1]])


class Translator(Model):
    """RNNsearch: a GRU in both directions reads, and a GRU that attends to what it read writes.

    A batch is source and target, (steps, batch) each.
    """

    paper = "Bahdanau et al. 2014, arXiv 1409.0473"
    sizes = {"full": Sizes(30000, 620, 1000, 1, 50, 80, 30, 1e-3), "small": Sizes(300, 48, 64, 1, 16, 16, 6, 1e-3),
             "tiny": Sizes(30, 12, 16, 1, 8, 16, 30, 1e-2)}
    batches = staticmethod(data.translations)
    clip_norm = 1.0

    def __init__(self, sizes, dropout):
        super().__init__()
        words, vector, hidden = sizes.num_words, sizes.input_size, sizes.hidden_size
        self.source, self.target = nn.Embedding(words, vector), nn.Embedding(words, vector)
        self.encoder = nn.GRU(vector, hidden, sizes.num_layers, bidirectional=True)
        self.attention = AdditiveAttention(hidden, 2 * hidden, hidden)
        self.first = nn.Linear(hidden, hidden)
        self.decoder = nn.GRU(vector + 2 * hidden, hidden)
        self.head = nn.Linear(vector + 3 * hidden, words)

    def scores(self, source, target):
        read, last = self.encoder(self.source(source))
        keys, state = self.attention.keys_of(read), torch.tanh(self.first(last[-1])).to(read.dtype).unsqueeze(0)
        vectors, outputs, contexts = self.target(before(target)), [], []
        for vector in vectors:
            context, _ = self.attention(state[0], keys, read)
            output, state = self.decoder(torch.cat([vector, context], dim=-1).unsqueeze(0), state)
            outputs.append(output[0])
            contexts.append(context)
        return self.head(torch.cat([vectors, torch.stack(outputs), torch.stack(contexts)], dim=-1))

    def forward(self, batch, states):
        source, target = batch
        return nn.functional.cross_entropy(self.scores(source, target).flatten(0, 1), target.flatten()), states

    def quality(self, batch):
        """Returns the share of right words."""
        return share_of_right(self.scores(*batch), batch[1])


class PyramidalLayer(nn.Module):
    """An LSTM in both directions whose input is each pair of neighbouring steps, so that it halves their number."""

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.lstm = nn.LSTM(2 * input_size, hidden_size, bidirectional=True)

    def forward(self, values):
        pairs = values.unflatten(0, (values.size(0) // 2, 2)).transpose(1, 2).flatten(2)
        return self.lstm(pairs)[0]


class ListenAttendSpell(Model):
    """A pyramid of LSTMs listens, and an LSTM of two layers that attends to its output spells.

    A batch is sounds (steps, batch, bands) and characters (characters, batch). num_layers is the pyramid's.
    """

    paper = "Chan et al. 2015, arXiv 1508.01211"
    sizes = {"full": Sizes(30, 40, 256, 3, 512, 32, 20, 1e-3), "small": Sizes(30, 40, 48, 3, 64, 16, 6, 1e-3),
             "tiny": Sizes(12, 8, 12, 3, 48, 8, 30, 1e-2)}
    batches = staticmethod(data.recordings)
    clip_norm = 1.0

    def __init__(self, sizes, dropout):
        super().__init__()
        hidden = sizes.hidden_size
        self.lstm = nn.LSTM(sizes.input_size, hidden, bidirectional=True)
        self.pyramid = nn.Sequential(*(PyramidalLayer(2 * hidden, hidden) for _ in range(sizes.num_layers)))
        self.embedding = nn.Embedding(sizes.num_words, hidden)
        self.query, self.key = nn.Linear(2 * hidden, hidden), nn.Linear(2 * hidden, hidden)
        self.speller = nn.LSTM(3 * hidden, 2 * hidden, 2)
        self.head = nn.Sequential(nn.Linear(4 * hidden, 2 * hidden), nn.Tanh(), nn.Linear(2 * hidden, sizes.num_words))

    def attended(self, query, keys, values):
        """Attends by products of projections: query (batch, features), keys and values (steps, batch, features)."""
        weights = torch.softmax((self.query(query) * keys).sum(-1), dim=0)
        return (weights.unsqueeze(-1) * values).sum(0)

    def scores(self, sounds, characters):
        heard = self.pyramid(self.lstm(sounds)[0])
        keys, state = self.key(heard), zero_states(self.speller, sounds.size(1))
        context, results = heard.mean(0), []
        for vector in self.embedding(before(characters)):
            output, state = self.speller(torch.cat([vector, context], dim=-1).unsqueeze(0), state)
            context = self.attended(output[0], keys, heard)
            results.append(torch.cat([output[0], context], dim=-1))
        return self.head(torch.stack(results))

    def forward(self, batch, states):
        sounds, characters = batch
        scores = self.scores(sounds, characters)
        return nn.functional.cross_entropy(scores.flatten(0, 1), characters.flatten()), states

    def quality(self, batch):
        """Returns the share of right characters."""
        return share_of_right(self.scores(*batch), batch[1])


class Tacotron(Model):
    """Tacotron 2 from characters to bands of sound, without the network behind the decoder and without an end mark.

    An encoder of convolutions and an LSTM in both directions; a decoder of two LSTMCells and an attention that also
    sees where it attended before. rnnlab.accelerate() leaves LSTMCells as they are. A batch is characters (characters,
    batch) and sounds (steps, batch, bands). num_steps is the number of sounds.
    """

    paper = "Shen et al. 2017, arXiv 1712.05884"
    sizes = {"full": Sizes(80, 80, 1024, 1, 256, 32, 20, 1e-3), "small": Sizes(30, 40, 96, 1, 32, 16, 6, 1e-3),
             "tiny": Sizes(12, 8, 16, 1, 24, 8, 30, 1e-2)}
    batches = staticmethod(data.readings)
    clip_norm, dropout_share = 1.0, 0.5
    NUM_CONVOLUTIONS, WIDTH_OF_PLACES = 3, 31

    def __init__(self, sizes, dropout):
        super().__init__()
        hidden, encoded, bands = sizes.hidden_size, sizes.hidden_size // 2, sizes.input_size
        self.embedding = nn.Embedding(sizes.num_words, encoded)
        self.convolutions = nn.Sequential(*(layer for _ in range(self.NUM_CONVOLUTIONS) for layer in (
            nn.Conv1d(encoded, encoded, 5, padding=2), nn.BatchNorm1d(encoded), nn.ReLU(), nn.Dropout(dropout))))
        self.encoder = nn.LSTM(encoded, encoded // 2, sizes.num_layers, bidirectional=True)
        self.narrow = nn.Sequential(nn.Linear(bands, hidden // 4), nn.ReLU(), nn.Dropout(dropout),
                                    nn.Linear(hidden // 4, hidden // 4), nn.ReLU(), nn.Dropout(dropout))
        self.first_cell = nn.LSTMCell(hidden // 4 + encoded, hidden)
        self.attention = AdditiveAttention(hidden, encoded, hidden // 8)
        self.places = nn.Conv1d(2, hidden // 8, self.WIDTH_OF_PLACES, padding=self.WIDTH_OF_PLACES // 2, bias=False)
        self.second_cell = nn.LSTMCell(hidden + encoded, hidden)
        self.head = nn.Linear(hidden + encoded, bands)

    def predicted(self, characters, sounds):
        vectors = self.convolutions(self.embedding(characters).permute(1, 2, 0)).permute(2, 0, 1).contiguous()
        read, _ = self.encoder(vectors)
        keys = self.attention.keys_of(read)
        zeros = self.first_cell.weight_hh.new_zeros(sounds.size(1), self.first_cell.hidden_size)
        first, second = (zeros, zeros), (zeros, zeros)
        context, weights = torch.zeros_like(read[0]), read.new_zeros(read.shape[:2])
        before_now, results = weights, []
        for sound in self.narrow(before(sounds)):
            first = self.first_cell(torch.cat([sound, context], dim=-1), first)
            places = self.places(torch.stack([weights.t(), before_now.t()], dim=1)).permute(2, 0, 1)
            context, weights = self.attention(first[0], keys, read, places)
            before_now = before_now + weights
            second = self.second_cell(torch.cat([first[0], context], dim=-1), second)
            results.append(torch.cat([second[0], context], dim=-1))
        return self.head(torch.stack(results))

    def forward(self, batch, states):
        characters, sounds = batch
        return (self.predicted(characters, sounds).to(sounds.dtype) - sounds).square().mean(), states

    def quality(self, batch):
        """Returns the squared error, divided by the variance of the sounds."""
        return (self(batch, ())[0] / batch[1].var()).item()


class Crnn(Model):
    """Convolutions, two LSTMs in both directions and CTC, from the image of a text to its characters.

    A batch is images (batch, 1, height, width) and characters (batch, characters), where 0 is CTC's blank. An image has
    four columns a step; input_size is its height. Convolutions have from hidden_size / 4 to 2 * hidden_size channels.
    """

    paper = "Shi et al. 2015, arXiv 1507.05717"
    sizes = {"full": Sizes(37, 32, 256, 2, 24, 64, 50, 1e-3), "small": Sizes(37, 32, 32, 2, 24, 8, 6, 1e-3),
             "tiny": Sizes(6, 32, 8, 2, 12, 8, 30, 1e-2)}
    batches = staticmethod(data.images_of_text)
    no_graph = "CTC reads the lengths on the CPU"

    def __init__(self, sizes, dropout):
        super().__init__()
        hidden, channels = sizes.hidden_size, sizes.hidden_size // 4
        halve, lower = nn.MaxPool2d(2), nn.MaxPool2d((2, 1))
        self.convolutions = nn.Sequential(
            *self.block(1, channels), halve, *self.block(channels, 2 * channels), halve,
            *self.block(2 * channels, 4 * channels), *self.block(4 * channels, 4 * channels), lower,
            *self.block(4 * channels, 8 * channels, nn.BatchNorm2d(8 * channels)),
            *self.block(8 * channels, 8 * channels, nn.BatchNorm2d(8 * channels)), lower)
        self.narrow = nn.Conv2d(8 * channels, 8 * channels, (sizes.input_size // 16, 1))
        self.lstm = nn.LSTM(8 * channels, hidden, sizes.num_layers, bidirectional=True)
        self.head = nn.Linear(2 * hidden, sizes.num_words)

    @staticmethod
    def block(num_inputs, num_channels, *norm):
        return nn.Conv2d(num_inputs, num_channels, 3, padding=1), *norm, nn.ReLU()

    def scores(self, images):
        columns = self.narrow(self.convolutions(images)).relu().squeeze(2).permute(2, 0, 1).contiguous()
        return self.head(self.lstm(columns)[0])

    def forward(self, batch, states):
        images, characters = batch
        log_shares = torch.log_softmax(self.scores(images).to(images.dtype), dim=-1)
        lengths = [torch.full((len(images),), count) for count in (log_shares.size(0), characters.size(1))]
        return nn.functional.ctc_loss(log_shares, characters, *lengths), states

    def quality(self, batch):
        """Returns the loss in nats a character."""
        return self(batch, ())[0].item()
