#!/usr/bin/env python3
"""Turns the JSON of takt_bench into Markdown tables and SVG plots.

usage: tools/bench_report.py RESULTS.json [--out DIR]

Writes DIR/report.md, DIR/<workload>.svg for each workload, and three plots of the whole run: throughput.svg,
growth.svg, lateness.svg. DIR defaults to the folder of the JSON.
"""
import argparse
import json
import math
import sys
from pathlib import Path

import bench_plot

FORMAT = 2


class BadInput(Exception):
    """The JSON does not have the format of takt_bench; the message says where."""


def expect(value, kind, where):
    """Returns the value if it has this type; otherwise raises BadInput with its location."""
    names = {dict: "an object", list: "a list", str: "a string", float: "a number", bool: "a truth value"}
    if kind is float:
        fits = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    else:
        fits = isinstance(value, kind)
    if not fits:
        raise BadInput(f"{where}: expected {names[kind]}, found {value!r:.40}")
    return value


def member(container, key, kind, where):
    if key not in expect(container, dict, where):
        raise BadInput(f"{where}: '{key}' is missing")
    return expect(container[key], kind, f"{where}.{key}")


def check_result(result, workload, where):
    names = [m["name"] for m in workload["metrics"]]
    if member(result, "competitor", str, where) not in workload["competitors"]:
        raise BadInput(f"{where}: unknown competitor '{result['competitor']}'")
    if member(result, "metric", str, where) not in names:
        raise BadInput(f"{where}: unknown metric '{result['metric']}'")
    for key in ("median", "best"):
        member(result, key, float, where)
    if "ratio" in result:
        for key in ("low", "median", "high"):
            member(result["ratio"], key, float, f"{where}.ratio")
    if "best_peer" in result:
        if member(result["best_peer"], "name", str, f"{where}.best_peer") not in workload["competitors"]:
            raise BadInput(f"{where}: unknown competitor '{result['best_peer']['name']}'")
        for key in ("low", "median", "high") if len(result["best_peer"]) > 1 else ():
            member(result["best_peer"], key, float, f"{where}.best_peer")


def check_workload(workload, where):
    where = f"{where} ({member(workload, 'id', str, where)})"
    for key in ("title", "reference"):
        member(workload, key, str, where)
    for metric in member(workload, "metrics", list, where):
        for key in ("name", "unit", "better"):
            member(metric, key, str, f"{where}.metrics")
    for name in member(workload, "competitors", list, where):
        expect(name, str, f"{where}.competitors")
    for reason in member(workload, "skipped", dict, where).values():
        expect(reason, str, f"{where}.skipped")
    for i, case in enumerate(member(workload, "cases", list, where)):
        at = f"{where}.cases[{i}]"
        for value in member(case, "parameters", dict, at).values():
            expect(value, float, f"{at}.parameters")
        for j, result in enumerate(member(case, "results", list, at)):
            check_result(result, workload, f"{at}.results[{j}]")
        measured = {(r["competitor"], r["metric"]) for r in case["results"]}
        for result in case["results"]:
            if "best_peer" in result and (result["best_peer"]["name"], result["metric"]) not in measured:
                raise BadInput(f"{at}: the best peer, '{result['best_peer']['name']}', has no figure")
    for bar in member(workload, "bars", list, where):
        member(bar, "text", str, f"{where}.bars")
        member(bar, "ratio", float, f"{where}.bars")
        for key in ("measured", "held"):
            member(bar, key, bool, f"{where}.bars")


