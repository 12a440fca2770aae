#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares one recurrent layer of rnnlab with torch.nn's and with those of other projects, if they are installed.

usage: pytorch_peers.py OUT.jsonl [--processes N] [--seconds 240] [--wheels DIR]
                        [--sizes 768/16/1024,...] [--cells LSTM,GRU] [--sides torch.nn,torchrl,...]

A size is hidden units / sequences / steps; the input size equals the hidden size. Without --sizes each peer has its own
(PLAN), and torch.nn and rnnlab have all of them. A row is a line of OUT.jsonl and of the output as soon as it is
measured: cell, size, precision, side, and

  formats     what the side multiplies, for example bfloat16. fp32, tf32, fp16 and bf16 are what a program asks for: the
              type of weights and inputs, and whether TF32 is allowed. Nothing is under autocast.
  resets      the share of steps before which states are zero, at 256/128/64: rnnlab's starts, torchrl's is_init
  way         eager, or the replay of a CUDA graph; for forward alone and for forward and backward with all gradients
  difference  the largest of the output from torch.nn's in float32; none where the layer computes other equations

Each side of each case is a process of its own, with a time limit. Beside the one that measures, others compile kernels
(--builders), because Triton's choices take minutes. What --seconds did not reach is named at the end.

Peers, each without its dependencies; a side whose package is missing is one line, "not installed":
  torchrl   0.14.1: GRU and LSTM of Triton, with resets. Only its files of kernels are imported.
  xma       GRU of github.com/open-lm-engine/accelerated-model-architectures, with the reset gate before the product
  pararnn   pararnn-torch: GRU and LSTM whose states read only themselves, all steps at once by Newton's method
  flashrnn  LSTM. Its backends cuda and cuda_fused compile with nvcc and ninja; it also needs einops and packaging.
            RNNLAB_FLASHRNN_PARAMETERS names a file of known sizes for cuda_fused (pytorch_peer_sides.py)
  haste     haste_pytorch; MAKEFLAGS=e GPU_ARCH_FLAGS=-arch=sm_90 pip install --no-deps --no-build-isolation
--wheels names a folder of .whl files, which are unpacked into a temporary folder; nothing is installed.
"""

import argparse
import collections
import importlib.machinery
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

Job = collections.namedtuple("Job", "side cell size part num_parts precisions", defaults=(0, 0, ()))

PLAN = (  # cells, size and peers, the most wanted first
    (("LSTM",), "768/16/1024", ("flashrnn cuda_fused",)),
    (("LSTM",), "512/64/100", ("flashrnn cuda_fused",)),
    (("GRU",), "64/16/1024", ("xma",)),
    (("GRU", "LSTM"), "256/128/64", ("torchrl",)),
    (("GRU", "LSTM"), "256/8/1024", ("pararnn",)),
)
OWN_SIDES = ("torch.nn", "rnnlab auto", "rnnlab persistent")
SHARE_OF_RESETS, SIZES_WITH_RESETS = 0.01, ("256/128/64",)
SECONDS_OF_JOB, SECONDS_OF_NUMBER = 60, 0.15
SECONDS_OF_LAST = 60  # before the end, jobs no longer wait for all of their builds
NUM_PARTS = 6  # of a build: each compiles every sixth choice of Triton's autotuner


def jobs_of(arguments):
    """Returns the jobs of one round: peers' sizes, or every side at the sizes and cells that were asked for."""
    from pytorch_peer_sides import SIDES

    wanted = arguments.sides or [*OWN_SIDES, *dict.fromkeys(side for _, _, peers in PLAN for side in peers)]
    if arguments.sizes:
        plan = [(arguments.cells or ["LSTM", "GRU"], size, wanted) for size in arguments.sizes]
    else:
        plan = [(cells, size, [*OWN_SIDES, *peers]) for cells, size, peers in PLAN]
    return [Job(side, cell, size) for cells, size, sides in plan for cell in cells for side in sides
            if side in wanted and cell in SIDES[side].cells and (not arguments.cells or cell in arguments.cells)]


def builds_of(jobs):
    """Returns what builders compile for the jobs, the longest last."""
    from pytorch_peer_sides import SIDES

    builds = []
    for job in (job for job in jobs if SIDES[job.side].needs_build):
        num_parts = 1 if job.side.startswith("flashrnn") else NUM_PARTS
        precisions = sorted(SIDES[job.side].formats, key=lambda name: name == "fp32")  # the slowest to compile
        builds += [job._replace(part=part, num_parts=num_parts, precisions=(precision,))
                   for precision in precisions for part in range(num_parts)]
    return sorted(builds, key=lambda build: (build.precisions == ("fp32",), build[:2] == ("torchrl", "LSTM")))


