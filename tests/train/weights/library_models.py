# SPDX-License-Identifier: Apache-2.0
"""The same small network as a model of Keras 3, of TensorFlow 1's cells and of PyTorch: recurrent layers, the last states
of a sequence, a dense layer with tanh, and one without.

Each class has `tensors()`, its weights by the names of its layout, `assign(tensors)`, and `outputs(inputs)`.
"""
import os
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["TF_USE_LEGACY_KERAS"] = "1"  # for tf.compat.v1.nn.rnn_cell alone: `keras` stays Keras 3
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import keras
import numpy
import tensorflow
import torch

import keras_weights

tf = tensorflow.compat.v1
tensorflow.get_logger().setLevel("ERROR")
warnings.simplefilter("ignore")  # that the cells are old is why they are here
INPUTS, HIDDEN, DENSE, OUTPUTS = 2, 3, 4, 2
CELLS = ("lstm", "gru", "gru_before", "rnn_tanh", "rnn_relu")


def randomised(tensors, seed):
    """Libraries start with biases of zeros, which would prove nothing."""
    random = numpy.random.default_rng(seed)
    return {name: random.uniform(-0.6, 0.6, tensor.shape).astype(numpy.float32) for name, tensor in sorted(tensors.items())}


class KerasModel:
    def __init__(self, cell, num_layers, bidirectional):
        layers = [keras.Input((None, INPUTS))]
        for index in range(num_layers):
            layer = self.layer(cell, return_sequences=index + 1 < num_layers)
            layers.append(keras.layers.Bidirectional(layer) if bidirectional else layer)
        dense = [keras.layers.Dense(DENSE, activation="tanh"), keras.layers.Dense(OUTPUTS)]
        self.model = keras.Sequential(layers + dense)

    @staticmethod
    def layer(cell, **options):
        if cell == "lstm":
            return keras.layers.LSTM(HIDDEN, **options)
        if cell.startswith("gru"):
            return keras.layers.GRU(HIDDEN, reset_after=cell == "gru", **options)
        return keras.layers.SimpleRNN(HIDDEN, activation=cell.removeprefix("rnn_"), **options)

    def tensors(self):
        return {name: keras.ops.convert_to_numpy(variable) for name, variable in keras_weights.variables_of(self.model).items()}

    def assign(self, tensors):
        variables = keras_weights.variables_of(self.model)
        assert set(variables) == set(tensors), sorted(set(variables) ^ set(tensors))
        for name, variable in variables.items():
            variable.assign(tensors[name])

    def outputs(self, inputs):
        return keras.ops.convert_to_numpy(self.model(inputs))


class CudnnCompatibleGRUCell(tf.nn.rnn_cell.RNNCell):
    """tf.contrib.cudnn_rnn's cell, which went with TensorFlow 1, by the equations of its documentation."""

    def __init__(self, num_units):
        super().__init__(name="cudnn_compatible_gru_cell")
        self.num_units = num_units

    state_size = output_size = property(lambda self: self.num_units)

    def build(self, shape):
        inputs, units = int(shape[-1]), self.num_units
        weights = lambda name, rows, columns: (self.add_weight(name + "/kernel", (rows, columns)), self.add_weight(name + "/bias", (columns,)))
        self.gates = weights("gates", inputs + units, 2 * units)
        self.of_input = weights("candidate/input_projection", inputs, units)
        self.of_hidden = weights("candidate/hidden_projection", units, units)
        self.built = True

    def call(self, inputs, state):
        linear = lambda values, weights: tf.matmul(values, weights[0]) + weights[1]
        r, u = tf.split(tf.sigmoid(linear(tf.concat([inputs, state], 1), self.gates)), 2, 1)
        candidate = tf.tanh(linear(inputs, self.of_input) + r * linear(state, self.of_hidden))
        new = u * state + (1 - u) * candidate
        return new, new


