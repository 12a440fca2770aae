#!/usr/bin/env python3
"""The training that docs/results sets rnnlab's beside, in JAX: every step one compiled program, the recurrent layers a scan
over the steps with the input's products before it, Adam. Prints the median seconds of the epochs after the first.

    pip install jax==0.10.2
    python3 experiments/peer_jax.py mnist_rows gru_speed char_lm paper_step --samples 256 --precision bf16

MNIST and Tiny Shakespeare are looked for in $RNNLAB_DATA, then in data/ (data/fetch all brings them). bf16: weights and data.
"""
import argparse
import gzip
import os
import pathlib
import statistics
import time

import jax
import jax.numpy as jnp
import numpy as np

DATA = pathlib.Path(os.environ.get("RNNLAB_DATA") or pathlib.Path(__file__).parents[1] / "data")
RANDOM = np.random.default_rng(1)


def uniform(bound, *shape):
    return jnp.asarray(RANDOM.uniform(-bound, bound, shape), jnp.float32)


def linear(inputs, outputs):
    return {"weight": uniform(inputs**-0.5, inputs, outputs), "bias": jnp.zeros(outputs)}


def recurrent(gates, inputs, hidden):
    bound = hidden**-0.5
    return {"input": uniform(bound, inputs, gates * hidden), "input_bias": uniform(bound, gates * hidden),
            "hidden": uniform(bound, hidden, gates * hidden), "hidden_bias": uniform(bound, gates * hidden)}


def lstm(p, x):
    """(T, B, I) to (T, B, H)."""

    def step(state, product):
        hidden, cell = state
        i, f, g, o = jnp.split(product + hidden @ p["hidden"] + p["hidden_bias"], 4, -1)
        cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
        hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
        return (hidden, cell), hidden

    start = jnp.zeros((x.shape[1], p["hidden"].shape[0]), x.dtype)
    return jax.lax.scan(step, (start, start), x @ p["input"] + p["input_bias"])[1]


def gru(p, x):
    """The reset gate after the recurrent product."""

    def step(hidden, product):
        ir, iz, ig = jnp.split(product, 3, -1)
        hr, hz, hg = jnp.split(hidden @ p["hidden"] + p["hidden_bias"], 3, -1)
        update = jax.nn.sigmoid(iz + hz)
        hidden = (1 - update) * jnp.tanh(ig + jax.nn.sigmoid(ir + hr) * hg) + update * hidden
        return hidden, hidden

    start = jnp.zeros((x.shape[1], p["hidden"].shape[0]), x.dtype)
    return jax.lax.scan(step, start, x @ p["input"] + p["input_bias"])[1]


def dense(p, x):
    return x @ p["weight"] + p["bias"]


def dropout(key, part, x):
    return jnp.where(jax.random.bernoulli(key, 1 - part, x.shape), x / (1 - part), 0).astype(x.dtype)


def cross_entropy(logits, classes):
    logits = jax.nn.log_softmax(logits.astype(jnp.float32))
    return -jnp.take_along_axis(logits, classes[..., None], -1).mean()


def mnist_rows():
    def content(name, header):
        with gzip.open(DATA / "mnist" / f"train-{name}-ubyte.gz") as file:
            return np.frombuffer(file.read(), np.uint8, offset=header)

    def loss(p, key, x, y):
        keys = jax.random.split(key, 3)
        x = dropout(keys[0], 0.2, lstm(p["first"], x.swapaxes(0, 1)))
        x = dropout(keys[1], 0.1, lstm(p["second"], x)[-1])
        return cross_entropy(dense(p["head"], dropout(keys[2], 0.2, jax.nn.relu(dense(p["dense"], x)))), y)

    parameters = {"first": recurrent(4, 28, 128), "second": recurrent(4, 128, 128), "dense": linear(128, 32),
                  "head": linear(32, 10)}
    images = content("images-idx3", 16).reshape(-1, 28, 28).astype(np.float32) / 255
    return parameters, loss, images, content("labels-idx1", 8).astype(np.int32), 128


def gru_speed():
    def loss(p, key, x, y):
        logit = dense(p["head"], gru(p["gru"], x.swapaxes(0, 1))[-1]).astype(jnp.float32)
        return (jax.nn.softplus(logit) - logit * y).mean()

    parameters = {"gru": recurrent(3, 500, 1024), "head": linear(1024, 1)}
    return parameters, loss, RANDOM.normal(size=(256, 50, 500)).astype(np.float32), RANDOM.normal(size=(256, 1)), 256


