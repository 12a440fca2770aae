# SPDX-License-Identifier: Apache-2.0
"""The sides of experiments/pytorch_peers.py: one recurrent layer by torch.nn, by rnnlab and by other projects.

A side is made for a Case and returns its Work. All sides of a case have the same weights and inputs, because they are
drawn on the CPU with fixed seeds, and as many inputs as units. Peers are imported where they are used: none is needed.
"""

import collections
import contextlib
import importlib
import json
import os
import pathlib
import sys
import tempfile
import types

import torch

Case = collections.namedtuple("Case", "cell hidden_size batch_size num_steps precision resets")
PRECISIONS = ("fp32", "tf32", "fp16", "bf16")

# outputs: a function that computes the layer, (steps, sequences, units), from inputs and weights that want gradients.
# leaves: these inputs and weights. layer: a module whose implementation_used the row tells, or None.
Work = collections.namedtuple("Work", "outputs leaves layer", defaults=(None,))

# make: the function that makes the work. package: what must be installed. cells: those that it computes. formats: by
# precision, the types of the numbers that it multiplies on a GPU. has_resets: it takes steps before which states are
# zero. is_same: it computes torch.nn's equations, so that outputs are compared. needs_build: its kernels take long to
# compile, so that builders do that before.
Side = collections.namedtuple("Side", "make package cells formats has_resets is_same needs_build")