def parse(text):
    """Parses and validates the data of the report."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadInput(f"not JSON: {error}") from None
    found = member(data, "format", float, "top")
    if found != FORMAT:
        raise BadInput(f"format {found}, but this program reads format {FORMAT}")
    environment = member(data, "environment", dict, "top")
    for key in ("takt", "compiler", "cpu", "kernel", "date"):
        member(environment, key, str, "environment")
    for version in member(environment, "peers", dict, "environment").values():
        expect(version, str, "environment.peers")
    for key in ("cores", "load"):
        member(environment, key, float, "environment")
    member(data, "rounds", float, "top")
    member(data, "quick", bool, "top")
    for i, workload in enumerate(member(data, "workloads", list, "top")):
        check_workload(workload, f"workloads[{i}]")
    return data


def number(value):
    """Formats with three significant digits, but never fewer than the integer part has."""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{digits}f}"


def setting(parameters):
    return ", ".join(f"{name} = {bench_plot.short(value)}" for name, value in parameters.items())


def table(workload, metric):
    """One row per setting and competitor."""
    parameters = list(workload["cases"][0]["parameters"]) if workload["cases"] else []
    extreme = "minimum" if metric["better"] == "lower" else "maximum"
    head = [*parameters, "competitor", "median", extreme, "ratio", "middle half of the ratios"]
    lines = ["| " + " | ".join(head) + " |",
             "|" + "---:|" * len(parameters) + "---|" + "---:|" * 4]
    for case in workload["cases"]:
        values = [bench_plot.short(case["parameters"][name]) for name in parameters]
        for result in case["results"]:
            if result["metric"] != metric["name"]:
                continue
            ratio = result.get("ratio")
            row = [*values, result["competitor"], number(result["median"]), number(result["best"])]
            if ratio is None:
                row += ["", ""]
            elif result["competitor"] == workload["reference"]:
                row += ["1", ""]
            else:
                row += [f"**{ratio['median']:.2f}**", f"{ratio['low']:.2f} to {ratio['high']:.2f}"]
            lines.append("| " + " | ".join(row) + " |")
    return lines


def beside_best(workloads):
    """Compares takt with its best peer: one row per setting, metric and competitor of takt."""
    lines = ["| workload | setting | metric | takt | median | best | best peer | median | best | ratio | "
             "middle half of the ratios |", "|---|---|---|---|---:|---:|---|---:|---:|---:|---:|"]
    for workload in workloads:
        for case in workload["cases"]:
            figures = {(r["competitor"], r["metric"]): r for r in case["results"]}
            for metric in workload["metrics"]:
                for result in bench_plot.results_of(case, metric):
                    peer = result.get("best_peer")
                    if peer is None:
                        continue
                    other = figures[peer["name"], metric["name"]]
                    row = [workload["id"], setting(case["parameters"]), f"{metric['name']}, {metric['unit']}",
                           result["competitor"], number(result["median"]), number(result["best"]),
                           peer["name"], number(other["median"]), number(other["best"])]
                    row += ([f"**{peer['median']:.2f}**", f"{peer['low']:.2f} to {peer['high']:.2f}"]
                            if "median" in peer else ["", ""])
                    lines.append("| " + " | ".join(row) + " |")
    return lines if len(lines) > 2 else []


def markdown(data):
    environment = data["environment"]
    rounds = int(data["rounds"])
    lines = [f"takt {environment['takt']}, {environment['compiler']}, {environment['cpu']}, "
             f"{int(environment['cores'])} cores, {environment['kernel']}; {environment['date']}, "
             f"load {environment['load']:.2f} at the start, {rounds} rounds.", ""]
    if environment["peers"]:
        lines += ["Peers: " + ", ".join(f"{name} {v}" for name, v in environment["peers"].items()) + ".", ""]
    if data["quick"] or rounds < 7:
        lines += ["**A trial run** (--quick, or fewer than 7 rounds): its figures are not for quoting.", ""]
    best = beside_best(data["workloads"])
    if best:
        lines += ["### Beside the best peer", "",
                  "The best peer is the one with the best median of all that are not takt, in that setting. Best: "
                  "of the rounds, the minimum where lower is better. Ratio: times ahead of it, by the median of the "
                  "rounds' ratios; below 1 is behind.", "", *best, ""]
    for name, title, draw in bench_plot.OVERVIEWS:
        if draw(data["workloads"]):
            lines += [f"![{title}]({name}.svg)", ""]
    for workload in data["workloads"]:
        lines += [f"### {workload['id']}", "", workload["title"] + ".", "",
                  f"![{workload['title']}]({workload['id']}.svg)", ""]
        for metric in workload["metrics"]:
            lines += [f"{metric['name']}, {metric['unit']}, {metric['better']} is better; "
                      f"ratio: times ahead of {workload['reference']}", ""]
            lines += [*table(workload, metric), ""]
        for name, reason in workload["skipped"].items():
            lines.append(f"- {name} was skipped: {reason}")
        for bar in workload["bars"]:
            state = ("held" if bar["held"] else "**missed**") if bar["measured"] else "not measured"
            figure = f" ({bar['ratio']:.2f}x)" if bar["measured"] else ""
            lines.append(f"- bar {state}{figure}: {bar['text']}")
        if workload["skipped"] or workload["bars"]:
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def main(arguments):
    parser = argparse.ArgumentParser(description="Markdown and SVG from the JSON of takt_bench")
    parser.add_argument("results", type=Path, help="the output of takt_bench --json")
    parser.add_argument("--out", type=Path, help="output folder (default: the folder of the JSON)")
    options = parser.parse_args(arguments)
    out = options.out or options.results.parent
    try:
        data = parse(options.results.read_text(encoding="utf-8"))
        out.mkdir(parents=True, exist_ok=True)
        (out / "report.md").write_text(markdown(data), encoding="utf-8")
        for workload in data["workloads"]:
            (out / f"{workload['id']}.svg").write_text(bench_plot.svg(workload), encoding="utf-8")
        for name, _, draw in bench_plot.OVERVIEWS:
            drawn = draw(data["workloads"])
            if drawn:
                (out / f"{name}.svg").write_text(drawn, encoding="utf-8")
    except BadInput as error:
        print(f"bench_report: {options.results.name}: {error}", file=sys.stderr)
        return 1
    except (OSError, UnicodeDecodeError) as error:
        print(f"bench_report: {error}", file=sys.stderr)
        return 1
    print(f"bench_report: {len(data['workloads'])} workloads in {out / 'report.md'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
