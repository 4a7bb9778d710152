"""Draws plots as SVG, without a library. Used by bench_report.py.

Each workload gets bars, or lines if a single parameter has four values or more. The whole run gets three
plots: tasks per second, cost as a function of pending timers, and the distribution of lateness. Every text
has a separate row or column, so that nothing overlaps. Colours follow the reader's light or dark mode.
"""
import math
from html import escape

WIDTH = 760
MARGIN = 16
ROW = 22            # a bar and its label
CHARACTER = 6.8     # approximate width of a character at 12 px
VALUE_COLUMN = 150  # right of the longest bar: the figure and the ratio
LINE_HEIGHT = 220   # height of the area of a line plot

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
  .dash-1 { stroke-dasharray: 7 4; } .dash-2 { stroke-dasharray: 2 3; } .dash-3 { stroke-dasharray: 9 3 2 3; }
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
    """The CSS class suffix of each competitor: takt stands out, the reference is grey."""
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


def dashes(workload):
    """The dash style of each competitor, which distinguishes competitors of the same colour."""
    chosen, used = {}, {}
    colour = colours(workload)
    for name in workload["competitors"]:
        chosen[name] = min(used.get(colour[name], 0), 3)
        used[colour[name]] = chosen[name] + 1
    return chosen


def stroke(workload, name):
    return f"line line-{colours(workload)[name]} dash-{dashes(workload)[name]}"


def results_of(case, metric):
    return [r for r in case["results"] if r["metric"] == metric["name"]]


def heading(metric, y):
    words = f"{metric['name']} in {metric['unit']}"
    return (text(MARGIN, y, words, "title")
            + text(MARGIN + len(words) * 8 + 10, y, f"{metric['better']} is better", "faint"))


def scale_of(workload, metric):
    """The largest figure, for the axis. Never 0."""
    figures = [max(r["median"], r["best"]) for case in workload["cases"] for r in results_of(case, metric)]
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
                text(max(left + length, best) + 8, y + 15, label)]
            y += ROW
        y += 6
    return parts, y + 10


def legend(workload, y):
    parts, x = [], MARGIN
    for name in workload["competitors"]:
        if name in workload["skipped"]:
            continue
        width = 34 + len(name) * CHARACTER + 18
        if x + width > WIDTH - MARGIN and x > MARGIN:
            x, y = MARGIN, y + ROW
        parts += [f'<line x1="{x:.1f}" x2="{x + 24:.1f}" y1="{y + 12}" y2="{y + 12}" class="{stroke(workload, name)}"/>',
                  text(x + 30, y + 16, name)]
        x += width
    return parts, y + ROW + 6


def tick_of(largest):
    """The step of an axis with four steps: 1, 2, 2.5 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(largest / 4))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power * 4 >= largest)


def curves(workload, series):
    """Draws a line with dots per competitor; series[name] is a list of points."""
    colour, parts = colours(workload), []
    for name, points in series.items():
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        parts.append(f'<polyline points="{path}" class="{stroke(workload, name)}"/>')
        parts += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3.5" class="fill-{colour[name]}"/>' for px, py in points]
    return parts


def lines(workload, metric, y):
    """Draws a line per competitor, with the parameter's values at equal distances."""
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
    parts += curves(workload, series)
    parts.append(text((left + right) / 2, bottom + 36, parameter, "middle faint"))
    return parts, bottom + 54


QUANTILES = ("minimum", "p50", "p99", "p99.9")


def quantiles(workload, case, y):
    """Draws lateness in one setting: a line per competitor over the quantiles, on a logarithmic scale."""
    metrics = [m for name in QUANTILES for m in workload["metrics"] if m["name"] == name]
    figures = {(r["competitor"], m["name"]): r["median"] for m in metrics for r in results_of(case, m)}
    above = [f for f in figures.values() if f > 0] or [1.0]
    low = max(-1, math.floor(math.log10(min(above))))  # figures below 0.1 are drawn as 0.1
    high = max(low + 1, math.ceil(math.log10(max(above))))
    left, right = MARGIN + 52, WIDTH - MARGIN - 24
    top = y + 30
    bottom = top + LINE_HEIGHT
    step = (right - left) / max(1, len(metrics) - 1)
    label = ", ".join(f"{name} = {short(value)}" for name, value in case["parameters"].items())
    words = f"{workload['id']}{', ' if label else ''}{label}: late, in {metrics[0]['unit']}"
    parts = [text(MARGIN, y + 14, words, "title")]
    for power in range(low, high + 1):
        at = bottom - LINE_HEIGHT * (power - low) / (high - low)
        parts += [f'<line x1="{left}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}" class="grid"/>',
                  text(left - 8, at + 4, f"{10.0 ** power:g}", "end faint")]
    series = {}
    for i, metric in enumerate(metrics):
        parts.append(text(left + step * i, bottom + 18, metric["name"], "middle faint"))
        for name in workload["competitors"]:
            if (name, metric["name"]) in figures:
                power = math.log10(max(figures[name, metric["name"]], 10.0 ** low))
                height = (power - low) / (high - low) * LINE_HEIGHT
                series.setdefault(name, []).append((left + step * i, bottom - height))
    return parts + curves(workload, series), bottom + 40


