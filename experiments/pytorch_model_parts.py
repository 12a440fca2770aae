# SPDX-License-Identifier: Apache-2.0
"""What the models of experiments/pytorch_models.py share: their interface, optimizers, dropout and attention."""

import collections

import torch
from torch import nn

# num_words is the number of different inputs: words, characters, series, symbols or items. num_batches is an epoch's.
Sizes = collections.namedtuple(
    "Sizes", "num_words input_size hidden_size num_layers num_steps batch_size num_batches learning_rate")


def adam(parameters, learning_rate):
    parameters = list(parameters)
    is_cuda = parameters[0].is_cuda
    return torch.optim.Adam(parameters, learning_rate, fused=is_cuda, capturable=is_cuda)


class Model(nn.Module):
    """A model is called with a batch and states, and returns the loss and the next states.

    paper: what it follows. sizes: by name: "full" as in papers, for a GPU; "small" for times on a CPU; "tiny" for
    checks. batches: the function of pytorch_model_data that yields its batches. of_host: which tensors of a batch stay
    on the CPU. no_graph: why a CUDA graph cannot hold a step; "" if it can.
    """

    make_optimizer, clip_norm, dropout_share = staticmethod(adam), 5.0, 0.0
    of_host, no_graph = (), ""

    def first_states(self, batch):
        return ()

    def has_learned(self, first_loss, last_loss, quality):
        return last_loss < first_loss


def recurrent_layers(model):
    """Returns the layers that rnnlab.accelerate() changes, by name."""
    return {name: module for name, module in model.named_modules() if isinstance(module, nn.RNNBase)}


def recurrent_weights(model):
    """Returns copies of the weights of all recurrent layers and cells, by name."""
    return {f"{name}.{key}": value.detach().cpu().clone() for name, module in model.named_modules()
            if isinstance(module, (nn.RNNBase, nn.RNNCellBase)) for key, value in module.named_parameters()}


def zero_states(layer, batch_size):
    """Returns the first state of an LSTM's layers as a pair, that of a GRU's as a tensor."""
    weight = layer.weight_hh_l0
    zeros = weight.new_zeros(layer.num_layers, batch_size, layer.hidden_size)
    return (zeros, zeros) if layer.mode == "LSTM" else zeros  # a layer of rnnlab is not an nn.LSTM


def locked_dropout(values, share, is_training):
    """Drops the same features in every step of a sequence, (steps, batch, features)."""
    if not is_training or share == 0:
        return values
    return values * nn.functional.dropout(torch.ones_like(values[:1]), share)


class AdditiveAttention(nn.Module):
    """The weighted mean of a sequence, by a layer of tanh over query and keys (Bahdanau et al. 2014).

    query: (batch, queries); keys: (steps, batch, units), which keys_of() makes once for all queries;
    values: (steps, batch, features). Returns the mean, (batch, features), and the weights, (steps, batch).
    """

    def __init__(self, query_size, value_size, hidden_size):
        super().__init__()
        self.query = nn.Linear(query_size, hidden_size)
        self.key = nn.Linear(value_size, hidden_size, bias=False)
        self.score = nn.Linear(hidden_size, 1, bias=False)

    def keys_of(self, values):
        return self.key(values)

    def forward(self, query, keys, values, extra=0):
        scores = self.score(torch.tanh(self.query(query) + keys + extra)).squeeze(-1)
        weights = torch.softmax(scores, dim=0)
        return (weights.unsqueeze(-1) * values).sum(0), weights
