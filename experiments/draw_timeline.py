#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what host and GPU do in the forward pass of a recurrent layer, from traces of `rnnlab train --trace`.

    python3 experiments/draw_timeline.py naive.json fused.json -o timeline.svg
    python3 experiments/draw_timeline.py runs/timeline/*/trace.json -o timeline.svg --title "my GPU"

It takes the last complete step of each trace, and in it the operator of the recurrent layer (the range `forward` where
there is none). The upper half has all traces on one scale, the lower half the first microseconds of each (--zoom). A
trace is called as its file, or as its folder if the file is trace.json.

It prints a table: the time of the host, launches, kernels, the time in which the GPU works, the median kernel and the
median gap between two of them. Copies and fills of memory count as work of the GPU, but not as kernels.
A trace of a run on the CPU has no kernels: it gets the row of the host alone.
"""
import argparse
import json
import math
import re
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

WIDTH, MARGIN, LEFT = 960, 16, 60  # pixels: of the picture, around it, where rows begin
ROW, ROW_GAP, LINE = 18, 3, 18     # pixels: height of a row, between two, of a line of text
SPAN = WIDTH - LEFT - MARGIN
ADVANCE, FONT = 7.2, 12
BACKGROUND, EDGE, FOREGROUND, FAINT, EMPTY = "#1d2229", "#57606a", "#e6edf3", "#9aa7b4", "#2b323c"
FONTS = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace"
OPERATOR, LAUNCH = "#57697d", "#ffffff"
# Kinds of work on the GPU, the first whose expression is in the name; drawn in this order, the last on top.
KINDS = [("fills, copies, other", "#9aa7b4", r"FillFunctor|Memset|Memcpy|CatArray|pack_kernel"),
         ("all steps in one kernel", "#ff7b72", r"persistent::(forward|backward)_kernel|scan_kernel|RNN.*[Pp]ersist"),
         ("element-wise", "#e3b341", r"[Ee]lem(ent)?_?[Ww]ise|[Pp]oint_?wise"),
         ("matrix product", "#79c0ff", r"gemm|cutlass|cublas|xmma|nvjet|gemv|splitK|scal_kernel|brgemm")]
OTHER = 0
LAYER, FORWARD = "rnnlab::RecurrentLayer::forward", "forward"
MIN_WIDTH = 0.8  # pixels: so that a kernel of a microsecond is seen on a scale of milliseconds


@dataclass
class Span:
    """In microseconds from the beginning of the pass."""
    start: float
    end: float
    name: str


@dataclass
class Pass:
    label: str
    device: str
    host_time: float
    operators: list  # of the host, without those that they call
    launches: list
    work: list       # of the GPU, in order of time
    num_kernels: int

    @property
    def time(self):
        return max([self.host_time, *(span.end for span in self.work)])

    @property
    def busy(self):
        """The time in which at least one kernel runs."""
        total, reached = 0.0, 0.0
        for span in self.work:
            total += max(0.0, span.end - max(span.start, reached))
            reached = max(reached, span.end)
        return total

    @property
    def gaps(self):
        return [max(0.0, after.start - before.end) for before, after in zip(self.work, self.work[1:])]


class Mistake(Exception):
    """One that the user can mend."""


# ---- traces ----


def kind_of(name):
    return next((i for i, (_, _, words) in enumerate(KINDS) if re.search(words, name)), OTHER)


def label_of(path):
    if path.stem != "trace":
        return path.stem
    return re.sub(r"^\d{4}-\d\d-\d\dT[\d-]+Z-", "", path.resolve().parent.name)


def outermost(spans):
    found = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not found or span.start >= found[-1].end:
            found.append(span)
    return found


def is_inside(event, outer):
    same_thread = (event["pid"], event["tid"]) == (outer["pid"], outer["tid"])
    return same_thread and outer["ts"] <= event["ts"] and event["ts"] + event["dur"] <= outer["ts"] + outer["dur"]


def pass_range(events, path):
    """The recurrent layer's forward pass in the last step that the trace has completely."""
    ranges = [event for event in events if event.get("cat") == "user_annotation"]
    complete = [event for event in ranges if event.get("args", {}).get("finished", True)]
    steps = sorted((event for event in complete if event["name"] == "step"), key=lambda event: event["ts"])
    for step in reversed(steps):
        for name in (LAYER, FORWARD):
            found = [event for event in complete if event["name"] == name and is_inside(event, step)]
            if found:
                return min(found, key=lambda event: event["ts"])
    raise Mistake(f"{path}: no complete training step; write one with rnnlab train --trace, without training.cuda_graph")


def read_pass(path):
    try:
        trace = json.loads(path.read_text())
        events = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
    except OSError as error:
        raise Mistake(f"{path}: {error.strerror}")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Mistake(f"{path}: not a Chrome trace")
    outer = pass_range(events, path)

    def span(event):
        start = event["ts"] - outer["ts"]
        return Span(start, start + event["dur"], event["name"])

    inside = [event for event in events if event is not outer and is_inside(event, outer)]
    calls = {event["args"]["correlation"]: event for event in inside
             if event.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in event.get("args", {})}
    work = [event for event in events if event.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy")
            and event["args"].get("correlation") in calls]
    devices = trace.get("deviceProperties") or [{}]
    return Pass(label=label_of(path), device=devices[0].get("name", ""), host_time=outer["dur"],
                operators=outermost(span(event) for event in inside if event.get("cat") == "cpu_op"),
                launches=[span(calls[number]) for number in sorted({event["args"]["correlation"] for event in work})],
                work=sorted(map(span, work), key=lambda one: one.start),
                num_kernels=sum(event["cat"] == "kernel" for event in work))


# ---- the picture ----


def time_text(microseconds):
    if microseconds < 1000:
        return f"{microseconds:.0f} µs"
    return f"{microseconds / 1000:.1f} ms"


def tick_step(length):
    power = 10 ** math.floor(math.log10(length / 4))
    return next(factor * power for factor in (5, 2, 1) if factor * power <= length / 4)


def ceiling(length):
    """The next time that reads well: 1, 1.2, 1.5, 2, ... 8, 10."""
    power = 10 ** math.floor(math.log10(length))
    return next(factor * power for factor in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if factor * power >= length)


def number(value):
    return f"{value:.1f}".removesuffix(".0")


def text_at(x, y, text, colour=FOREGROUND, attributes=""):
    return f'<text x="{number(x)}" y="{number(y)}" fill="{colour}"{attributes}>{escape(text)}</text>'


class Panel:
    """Rows of all passes on one scale, from 0 to `length` microseconds."""

    def __init__(self, passes, length, top, heading):
        self.length, self.y, self.elements, self.row_tops = length, top, [], []
        self.add(text_at(MARGIN, self.y + 13, heading, FOREGROUND, ' font-weight="bold"'))
        self.y += LINE + 6
        for one in passes:
            self.draw_pass(one)
        self.draw_scale()

    def add(self, element):
        self.elements.append(element)

    def draw_pass(self, one):
        self.add(text_at(LEFT, self.y + 12, summary_of(one, self.length)))
        self.y += LINE
        self.draw_row("host", [(OPERATOR, one.operators, 0.5, 0), (LAUNCH, one.launches, 0, ROW * 0.5)])
        self.label_operators(one.operators)
        self.y += ROW + ROW_GAP
        if one.work:
            kinds = [[span for span in one.work if kind_of(span.name) == i] for i in range(len(KINDS))]
            self.draw_row("GPU", [(colour, spans, 0, 0) for (_, colour, _), spans in zip(KINDS, kinds)])
            self.y += ROW + ROW_GAP
        self.y += 8

    def draw_row(self, name, layers):
        """Each layer has a colour, its spans, the space after a span and that above it."""
        self.row_tops.append(self.y)
        self.add(text_at(MARGIN, self.y + 13, name, FAINT))
        self.add(f'<rect x="{LEFT}" y="{self.y}" width="{SPAN}" height="{ROW}" fill="{EMPTY}"/>')
        for colour, spans, space, above in layers:
            path = "".join(self.block(span, space, above) for span in spans if span.start < self.length)
            if path:
                self.add(f'<path fill="{colour}" d="{path}"/>')

    def block(self, span, space, above):
        start, end = self.x(span.start), self.x(min(span.end, self.length))
        width = max(end - start - space, MIN_WIDTH if end - start < MIN_WIDTH else 0.3)
        width = min(width, LEFT + SPAN - start)
        return f"M{start:.1f} {number(self.y + above)}h{width:.1f}v{number(ROW - above)}h-{width:.1f}z"

    def label_operators(self, operators):
        for span in operators:
            name = span.name.split("::")[-1]
            start, end = self.x(span.start), self.x(min(span.end, self.length))
            if end - start > len(name) * ADVANCE * 0.8 + 6:
                self.add(text_at(start + 3, self.y + 8.5, name, FOREGROUND, ' font-size="9.5"'))

    def x(self, microseconds):
        return LEFT + SPAN * microseconds / self.length

    def draw_scale(self):
        step = tick_step(self.length)
        lines, unit = "", "ms" if self.length >= 2000 else "µs"
        for i in range(int(self.length / step + 1e-6) + 1):
            x = self.x(i * step)
            value = i * step / (1000 if unit == "ms" else 1)
            anchor = "end" if x > LEFT + SPAN - 20 else "middle" if i > 0 else "start"
            lines += "".join(f"M{x:.1f} {number(top)}v{ROW}" for top in self.row_tops)
            self.add(text_at(x, self.y + 14, f"{value:,g} {unit}", FAINT, f' text-anchor="{anchor}"'))
        self.add(f'<path stroke="{EDGE}" stroke-width="0.6" stroke-dasharray="2 3" d="{lines}"/>')
        self.y += LINE + 10


def summary_of(one, length):
    if one.time > length:
        return f"{one.label}: the first {length:,.0f} µs of {time_text(one.time)}"
    parts = [f"{one.label}: {time_text(one.time)}"]
    if one.work:
        kernels = "1 kernel" if one.num_kernels == 1 else f"{one.num_kernels} kernels"
        parts.append(f"{kernels}, the GPU works {time_text(one.busy)} ({100 * one.busy / one.time:.1f} %)")
    else:
        parts.append(f"no kernels, {len(one.operators)} operators")
    return ", ".join(parts)


def legend(passes, y):
    used = {kind_of(span.name) for one in passes for span in one.work}
    entries = [(OPERATOR, "operator"), *([(LAUNCH, "launch")] if used else []),
               *((colour, name) for i, (name, colour, _) in reversed(list(enumerate(KINDS))) if i in used)]
    x, elements = MARGIN, []
    for colour, name in entries:
        elements.append(f'<rect x="{number(x)}" y="{y}" width="11" height="11" fill="{colour}"/>')
        elements.append(text_at(x + 16, y + 10, name))
        x += 16 + (len(name) + 2) * ADVANCE
    return elements


def picture(passes, title, zoom):
    longest = max(one.time for one in passes)
    elements = [text_at(MARGIN, 30, title, FOREGROUND, ' font-size="14" font-weight="bold"'), *legend(passes, 44)]
    panel = Panel(passes, 1.02 * longest, 72, "The whole pass")
    elements += panel.elements
    if zoom < longest / 2:
        panel = Panel(passes, zoom, panel.y + 6, f"The first {zoom:,.0f} µs")
        elements += panel.elements
    height = panel.y + 6
    body = "\n".join(elements)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" \
role="img" aria-label={quoteattr(title)}>
<title>{escape(title)}</title>
<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8" fill="{BACKGROUND}" stroke="{EDGE}"/>
<g font-family="{FONTS}" font-size="{FONT}">
{body}
</g>
</svg>
"""


def default_zoom(passes):
    """Somewhat more than all passes but the longest; there is no lower half if that is more than half of the longest."""
    times = sorted(one.time for one in passes)
    return ceiling(1.5 * (times[-2] if len(times) > 1 else times[-1] / 20))


# ---- the table ----


def table(passes):
    rows = [("trace", "pass us", "operators", "launches", "kernels", "GPU us", "GPU %", "kernel us", "gap us")]
    for one in passes:
        lengths = [span.end - span.start for span in one.work]
        on_gpu = ["-"] * 4 if not one.work else [f"{one.busy:.1f}", f"{100 * one.busy / one.time:.1f}",
                                                  f"{statistics.median(lengths):.1f}",
                                                  f"{statistics.median(one.gaps or [0]):.1f}"]
        rows.append((one.label, f"{one.time:.1f}", str(len(one.operators)), str(len(one.launches)),
                     str(one.num_kernels), *on_gpu))
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))])
                     for row in rows)


def distinct(paths):
    """A pattern such as runs/timeline/*/trace.json names the newest run twice: `latest` is a link to it."""
    found = {}
    for path in paths:
        found.setdefault(path.resolve(), path)
    return list(found.values())


def positive(text):
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"got '{text}', expected a number of microseconds above 0")
    return value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", type=Path, metavar="TRACE", help="a trace.json of a run")
    parser.add_argument("-o", "--out", required=True, metavar="FILE", help="the picture to write")
    parser.add_argument("--title", metavar="TEXT", help="the heading; by default the name of the GPU")
    parser.add_argument("--zoom", type=positive, metavar="US", help="what the lower half shows, in microseconds")
    arguments = parser.parse_args()
    try:
        passes = [read_pass(path) for path in distinct(arguments.traces)]
    except Mistake as mistake:
        sys.exit(str(mistake))
    device = next((one.device for one in passes if one.work and one.device), "CPU")
    title = arguments.title or f"Forward pass of a recurrent layer, {device}"
    with open(arguments.out, "w", encoding="utf-8") as file:
        file.write(picture(passes, title, arguments.zoom or default_zoom(passes)))
    print(table(passes))


if __name__ == "__main__":
    main()