BUILDS = pathlib.Path(os.environ.get("TORCH_EXTENSIONS_DIR", tempfile.gettempdir()))  # of kernels that nvcc compiles
TYPES = {"fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def set_precision(precision):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"


def layer_of(case):
    """torch.nn's layer in float32 on the CPU, the same in every process."""
    torch.manual_seed(1)
    return getattr(torch.nn, case.cell)(case.hidden_size, case.hidden_size)


def data_of(case):
    torch.manual_seed(2)
    return torch.randn(case.num_steps, case.batch_size, case.hidden_size)


def marks_of(case):
    """The steps before which states are zero, (steps, sequences): a share of case.resets of all."""
    torch.manual_seed(3)
    return torch.rand(case.num_steps, case.batch_size) < case.resets


def reference_of(case, device):
    """Returns torch.nn's output in float32 without TF32; with resets it computes step by step."""
    set_precision("fp32")
    layer, data, marks = layer_of(case).to(device), data_of(case).to(device), marks_of(case).to(device)
    with torch.no_grad():
        if not case.resets:
            return layer(data)[0]
        states, outputs = None, []
        for step in range(case.num_steps):
            output, states = layer(data[step : step + 1], states)
            outputs.append(output)
            kept = ~marks[min(step + 1, case.num_steps - 1)].view(1, -1, 1)
            states = tuple(state * kept for state in states) if case.cell == "LSTM" else states * kept
        return torch.cat(outputs)


def leaf(tensor, device, dtype):
    return tensor.detach().to(device, dtype, copy=True).requires_grad_()


def by_module(layer, case, device, **arguments):
    data = leaf(data_of(case), device, TYPES[case.precision])
    return Work(lambda: layer(data, **arguments)[0], [data, *layer.parameters()], layer)


def torch_nn(case, device):
    return by_module(layer_of(case).to(device, TYPES[case.precision]), case, device)


def by_rnnlab(implementation):
    def make(case, device):
        import rnnlab

        layer = getattr(rnnlab, case.cell)(case.hidden_size, case.hidden_size, implementation=implementation)
        layer.load_state_dict(layer_of(case).state_dict())
        arguments = {"starts": marks_of(case).to(device)} if case.resets else {}
        return by_module(layer.to(device, TYPES[case.precision]), case, device, **arguments)

    return make


def haste(case, device):
    import haste_pytorch

    layer = haste_pytorch.LSTM(case.hidden_size, case.hidden_size)
    layer.from_native_weights(*(weight.detach() for weight in layer_of(case).parameters()))
    return by_module(layer.to(device), case, device)


def load_only_kernels_of_torchrl():
    """Lets torchrl's kernels be imported without its packages, which import tensordict and much else."""
    if "torchrl" in sys.modules:
        return
    root = pathlib.Path(importlib.util.find_spec("torchrl").origin).parent.parent
    for name in ("torchrl", "torchrl.modules", "torchrl.modules.tensordict_module"):
        module = types.ModuleType(name)
        module.__path__ = [str(root.joinpath(*name.split(".")))]
        sys.modules[name] = module
    utils = types.ModuleType("torchrl._utils")
    utils._triton_version_at_least = lambda version: True
    sys.modules["torchrl._utils"] = utils


def torchrl(case, device):
    """TorchRL's layer of Triton. It takes sequences first, and for every step the states that a reset would give."""
    load_only_kernels_of_torchrl()
    from torchrl.modules.tensordict_module._rnn_triton import gru_triton, lstm_triton

    weights = [leaf(weight, device, torch.float32) for weight in layer_of(case).parameters()]
    data = leaf(data_of(case).transpose(0, 1).contiguous(), device, torch.float32)
    marks = marks_of(case).t().contiguous().to(device)
    zeros = torch.zeros(case.batch_size, case.num_steps, case.hidden_size, device=device)
    compute, states = (lstm_triton, [zeros, zeros]) if case.cell == "LSTM" else (gru_triton, [zeros])
    compute_type = torch.bfloat16 if case.precision == "bf16" else torch.float32
    precision = "ieee" if case.precision == "fp32" else "tf32"

    def outputs():
        return compute(data, *states, *weights, marks, compute_type, input_precision=precision)[0].transpose(0, 1)

    return Work(outputs, [data, *weights])


def xma(case, device):
    """XMA's GRU with one head, behind a Linear for the products of the inputs. Its reset gate is before the product."""
    from xma import KernelBackend
    from xma.layers import gru

    size, dtype = case.hidden_size, TYPES[case.precision]
    theirs = layer_of(case)
    linear = torch.nn.Linear(size, 3 * size)
    linear.load_state_dict({"weight": theirs.weight_ih_l0.detach(), "bias": theirs.bias_ih_l0.detach()})
    linear.to(device, dtype)
    reset, update, new = (leaf(part.t().contiguous().unsqueeze(0), device, dtype)
                          for part in theirs.weight_hh_l0.detach().chunk(3))
    data = leaf(data_of(case).transpose(0, 1).contiguous(), device, dtype)
    backend = KernelBackend.triton if device == "cuda" else KernelBackend.torch

    def outputs():
        sums = linear(data).unflatten(-1, (3, 1, size))
        result, _ = gru(sums[:, :, 2], new, sums[:, :, 1], update, sums[:, :, 0], reset, kernel_backend=backend)
        return result.squeeze(2).transpose(0, 1)

    return Work(outputs, [data, reset, update, new, *linear.parameters()])


def pararnn(case, device):
    """pararnn's layer: states read only themselves (diagonal), and Newton's method computes all steps at once."""
    import pararnn as package

    make = {"LSTM": package.ParaLSTM, "GRU": package.ParaGRU}[case.cell]
    torch.manual_seed(1)
    layer = make(case.hidden_size, case.hidden_size, device=device, dtype=TYPES[case.precision])
    data = leaf(data_of(case).transpose(0, 1).contiguous(), device, TYPES[case.precision])
    config = package.NewtonConfig(residual_atol=None, residual_fail=None)  # without checks, its fastest way

    def outputs():
        states = package.newton_apply(layer, data, config)
        return (states if states.dim() == 3 else states[:, :, 0]).transpose(0, 1)

    return Work(outputs, [data, *layer.parameters()])


def by_flashrnn(backend):
    """flashrnn's LSTM with one head behind a Linear, because flashrnn has no product for the inputs.

    Its tensors are sums (sequences, steps, gates, heads, units), weights (gates, heads, units, previous units), bias
    (gates, heads, units) and states (2, sequences, steps, heads, units). Its gates have torch.nn's order.
    """

    def make(case, device):
        prepare_flashrnn(BUILDS / f"{backend}-{case.hidden_size}-{case.batch_size}")
        from flashrnn import flashrnn

        theirs, size, dtype = layer_of(case), case.hidden_size, TYPES[case.precision]
        linear = torch.nn.Linear(size, 4 * size)
        linear.load_state_dict({"weight": theirs.weight_ih_l0.detach(), "bias": theirs.bias_ih_l0.detach()})
        linear.to(device, dtype)
        recurrent = leaf(theirs.weight_hh_l0.view(4, 1, size, size), device, dtype)
        bias = leaf(theirs.bias_hh_l0.view(4, 1, size), device, dtype)
        data = leaf(data_of(case).transpose(0, 1).contiguous(), device, dtype)
        name = str(dtype).removeprefix("torch.")

        def outputs():
            sums = linear(data).view(case.batch_size, case.num_steps, 4, 1, size)
            states, _ = flashrnn(sums, recurrent, bias, function="lstm", backend=backend, dtype=name)
            return states[0].squeeze(2).transpose(0, 1)

        return Work(outputs, [data, recurrent, bias, *linear.parameters()])

    return make


def prepare_flashrnn(folder):
    """Changes what flashrnn's own code does not do with CUDA 13: facts about the GPU, and where cuBLAS is.

    Kernels are compiled into the folder: flashrnn's names of builds are cut, so that sizes could overwrite each other.
    RNNLAB_FLASHRNN_PARAMETERS names a JSON file of the sizes that cuda_fused found before, by function, type, units,
    heads and sequences. Without it cuda_fused compiles and tries many: minutes for each size.
    """
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["TORCH_EXTENSIONS_DIR"] = str(folder)
    find_cublas(folder)
    importlib.import_module("flashrnn")  # whose function hides the module of the same name
    module, loader = sys.modules["flashrnn.flashrnn.flashrnn"], sys.modules["flashrnn.flashrnn.cuda_init"]
    loader.time = types.SimpleNamespace(sleep=lambda seconds: None)  # it waits up to 10 s against other builds
    device = torch.cuda.get_device_properties(0)
    module.get_gpu_info = lambda device_id=0: dict(
        maxThreadsPerBlock=1024, regsPerMultiprocessor=device.regs_per_multiprocessor,
        multiProcessorCount=device.multi_processor_count, sharedMemPerBlockOptin=device.shared_memory_per_block_optin)
    path = os.environ.get("RNNLAB_FLASHRNN_PARAMETERS")
    known = json.loads(pathlib.Path(path).read_text(encoding="utf-8")) if path else {}
    search = getattr(module, "search", module.load_parametric_and_test_and_bisect)
    module.search = search

    def load(**build):
        _, batch_size, hidden_size, num_heads = build["model_args"]
        values = known.get(f"lstm,bfloat16,{hidden_size},{num_heads},{batch_size}")
        if values is None:
            return search(**build)
        flags = [*build["extra_cflags"], *loader.defines_to_cflags(values)]
        return loader.load(name=build["name"], sources=build["sources"], extra_cflags=flags,
                           extra_cuda_cflags=build["extra_cuda_cflags"])

    module.load_parametric_and_test_and_bisect = load


def find_cublas(folder):
    """flashrnn looks for libcublas.so beside the first folder of headers; PyTorch's wheels have it elsewhere."""
    import torch.utils.cpp_extension as extension

    home = pathlib.Path(extension.CUDA_HOME or "/usr/local/cuda")
    packages = pathlib.Path(torch.__file__).parent.parent / "nvidia"
    if not (home / "include/cublas_v2.h").exists():
        headers = next(packages.glob("*/include/cublas_v2.h"), None)
        if headers:
            os.environ["FLASHRNN_EXTRA_INCLUDE_PATHS"] = str(headers.parent)
    importlib.import_module("flashrnn.flashrnn.cuda_init")  # it sets CUDA_LIB when it is imported
    places = [home / "lib64", home / "targets/x86_64-linux/lib", *packages.glob("*/lib")]
    library = next((path for place in places for path in sorted(place.glob("libcublas.so*"))), None)
    if library is None:
        return
    with contextlib.suppress(FileExistsError):
        (folder / "libcublas.so").symlink_to(library)
    os.environ["CUDA_LIB"] = str(folder)


OF_TORCH = {"fp32": "float32", "tf32": "TF32", "fp16": "float16", "bf16": "bfloat16"}
OF_PERSISTENT = {"fp32": "pairs of float16, up to 22 bits", "tf32": "float16 with a scale, 10 bits as in TF32",
                 "fp16": "float16", "bf16": "bfloat16"}
OF_TORCHRL = {"fp32": "float32", "tf32": "TF32",
              "bf16": "bfloat16 by the states, TF32 by the inputs"}  # it casts only the recurrent weights
OF_XMA = {"tf32": "TF32", "fp16": "float16, some sums in float16", "bf16": "bfloat16"}
OF_PARARNN = {"fp32": "float32", "tf32": "TF32 by the inputs, float32 by the states", "bf16": "bfloat16"}

BOTH, ONLY_BF16 = ("LSTM", "GRU"), {"bf16": "bfloat16"}
SIDES = {
    "torch.nn": Side(torch_nn, "torch", BOTH, OF_TORCH, False, True, False),
    "rnnlab auto": Side(by_rnnlab("auto"), "rnnlab", BOTH, OF_PERSISTENT, True, True, False),
    "rnnlab persistent": Side(by_rnnlab("persistent"), "rnnlab", BOTH, OF_PERSISTENT, True, True, False),
    "torchrl": Side(torchrl, "torchrl", BOTH, OF_TORCHRL, True, True, True),
    "xma": Side(xma, "xma", ("GRU",), OF_XMA, False, False, True),
    "pararnn": Side(pararnn, "pararnn", BOTH, OF_PARARNN, False, False, False),
    "flashrnn cuda_fused": Side(by_flashrnn("cuda_fused"), "flashrnn", ("LSTM",), ONLY_BF16, False, True, True),
    "flashrnn cuda": Side(by_flashrnn("cuda"), "flashrnn", ("LSTM",), ONLY_BF16, False, True, True),
    "flashrnn triton_fused": Side(by_flashrnn("triton_fused"), "flashrnn", ("LSTM",), ONLY_BF16, False, True, False),
    "haste": Side(haste, "haste_pytorch", ("LSTM",), {"tf32": "TF32"}, False, True, False),
}


def formats_of(name, precision, layer, device):
    """Returns what the side multiplies; where rnnlab took torch.nn's code, that is torch.nn's."""
    if device == "cpu" or getattr(layer, "implementation_used", "") == "torch":
        return OF_TORCH[precision]
    return SIDES[name].formats[precision]