# What a process of its own does: it reads a job, and prints rows.

def seconds_of(work, device):
    """Returns the median seconds of a pass and the number of repetitions."""
    import torch

    def timed():
        began = time.perf_counter()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - began

    first = [timed() for _ in range(3)]
    count = max(5, min(100, int(SECONDS_OF_NUMBER / min(first))))
    if device == "cpu":
        return statistics.median(timed() for _ in range(count)), count
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
    for begin, end in events:
        begin.record()
        work()
        end.record()
    torch.cuda.synchronize()
    return statistics.median(begin.elapsed_time(end) for begin, end in events) / 1000, count


def passes_of(work):
    """Returns functions that compute forward, and forward and backward."""
    import torch

    with torch.no_grad():
        gradient = torch.ones_like(work.outputs())

    def forward():
        with torch.no_grad():
            return work.outputs()

    def both():
        for tensor in work.leaves:
            tensor.grad = None
        work.outputs().backward(gradient)

    return {"forward": forward, "forward and backward": both}


def reason_of(error):
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[-1][:200]}"


def cases_of(job):
    from pytorch_peer_sides import SIDES, Case

    side = SIDES[job.side]
    sizes = tuple(map(int, job.size.split("/")))
    has_resets = side.has_resets and job.size in SIZES_WITH_RESETS and not job.num_parts
    shares = (0, SHARE_OF_RESETS) if has_resets else (0,)
    precisions = job.precisions or side.formats
    return [Case(job.cell, *sizes, precision, share) for precision in precisions for share in shares]


def measured(job, case, device):
    """Yields rows of eager passes and, last, a function that yields those of graphs: a failed capture spoils others."""
    from pytorch_layers import captured
    from pytorch_peer_sides import SIDES, formats_of, reference_of, set_precision

    side = SIDES[job.side]
    row = dict(cell=job.cell, size=job.size, precision=case.precision, side=job.side, resets=case.resets)
    try:
        reference = reference_of(case, device) if side.is_same else None
        set_precision(case.precision)
        work = side.make(case, device)
        passes = passes_of(work)
        passes["forward and backward"]()
        output = passes["forward"]()
    except (Exception, SystemExit) as error:  # whatever a peer raises is its reason
        yield dict(row, missing=reason_of(error))
        return
    difference = None if reference is None else (output.float() - reference).abs().max().item()
    row.update(formats=formats_of(job.side, case.precision, work.layer, device), difference=difference,
               results=str(output.dtype).removeprefix("torch."), used=getattr(work.layer, "implementation_used", None))

    def rows_of(way):
        set_precision(case.precision)
        for name, compute in passes.items():
            try:
                seconds, count = seconds_of(captured(compute) if way == "graph" else compute, device)
                yield dict(row, way=way, passes=name, milliseconds=1000 * seconds, repetitions=count)
            except Exception as error:
                yield dict(row, way=way, passes=name, missing=reason_of(error))

    yield from rows_of("eager")
    if device == "cuda":
        yield lambda: rows_of("graph")


def compile_only(part, num_parts):
    """Lets Triton's autotuner compile a part of its choices into the cache on disk, and launch none of them."""
    from triton.runtime.autotuner import Autotuner

    def run(self, *args, grid=(1,), warmup=False, **options):
        self.nargs = dict(zip(self.arg_names, args))
        for number, choice in enumerate(self.prune_configs(options)):
            if number % num_parts == part:
                try:
                    self.fn.warmup(*args, grid=grid, **options, **choice.all_kwargs())
                except Exception as error:
                    print(reason_of(error), file=sys.stderr)
        self.nargs = None

    Autotuner.run = run


def run_job(job, device):
    """Prints the rows of a job; a build prints none."""
    from pytorch_peer_sides import SIDES, set_precision

    if job.num_parts > 1:
        compile_only(job.part, job.num_parts)
    graphs = []
    for case in cases_of(job):
        if device == "cpu" and case.precision in ("tf32", "fp16"):
            continue
        if job.num_parts:
            set_precision(case.precision)
            for compute in passes_of(SIDES[job.side].make(case, device)).values():
                compute()
            continue
        for row in measured(job, case, device):
            graphs.append(row) if callable(row) else print(json.dumps(row), flush=True)
    for rows in graphs:
        for row in rows():
            print(json.dumps(row), flush=True)


