# SPDX-License-Identifier: Apache-2.0
"""Makes ONNX Scans of recurrent layers whose cell has no operator in ONNX, from the cell's program.

`rnnlab cell RUN --json` gives the program: the operations of a step in the order in which they can be computed
(docs/export.md). A Scan's body is that list. The products of the inputs are one MatMul before the Scan.
"""

from export.common import ExportError

FUNCTIONS = {"negate": "Neg", "sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu", "exp": "Exp", "log": "Log",
             "softplus": "Softplus", "abs": "Abs", "sign": "Sign", "constant": "Identity", "+": "Add", "-": "Sub",
             "*": "Mul", "/": "Div", "min": "Min", "max": "Max", "<": "Less", "<=": "LessOrEqual", "==": "Equal",
             "where": "Where"}


def add_operation(graph, operation, arguments):
    """Adds what an operation on numbers is in ONNX, and returns the name of its value."""
    if operation == "log_sigmoid":  # min(a, 0) - softplus(-|a|): the exponential is at most 1
        (a,) = arguments
        below = graph.add("Min", [a, graph.constant("number0", 0)])
        return graph.add("Sub", [below, graph.add("Softplus", [graph.add("Neg", [graph.add("Abs", [a])])])])
    if operation not in FUNCTIONS:
        raise ExportError(f"the program's operation {operation} is unknown here: use the script of the rnnlab that "
                          "printed it")
    return graph.add(FUNCTIONS[operation], arguments)


class Step:
    """The operations of one step, in the body of a Scan."""

    def __init__(self, graph, cell, weights, products, states):
        """weights: of one direction; products: of the inputs, (batch, rows * H); states: the names of (batch, H) each."""
        self.graph, self.cell, self.weights, self.states = graph, cell, weights, states
        self.size = weights.hidden_size
        self.input_sides = self.parts(products, sum(gate["input_row"] is not None for gate in cell["gates"]))
        self.hidden_sides = self.products_of_state()
        self.values = []
        self.is_whole = []  # whether a value has a number for each sequence, and not only for each unit

    def parts(self, values, count):
        if count < 2:
            return [values] * count
        return self.graph.add("Split", [values], count, axis=1)

    def products_of_state(self):
        """The products of the hidden state are one MatMul. Returns them by gate."""
        gates = sorted({one["index"] for one in self.cell["operations"] if one["operation"] in ("gate", "hidden_side")})
        if not gates:
            return {}
        return dict(zip(gates, self.parts(self.product(self.states[0], gates), len(gates))))

    def product(self, values, gates):
        """Returns R e + b of these gates, (batch, gates * H), for values e of (batch, H)."""
        rows = [self.cell["gates"][gate]["hidden_row"] for gate in gates]
        end = "_".join(map(str, rows))
        weight = self.weights.rows("weight_hh", rows)
        heads = self.size // weight.shape[1]
        if heads == 1:
            product = self.graph.add("MatMul", [values, self.weights.constant(f"weight_hh_{end}", weight.T)])
        else:
            product = self.product_by_heads(values, weight, heads, end)
        bias = self.weights.rows("bias_hh", rows)
        if bias is None:
            return product
        return self.graph.add("Add", [product, self.weights.constant(f"bias_hh_{end}", bias)])

    def product_by_heads(self, values, weight, heads, end):
        """The units of a head read only those of the same head: (heads, batch, d) times (heads, d, gates * d)."""
        graph, width = self.graph, self.size // heads
        num_gates = len(weight) // self.size
        blocks = weight.reshape(num_gates, heads, width, width).transpose(1, 3, 0, 2).reshape(heads, width, -1)
        by_head = graph.constant("by_head", [0, heads, width], "int64")
        apart = graph.add("Transpose", [graph.add("Reshape", [values, by_head])], perm=[1, 0, 2])
        product = graph.add("MatMul", [apart, self.weights.constant(f"weight_hh_{end}", blocks)])
        by_gate = graph.constant(f"by_gate_{num_gates}", [heads, -1, num_gates, width], "int64")
        product = graph.add("Transpose", [graph.add("Reshape", [product, by_gate])], perm=[1, 2, 0, 3])
        by_unit = graph.constant(f"by_unit_{num_gates}", [0, num_gates * self.size], "int64")
        return graph.add("Reshape", [product, by_unit])

    def whole(self, place):
        """Returns a value with a number for each sequence and unit."""
        if self.is_whole[place]:
            return self.values[place]
        return self.graph.add("Expand", [self.values[place], self.graph.add("Shape", [self.states[0]])])

    def gate_sum(self, gate):
        return self.graph.add("Add", [self.input_side(gate), self.hidden_sides[gate]])

    def input_side(self, gate):
        return self.input_sides[self.cell["gates"][gate]["input_row"]]

    def value_of(self, one):
        """Returns the name of the operation's value, and whether it is whole."""
        operation, index = one["operation"], one.get("index")
        if operation == "number":
            return self.graph.constant(f"number{one['number']}", float(one["number"])), False
        if operation == "vector":
            return self.weights.constant(f"vector{index}", self.weights.vector(index)), False
        if operation == "hidden_product":
            return self.product(self.whole(one["arguments"][0]), [index]), True
        leaves = {"gate": self.gate_sum, "input_side": self.input_side, "hidden_side": self.hidden_sides.get,
                  "state": lambda number: self.states[number]}
        if operation in leaves:
            return leaves[operation](index), True
        arguments = one["arguments"]
        is_whole = any(self.is_whole[argument] for argument in arguments)
        return add_operation(self.graph, operation, [self.values[argument] for argument in arguments]), is_whole

    def new_states(self):
        """Adds all operations, and returns the names of the states after the step."""
        for one in self.cell["operations"]:
            value, is_whole = self.value_of(one)
            self.values.append(value)
            self.is_whole.append(is_whole)
        return [self.whole(place) for place in self.cell["new_states"]]