def picture(title, parts, y, note):
    height = y + 24
    parts = [*parts, text(MARGIN, y + 10, note, "faint")]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
            f'width="{WIDTH}" height="{height:.0f}" role="img">\n'
            f'<title>{escape(title)}</title>\n{STYLE}\n'
            f'<rect width="100%" height="100%" class="page"/>\n' + "\n".join(parts) + "\n</svg>\n")


def changed(workload, metric, new_metric, change):
    """A copy of the workload with one metric, with figures change(figure, competitor)."""
    cases = []
    for case in workload["cases"]:
        results = []
        for result in results_of(case, metric):
            value = {key: change(result[key], result["competitor"]) for key in ("median", "best")}
            if None not in value.values():
                results.append({**result, **value, "metric": new_metric["name"]})
        cases.append({**case, "results": results})
    return {**workload, "metrics": [new_metric], "cases": cases}


def throughput(workloads):
    """Draws tasks per second of each competitor in workloads that measure ns/task; None without such workloads."""
    parts, y = [], MARGIN
    for workload in workloads:
        for metric in workload["metrics"]:
            if metric["unit"] != "ns/task" or not workload["cases"]:
                continue
            per_second = {"name": workload["id"], "unit": "million tasks per second", "better": "higher"}
            drawn, y = bars(changed(workload, metric, per_second, lambda f, _: 1000 / f if f > 0 else None),
                            per_second, y)
            parts += drawn
    note = "bar: median of the rounds; mark: the best one; (x): times ahead of the naive one"
    return picture("Tasks per second", parts, y, note) if parts else None


def growth(workloads):
    """Draws the cost of a timer relative to the smallest number of pending timers, for the workload with the
    largest number; None if it was not measured."""
    grown = [w for w in workloads if len(w["cases"]) > 1 and list(w["cases"][0]["parameters"]) == ["pending"]]
    if not grown:
        return None
    workload = max(grown, key=lambda w: w["cases"][-1]["parameters"]["pending"])
    fewest = workload["cases"][0]
    parts, y = legend(workload, MARGIN)
    for metric in workload["metrics"]:
        first = {r["competitor"]: r["median"] for r in results_of(fewest, metric)}
        factor = {"name": metric["name"], "better": "lower",
                  "unit": f"times the cost with {short(fewest['parameters']['pending'])} pending"}
        drawn, y = lines(changed(workload, metric, factor,
                                 lambda f, name: f / first[name] if first.get(name, 0) > 0 else None), factor, y)
        parts += drawn
    return picture("What a timer costs with more of them pending", parts, y, "medians of the rounds")


def lateness(workloads):
    """Draws the lateness of timers by quantiles; None if it was not measured."""
    parts, y = [], MARGIN
    for workload in workloads:
        if {"p50", "p99.9"} - {m["name"] for m in workload["metrics"]} or not workload["cases"]:
            continue
        legend_parts, y = legend(workload, y)
        parts += legend_parts
        for case in workload["cases"]:
            drawn, y = quantiles(workload, case, y)
            parts += drawn
    return picture("How late timers are", parts, y, "each point: the median over the rounds") if parts else None


# The plots of a whole run: file name, title, function.
OVERVIEWS = (("throughput", "Tasks per second", throughput),
             ("growth", "What a timer costs with more of them pending", growth),
             ("lateness", "How late timers are", lateness))


def svg(workload):
    """The complete plot of a workload that bench_report.parse has checked."""
    as_lines = len(workload["cases"]) >= 4 and len(workload["cases"][0]["parameters"]) == 1
    parts, y = [], MARGIN
    if as_lines:
        parts, y = legend(workload, y)
    for metric in workload["metrics"]:
        drawn, y = (lines if as_lines else bars)(workload, metric, y)
        parts += drawn
    note = "median of the rounds" if as_lines else (
        f"bar: median of the rounds; mark: the best one; (x): times ahead of {workload['reference']}")
    return picture(workload["title"], parts, y, note)
