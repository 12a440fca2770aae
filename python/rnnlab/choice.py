# SPDX-License-Identifier: Apache-2.0
"""What decides which code computes a layer: where only torch.nn's can, which is fastest, and the types of the results."""

from __future__ import annotations

import contextlib
import functools
import logging
import math
import threading
import time
import warnings
from typing import TYPE_CHECKING

import torch
from torch.autograd import forward_ad
from torch.utils._python_dispatch import _disable_current_modes, _get_current_dispatch_mode

from . import measured
from .measured import Choice, Work

if TYPE_CHECKING:
    from collections.abc import Callable

# Not "cudnn", because torch.nn runs cuDNN too. In float32 without TF32, "persistent" computes small factors with fewer
# digits than cuDNN does, so only a program that names it gets it, as in experiment files.
_CANDIDATES = {"cuda": ("torch", "persistent"), "cuda float32": ("torch",), "cpu": ("torch", "blocked", "hoisted")}
_WARMUP_PASSES = 2
_LEAST_ROUNDS, _MOST_ROUNDS = 4, 40
_LONG_ENOUGH = 0.03  # seconds after which the least number of rounds is enough
_TOO_LONG = 1.0  # seconds after which no further round is timed
_CYCLES_OF_SECOND = 2e9  # of a GPU, or a few fewer
_LONGEST_SLEEP = 0.05  # seconds
_16_BIT = (torch.bfloat16, torch.float16)

_measuring = threading.Lock()  # a measurement beside another would time both
_result_types: dict[tuple, torch.dtype | None] = {}  # None: torch.nn cannot compute it


def is_compiling() -> bool:
    return torch.compiler.is_compiling()


def is_exporting() -> bool:
    """Whether torch.export traces. torch.compiler.is_exporting() is also true where torch.compile traces."""
    return getattr(torch.compiler, "_is_exporting_flag", False)


def is_in_forward_mode() -> bool:
    """Whether a level of forward-mode differentiation is open, for which oneDNN's LSTM has no derivative."""
    return forward_ad._current_level >= 0


def needs_torch() -> bool:
    """Whether PyTorch transforms the call in a way that only its own operators support.

    These are torch.func's transforms (grad, vmap ...), forward-mode derivatives, and torch.jit.trace, which the older
    ONNX export uses.
    """
    if is_compiling():
        return False
    is_transformed = torch._C._functorch.peek_interpreter_stack() is not None
    return is_transformed or is_in_forward_mode() or torch.jit.is_tracing()


def _keys() -> int:
    return torch._C._dispatch_tls_local_include_set().raw_repr()


with torch.inference_mode():
    _plain_keys = [_keys()]
_plain_keys.append(_keys())


def _is_captured(data: torch.Tensor) -> bool:
    return data.is_cuda and torch.cuda.is_current_stream_capturing()


def _is_on_own_stream(data: torch.Tensor) -> bool:
    """Whether a stream of the program's own is current, where programs warm up what a CUDA graph captures next."""
    return data.is_cuda and torch._C._cuda_getCurrentRawStream(data.get_device()) != 0


def state_of_gpu(data: torch.Tensor) -> tuple[bool, bool, bool] | None:
    """What a choice depends on where the data are on a GPU, and which is cheap to ask for."""
    if not data.is_cuda:
        return None
    is_on_own_stream = _is_on_own_stream(data)
    return runs_tf32(), is_on_own_stream, is_on_own_stream and _is_captured(data)


def is_plain_call(data: torch.Tensor) -> bool:
    """Whether nothing changes how PyTorch computes: no mode, transform or trace, no capture, nothing deterministic."""
    return (forward_ad._current_level < 0 and _keys() in _plain_keys
            and not torch.are_deterministic_algorithms_enabled()
            and not _is_captured(data))


def gradients_of(data: torch.Tensor, states, weights) -> tuple[str, ...]:
    """Returns of what a call needs gradients. A pass that needs more of them takes longer, each code by its own factor."""
    if not torch.is_grad_enabled():
        return ()
    sources = {"weights": weights, "input": [data], "states": states}
    return tuple(name for name, tensors in sources.items() if any(tensor.requires_grad for tensor in tensors))


def backward_of_measured(output, gradients: tuple[str, ...], **sources: list) -> None:
    """Computes the gradients of a pass that is measured. sources: tensors by the names of what may need them."""
    wanted = [tensor for name in gradients for tensor in sources[name] if tensor.requires_grad]
    if wanted:
        torch.autograd.grad(output.sum(), wanted)


