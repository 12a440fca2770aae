#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains what an rnnlab experiment describes in JAX, as a careful user would write it: every step one compiled program,
the recurrent layers a scan over the steps with the products of their inputs before it, the data on the device. The
samples, their order, the initial weights and the learning rates are rnnlab's own, by `rnnlab export`. The run folder is
for `rnnlab compare`.

    pip install jax==0.10.2                  # of a GPU: 'jax[cuda13]==0.10.2'
    python3 experiments/peer_jax.py experiments/mnist_rows.yaml device=cpu data.num_train=5120 precision=bf16

It needs JAX and NumPy: pip install jax numpy, in an environment of its own.

JAX has one thread for each CPU that it may use. Its bf16 has products in bfloat16, weights and Adam in float32.
"""
import itertools
import os

import peer_run

np = peer_run.package("numpy")
jax = peer_run.package("jax")
jnp = peer_run.package("jax.numpy")

SUPPORTED = {
    "precision": ("fp32", "tf32", "bf16"),
    "model.kind": ("sequence_classifier", "sequence_regressor", "language_model"),
    "model.cell": ("lstm", "gru", "rnn_tanh", "rnn_relu"),
    "model.pooling": ("last", "mean"),
    "model.dense_activation": ("relu", "tanh"),
    "training.optimizer": ("adam",),
    "training.loss": ("auto", "cross_entropy", "binary_cross_entropy", "mse"),
    **dict.fromkeys(("model.hidden_size", "model.num_layers", "model.dropout", "model.output_dropout",
                     "model.dense", "model.dense_dropout", "model.embedding_size",
                     "training.beta1", "training.beta2", "training.epsilon", "training.clip_norm", "training.cuda_graph")),
}
TYPES = {"F32": np.float32, "F64": np.float64, "I64": np.int64}


def array_of(stored):
    values = np.frombuffer(stored.bytes, TYPES[stored.dtype]).reshape(stored.shape)
    return jnp.asarray(values.astype(np.int32) if stored.dtype == "I64" else values)


def lstm_step(state, product, weight, bias):
    hidden, cell = state
    i, f, g, o = jnp.split(product + hidden @ weight + bias, 4, -1)
    cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
    hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
    return (hidden, cell), hidden


def gru_step(state, product, weight, bias):
    """The reset gate after the recurrent product."""
    hidden, = state
    ir, iz, ig = jnp.split(product, 3, -1)
    hr, hz, hg = jnp.split(hidden @ weight + bias, 3, -1)
    update = jax.nn.sigmoid(iz + hz)
    hidden = (1 - update) * jnp.tanh(ig + jax.nn.sigmoid(ir + hr) * hg) + update * hidden
    return (hidden,), hidden


def rnn_step(activation):
    def step(state, product, weight, bias):
        hidden = activation(product + state[0] @ weight + bias)
        return (hidden,), hidden

    return step


STEPS = {"lstm": lstm_step, "gru": gru_step, "rnn_tanh": rnn_step(jnp.tanh), "rnn_relu": rnn_step(jax.nn.relu)}


def recurrent(cell, p, layer, values):
    """(steps, batch, features) to (steps, batch, units)."""
    weight = p[f"recurrent.weight_hh_l{layer}"]
    zeros = jnp.zeros((values.shape[1], weight.shape[1]), values.dtype)
    products = values @ p[f"recurrent.weight_ih_l{layer}"].T + p[f"recurrent.bias_ih_l{layer}"]
    bias = p[f"recurrent.bias_hh_l{layer}"]
    start = (zeros, zeros) if cell == "lstm" else (zeros,)
    return jax.lax.scan(lambda state, product: STEPS[cell](state, product, weight.T, bias), start, products)[1]


def dense(p, name, values):
    return values @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def dropout(key, part, values):
    """Nothing is dropped without a key: in validation."""
    if key is None or part == 0:
        return values
    return jnp.where(jax.random.bernoulli(key, 1 - part, values.shape), values / (1 - part), 0).astype(values.dtype)


def make_network(work):
    """A function of weights, key and a batch's inputs (batch first), to outputs (steps first)."""
    cell, num_layers, sizes = work.text("model.cell"), work.count("model.num_layers"), work.sizes("model.dense")
    between, after, dense_part = (work.number(f"model.{each}") for each in ("dropout", "output_dropout", "dense_dropout"))
    activation = {"relu": jax.nn.relu, "tanh": jnp.tanh}[work.text("model.dense_activation")]
    is_language, takes_mean = work.shape["task"] == "language_model", work.text("model.pooling") == "mean"

    def network(p, key, inputs):
        keys = itertools.repeat(None) if key is None else iter(jax.random.split(key, num_layers + 1 + len(sizes)))
        values = p["embedding.weight"][inputs.T] if is_language else inputs.swapaxes(0, 1)
        for layer in range(num_layers):
            values = recurrent(cell, p, layer, dropout(next(keys), between if layer else 0, values))
        if not is_language:
            values = values.mean(0) if takes_mean else values[-1]
        values = dropout(next(keys), after, values)
        for number in range(0 if is_language else len(sizes)):
            values = dropout(next(keys), dense_part, activation(dense(p, f"dense{number}", values)))
        return dense(p, "output", values).astype(jnp.float32)

    return network


def cross_entropy(logits, classes):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), classes[..., None], -1).mean()


def make_loss(work):
    """Of outputs (steps first) and targets (batch first)."""
    task, kind = work.shape["task"], work.text("training.loss")
    if task == "language_model":
        return lambda outputs, targets: cross_entropy(outputs, targets.T)
    if task == "classification":
        return cross_entropy
    natural = {"binary": "binary_cross_entropy", "regression": "mse"}
    return {"binary_cross_entropy": lambda outputs, targets: (jax.nn.softplus(outputs) - outputs * targets).mean(),
            "mse": lambda outputs, targets: jnp.square(outputs - targets).mean()}[natural[task] if kind == "auto" else kind]


