#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains what an rnnlab experiment describes in PyTorch, as a careful user would write it: torch.nn's layers, fused Adam,
the data on the device and, with training.cuda_graph=true on a GPU, every step one CUDA graph. The samples, their order,
the initial weights and the learning rates are rnnlab's own, by `rnnlab export`. The run folder is for `rnnlab compare`.

    python3 experiments/peer_torch.py experiments/mnist_rows.yaml device=cpu data.num_train=5120
    python3 experiments/peer_torch.py experiments/char_lm.yaml device=cuda training.cuda_graph=true precision=bf16

It needs PyTorch with all that it depends on: pip install torch==2.11.0, in an environment of its own.
"""
import peer_run

torch = peer_run.package("torch")
nn = torch.nn

SUPPORTED = {
    "precision": ("fp32", "tf32", "bf16"),
    "model.kind": ("sequence_classifier", "sequence_regressor", "language_model", "image_classifier"),
    "model.pooling": ("last", "mean"),
    **dict.fromkeys(("model.hidden_size", "model.num_layers", "model.dropout", "model.output_dropout",
                     "model.dense", "model.dense_dropout", "model.num_convolutions",
                     "model.embedding_size", "training.momentum", "training.beta1", "training.beta2", "training.alpha",
                     "training.epsilon", "training.weight_decay", "training.clip_norm",
                     "training.cuda_graph")),
}
LOSSES = {
    "cross_entropy": nn.functional.cross_entropy,
    "binary_cross_entropy": nn.functional.binary_cross_entropy_with_logits,
    "mse": nn.functional.mse_loss,
    "mae": nn.functional.l1_loss,
    "huber": nn.functional.huber_loss,
}
NATURAL_LOSSES = {"classification": "cross_entropy", "binary": "binary_cross_entropy", "regression": "mse"}
OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "rmsprop": torch.optim.RMSprop}
CELLS = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn_tanh": nn.RNN, "rnn_relu": nn.RNN}
ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh}
SUPPORTED |= {"model.cell": tuple(CELLS), "model.dense_activation": tuple(ACTIVATIONS)}
SUPPORTED |= {"training.loss": ("auto", *LOSSES), "training.optimizer": tuple(OPTIMIZERS)}
TYPES = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64}
FORMATS = {torch.bfloat16: "bf16", torch.float16: "fp16"}
CONVOLUTIONS = {2: ((32, 5, True), (64, 5, True)), 4: ((32, 5, False), (32, 3, True), (64, 5, False), (64, 3, True))}


def tensor_of(stored):
    return torch.frombuffer(stored.bytes, dtype=TYPES[stored.dtype]).reshape(stored.shape).clone()


class Recurrent(nn.Module):
    """Inputs and outputs are (steps, batch, features). One module of torch.nn, or one for each layer."""

    def __init__(self, work, input_size, is_split):
        super().__init__()
        make = CELLS[work.text("model.cell")]
        cell = {"nonlinearity": work.text("model.cell")[len("rnn_"):]} if make is nn.RNN else {}
        hidden, num_layers = work.count("model.hidden_size"), work.count("model.num_layers")
        self.dropout = nn.Dropout(work.number("model.dropout"))
        if is_split:
            sizes = [input_size] + [hidden] * (num_layers - 1)
            self.layers = nn.ModuleList(make(size, hidden, **cell) for size in sizes)
        else:
            dropout = work.number("model.dropout") if num_layers > 1 else 0
            self.layers = nn.ModuleList([make(input_size, hidden, num_layers, dropout=dropout, **cell)])

    def forward(self, values):
        for number, layer in enumerate(self.layers):
            values = layer(self.dropout(values) if number else values)[0]
        return values

    def name_of(self, parameter):
        """Of rnnlab's, which are those of one module of torch.nn."""
        if len(self.layers) == 1:
            return f"layers.0.{parameter}"
        name, number = parameter.rsplit("_l", 1)
        return f"layers.{number}.{name}_l0"