class TensorFlowModel:
    def __init__(self, cell, num_layers, bidirectional):
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.inputs = tf.placeholder(tf.float32, (None, None, INPUTS))
            cells = lambda: [self.cell(cell) for _ in range(num_layers)]
            last = self.both_directions(cells(), cells()) if bidirectional else self.one_direction(cells())
            values = tf.tanh(self.dense("dense", last, DENSE))
            self.result = self.dense("dense_1", values, OUTPUTS)
            self.session = tf.Session()
            self.session.run(tf.global_variables_initializer())
            self.variables = {self.name_of(variable): variable for variable in tf.global_variables()}

    @staticmethod
    def cell(cell):
        rnn_cell = tf.nn.rnn_cell
        if cell == "lstm":
            return rnn_cell.LSTMCell(HIDDEN, forget_bias=0.0)
        if cell == "gru":
            return CudnnCompatibleGRUCell(HIDDEN)
        if cell == "gru_before":
            return rnn_cell.GRUCell(HIDDEN)
        return rnn_cell.BasicRNNCell(HIDDEN, activation=tf.nn.relu if cell == "rnn_relu" else tf.tanh)

    @staticmethod
    def name_of(variable):
        # CudnnCompatibleLSTMCell, gone with tf.contrib, is an LSTM cell without a forget bias.
        return variable.op.name.replace("/lstm_cell/", "/cudnn_compatible_lstm_cell/")

    def one_direction(self, cells):
        outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.MultiRNNCell(cells), self.inputs, dtype=tf.float32)
        return outputs[:, -1]

    def both_directions(self, forward, backward):
        """As tf.contrib.rnn.stack_bidirectional_dynamic_rnn stacked them, with its names."""
        values = self.inputs
        for index, (fw, bw) in enumerate(zip(forward, backward)):
            with tf.variable_scope(f"stack_bidirectional_rnn/cell_{index}"):
                (of_fw, of_bw), _ = tf.nn.bidirectional_dynamic_rnn(fw, bw, values, dtype=tf.float32)
            values = tf.concat([of_fw, of_bw], 2)
        return tf.concat([of_fw[:, -1], of_bw[:, 0]], 1)

    @staticmethod
    def dense(name, values, size):
        kernel = tf.get_variable(f"{name}/kernel", (int(values.shape[-1]), size))
        return tf.matmul(values, kernel) + tf.get_variable(f"{name}/bias", (size,))

    def tensors(self):
        return self.session.run(self.variables)

    def assign(self, tensors):
        assert set(self.variables) == set(tensors), sorted(set(self.variables) ^ set(tensors))
        with self.graph.as_default():
            for name, variable in self.variables.items():
                variable.load(tensors[name], self.session)

    def outputs(self, inputs):
        return self.session.run(self.result, {self.inputs: inputs})


class PyTorchModel(torch.nn.Module):
    def __init__(self, cell, num_layers, bidirectional):
        super().__init__()
        options = {"num_layers": num_layers, "bidirectional": bidirectional, "batch_first": True}
        if cell.startswith("rnn"):
            options["nonlinearity"] = cell.removeprefix("rnn_")
        kind = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}.get(cell, torch.nn.RNN)
        self.num_directions = 2 if bidirectional else 1
        self.recurrent = kind(INPUTS, HIDDEN, **options)
        self.dense0 = torch.nn.Linear(HIDDEN * self.num_directions, DENSE)
        self.output = torch.nn.Linear(DENSE, OUTPUTS)

    def tensors(self):
        return {name: tensor.detach().numpy().copy() for name, tensor in self.state_dict().items()}

    def assign(self, tensors):
        self.load_state_dict({name: torch.from_numpy(tensor.copy()) for name, tensor in tensors.items()})

    @torch.no_grad()
    def outputs(self, inputs):
        state = self.recurrent(torch.from_numpy(inputs))[1]
        hidden = state[0] if isinstance(state, tuple) else state
        last = torch.cat(list(hidden[-self.num_directions:]), 1)
        return self.output(torch.tanh(self.dense0(last))).numpy()


MODELS = {"keras": KerasModel, "tensorflow": TensorFlowModel, "pytorch": PyTorchModel}