def char_lm():
    text = np.frombuffer((DATA / "tinyshakespeare" / "input.txt").read_bytes(), np.uint8)
    characters, tokens = np.unique(text, return_inverse=True)
    windows = (len(tokens) - 1) // 128

    def loss(p, key, x, y):
        x = lstm(p["second"], lstm(p["first"], p["embedding"][x.swapaxes(0, 1)]))
        return cross_entropy(dense(p["head"], x), y.swapaxes(0, 1))

    parameters = {"embedding": uniform(1, len(characters), 512), "first": recurrent(4, 512, 512),
                  "second": recurrent(4, 512, 512), "head": linear(512, len(characters))}
    inputs, targets = (tokens[i:i + windows * 128].reshape(windows, 128).astype(np.int32) for i in (0, 1))
    return parameters, loss, inputs, targets, 128


def paper_step():
    def loss(p, key, x, y):
        x = x.swapaxes(0, 1)
        for layer in range(4):
            x = lstm(p[f"layer{layer}"], x)
        return cross_entropy(dense(p["head"], x.mean(0)), y)

    parameters = {f"layer{layer}": recurrent(4, 512, 512) for layer in range(4)} | {"head": linear(512, 10)}
    inputs = RANDOM.normal(size=(64, 100, 512)).astype(np.float32)
    return parameters, loss, inputs, RANDOM.integers(10, size=64).astype(np.int32), 64


WORKS = {work.__name__: work for work in (mnist_rows, gru_speed, char_lm, paper_step)}


def make_step(loss, rate=1e-3, decay=(0.9, 0.999), epsilon=1e-8):
    """One step of Adam (Kingma and Ba 2015, algorithm 1), compiled; what it updates is not copied."""

    def step(parameters, moments, number, x, y):
        value, gradients = jax.value_and_grad(loss)(parameters, jax.random.key(number), x, y)
        mean, square = (jax.tree.map(lambda m, g, b=b, n=n: b * m + (1 - b) * g.astype(jnp.float32)**n, moments[n - 1], gradients)
                        for n, b in enumerate(decay, 1))
        factor = rate * jnp.sqrt(1 - decay[1]**number) / (1 - decay[0]**number)
        new = jax.tree.map(lambda p, m, s: (p - factor * m / (jnp.sqrt(s) + epsilon)).astype(p.dtype), parameters, mean,
                           square)
        return new, (mean, square), value

    return jax.jit(step, donate_argnums=(0, 1))


def measure(name, options):
    parameters, loss, inputs, targets, batch_size = WORKS[name]()
    inputs, targets = jnp.asarray(inputs[:options.samples]), jnp.asarray(targets[:options.samples])
    if options.precision == "bf16":
        parameters = jax.tree.map(lambda p: p.astype(jnp.bfloat16), parameters)
        inputs = inputs.astype(jnp.bfloat16) if inputs.dtype == jnp.float32 else inputs
    step = make_step(loss)
    # In float32 whatever the weights are: in bfloat16 0.999 is 1, and the second moment would only grow.
    moments = tuple(jax.tree.map(lambda p: jnp.zeros(p.shape, jnp.float32), parameters) for _ in range(2))
    num_steps, number, seconds = len(inputs) // batch_size, 0, []
    for _ in range(options.epochs):
        began = time.perf_counter()
        order = RANDOM.permutation(len(inputs))
        for i in range(num_steps):
            chosen, number = order[i * batch_size:(i + 1) * batch_size], number + 1
            parameters, moments, value = step(parameters, moments, number, inputs[chosen], targets[chosen])
        value.block_until_ready()
        seconds.append(time.perf_counter() - began)
    print(f"{name}: {statistics.median(seconds[1:]):.5f} s an epoch of {num_steps} steps of {batch_size}, last loss "
          f"{value:.4f} (JAX {jax.__version__}, {jax.default_backend()}, {options.precision})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("works", nargs="+", choices=WORKS, metavar="WORK", help=", ".join(WORKS))
    parser.add_argument("--precision", default="fp32", choices=("fp32", "bf16"))
    parser.add_argument("--samples", type=int, metavar="N", help="only the first N")
    parser.add_argument("--epochs", type=int, default=4, metavar="N", help="with the first, which does not count (4)")
    options = parser.parse_args()
    for name in options.works:
        measure(name, options)


main()
