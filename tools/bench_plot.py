"""Plots of one workload as SVG, without any library. Used by bench_report.py.

Bars, or lines where a single parameter has four values or more. Every text has a row or column of
its own, so that nothing overlaps. The colours follow the reader's light or dark mode.
"""
import math
from html import escape

WIDTH = 760
MARGIN = 16
ROW = 22            # a bar and its label
CHARACTER = 6.8     # about the width of one, at 12 px
VALUE_COLUMN = 150  # right of the longest bar: the figure and the ratio
LINE_HEIGHT = 220   # of the area of a line plot

STYLE = """<style>
  text { font: 12px system-ui, sans-serif; fill: #24292f; }
  .title { font-size: 14px; font-weight: 600; }
  .faint { fill: #57606a; }
  .end { text-anchor: end; }
  .middle { text-anchor: middle; }
  .page { fill: #ffffff; }
  .grid { stroke: #d0d7de; stroke-width: 1; }
  .best { stroke: #24292f; stroke-width: 2; }
  .fill-reference { fill: #8c959f; } .line-reference { stroke: #8c959f; }
  .fill-takt { fill: #0969da; } .line-takt { stroke: #0969da; }
  .fill-0 { fill: #d4761c; } .line-0 { stroke: #d4761c; }
  .fill-1 { fill: #2da187; } .line-1 { stroke: #2da187; }
  .fill-2 { fill: #a05cc5; } .line-2 { stroke: #a05cc5; }
  .fill-3 { fill: #b8424f; } .line-3 { stroke: #b8424f; }
  .line { fill: none; stroke-width: 2; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .faint { fill: #9198a1; } .page { fill: #0d1117; }
    .grid { stroke: #30363d; } .best { stroke: #e6edf3; }
    .fill-takt { fill: #4493f8; } .line-takt { stroke: #4493f8; }
  }
</style>"""


def short(value):
    """1000 -> 1k, 1000000 -> 1M."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if value >= size and value % size == 0:
            return f"{value // size}{letter}"
    return f"{value}"


def figure(value):
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def text(x, y, content, css=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{css}">{escape(content)}</text>'


def colours(workload):
    """A class suffix per competitor: takt stands out, the reference is grey."""
    chosen, others = {}, 0
    for name in workload["competitors"]:
        if name.startswith("takt"):
            chosen[name] = "takt"
        elif name == workload["reference"]:
            chosen[name] = "reference"
        else:
            chosen[name] = str(others % 4)
            others += 1
    return chosen


def results_of(case, metric):
    return [r for r in case["results"] if r["metric"] == metric["name"]]


def heading(metric, y):
    words = f"{metric['name']} in {metric['unit']}"
    return (text(MARGIN, y, words, "title")
            + text(MARGIN + len(words) * 8 + 10, y, f"{metric['better']} is better", "faint"))


def scale_of(workload, metric):
    """The largest figure, for the axis; never 0."""
    figures = [r["median"] for case in workload["cases"] for r in results_of(case, metric)]
    return max([f for f in figures if f > 0], default=1.0)


def bars(workload, metric, y):
    """Horizontal bars, grouped by setting. Returns the elements and the y below them."""
    colour = colours(workload)
    left = MARGIN + max(len(name) for name in workload["competitors"]) * CHARACTER + 10
    room = WIDTH - MARGIN - VALUE_COLUMN - left
    largest = scale_of(workload, metric)
    parts = [heading(metric, y + 14)]
    y += 28
    for case in workload["cases"]:
        if case["parameters"]:
            label = ", ".join(f"{name} = {short(value)}" for name, value in case["parameters"].items())
            parts.append(text(MARGIN, y + 15, label, "faint"))
            y += ROW
        for result in results_of(case, metric):
            length = max(0.0, result["median"]) / largest * room
            best = left + min(max(0.0, result["best"]) / largest, 1.0) * room
            label = figure(result["median"])
            if "ratio" in result and result["competitor"] != workload["reference"]:
                label += f"   ({result['ratio']['median']:.2f}x)"
            parts += [
                text(left - 8, y + 15, result["competitor"], "end"),
                f'<rect x="{left:.1f}" y="{y + 3}" width="{length:.1f}" height="{ROW - 6}" rx="2" '
                f'class="fill-{colour[result["competitor"]]}"/>',
                f'<line x1="{best:.1f}" x2="{best:.1f}" y1="{y + 3}" y2="{y + ROW - 3}" class="best"/>',
                text(left + length + 8, y + 15, label)]
            y += ROW
        y += 6
    return parts, y + 10


def legend(workload, y):
    parts, x = [], MARGIN
    colour = colours(workload)
    for name in workload["competitors"]:
        width = 24 + len(name) * CHARACTER + 18
        if x + width > WIDTH - MARGIN and x > MARGIN:
            x, y = MARGIN, y + ROW
        parts += [f'<rect x="{x:.1f}" y="{y + 4}" width="14" height="14" rx="2" class="fill-{colour[name]}"/>',
                  text(x + 20, y + 16, name)]
        x += width
    return parts, y + ROW + 6


def tick_of(largest):
    """The step of an axis of four steps: 1, 2, 2.5 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(largest / 4))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power * 4 >= largest)


def lines(workload, metric, y):
    """A line per competitor; the values of the parameter at equal distances."""
    colour = colours(workload)
    parameter = next(iter(workload["cases"][0]["parameters"]))
    largest = 4 * tick_of(scale_of(workload, metric))
    left, right = MARGIN + 52, WIDTH - MARGIN - 24
    top = y + 30
    bottom = top + LINE_HEIGHT
    step = (right - left) / (len(workload["cases"]) - 1)
    parts = [heading(metric, y + 14)]
    for i in range(5):
        at = bottom - LINE_HEIGHT * i / 4
        parts += [f'<line x1="{left}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}" class="grid"/>',
                  text(left - 8, at + 4, figure(largest * i / 4), "end faint")]
    series = {}
    for i, case in enumerate(workload["cases"]):
        parts.append(text(left + step * i, bottom + 18, short(case["parameters"][parameter]), "middle faint"))
        for result in results_of(case, metric):
            height = min(max(0.0, result["median"]) / largest, 1.0) * LINE_HEIGHT
            series.setdefault(result["competitor"], []).append((left + step * i, bottom - height))
    for name, points in series.items():
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        parts.append(f'<polyline points="{path}" class="line line-{colour[name]}"/>')
        parts += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3.5" class="fill-{colour[name]}"/>' for px, py in points]
    parts.append(text((left + right) / 2, bottom + 36, parameter, "middle faint"))
    return parts, bottom + 54


def svg(workload):
    """The whole picture of a workload that bench_report.parse has checked."""
    as_lines = len(workload["cases"]) >= 4 and len(workload["cases"][0]["parameters"]) == 1
    parts, y = [], MARGIN
    if as_lines:
        parts, y = legend(workload, y)
    for metric in workload["metrics"]:
        drawn, y = (lines if as_lines else bars)(workload, metric, y)
        parts += drawn
    note = "median of the rounds" if as_lines else (
        f"bar: median of the rounds; mark: the best one; (x): times ahead of {workload['reference']}")
    parts.append(text(MARGIN, y + 10, note, "faint"))
    height = y + 24
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
            f'width="{WIDTH}" height="{height:.0f}" role="img">\n'
            f'<title>{escape(workload["title"])}</title>\n{STYLE}\n'
            f'<rect width="100%" height="100%" class="page"/>\n' + "\n".join(parts) + "\n</svg>\n")