def wait_for_job(device):
    """Imports torch, which takes seconds, before the job is known."""
    import torch

    if device == "cuda":
        torch.cuda.init()
    line = sys.stdin.readline()
    if not line:
        return
    *start, precisions = json.loads(line)
    job = Job(*start, tuple(precisions))
    if job.num_parts:
        os.nice(10)
    run_job(job, device)
    print("done", flush=True)
    os._exit(0)  # a peer's end cannot hang


# What the program does: it starts processes, and saves what they print.

class Process:
    """A process that waits for its job."""

    alive = set()

    def __init__(self, device):
        self.alive.add(self)
        self.errors = tempfile.TemporaryFile("w+")
        command = [sys.executable, __file__, "-", "--one-process", "--device", device]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        text=True, start_new_session=True)

    def kill(self):
        self.alive.discard(self)
        try:
            os.killpg(self.process.pid, 9)
        except ProcessLookupError:
            pass

    def rows(self, job, seconds):
        """Yields the rows of the job as they come; the last is a reason if it did not end in time or failed."""
        timer = threading.Timer(max(seconds, 0), self.kill)
        timer.start()
        began, is_done = time.monotonic(), False
        try:
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.close()
        except OSError:
            pass
        for line in self.process.stdout:
            is_done = is_done or line.strip() == "done"
            if line.startswith("{"):  # peers print what they compile
                yield json.loads(line)
        self.process.wait()
        timer.cancel()
        self.kill()  # what it started, too
        if not is_done:
            reason = self.reason(time.monotonic() - began, seconds)
            yield dict(cell=job.cell, size=job.size, side=job.side, missing=reason)

    def reason(self, passed, seconds):
        if passed >= seconds - 0.5:
            return f"it was stopped after {seconds:.0f} s"
        self.errors.seek(0)
        lines = [line.strip() for line in self.errors if line.strip()]
        return lines[-1][:200] if lines else f"it ended with exit code {self.process.returncode}"


class Builders:
    """Threads that run builds, each in a process. A job waits for its builds."""

    def __init__(self, builds, count, device, deadline):
        self.waiting, self.ends = list(builds), {build: threading.Event() for build in builds}
        self.deadline, self.device, self.lock = deadline, device, threading.Lock()
        for _ in range(min(count, len(builds))):
            threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            with self.lock:
                if not self.waiting:
                    return
                build = self.waiting.pop(0)
            left = self.deadline - time.monotonic()
            if left > 10:
                for row in Process(self.device).rows(build, left):
                    print(f"build of {case_of(row)}: {row['missing']}", file=sys.stderr, flush=True)
            self.ends[build].set()

    def ready(self, job):
        """Returns the job with the precisions that are built, or None if it should wait for more.

        It waits for all but fp32, which is the least wanted and takes long, until little time is left.
        """
        ends = {}
        for build, end in self.ends.items():
            if build[:3] == job[:3]:
                ends.setdefault(build.precisions[0], []).append(end.is_set())
        if not ends:
            return job
        built = tuple(precision for precision, parts in ends.items() if all(parts))
        has_time = self.deadline - time.monotonic() > SECONDS_OF_LAST
        return job._replace(precisions=built) if built and (not has_time or not set(ends) - {*built, "fp32"}) else None


def unpacked(folder):
    """Unpacks the wheels of a folder, and returns where; their programs are found by PATH."""
    target = pathlib.Path(tempfile.mkdtemp(prefix="peers-"))
    for wheel in sorted(pathlib.Path(folder).glob("*.whl")):
        zipfile.ZipFile(wheel).extractall(target)
    for scripts in target.glob("*.data/scripts"):
        for script in scripts.iterdir():
            script.chmod(0o755)
        os.environ["PATH"] = f"{scripts}:{os.environ['PATH']}"
    return target


