# SPDX-License-Identifier: Apache-2.0
"""Makes an ONNX graph of a trained model. Inputs and outputs are (batch, ...); inside, steps come first."""

import json
from contextlib import contextmanager

from export.common import ExportError
from export.scan import add_direction
from export.sequence_parts import add_attention, add_decoder, add_front, by_target, slice_of, without_ahead

OPSET, IR_VERSION = 17, 8
# The cells that have an operator of their own, and where the gates of PyTorch's rows go: i f g o becomes i o f c, and
# r z n becomes z r h.
GATE_ORDER = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn_tanh": (0,), "rnn_relu": (0,)}
OPERATION = {"lstm": "LSTM", "gru": "GRU", "rnn_tanh": "RNN", "rnn_relu": "RNN"}
NAMES = {"tanh": "Tanh", "relu": "Relu"}
LEAST_RANGE = 1e-12  # of the values of a constant, as a part of their magnitude (modules/data/scaling.cpp)


class Body:
    """The values that a graph within an operation takes and gives; `graph` is set when it is complete."""

    def __init__(self, onnx, name):
        self.onnx, self.name, self.nodes, self.inputs, self.outputs, self.graph = onnx, name, [], [], [], None

    def value(self, name, kind, shape):
        return self.onnx.helper.make_tensor_value_info(name, getattr(self.onnx.TensorProto, kind), shape)

    def take(self, name, kind, shape):
        self.inputs.append(self.value(name, kind, shape))
        return name

    def give(self, value, name, shape):
        self.nodes.append(self.onnx.helper.make_node("Identity", [value], [name], f"give_{name}"))
        self.outputs.append(self.value(name, "FLOAT", shape))