def dense_layers(work, width, num_outputs):
    layers = []
    for size in work.sizes("model.dense"):
        activation = ACTIVATIONS[work.text("model.dense_activation")]
        layers += [nn.Linear(width, size), activation(), nn.Dropout(work.number("model.dense_dropout"))]
        width = size
    return nn.Sequential(*layers, nn.Linear(width, num_outputs))


def dense_name(work, name):
    """Of "dense1.weight" or "output.weight" among the layers of a Sequential."""
    layer, parameter = name.split(".")
    number = len(work.sizes("model.dense")) if layer == "output" else int(layer[len("dense"):])
    return f"dense.{3 * number}.{parameter}"


class SequenceModel(nn.Module):
    def __init__(self, work, is_split):
        super().__init__()
        self.work, self.takes_mean = work, work.text("model.pooling") == "mean"
        self.recurrent = Recurrent(work, work.shape["input_size"], is_split)
        self.dropout = nn.Dropout(work.number("model.output_dropout"))
        self.dense = dense_layers(work, work.count("model.hidden_size"), work.shape["num_outputs"])

    def forward(self, inputs):
        outputs = self.recurrent(inputs.transpose(0, 1))
        return self.dense(self.dropout(outputs.mean(0) if self.takes_mean else outputs[-1]))

    def name_of(self, name):
        if name.startswith("recurrent."):
            return "recurrent." + self.recurrent.name_of(name[len("recurrent."):])
        return dense_name(self.work, name)


class LanguageModel(nn.Module):
    def __init__(self, work, is_split):
        super().__init__()
        size = work.count("model.embedding_size") or work.count("model.hidden_size")
        self.embedding = nn.Embedding(work.shape["num_outputs"], size)
        self.recurrent = Recurrent(work, size, is_split)
        self.dropout = nn.Dropout(work.number("model.output_dropout"))
        self.output = nn.Linear(work.count("model.hidden_size"), work.shape["num_outputs"])

    def forward(self, tokens):
        return self.output(self.dropout(self.recurrent(self.embedding(tokens.t()))))

    def name_of(self, name):
        return "recurrent." + self.recurrent.name_of(name[len("recurrent."):]) if name.startswith("recurrent.") else name