def prepare_environment(arguments):
    folder = tempfile.mkdtemp(prefix="peers-built-")
    for name in ("TORCH_EXTENSIONS_DIR", "TRITON_CACHE_DIR"):
        os.environ.setdefault(name, folder)
    if arguments.wheels:
        paths = [str(unpacked(arguments.wheels)), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = ":".join(paths)
        sys.path.insert(0, paths[0])


def without_missing(jobs):
    """Prints a line for each side whose package is not installed, and returns the jobs of the others."""
    from pytorch_peer_sides import SIDES

    missing = [side for side in dict.fromkeys(job.side for job in jobs)
               if importlib.machinery.PathFinder.find_spec(SIDES[side].package) is None]
    for side in missing:
        print(f"{side}: not installed", flush=True)
    return [job for job in jobs if job.side not in missing]


def rows_of_round(jobs, builders, device, deadline):
    """Yields the rows of all jobs as they come, then the jobs that the time did not reach."""
    jobs, spare = list(jobs), Process(device)
    while jobs and time.monotonic() < deadline - 8:
        job, ready = next(((job, ready) for job in jobs if (ready := builders.ready(job))), (None, None))
        if job is None:
            time.sleep(0.5)
            continue
        jobs.remove(job)
        process, spare = spare, Process(device)  # the next one imports torch meanwhile
        yield from process.rows(ready, min(SECONDS_OF_JOB, deadline - time.monotonic() - 4))
    spare.kill()
    for job in jobs:
        yield dict(cell=job.cell, size=job.size, side=job.side, missing="not reached in time")


def case_of(row):
    resets = f"resets {row['resets']}" if row.get("resets") else ""
    return (f"{row['cell']:4} {row['size']:12} {row.get('precision', ''):4} {row['side']:21} {row.get('way', ''):5} "
            f"{row.get('passes', ''):20} {resets:11}")


def result_of(row):
    if "missing" in row:
        return f"missing: {row['missing']}"
    difference = "" if row["difference"] is None else f", differs by {row['difference']:.1e}"
    used = f" ({row['used']})" if row["used"] else ""
    return f"{row['milliseconds']:9.4f} ms, {row['formats']}{used}{difference}"


def summary_of(rows):
    """Yields a line a case: the median over the processes, the smallest and the largest."""
    by_case = {}
    for row in (row for row in rows if "missing" not in row):
        by_case.setdefault(case_of(row), []).append(row["milliseconds"])
    for case, values in by_case.items():
        yield f"{case} {statistics.median(values):9.4f} ms ({min(values):.4f} .. {max(values):.4f})"


def parsed_arguments():
    def listed(text):
        return [part for part in text.split(",") if part]

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--processes", type=int, default=1, help="of each side")
    parser.add_argument("--seconds", type=float, default=240, help="for each round of one process of each side")
    parser.add_argument("--sizes", type=listed, help="hidden units / sequences / steps, separated by commas")
    parser.add_argument("--cells", type=listed, help="LSTM, GRU")
    parser.add_argument("--sides", type=listed, help="separated by commas; pytorch_peer_sides.py lists them")
    parser.add_argument("--builders", type=int, default=max(1, (os.cpu_count() or 1) - 4))
    parser.add_argument("--wheels", help="a folder of the peers' wheels")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--one-process", action="store_true", help=argparse.SUPPRESS)
    return parser, parser.parse_args()


def main():
    parser, arguments = parsed_arguments()
    if arguments.one_process:
        wait_for_job(arguments.device)
        return
    began = time.monotonic()
    prepare_environment(arguments)
    from pytorch_peer_sides import SIDES

    unknown = [side for side in arguments.sides or () if side not in SIDES]
    if unknown:
        parser.error(f"unknown side {unknown[0]!r}; the sides are {', '.join(SIDES)}")
    jobs, rows = without_missing(jobs_of(arguments)), []
    with open(arguments.out, "w", encoding="utf-8") as file:
        for number in range(arguments.processes):
            deadline = began + (number + 1) * arguments.seconds
            builds = builds_of(jobs) if number == 0 and arguments.device == "cuda" else []
            builders = Builders(builds, arguments.builders, arguments.device, deadline)
            for row in rows_of_round(jobs, builders, arguments.device, deadline):
                rows.append(dict(row, process=number))
                file.write(json.dumps(rows[-1]) + "\n")
                file.flush()
                print(f"process {number}: {case_of(row)} {result_of(row)}", flush=True)
    if arguments.processes > 1:
        print("\n".join(summary_of(rows)), flush=True)
    for process in list(Process.alive):  # builders may still compile
        process.kill()
    os._exit(0)


if __name__ == "__main__":
    main()
