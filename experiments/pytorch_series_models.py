# SPDX-License-Identifier: Apache-2.0
"""Models of series, of sessions and of an agent's steps for experiments/pytorch_models.py."""

import math

import torch
from torch import nn

import pytorch_model_data as data
from pytorch_model_parts import Model, Sizes, zero_states


class Forecaster(Model):
    """DeepAR with a normal distribution. A series is divided by 1 + its mean before the horizon.

    A batch is series (steps + 1, batch), calendar (steps, batch, 4) and the series' numbers (batch).
    """

    paper = "Salinas et al. 2017, arXiv 1704.04110"
    sizes = {"full": Sizes(370, 20, 512, 3, 192, 64, 50, 1e-3), "small": Sizes(50, 8, 96, 2, 64, 16, 6, 1e-3),
             "tiny": Sizes(20, 4, 16, 2, 32, 16, 30, 1e-2)}
    batches = staticmethod(data.seasonal_series)
    clip_norm, dropout_share = 10.0, 0.1

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


class LstNet(Model):
    """A convolution over time, a GRU, a GRU over every 24th step, and a linear model of the last values of each series.

    A batch is a window (steps, batch, series) and the values of the next step (batch, series). num_words is the number
    of series and input_size that of the convolution's channels.
    """

    paper = "Lai et al. 2017, arXiv 1703.07015"
    sizes = {"full": Sizes(321, 100, 100, 1, 168, 128, 50, 1e-3), "small": Sizes(32, 64, 64, 1, 53, 16, 6, 1e-3),
             "tiny": Sizes(8, 12, 16, 1, 53, 8, 30, 3e-3)}
    batches = staticmethod(data.windows_of_series)
    clip_norm, dropout_share = 10.0, 0.2
    KERNEL_SIZE, SKIPPED_SIZE = 6, 5

    def __init__(self, sizes, dropout):
        super().__init__()
        self.convolution = nn.Conv1d(sizes.num_words, sizes.input_size, self.KERNEL_SIZE)
        self.gru = nn.GRU(sizes.input_size, sizes.hidden_size)
        self.skipping = nn.GRU(sizes.input_size, self.SKIPPED_SIZE)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(sizes.hidden_size + data.DAY * self.SKIPPED_SIZE, sizes.num_words)
        self.linear = nn.Linear(data.DAY, 1)

    def predicted(self, window):
        found = self.dropout(self.convolution(window.permute(1, 2, 0)).relu()).permute(2, 0, 1).contiguous()
        last = self.gru(found)[1][0]
        num_days = found.size(0) // data.DAY
        by_hour = found[-num_days * data.DAY :].reshape(num_days, -1, found.size(-1))  # each hour is a sequence of days
        of_hours = self.skipping(by_hour)[1][0].view(data.DAY, window.size(1), -1)
        last = torch.cat([last, of_hours.transpose(0, 1).flatten(1)], dim=-1)
        return self.head(self.dropout(last)) + self.linear(window[-data.DAY :].permute(1, 2, 0)).squeeze(-1)

    def forward(self, batch, states):
        window, wanted = batch
        return (self.predicted(window).to(wanted.dtype) - wanted).square().mean(), states

    def quality(self, batch):
        """Returns the root of the squared error, divided by the deviation of the values."""
        return (self(batch, ())[0] / batch[1].var()).sqrt().item()


