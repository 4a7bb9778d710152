#!/usr/bin/env python3
"""Counts the instructions of each hot path and compares them with the baseline.

usage: tools/instructions.py PROGRAM [--update] [--baseline FILE] [--tolerance PERCENT]

PROGRAM is takt_instructions, which runs under callgrind. Exits with 1 and names each path that exceeds its
baseline by more than the tolerance, or that is missing on either side; also if the baseline is from another
compiler. --update writes the baseline instead.
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BASELINE = Path(__file__).resolve().parent.parent / "bench/instructions/baseline.json"
TOLERANCE = 3.0  # per cent; see docs/performance.md for the noise


class Failed(Exception):
    """An error that is reported to the user."""


def path_in(dump):
    """Returns (path, instructions per operation) of one dump; None for a dump that ends no path."""
    label = re.search(r"^desc: Trigger: Client Request: (.+)/(\d+)$", dump, re.MULTILINE)
    total = re.search(r"^totals: (\d+)", dump, re.MULTILINE)
    if not label:
        return None
    if not total:
        raise Failed(f"the dump of '{label[1]}' has no total")
    return label[1], int(total[1]) / int(label[2])


def measure(program):
    """Runs the program. Returns its compiler, and its paths with their instructions per operation."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", str(program)]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise Failed(f"valgrind does not start: {error}") from None
        if ran.returncode != 0:
            raise Failed(f"{program} failed under valgrind:\n{ran.stderr}")
        dumps = (path_in(file.read_text()) for file in Path(folder).glob("out*"))
        paths = dict(sorted(found for found in dumps if found))
    if not paths:
        raise Failed("callgrind left no figures")
    return {"compiler": ran.stdout.strip(), "instructions": {name: round(n, 1) for name, n in paths.items()}}


def compare(found, baseline, tolerance):
    """Returns the lines of a table, and the lines of errors."""
    lines, wrong = [f"{'instructions':>12} {'baseline':>9} {'change':>8}"], []
    if found["compiler"] != baseline["compiler"]:
        return lines, [f"the baseline is of {baseline['compiler']}, this is {found['compiler']}: not comparable"]
    for name, now in found["instructions"].items():
        before = baseline["instructions"].get(name)
        if before is None:
            lines.append(f"{now:12.1f} {'':9} {'':8}  {name}")
            wrong.append(f"{name}: not in the baseline")
            continue
        change = (now / before - 1) * 100
        lines.append(f"{now:12.1f} {before:9.1f} {change:+7.1f}%  {name}")
        if change > tolerance:
            wrong.append(f"{name}: {before:.1f} instructions have become {now:.1f}, {change:+.1f} %")
    wrong += [f"{name}: in the baseline, but was not run"
              for name in baseline["instructions"] if name not in found["instructions"]]
    return lines, wrong


def read_baseline(file):
    try:
        baseline = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(baseline["compiler"], str) and all(n > 0 for n in baseline["instructions"].values()):
            return baseline
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Failed(f"{file}: no baseline: {error!r}") from None
    raise Failed(f"{file}: no baseline")


def main(arguments):
    parser = argparse.ArgumentParser(description="instructions of each hot path, beside the baseline")
    parser.add_argument("program", type=Path, help="takt_instructions")
    parser.add_argument("--update", action="store_true", help="write the baseline instead")
    parser.add_argument("--baseline", type=Path, default=BASELINE, help="the baseline to compare with")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, help="in per cent (%(default)s)")
    options = parser.parse_args(arguments)
    try:
        found = measure(options.program)
        if options.update:
            options.baseline.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
            print(f"instructions: {len(found['instructions'])} paths in {options.baseline}")
            return 0
        lines, wrong = compare(found, read_baseline(options.baseline), options.tolerance)
    except Failed as error:
        print(f"instructions: {error}", file=sys.stderr)
        return 1
    print("\n".join(lines))
    for line in wrong:
        print(f"instructions: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