def fastest_for(kind: tuple, size: tuple[int, int], data: torch.Tensor, number_type: torch.dtype,
                names: tuple[str, ...], unmeasured: str, time_pass) -> str:
    """Returns the fastest of the implementations `names` for work of this kind and size, which is measured once.

    kind: the fields of Work before `device`. size: steps and sequences. time_pass(implementation): computes a pass of it.
    While torch.compile traces, the last answer for work of this kind is taken: a size may be unknown there, and nothing
    can be measured, as while a CUDA graph is captured or tensors are fake. Without an answer, `unmeasured` is taken. A
    program that torch.export makes has it, too: if it is torch.nn's code, the program runs without rnnlab. Nothing is
    measured where PyTorch is to be deterministic: the first of `names` is taken.

    A graph's replay takes no time of the host, so what it captures has a choice of its own. It is measured in the calls
    on a stream of the program's own, with which programs warm up; without them, the choice of other calls is taken.
    """
    if is_exporting():
        return unmeasured
    if len(names) == 1 or torch.are_deterministic_algorithms_enabled():
        return names[0]
    kind = (*kind, data.device, data.dtype, number_type, names)
    if is_compiling():
        return _last_answer(kind, unmeasured)
    work = Work(*kind, *map(_rounded, size))
    of_graph = work._replace(is_captured=True)
    if _is_captured(data):
        return measured.find(of_graph) or measured.find(work) or unmeasured
    if _can_measure(data):
        _measure_once(work, data, time_pass)
        if _is_on_own_stream(data):
            _measure_once(of_graph, data, time_pass)
    return measured.find(work) or unmeasured


def _measure_once(work: Work, data: torch.Tensor, time_pass) -> None:
    if measured.find(work) is not None:
        return
    with _measuring:
        if measured.find(work) is None:
            measured.add(_measure(work, data, time_pass))


@torch.compiler.assume_constant_result  # what is compiled keeps its choice, though later calls measure other sizes
def _last_answer(kind: tuple, unmeasured: str) -> str:
    return measured.last_for_compiled(kind) or unmeasured


def _can_measure(data: torch.Tensor) -> bool:
    return type(data) in (torch.Tensor, torch.nn.Parameter) and _get_current_dispatch_mode() is None


def _rounded(count: int) -> int:
    """Returns the next power of two: work of nearly the same size is measured once."""
    return 1 << (count - 1).bit_length()


def _measure(work: Work, data, time_pass) -> Choice:
    """Times the candidates in turns; the shortest pass of each counts, because other work can only lengthen one."""
    passes = {name: functools.partial(time_pass, name) for name in work.candidates}
    able = {name: timed for name, one in passes.items() if (timed := _timed(one, work, data)) is not None}
    seconds = dict.fromkeys(work.candidates, math.inf)
    began = time.perf_counter()
    for number in range(1, _MOST_ROUNDS + 1):
        for name, timed in able.items():
            seconds[name] = min(seconds[name], timed())
        so_far = time.perf_counter() - began
        if so_far > _TOO_LONG or (number >= _LEAST_ROUNDS and so_far > _LONG_ENOUGH):
            break
    choice = Choice(work, min(seconds, key=lambda name: seconds[name]), seconds)
    logging.getLogger("rnnlab").info("auto: %s", choice)
    return choice


def _timed(one_pass: Callable[[], None], work: Work, data) -> Callable[[], float] | None:
    """Warms up: kernels are compiled and loaded. Returns what times a pass, or None if it cannot run here."""
    try:
        for _ in range(_WARMUP_PASSES):
            seconds = _seconds_of(one_pass, data)
    except (ValueError, RuntimeError):
        return None
    if work.is_captured:
        return functools.partial(_seconds_on_gpu, one_pass, data, 2 * seconds)
    return functools.partial(_seconds_of, one_pass, data)


def _seconds_of(one_pass: Callable[[], None], data) -> float:
    began = time.perf_counter()
    one_pass()
    if data.is_cuda:
        torch.cuda.synchronize(data.device)
    return time.perf_counter() - began


