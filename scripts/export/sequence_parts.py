# SPDX-License-Identifier: Apache-2.0
"""Parts of sequence models around the recurrent layers (docs/sequence-models.md): convolutions over time, attention
pooling, and a decoder. Steps come first: values are (steps, batch, size)."""


def add_front(graph, steps):
    """Adds the convolutions, and divides the graph's lengths by their strides. Returns their outputs."""
    trained = graph.trained
    kernel_size, stride = trained.model("front_kernel_size"), trained.model("front_stride")
    for i in range(len(trained.model("front"))):
        name = f"front.convolution{i}"
        if graph.lengths:
            steps = graph.add("Where", [graph.step_mask(steps), steps, graph.constant("nothing", 0)])
        weights = [graph.constant(f"{name}.{part}", graph.weight(f"{name}.{part}")) for part in ("weight", "bias")]
        values = graph.add("Conv", [graph.add("Transpose", [steps], perm=[1, 2, 0]), *weights],
                           strides=[stride], pads=[kernel_size - stride, stride - 1])
        steps = graph.add("Transpose", [graph.add("Relu", [values])], perm=[2, 0, 1])
        if graph.lengths and stride > 1:
            rounded = graph.add("Add", [graph.lengths, graph.constant("stride_rest", stride - 1, "int64")])
            graph.lengths = graph.add("Div", [rounded, graph.constant("stride", stride, "int64")])
    return steps


def add_attention(graph, outputs):
    """Returns the weighted mean of the outputs, (batch, width)."""
    hidden = graph.add("Tanh", [graph.linear(outputs, "attention.hidden")])
    weight = graph.constant("attention.score.weight", graph.weight("attention.score.weight").T)
    scores = graph.add("MatMul", [hidden, weight])
    if graph.lengths:
        scores = graph.add("Where", [graph.step_mask(outputs), scores, graph.constant("never", -graph.numpy.inf)])
    weighted = graph.add("Mul", [outputs, graph.add("Softmax", [scores], axis=0)])
    return graph.add("ReduceSum", [weighted, graph.constant("axis0", [0], "int64")], keepdims=0)


def slice_of(graph, values, begin, end, axis):
    bounds = [graph.constant(f"place{place}", [place], "int64") for place in (begin, end)]
    return graph.add("Slice", [values, *bounds, graph.constant(f"axis{axis}", [axis], "int64")])


def without_ahead(graph, numbers, num_numbers):
    """Takes what is known of the rows of the horizons, which the decoder reads, off the numbers of a step."""
    begin, num_known, num_calendar = graph.trained.numbers_ahead(num_numbers)
    known_end = begin + num_known
    end = known_end + num_calendar
    if begin == end:
        return numbers
    parts = [slice_of(graph, numbers, first, last, 2) for first, last in ((0, begin), (end, num_numbers))
             if first < last]
    if num_known:
        graph.ahead = slice_of(graph, numbers, begin, known_end, 2)
    if num_calendar:
        graph.calendar_ahead = slice_of(graph, numbers, known_end, end, 2)
    return graph.add("Concat", parts, axis=2) if len(parts) > 1 else parts[0]


def add_decoder(graph, pooled, states):
    """Returns the outputs of the decoder, (horizons, batch, width)."""
    num_horizons = graph.trained.num_horizons
    first = graph.constant("axis0", [0], "int64")
    shape = graph.constant("horizons", [num_horizons, 1, 1], "int64")
    steps = graph.add("Expand", [graph.add("Unsqueeze", [pooled, first]), shape])
    if graph.ahead:
        last = graph.add("Gather", [graph.ahead, graph.constant("last_step", -1, "int64")], axis=0)
        by_column = graph.add("Reshape", [last, graph.constant("by_column", [0, -1, num_horizons], "int64")])
        steps = graph.add("Concat", [steps, graph.add("Transpose", [by_column], perm=[2, 0, 1])], axis=2)
    if graph.calendar_ahead:
        steps = graph.add("Concat", [steps, calendar_of_horizons(graph)], axis=2)
    return graph.recurrent(steps, "decoder", states)[0]


def calendar_of_horizons(graph):
    """Returns the phases of the calendar in the rows of the horizons, (horizons, batch, phases)."""
    parts = []
    for step, number in graph.trained.calendar_places:
        of_step = slice_of(graph, graph.calendar_ahead, step, step + 1, 0)
        parts.append(slice_of(graph, of_step, number, number + graph.trained.num_phases, 2))
    return graph.add("Concat", parts, axis=0)


def by_target(graph, outputs, numbers_per_target):
    """Brings the outputs of the horizons, (horizons, batch, size), into the order of the targets, (batch, all)."""
    parts = graph.constant("by_horizon", [0, 0, -1, numbers_per_target], "int64")
    ordered = graph.add("Transpose", [graph.add("Reshape", [outputs, parts])], perm=[1, 2, 0, 3])
    return graph.add("Reshape", [ordered, graph.constant("all_targets", [0, -1], "int64")])
