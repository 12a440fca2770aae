# SPDX-License-Identifier: Apache-2.0
"""Moves weights between Keras 3 models and the safetensors files that rnnlab reads and writes as `--layout keras`.

  python scripts/keras_weights.py save model.keras weights.safetensors               # for rnnlab
  python scripts/keras_weights.py load weights.safetensors model.keras new.keras     # or new.weights.h5: the weights alone

A model is a stack of LSTM, GRU or SimpleRNN layers, Bidirectional or not, with an Embedding before and Dense layers after
them; layers without weights stand anywhere. The layers are taken in the model's order, whatever they are called.
Wants the packages keras, with a backend such as tensorflow-cpu, and safetensors.
"""
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

try:
    import keras
    import numpy
    from safetensors import safe_open
    from safetensors.numpy import save_file
except ImportError as error:
    sys.exit(f"error: {error}; wanted are the packages keras, with a backend such as tensorflow-cpu, and safetensors: "
             "pip install keras tensorflow-cpu safetensors")

RECURRENT = {"LSTM": "lstm", "GRU": "gru", "SimpleRNN": "simple_rnn"}


def require(holds, layer, what):
    if not holds:
        sys.exit(f"error: layer {layer.name}: {what}")


def check_recurrent(layer, backwards):
    """What rnnlab's layers are not."""
    require(layer.use_bias, layer, "use_bias is False, and rnnlab's cells have biases")
    require(layer.go_backwards == backwards, layer, f"go_backwards must be {backwards}: rnnlab reads forwards, or in both directions")
    require(keras.activations.serialize(layer.activation) in ("tanh", "relu"), layer, "activation must be tanh or relu")
    gates = getattr(layer, "recurrent_activation", None)
    require(gates is None or keras.activations.serialize(gates) == "sigmoid", layer, "recurrent_activation must be sigmoid")


def numbered(kind, number):
    return kind if number == 0 else f"{kind}_{number}"


def cell_variables(layer, path, backwards=False):
    check_recurrent(layer, backwards)
    kind = RECURRENT[type(layer).__name__]
    return {f"{path}/{kind}_cell/{variable.name}": variable for variable in layer.cell.weights}


def layer_variables(layer, count):
    """By the names that Keras gives the layers of a first model."""
    kind = type(layer).__name__
    if kind in RECURRENT:
        return cell_variables(layer, numbered(RECURRENT[kind], count("recurrent")))
    if kind == "Bidirectional":
        require(layer.merge_mode == "concat", layer, "merge_mode must be concat")
        number = count("recurrent")
        inner = numbered(RECURRENT[type(layer.forward_layer).__name__], number)
        path = numbered("bidirectional", number)
        forward = cell_variables(layer.forward_layer, f"{path}/forward_{inner}")
        return forward | cell_variables(layer.backward_layer, f"{path}/backward_{inner}", backwards=True)
    if kind == "Dense":
        path = numbered("dense", count("dense"))
        require(layer.use_bias, layer, "use_bias is False, and rnnlab's dense layers have biases")
        return {f"{path}/{variable.name}": variable for variable in layer.weights}
    if kind == "Embedding":
        return {f"{numbered('embedding', count('embedding'))}/embeddings": layer.embeddings}
    require(not layer.weights, layer, f"rnnlab has no {kind}")
    return {}


def variables_of(model):
    """Every variable of the model by its name in the file."""
    counts = {}

    def count(kind):
        counts[kind] = counts.get(kind, -1) + 1
        return counts[kind]

    found = {}
    for layer in model.layers:
        found |= layer_variables(layer, count)
    return found


def cells_of(layer):
    """The recurrent layers in a layer: both directions of a bidirectional one."""
    layers = [layer.forward_layer, layer.backward_layer] if type(layer).__name__ == "Bidirectional" else [layer]
    return [layer for layer in layers if type(layer).__name__ in RECURRENT]


def facts_of_cell(layer):
    kind, activation = RECURRENT[type(layer).__name__], keras.activations.serialize(layer.activation)
    if kind == "simple_rnn":
        return {"rnnlab.cell": f"rnn_{activation}"}
    return {"rnnlab.cell": kind, "rnnlab.activation": activation}


def facts_of(model):
    """What the weights alone do not say, as rnnlab's own files say it."""
    facts = [facts_of_cell(cell) for layer in model.layers for cell in cells_of(layer)]
    if not facts:
        sys.exit("error: the model has no recurrent layer")
    for other in facts:
        if other != facts[0]:
            sys.exit(f"error: the recurrent layers are of several kinds, {facts[0]} and {other}; rnnlab's are all alike")
    return facts[0]


def save(model, file):
    tensors = {name: numpy.ascontiguousarray(keras.ops.convert_to_numpy(variable)) for name, variable in variables_of(model).items()}
    save_file(tensors, file, metadata={"rnnlab.layout": "keras"} | facts_of(model))


def load(file, model):
    variables = variables_of(model)
    with safe_open(file, framework="numpy") as tensors:
        if set(tensors.keys()) != set(variables):
            different = sorted(set(tensors.keys()) ^ set(variables))
            sys.exit(f"error: {file}: the model and the file do not have the same weights: {', '.join(different)}")
        said = tensors.metadata() or {}
        for key, value in facts_of(model).items():
            if said.get(key, value) != value:
                sys.exit(f"error: {file}: metadata {key} is {said[key]}, and the model is for {value}")
        for name, variable in variables.items():
            variable.assign(tensors.get_tensor(name))


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "save":
        return save(keras.saving.load_model(arguments[1], compile=False), arguments[2])
    if len(arguments) == 4 and arguments[0] == "load":
        model = keras.saving.load_model(arguments[2], compile=False)
        load(arguments[1], model)
        return model.save_weights(arguments[3]) if arguments[3].endswith(".weights.h5") else model.save(arguments[3])
    sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