class Graph:
    def __init__(self, onnx, numpy, trained, weights, cell, carries_states=False):
        """cell: what `rnnlab cell RUN --json` prints. carries_states: whether the states are inputs and outputs."""
        self.onnx, self.numpy, self.trained, self.weights, self.cell = onnx, numpy, trained, dict(weights), cell
        self.carries_states = carries_states
        self.lengths = "lengths" if trained.has_lengths else None  # of the values that the next part reads
        self.ahead = None  # data.known in the rows of the horizons, (steps, batch, columns of all horizons)
        self.calendar_ahead = None  # the same of data.calendar, (steps, batch, shifted phases)
        self.whole = Body(onnx, "rnnlab")
        self.place = self.whole  # where operations are added
        self.num_operations, self.constants, self.used = 0, {}, set()

    # ---- parts of a graph ----

    def add(self, operation, inputs, num_outputs=1, **attributes):
        """Adds an operation and returns the names of its outputs."""
        names = [f"{operation.lower()}{self.num_operations}" + (f"_{i}" if i else "") for i in range(num_outputs)]
        self.place.nodes.append(self.onnx.helper.make_node(operation, inputs, names, names[0], **attributes))
        self.num_operations += 1
        self.used.update(inputs)
        return names[0] if num_outputs == 1 else names

    @contextmanager
    def body(self, name):
        """Operations are added to the body of an operation, which also reads values of the whole graph."""
        outer, self.place = self.place, Body(self.onnx, name)
        yield self.place
        body, self.place = self.place, outer
        body.graph = self.onnx.helper.make_graph(body.nodes, body.name, body.inputs, body.outputs)

    def constant(self, name, values, kind="float32"):
        array = self.numpy.array(values, dtype=kind, order="C")
        self.constants[name] = self.onnx.numpy_helper.from_array(array, name)
        return name

    def weight(self, name):
        if name not in self.weights:
            raise ExportError(f"{self.trained.folder}: its weights have no tensor {name}: copy the run again")
        return self.weights[name]

    def cast(self, name, kind):
        return self.add("Cast", [name], to=getattr(self.onnx.TensorProto, kind))

    # ---- from the inputs to the steps of the recurrent layers ----

    def step_mask(self, inputs):
        """Which steps count: (steps, batch, 1), of booleans."""
        lengths = self.add("Unsqueeze", [self.lengths, self.constant("axis0", [0], "int64")])
        shape = self.add("Shape", [inputs], start=0, end=1)
        num_steps = self.add("Squeeze", [shape, self.constant("axis0", [0], "int64")])
        steps = self.add("Range", [self.constant("zero", 0, "int64"), num_steps, self.constant("one", 1, "int64")])
        columns = self.add("Unsqueeze", [steps, self.constant("axis1", [1], "int64")])
        return self.add("Unsqueeze", [self.add("Less", [columns, lengths]), self.constant("axis2", [2], "int64")])

    def fitted_to_columns(self, inputs):
        """Offset and scale of each feature of each sample over its steps."""
        least = most = inputs
        if self.trained.has_lengths:
            mask, infinity = self.step_mask(inputs), self.numpy.inf
            least = self.add("Where", [mask, inputs, self.constant("most", infinity, "float64")])
            most = self.add("Where", [mask, inputs, self.constant("least", -infinity, "float64")])
        offset = self.add("ReduceMin", [least], axes=[0], keepdims=1)
        top = self.add("ReduceMax", [most], axes=[0], keepdims=1)
        width = self.add("Sub", [top, offset])
        magnitude = self.add("Max", [self.add("Abs", [offset]), self.add("Abs", [top])])
        least_width = self.add("Mul", [magnitude, self.constant("least_range", LEAST_RANGE, "float64")])
        is_wide = self.add("Greater", [width, least_width])
        return offset, self.add("Where", [is_wide, width, self.constant("unit", 1, "float64")])

    def fitted_constants(self, num_numbers):
        """Offsets and scales of the features, or of the steps where each column of a table is one."""
        numpy, scales = self.numpy, self.trained.number_scales(num_numbers)
        offset = numpy.array([entry["offset"] for entry in scales])
        scale = numpy.array([entry["scale"] for entry in scales])
        num_steps = self.trained.shape["sequence_length"]
        if len(scales) == num_numbers * num_steps != num_numbers:
            offset, scale = (values.reshape(num_steps, 1, num_numbers) for values in (offset, scale))
        elif len(scales) != num_numbers:
            raise ExportError(f"{self.trained.folder}: has {len(scales)} scales for {num_numbers} features")
        return self.constant("offset", offset, "float64"), self.constant("scale", scale, "float64")

    def scaled(self, inputs, num_numbers):
        """In double precision, as rnnlab scales them."""
        how = self.trained.state.get("normalization", "none")
        if how == "none":
            return inputs
        doubles = self.cast(inputs, "DOUBLE")
        if how == "unit":
            offset, scale = None, self.constant("scale", self.trained.byte_maximum, "float64")
        elif how == "column_minmax":
            offset, scale = self.fitted_to_columns(doubles)
        else:
            offset, scale = self.fitted_constants(num_numbers)
        moved = self.add("Sub", [doubles, offset]) if offset else doubles
        return self.cast(self.add("Div", [moved, scale]), "FLOAT")

    def category_vectors(self, inputs, number, column):
        """The vector of value 0, an unknown one, is zero."""
        table = self.numpy.array(self.weight(f"category{number}.weight"))
        table[0] = 0
        index = self.cast(self.add("Gather", [inputs, self.constant(f"column{number}", column, "int64")], axis=2),
                          "INT64")
        return self.add("Gather", [self.constant(f"category{number}", table), index], axis=0)

    def step_vectors(self):
        """Returns what the recurrent layers read: (steps, batch, size)."""
        if self.trained.has_tokens:
            tokens = self.add("Transpose", [self.whole.take("inputs", "INT64", ["batch", "steps"])], perm=[1, 0])
            name = "output.weight" if self.trained.model("tied") else "embedding.weight"
            return self.add("Gather", [self.constant("embedding", self.weight(name)), tokens], axis=0)
        size = self.trained.shape["input_size"]
        num_categories = sum(name.startswith("category") for name in self.weights)
        num_numbers = size - num_categories
        inputs = self.whole.take("inputs", "FLOAT", ["batch", "steps", size])
        inputs = self.add("Transpose", [inputs], perm=[1, 0, 2])
        if num_categories == 0:
            return without_ahead(self, self.scaled(inputs, size), size)
        vectors = [self.category_vectors(inputs, i, num_numbers + i) for i in range(num_categories)]
        if num_numbers:
            numbers = self.scaled(slice_of(self, inputs, 0, num_numbers, 2), num_numbers)
            vectors.insert(0, without_ahead(self, numbers, num_numbers))
        return self.add("Concat", vectors, axis=2)

    # ---- recurrent layers ----

    def in_gate_order(self, values, cell):
        gates = self.numpy.split(values, len(GATE_ORDER[cell]))
        return self.numpy.concatenate([gates[i] for i in GATE_ORDER[cell]])

    def layer_weights(self, network, layer, directions, cell):
        """Returns the constants W, R and B of all directions."""
        parts = {"weight_ih": [], "weight_hh": [], "bias": []}
        for direction in directions:
            end = f"_l{layer}{direction}"
            for key in ("weight_ih", "weight_hh"):
                parts[key].append(self.in_gate_order(self.weight(f"{network}.{key}{end}"), cell))
            parts["bias"].append(self.numpy.concatenate(
                [self.in_gate_order(self.weight(f"{network}.{key}{end}"), cell) for key in ("bias_ih", "bias_hh")]))
        return [self.constant(f"{network}.{key}_l{layer}", self.numpy.stack(values)) for key, values in parts.items()]

    def recurrent_attributes(self, cell, num_directions):
        function = NAMES[self.trained.model("activation")]
        functions = {"lstm": ["Sigmoid", function, function], "gru": ["Sigmoid", function], "rnn_tanh": ["Tanh"],
                     "rnn_relu": ["Relu"]}[cell] * num_directions
        attributes = {"hidden_size": self.trained.model("hidden_size"), "activations": functions,
                      "direction": "bidirectional" if num_directions == 2 else "forward"}
        if cell == "gru":
            attributes["linear_before_reset"] = int(self.trained.model("reset_gate") == "after")
        return attributes

    def take_states(self):
        """Adds an input for each state of the cell, (layers, batch, H). Returns them by layer; None without such inputs."""
        if not self.carries_states:
            return None
        names = ["inputs", "lengths", *self.cell["state_names"]]
        if len(set(names)) < len(names):
            raise ExportError(f"--states: {', '.join(names)} are inputs of the graph, so they need different names: rename "
                              "the states of the cell")
        num_layers, size = self.trained.model("num_layers"), self.trained.model("hidden_size")
        by_state = []
        for state in self.cell["state_names"]:
            whole = self.whole.take(state, "FLOAT", [num_layers, "batch", size])
            by_state.append(self.add("Split", [whole], num_layers, axis=0) if num_layers > 1 else [whole])
        return list(zip(*by_state))

    def give_states(self, states):
        """Adds an output for each state, (layers, batch, H), of the states by layer."""
        if not self.carries_states:
            return
        num_layers, size = self.trained.model("num_layers"), self.trained.model("hidden_size")
        for state, layers in zip(self.cell["state_names"], zip(*states)):
            whole = self.add("Concat", layers, axis=0) if num_layers > 1 else layers[0]
            self.whole.give(whole, f"new_{state}", [num_layers, "batch", size])

    def by_operator(self, steps, network, directions, initial):
        """What recurrent() returns, by an operator of ONNX for each layer."""
        cell, num_states = self.cell["cell"], len(self.cell["states"])
        attributes = self.recurrent_attributes(cell, len(directions))
        lengths = self.cast(self.lengths, "INT32") if self.lengths else ""
        flat, all_states = self.constant("flat", [0, 0, -1], "int64"), []
        for layer in range(self.trained.model("num_layers")):
            before = initial[layer] if initial else []
            outputs, *states = self.add(OPERATION[cell], [steps, *self.layer_weights(network, layer, directions, cell),
                                                          lengths, *before], 1 + num_states, **attributes)
            steps = self.add("Reshape", [self.add("Transpose", [outputs], perm=[0, 2, 1, 3]), flat])
            all_states.append(states)
        return steps, all_states

    def by_scans(self, steps, network, directions, initial):
        """The same for a cell without an operator: a Scan for each direction of each layer."""
        mask = self.step_mask(steps) if self.lengths else None
        first, all_states = self.constant("axis0", [0], "int64"), []
        for layer in range(self.trained.model("num_layers")):
            outputs, by_direction = [], []
            for number, direction in enumerate(directions):
                before = [self.add("Gather", [state, self.constant(f"direction{number}", number, "int64")], axis=0)
                          for state in initial[layer]] if initial else None
                output, states = add_direction(self, self.cell, f"{network}.", f"_l{layer}{direction}", steps, mask, before)
                outputs.append(output)
                by_direction.append([self.add("Unsqueeze", [state, first]) for state in states])
            steps = self.joined(outputs, 2)
            all_states.append([self.joined(states, 0) for states in zip(*by_direction)])
        return steps, all_states

    def joined(self, values, axis):
        return self.add("Concat", values, axis=axis) if len(values) > 1 else values[0]

    def recurrent(self, steps, network="recurrent", initial=None):
        """Returns the outputs of the last layer, (steps, batch, width), and for each layer its last states, (directions,
        batch, H) each. initial: the states before the first step in that form; None: zeros."""
        directions = ("", "_reverse") if self.trained.model("bidirectional") else ("",)
        compute = self.by_operator if self.cell["cell"] in GATE_ORDER else self.by_scans
        return compute(steps, network, directions, initial)

    # ---- from the recurrent layers to the outputs ----

    def mean_over_steps(self, steps):
        if not self.lengths:
            return self.add("ReduceMean", [steps], axes=[0], keepdims=0)
        masked = self.add("Where", [self.step_mask(steps), steps, self.constant("nothing", 0)])
        axis = self.constant("axis0", [0], "int64")
        total = self.add("ReduceSum", [masked, axis], keepdims=0)
        lengths = self.add("Unsqueeze", [self.lengths, self.constant("axis1", [1], "int64")])
        return self.add("Div", [total, self.cast(lengths, "FLOAT")])

    def linear(self, values, name):
        weight = self.constant(f"{name}.weight", self.weight(f"{name}.weight").T)
        return self.add("Add", [self.add("MatMul", [values, weight]),
                                self.constant(f"{name}.bias", self.weight(f"{name}.bias"))])

    def outputs_of(self, values):
        if not self.trained.has_tokens:
            for i in range(len(self.trained.model("dense"))):
                values = self.add(NAMES[self.trained.model("dense_activation")], [self.linear(values, f"dense{i}")])
        return self.linear(values, "output")

    def pooled(self, outputs, states):
        """Returns a vector of each sequence, (batch, width)."""
        pooling = self.trained.model("pooling")
        if pooling == "mean":
            return self.mean_over_steps(outputs)
        if pooling == "attention":
            return add_attention(self, outputs)
        last = self.add("Transpose", [states[-1][0]], perm=[1, 0, 2])
        return self.add("Reshape", [last, self.constant("flat_last", [0, -1], "int64")])

    def build(self):
        steps = self.step_vectors()
        if self.trained.has_lengths:
            self.whole.take("lengths", "INT64", ["batch"])
        if not self.trained.has_tokens:
            steps = add_front(self, steps)
        outputs, states = self.recurrent(steps, initial=self.take_states())
        width = len(self.weight("output.bias"))
        if self.trained.has_step_targets:
            values = self.outputs_of(self.add("Transpose", [outputs], perm=[1, 0, 2]))
        elif self.trained.model("decoder"):
            self.lengths = None
            decoded = self.outputs_of(add_decoder(self, self.pooled(outputs, states), states))
            values = by_target(self, decoded, width // self.trained.num_columns)
            width *= self.trained.num_horizons
        else:
            values = self.outputs_of(self.pooled(outputs, states))
        shape = ["batch", *(["steps"] if self.trained.has_step_targets else []), width]
        self.whole.give(values, "outputs", shape)
        if not self.trained.levels:
            self.add_values(values, shape)
        self.give_states(states)
        return self.model()

    def add_values(self, values, shape):
        """A second output in the units of the targets, if the run scaled these."""
        scales = self.trained.state.get("target_scales") or []
        if not scales:
            return
        factor = self.constant("target_scale", [entry["scale"] for entry in scales])
        offset = self.constant("target_offset", [entry["offset"] for entry in scales])
        self.whole.give(self.add("Add", [self.add("Mul", [values, factor]), offset]), "values", shape)

    # ---- the whole ----

    def metadata(self):
        state, settings = self.trained.state, self.trained.settings
        texts = {"rnnlab.name": str(settings.get("name", "")), "rnnlab.checkpoint": self.trained.checkpoint,
                 "rnnlab.kind": self.trained.model("kind"), "rnnlab.task": str(self.trained.shape.get("task", "")),
                 "rnnlab.loss": self.trained.loss,
                 "rnnlab.normalization": state.get("normalization", "none")}
        names = [entry.get("name", "") for entry in state.get("feature_scales") or []]
        vocabulary = "vocabulary_hex" if state.get("vocabulary_is_hex") else "vocabulary"
        for key, value in {vocabulary: state.get("vocabulary"), "features": names if any(names) else None,
                           "categories": state.get("categories"), "target_scales": state.get("target_scales"),
                           "quantiles": self.trained.levels}.items():
            if value:
                texts[f"rnnlab.{key}"] = json.dumps(value, ensure_ascii=False)
        return texts

    def model(self):
        helper = self.onnx.helper
        whole = self.whole
        constants = [values for name, values in self.constants.items() if name in self.used]
        graph = helper.make_graph(whole.nodes, whole.name, whole.inputs, whole.outputs, constants)
        model = helper.make_model(graph, producer_name="rnnlab", ir_version=IR_VERSION,
                                  opset_imports=[helper.make_opsetid("", OPSET)])
        helper.set_model_props(model, self.metadata())
        self.onnx.checker.check_model(model, full_check=True)
        return model