class DirectionWeights:
    """The weights of one direction of one layer, by their names in the cell."""

    def __init__(self, graph, cell, network, end, hidden_size):
        self.graph, self.cell, self.network, self.end, self.hidden_size = graph, cell, network, end, hidden_size
        self.values = {one["name"]: graph.weight(f"{network}{one['name']}{end}") for one in cell["parameters"]}

    def constant(self, name, values):
        return self.graph.constant(f"{self.network}{name}{self.end}", values)

    def rows(self, name, numbers):
        """Returns these blocks of H rows of a parameter; None if the cell does not have it."""
        if name not in self.values:
            return None
        blocks = [self.values[name][number * self.hidden_size:(number + 1) * self.hidden_size] for number in numbers]
        return self.graph.numpy.concatenate(blocks)

    def vector(self, index):
        vector = self.cell["vectors"][index]
        return self.rows(vector["parameter"], [vector["row"]])


def input_products(graph, weights, steps):
    """Returns W x + b of all gates and steps, (steps, batch, rows * H); None if no gate reads the input."""
    if "weight_ih" not in weights.values:
        return None
    product = graph.add("MatMul", [steps, weights.constant("weight_ih", weights.values["weight_ih"].T)])
    if "bias_ih" not in weights.values:
        return product
    return graph.add("Add", [product, weights.constant("bias_ih", weights.values["bias_ih"])])


def zero_states(graph, steps, hidden_size):
    batch = graph.add("Shape", [steps], start=1, end=2)
    shape = graph.add("Concat", [batch, graph.constant("units", [hidden_size], "int64")], axis=0)
    return graph.add("ConstantOfShape", [shape])


def add_body(graph, weights, scanned, has_mask):
    """Returns the body of a Scan: states, the step's products and, with lengths, its mask to states and output."""
    cell, end = weights.cell, f".{weights.network}{weights.end}"
    states = [f"state.{state}{end}" for state in cell["states"]]
    with graph.body(f"step{end}") as body:
        for state in states:
            body.take(state, "FLOAT", ["batch", weights.hidden_size])
        products = body.take(f"products{end}", "FLOAT", ["batch", scanned])
        mask = body.take(f"counts{end}", "BOOL", ["batch", 1]) if has_mask else None
        new_states = Step(graph, cell, weights, products, states).new_states()
        if has_mask:  # a sequence that has ended, or in reverse not begun, keeps its states
            new_states = [graph.add("Where", [mask, new, old]) for new, old in zip(new_states, states)]
        for state, new in zip(states, new_states):
            body.give(new, f"new_{state}", ["batch", weights.hidden_size])
        output = graph.add("Where", [mask, new_states[0], graph.constant("nothing", 0)]) if has_mask else new_states[0]
        body.give(output, f"output{end}", ["batch", weights.hidden_size])
    return body.graph


def add_direction(graph, cell, network, end, steps, mask, initial=None):
    """Returns the outputs of all steps (steps, batch, H) and the last states (batch, H).

    network: what the names of the weights begin with; initial: the states before the first step, (batch, H) each; None: zeros."""
    size = graph.trained.model("hidden_size")
    weights = DirectionWeights(graph, cell, network, end, size)
    scanned = input_products(graph, weights, steps)
    width = None if scanned is None else len(weights.values["weight_ih"])
    inputs = [scanned or steps] + ([mask] if mask else [])  # without products, the steps only say how many there are
    body = add_body(graph, weights, width, bool(mask))
    states = initial or [zero_states(graph, steps, size)] * len(cell["states"])
    is_reverse = int(end.endswith("_reverse"))
    values = graph.add("Scan", states + inputs, len(states) + 1, body=body, num_scan_inputs=len(inputs),
                       scan_input_directions=[is_reverse] * len(inputs), scan_output_directions=[is_reverse])
    return values[-1], values[:-1]