def as_bfloat16(tree):
    return jax.tree.map(lambda x: x.astype(jnp.bfloat16) if x.dtype == jnp.float32 else x, tree)


def clipped(gradients, clip_norm):
    if not clip_norm:
        return gradients
    norm = jnp.sqrt(sum(jnp.square(g).sum() for g in jax.tree.leaves(gradients)))
    scale = jnp.minimum(clip_norm / (norm + 1e-6), 1.0)
    return jax.tree.map(lambda g: g * scale, gradients)


def make_step(work, network, loss, is_bf16):
    """One step of Adam (Kingma and Ba 2015, algorithm 1), compiled; what it updates is not copied."""
    beta1, beta2, epsilon = (work.number(f"training.{each}") for each in ("beta1", "beta2", "epsilon"))
    clip_norm = work.number("training.clip_norm")

    def loss_of(p, key, inputs, targets):
        p, inputs = as_bfloat16((p, inputs)) if is_bf16 else (p, inputs)
        return loss(network(p, key, inputs), targets)

    def step(p, means, squares, total, number, rate, key, samples, targets, chosen):
        value, gradients = jax.value_and_grad(loss_of)(p, jax.random.fold_in(key, number), samples[chosen], targets[chosen])
        gradients = clipped(gradients, clip_norm)
        means = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, means, gradients)
        squares = jax.tree.map(lambda s, g: beta2 * s + (1 - beta2) * g * g, squares, gradients)
        root, factor = jnp.sqrt(1 - beta2**number), rate / (1 - beta1**number)
        p = jax.tree.map(lambda w, m, s: w - factor * m / (jnp.sqrt(s) / root + epsilon), p, means, squares)
        return p, means, squares, total + value * len(chosen)

    return jax.jit(step, donate_argnums=(0, 1, 2, 3))


class JaxTraining(peer_run.Training):
    program = f"JAX {jax.__version__}"
    layer = "scan"

    def __init__(self, work):
        self.work, is_bf16 = work, work.text("precision") == "bf16"
        jax.config.update("jax_default_matmul_precision", "tensorfloat32" if work.text("precision") == "tf32" else "float32")
        self.num_threads = work.num_threads
        self.network, self.loss = make_network(work), make_loss(work)
        self.step = make_step(work, self.network, self.loss, is_bf16)
        self.weights = {name: array_of(stored) for name, stored in work.weights().items()}
        self.means, self.squares = ({name: jnp.zeros_like(each) for name, each in self.weights.items()} for _ in range(2))
        self.train = [array_of(work.tensors[f"train.{part}"]) for part in ("inputs", "targets")]
        has_valid = bool(work.valid_bounds())
        self.valid = [array_of(work.tensors[f"valid.{part}"]) for part in ("inputs", "targets") if has_valid]
        self.order = array_of(work.tensors["order"])
        self.key, self.total = jax.random.key(work.count("seed")), jnp.zeros(())
        self.precision = work.identity["precision"]
        self.path = f"jax.lax.scan, every step one compiled program ({jax.default_backend()})"
        self.path_notes = ["products in bfloat16; weights and Adam in float32"] if is_bf16 else []
        self.evaluate = jax.jit(lambda p, x, y: self.scored(*(as_bfloat16((p, x)) if is_bf16 else (p, x)), y))

    def train_epoch(self, epoch):
        order, total = self.order[epoch], jnp.zeros(())
        for number, begin, end in self.work.batch_bounds(epoch):
            self.weights, self.means, self.squares, total = self.step(
                self.weights, self.means, self.squares, total, jnp.float32(number + 1),
                jnp.float32(self.work.learning_rates[number]), self.key, *self.train, order[begin:end])
        self.total = total
        return total / self.work.num_samples

    def wait(self):
        jax.block_until_ready((self.weights, self.total))

    def scored(self, p, inputs, targets):
        outputs = self.network(p, None, inputs)
        classes = targets.T if self.work.shape["task"] == "language_model" else targets
        return self.loss(outputs, targets), (outputs.argmax(-1) == classes).mean()

    def validate(self):
        loss = right = 0
        for begin, end in self.work.valid_bounds():
            value, part = self.evaluate(self.weights, *(each[begin:end] for each in self.valid))
            loss, right = loss + float(value) * (end - begin), right + float(part) * (end - begin)
        has_classes = self.work.shape["task"] in ("classification", "language_model")
        return loss / len(self.valid[0]), right / len(self.valid[0]) if has_classes else None


def require_place(work):
    """JAX chooses its device and its threads before anything else."""
    kind = work.text("device").split(":")[0]
    if kind == "cpu" and work.num_threads != len(os.sched_getaffinity(0)):
        peer_run.fail(f"training.num_threads: {work.num_threads}, but JAX has one thread for each of "
                      f"{len(os.sched_getaffinity(0))} usable CPUs; choose CPUs with `taskset --cpu-list`")
    jax.config.update("jax_platforms", kind)
    try:
        jax.devices()
    except RuntimeError as error:
        peer_run.fail(f"device: JAX has no {kind} here ({str(error).splitlines()[0]})")


def main():
    options = peer_run.parse_arguments(__doc__)
    work = peer_run.export_work(options)
    peer_run.require_supported(work, JaxTraining.program, SUPPORTED)
    require_place(work)
    peer_run.run(options, work, JaxTraining(work))


main()