class ImageModel(nn.Module):
    def __init__(self, work, _):
        super().__init__()
        rows, columns = work.tensors["train.inputs"].shape[1:]
        self.work, layers, channels = work, [], 1
        for size, kernel, is_pooled in CONVOLUTIONS[work.count("model.num_convolutions")]:
            layers += [nn.Conv2d(channels, size, kernel, padding=kernel // 2), nn.ReLU()]
            layers += [nn.MaxPool2d(2)] if is_pooled else []
            channels = size
        self.convolutions = nn.Sequential(*layers)
        self.dense = dense_layers(work, channels * (rows // 4) * (columns // 4), work.shape["num_outputs"])

    def forward(self, inputs):
        return self.dense(self.convolutions(inputs.unsqueeze(1)).flatten(1))

    def name_of(self, name):
        if not name.startswith("convolution"):
            return dense_name(self.work, name)
        places = [number for number, layer in enumerate(self.convolutions) if isinstance(layer, nn.Conv2d)]
        layer, parameter = name.split(".")
        return f"convolutions.{places[int(layer[len('convolution'):])]}.{parameter}"


def make_model(work, is_split):
    kinds = {"language_model": LanguageModel, "image_classifier": ImageModel}
    model = kinds.get(work.text("model.kind"), SequenceModel)(work, is_split)
    weights = {model.name_of(name): tensor_of(stored) for name, stored in work.weights().items()}
    model.load_state_dict(weights)  # which takes neither more nor less
    return model


def make_loss(work):
    task, kind = work.shape["task"], work.text("training.loss")
    if task == "language_model":
        return lambda outputs, targets: nn.functional.cross_entropy(outputs.flatten(0, 1), targets.t().flatten())
    return LOSSES[NATURAL_LOSSES[task] if kind == "auto" else kind]


def make_optimizer(work, parameters, rate, capturable):
    kind = work.text("training.optimizer")
    options = {"weight_decay": work.number("training.weight_decay")}
    if kind in ("sgd", "rmsprop"):
        options["momentum"] = work.number("training.momentum")
    if kind in ("sgd", "adam", "adamw"):
        options["fused"] = True
    if kind in ("adam", "adamw", "rmsprop"):
        options |= {"eps": work.number("training.epsilon"), "capturable": capturable}
    if kind in ("adam", "adamw"):
        options["betas"] = work.number("training.beta1"), work.number("training.beta2")
    if kind == "rmsprop":
        options["alpha"] = work.number("training.alpha")
    return OPTIMIZERS[kind](parameters, rate, **options)


def set_backends(precision):
    torch.backends.cudnn.benchmark = True  # measures convolutions' algorithms, as careful users have it
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"


class Step:
    """One optimiser step on the samples that `chosen` names: eagerly, or as a CUDA graph for each size of a batch."""

    def __init__(self, work, model, inputs, targets, has_graphs):
        self.work, self.model, self.inputs, self.targets, self.has_graphs = work, model, inputs, targets, has_graphs
        self.is_bf16, self.clip_norm = work.text("precision") == "bf16", work.number("training.clip_norm")
        self.loss, self.graphs, self.last_rate = make_loss(work), {}, None
        self.rate = torch.zeros((), device=inputs.device) if has_graphs else work.learning_rates[0]
        self.parameters = list(model.parameters())
        self.optimizer = make_optimizer(work, self.parameters, self.rate, has_graphs)

    def outputs(self, inputs):
        with torch.autocast(inputs.device.type, torch.bfloat16, enabled=self.is_bf16, cache_enabled=not self.has_graphs):
            return self.model(inputs).float()

    def eagerly(self, inputs, targets):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(self.outputs(inputs), targets)
        loss.backward()
        if self.clip_norm:
            nn.utils.clip_grad_norm_(self.parameters, self.clip_norm, foreach=True)
        self.optimizer.step()
        return loss.detach()

    def state(self):
        kept = [value for each in self.optimizer.state.values() for value in each.values() if torch.is_tensor(value)]
        return [parameter.detach() for parameter in self.parameters] + kept

    def capture(self, chosen):
        """Its steps before the capture are taken back, so that no sample counts twice."""
        before = [tensor.clone() for tensor in self.state()]
        batch = self.inputs[chosen], self.targets[chosen]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.eagerly(*batch)
        stream.synchronize()
        for number, tensor in enumerate(self.state()):
            tensor.copy_(before[number]) if number < len(before) else tensor.zero_()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = self.eagerly(*batch)
        self.graphs[len(chosen)] = graph, batch, loss

    def set_rate(self, number):
        rate = self.work.learning_rates[number]
        if rate == self.last_rate:
            return
        self.last_rate = rate
        if self.has_graphs:
            self.rate.fill_(rate)
        else:
            self.optimizer.param_groups[0]["lr"] = rate

    def __call__(self, number, chosen):
        self.set_rate(number)
        if not self.has_graphs:
            return self.eagerly(self.inputs[chosen], self.targets[chosen])
        if len(chosen) not in self.graphs:
            self.capture(chosen)
        graph, batch, loss = self.graphs[len(chosen)]
        torch.index_select(self.inputs, 0, chosen, out=batch[0])
        torch.index_select(self.targets, 0, chosen, out=batch[1])
        graph.replay()
        return loss


def formats_of_results(model, run):
    """The 16-bit formats of what recurrent layers and other layers with products give in run(), as two sets.

    Without dropout, so no random number is drawn.
    """
    recurrent, others = set(), set()

    def note(layer, _, result):
        output = result[0] if isinstance(result, tuple) else result
        (recurrent if isinstance(layer, nn.RNNBase) else others).update(FORMATS[kind] for kind in [output.dtype] if kind in FORMATS)

    layers = [layer for layer in model.modules() if isinstance(layer, (nn.RNNBase, nn.Linear, nn.Conv2d))]
    hooks = [layer.register_forward_hook(note) for layer in layers]
    model.eval()
    run()
    for hook in hooks:
        hook.remove()
    return recurrent, others


class TorchTraining(peer_run.Training):
    program = f"PyTorch {torch.__version__.split('+')[0]}"
    layer = "torch.nn"

    def __init__(self, work):
        self.work, self.device = work, torch.device(work.text("device"))
        self.is_on_gpu = self.device.type == "cuda"
        torch.set_num_threads(work.num_threads)
        torch.manual_seed(work.count("seed"))
        set_backends(work.text("precision"))
        has_graphs = self.is_on_gpu and work.flag("training.cuda_graph")
        is_split = has_graphs and work.number("model.dropout") > 0
        self.model = make_model(work, is_split).to(self.device)
        self.order = self.on_device("order")
        self.valid = [self.on_device(f"valid.{part}") for part in ("inputs", "targets")] if work.valid_bounds() else []
        train = [self.on_device(f"train.{part}") for part in ("inputs", "targets")]
        self.step = Step(work, self.model, *train, has_graphs)
        self.marks = [torch.cuda.Event(enable_timing=True) for _ in range(2)] if self.is_on_gpu else []
        self.num_threads = torch.get_num_threads()
        self.tell(has_graphs, is_split)

    def on_device(self, name):
        return tensor_of(self.work.tensors[name]).to(self.device)

    def tell(self, has_graphs, is_split):
        self.path = f"torch.nn, {'every step one CUDA graph' if has_graphs else 'step by step'}"
        inputs = self.step.inputs[:2]
        self.precision = peer_run.precision_that_ran(self.work.identity["precision"],
                                                     *formats_of_results(self.model, lambda: self.step.outputs(inputs)))
        ran = "" if self.precision == "bf16" else f": {self.precision}"
        self.path_notes = [f"bfloat16 by autocast{ran}"] if self.step.is_bf16 else []
        self.path_notes += ["a module for each layer, with dropout between them"] if is_split else []
        self.aten = torch.backends.cpu.get_cpu_capability()
        self.software = {"libtorch": torch.__version__.split("+")[0], "libtorch_commit": torch.version.git_version or ""}
        if self.is_on_gpu:
            cudnn = torch.backends.cudnn.version()
            self.software |= {"cuda": torch.version.cuda,
                              "cudnn": f"{cudnn // 10000}.{cudnn % 10000 // 100}.{cudnn % 100}"}

    def mark(self, number):
        if self.marks:
            self.marks[number].record()

    def train_epoch(self, epoch):
        self.model.train()
        self.mark(0)
        order, total = self.order[epoch], torch.zeros((), device=self.device)
        for number, begin, end in self.work.batch_bounds(epoch):
            total.add_(self.step(number, order[begin:end]), alpha=end - begin)
        self.mark(1)
        return total / self.work.num_samples

    def wait(self):
        if self.is_on_gpu:
            torch.cuda.synchronize()

    def device_seconds(self):
        return self.marks[0].elapsed_time(self.marks[1]) / 1e3 if self.marks else None

    def num_right(self, outputs, targets):
        targets_of_sample = targets[0].numel()
        classes = targets.t() if self.work.shape["task"] == "language_model" else targets
        return (outputs.argmax(-1) == classes).sum().item() / targets_of_sample

    def validate(self):
        self.model.eval()
        inputs, targets = self.valid
        has_classes = self.work.shape["task"] in ("classification", "language_model")
        loss = right = 0
        for begin, end in self.work.valid_bounds():
            with torch.no_grad():
                outputs = self.step.outputs(inputs[begin:end])
                loss += self.step.loss(outputs, targets[begin:end]).item() * (end - begin)
                right += self.num_right(outputs, targets[begin:end]) if has_classes else 0
        return loss / len(inputs), right / len(inputs) if has_classes else None


def main():
    options = peer_run.parse_arguments(__doc__)
    work = peer_run.export_work(options)
    peer_run.require_supported(work, TorchTraining.program, SUPPORTED)
    peer_run.run(options, work, TorchTraining(work))


main()