def _seconds_on_gpu(one_pass: Callable[[], None], data, head_start: float) -> float:
    """The GPU sleeps until the whole pass is queued, and then computes it as the replay of a graph does.

    A capture would be no better: it fails if another thread draws random numbers on the GPU meanwhile.
    """
    with torch.cuda.device(data.device):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(int(_CYCLES_OF_SECOND * min(head_start, _LONGEST_SLEEP)))
        begin.record()
        one_pass()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1e3


@torch.compiler.assume_constant_result  # torch.compile cannot trace the flag; what is compiled keeps its value
def runs_tf32() -> bool:
    return torch.backends.cudnn.rnn.fp32_precision == "tf32"  # type: ignore[attr-defined]


def candidates_for(device, number_type, features: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the implementations of the cells of torch.nn that are measured."""
    is_exact = device.type == "cuda" and number_type == torch.float32 and not runs_tf32()
    names = _CANDIDATES["cuda float32" if is_exact else device.type]
    return tuple(dict.fromkeys([*names[1:], "hoisted"])) if features else names  # torch.nn's code has no features


def precision_of(device, number_type) -> str:
    """Returns the name of the arithmetic, as `precision` in experiment files."""
    if number_type in _16_BIT:
        return "bf16" if number_type == torch.bfloat16 else "fp16"
    return "tf32" if device.type == "cuda" and number_type == torch.float32 and runs_tf32() else "fp32"


def autocast_type(device: torch.device) -> torch.dtype | None:
    return torch.get_autocast_dtype(device.type) if torch.is_autocast_enabled(device.type) else None


def types_of_pass(mode: str, data, weight, state, lengths) -> tuple[torch.dtype | None, torch.dtype]:
    """Returns the type in which products are computed, None without autocast, and the type of the results.

    lengths: of packed sequences, or None. Under autocast the results have the type that torch.nn gives them, which
    follows no simple rule: for a GRU on a CPU it is float32, cuDNN's layers give float16 even if bfloat16 was asked for,
    and torch 2.15 treats packed sequences of one length as whole ones. Products are computed in that type if it has 16
    bits, so that the results also have torch.nn's digits.
    """
    asked = autocast_type(data.device)
    if asked is None:
        return None, data.dtype
    batch_sizes = () if lengths is None else (1, 1) if bool((lengths == lengths[0]).all()) else (2, 1)
    found = _result_type_of_torch(mode, data.device.type, asked, data.dtype, weight.dtype, state.dtype, batch_sizes)
    return (found if found in _16_BIT else asked), found or asked


@torch.compiler.assume_constant_result  # torch.compile cannot trace a dictionary that changes
def _result_type_of_torch(mode, device, asked, data_type, weight_type, state_type, batch_sizes):
    """Returns the type of torch.nn's results under autocast; None if it raises. Asked once, of a tiny layer.

    batch_sizes: of the packed sequences that it computes; () if they are whole.
    """
    key = (mode, device, asked, data_type, weight_type, state_type, batch_sizes)
    if key not in _result_types:
        if device == "cuda" and torch.cuda.is_current_stream_capturing():
            return None
        with _disable_current_modes(), contextlib.suppress(RuntimeError):
            _result_types[key] = _type_of_tiny_pass(*key)
    return _result_types.setdefault(key, None)


def _type_of_tiny_pass(mode, device, asked, data_type, weight_type, state_type, batch_sizes) -> torch.dtype:
    weights = [torch.zeros(size, device=device, dtype=weight_type) for size in _tiny_shapes(mode)]
    shape, num_sequences = ((sum(batch_sizes), 1), batch_sizes[0]) if batch_sizes else ((2, 1, 1), 1)
    data = torch.zeros(shape, device=device, dtype=data_type)
    state = torch.zeros(1, num_sequences, 1, device=device, dtype=state_type)
    hidden = (state, state) if mode == "LSTM" else state
    options = (weights, True, 1, 0.0, False, False)
    arguments = (data, torch.tensor(batch_sizes), hidden, *options) if batch_sizes else (data, hidden, *options, False)
    with torch.no_grad(), torch.autocast(device, dtype=asked, cache_enabled=False), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cuDNN's layer warns of weights that are not in one block of memory
        return getattr(torch._VF, mode.lower())(*arguments)[0].dtype


def _tiny_shapes(mode):
    num_gates = {"LSTM": 4, "GRU": 3}.get(mode, 1)
    return [(num_gates, 1), (num_gates, 1), (num_gates,), (num_gates,)]