class ActorCritic(Model):
    """An LSTM that acts: each step's input has the last action and its reward, so that it computes one step at a time.

    The task is to name the symbol of two steps ago. A batch is symbols (steps, environments) and uniform numbers of the
    same shape, by which actions are drawn. States are those of the LSTM, the last actions and rewards, and the last two
    symbols; they carry on from batch to batch.
    """

    paper = "Mnih et al. 2016, arXiv 1602.01783"
    sizes = {"full": Sizes(16, 64, 256, 1, 20, 64, 50, 7e-4), "small": Sizes(8, 64, 128, 1, 20, 16, 6, 1e-3),
             "tiny": Sizes(3, 12, 16, 1, 16, 32, 30, 2e-2)}
    batches = staticmethod(data.symbols)
    clip_norm = 0.5
    DISCOUNT, SHARE_OF_VALUE, SHARE_OF_ENTROPY = 0.5, 0.5, 0.01

    def __init__(self, sizes, dropout):
        super().__init__()
        self.symbols = nn.Embedding(sizes.num_words, sizes.input_size)
        self.actions = nn.Embedding(sizes.num_words, sizes.input_size)
        self.lstm = nn.LSTM(2 * sizes.input_size + 1, sizes.hidden_size, sizes.num_layers)
        self.policy = nn.Linear(sizes.hidden_size, sizes.num_words)
        self.value = nn.Linear(sizes.hidden_size, 1)
        self.num_actions = sizes.num_words

    def first_states(self, batch):
        first, _ = batch
        rewards = zero_states(self.lstm, first.size(1))[0].new_zeros(first.size(1))
        zeros = torch.zeros_like(first[:2])
        return (*zero_states(self.lstm, first.size(1)), zeros[0], rewards, zeros)

    def forward(self, batch, states):
        symbols, uniform = batch
        h, c, action, reward, last_symbols = states
        shown = torch.cat([last_symbols, symbols])
        log_shares, values, rewards, entropies = [], [], [], []
        for step in range(symbols.size(0)):
            seen = [self.symbols(symbols[step]), self.actions(action), reward.unsqueeze(-1)]
            output, (h, c) = self.lstm(torch.cat(seen, dim=-1).unsqueeze(0), (h, c))
            log_policy = torch.log_softmax(self.policy(output[0]).to(uniform.dtype), dim=-1)
            shares = log_policy.exp()
            action = (shares.detach().cumsum(-1) < uniform[step].unsqueeze(-1)).sum(-1).clamp(max=self.num_actions - 1)
            reward = (action == shown[step]).to(uniform.dtype)
            log_shares.append(log_policy.gather(-1, action.unsqueeze(-1)).squeeze(-1))
            entropies.append(-(shares * log_policy).sum(-1))
            values.append(self.value(output[0]).to(uniform.dtype).squeeze(-1))
            rewards.append(reward)
        returns = self.returns_of(rewards, values[-1].detach())
        advantage = returns - torch.stack(values)
        loss = (self.SHARE_OF_VALUE * advantage.square() - advantage.detach() * torch.stack(log_shares)
                - self.SHARE_OF_ENTROPY * torch.stack(entropies)).mean()
        return loss, (h, c, action, reward, shown[-2:])

    def returns_of(self, rewards, last_value):
        """Returns the discounted sums of rewards, (steps, environments); the last value stands for what comes later."""
        returns = [last_value]
        for reward in reversed(rewards):
            returns.append(reward + self.DISCOUNT * returns[-1])
        return torch.stack(returns[:0:-1])

    def has_learned(self, first_loss, last_loss, quality):
        """The loss need not fall while a policy learns; the rewards must be better than those of chance."""
        return quality > 1.2 / self.num_actions

    def quality(self, batch):
        """Returns the mean reward of the last step."""
        return self(batch, self.first_states(batch))[1][3].mean().item()


class Gru4Rec(Model):
    """The next item of sessions, by a GRU; the other sessions' next items are the wrong ones that it compares.

    A batch is items (steps + 1, batch), and a mask (steps, batch) that is true where there is a next item.
    """

    paper = "Hidasi et al. 2015, arXiv 1511.06939; the loss is cross-entropy as in arXiv 1706.03847"
    sizes = {"full": Sizes(37483, 128, 128, 1, 20, 256, 50, 1e-3), "small": Sizes(2000, 64, 100, 1, 20, 32, 6, 1e-3),
             "tiny": Sizes(40, 12, 16, 1, 12, 16, 30, 2e-2)}
    batches = staticmethod(data.sessions)
    dropout_share = 0.2

    def __init__(self, sizes, dropout):
        super().__init__()
        self.items = nn.Embedding(sizes.num_words, sizes.input_size)
        self.gru = nn.GRU(sizes.input_size, sizes.hidden_size, sizes.num_layers)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Embedding(sizes.num_words, sizes.hidden_size)

    def scores(self, items):
        """Returns the scores of every session's next item in every session, (steps, sessions, items)."""
        output, _ = self.gru(self.dropout(self.items(items[:-1])))
        return self.dropout(output) @ self.head(items[1:]).to(output.dtype).transpose(1, 2)

    def forward(self, batch, states):
        items, mask = batch
        scores = self.scores(items)
        right = torch.arange(scores.size(-1), device=scores.device).expand(mask.shape)
        errors = nn.functional.cross_entropy(scores.flatten(0, 1), right.flatten(), reduction="none").view(mask.shape)
        return (errors * mask).sum() / mask.sum(), states

    def quality(self, batch):
        """Returns the share of items that have the largest score of their step's items."""
        items, mask = batch
        scores = self.scores(items)
        best = scores.diagonal(dim1=1, dim2=2) >= scores.amax(-1)
        return (best & mask).sum().item() / mask.sum().item()
