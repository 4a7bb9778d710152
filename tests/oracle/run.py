#!/usr/bin/env python3
"""Runs random scripts on an original, in Java or JavaScript, and on takt: the order of runs, the result of every call
and the outcome of every task must be the same.
Usage: run.py --what pool|rx|rxjs --takt PROGRAM [--classes DIR] [--modules DIR]
              [--seed S] [--scripts N] [--replay SEED | --script TEXT]

These modules define the comparisons and the languages of their scripts: pool_scripts.py (the JDK's
ScheduledThreadPoolExecutor and takt::scheduled_pool), rx_scripts.py (RxJava and takt::rx) and
rxjs_scripts.py (rxjs and takt::rx). Without a seed the scripts are the same in every run. A failing
script is shrunk, and printed with its seed.

A script is a line: K and its head, the tasks (T and their parts, separated by colons, the last of which
are operations), and phases, which begin with | and consist of operations.

Both programs answer each script with its trace. In the original's answer, a tab and the names of the
deliberate differences follow that the script met, and that were removed from the trace."""
import argparse
import collections
import importlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "build"
JAVA = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]


def text(script):
    head, tasks, phases = script
    words = [f"K{head}"]
    words += [":".join([f"T{i}", *(str(v) for k, v in t.items() if k != "ops"), ",".join(t["ops"])])
              for i, t in tasks.items()]
    for ops in phases:
        words += ["|", *ops]
    return " ".join(words)


def fewer_or_simpler(ops, what):
    """Yields all lists of operations that lack one operation or have a simpler one in its place."""
    for k, op in enumerate(ops):
        for other in [[], *([o] for o in what.simpler_operations(op))]:
            yield ops[:k] + other + ops[k + 1:]


def smaller(script, what):
    """Yields all scripts that are smaller by one element."""
    head, tasks, phases = script
    for i in range(len(phases)):
        if len(phases) > 1:
            yield head, tasks, phases[:i] + phases[i + 1:]
            if i > 0:
                yield head, tasks, phases[:i - 1] + [phases[i - 1] + phases[i]] + phases[i + 1:]
        for ops in fewer_or_simpler(phases[i], what):
            yield head, tasks, phases[:i] + [ops] + phases[i + 1:]
    used = {i for ops in [*phases, *(t["ops"] for t in tasks.values())] for op in ops for i in what.tasks_of(op)}
    for i, task in tasks.items():
        if str(i) not in used:
            yield head, {k: t for k, t in tasks.items() if k != i}, phases
        for ops in fewer_or_simpler(task["ops"], what):
            yield head, {**tasks, i: {**task, "ops": ops}}, phases
        if task["runs"] > 1:
            yield head, {**tasks, i: {**task, "runs": task["runs"] - 1}}, phases
        if task["delay"] != 0:
            yield head, {**tasks, i: {**task, "delay": 0}}, phases
    for simpler_head, simpler_tasks in what.simpler(head, tasks):
        yield simpler_head, simpler_tasks, phases


def ask(command, lines, seconds=60):
    """Returns the answers of a program to scripts, one line each. Restarts the program after a script that ends it."""
    answers = []
    for _ in range(20):
        rest = lines[len(answers):]
        if not rest:
            break
        try:
            done = subprocess.run(command, input="\n".join(rest) + "\n", capture_output=True, text=True,
                                  timeout=seconds)
            said, error = done.stdout, done.stderr
        except subprocess.TimeoutExpired as expired:
            said, error, seconds = (expired.stdout or b"").decode(), "the program hangs", min(seconds, 10)
        answers += said.splitlines()
        if len(answers) < len(lines):
            answers.append(f"no answer: {' '.join(error.split())}")
    return answers + ["?"] * (len(lines) - len(answers))


def shrink(script, what, differing):
    while True:
        candidates = list(smaller(script, what))
        found = [c for c, pair in zip(candidates, differing(candidates)) if pair]
        if not found:
            return script
        script = min(found, key=lambda c: len(text(c)))


class Missing(Exception):
    """The original is not installed."""


def java(what, folder):
    """Compiles the original, and returns the command that runs it."""
    if shutil.which("javac") is None:
        raise Missing("there is no JDK: javac was not found (Debian: default-jdk-headless)")
    for jar, package in what.JARS:
        if not pathlib.Path(jar).exists():
            raise Missing(f"{jar} was not found (Debian: {package})")
    path = ":".join([str(folder), *(jar for jar, _ in what.JARS)])
    sources = [HERE / name for name in what.SOURCES]
    compiled = [folder / source.with_suffix(".class").name for source in sources]
    if not all(c.exists() and c.stat().st_mtime >= s.stat().st_mtime for c, s in zip(compiled, sources)):
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["javac", "-cp", path, "-d", str(folder), *map(str, sources)], check=True)
    return [*JAVA, "-cp", path, *what.JAVA]


def node(what, folder):
    """The same for an original in JavaScript, whose modules are in a folder."""
    if shutil.which("node") is None:
        raise Missing("node was not found (Debian: nodejs)")
    name, _, version = what.MODULE.partition("@")
    try:
        found = json.loads((folder / "node_modules" / name / "package.json").read_text())["version"]
    except FileNotFoundError:
        raise Missing(f"{name} is not in {folder} (npm install --prefix {folder} {what.MODULE})") from None
    if found != version:
        sys.exit(f"oracle: {folder} has {name} {found}; {version} is required")
    os.environ["NODE_PATH"] = str(folder / "node_modules")
    return ["node", str(HERE / what.NODE)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", required=True, choices=["pool", "rx", "rxjs"], help="the comparison")
    parser.add_argument("--takt", required=True, help="the program takt_oracle, takt_rx_oracle or takt_rxjs_oracle")
    parser.add_argument("--classes", type=pathlib.Path, default=BUILD / "dev/tests/oracle",
                        help="output folder for compiled Java (%(default)s)")
    parser.add_argument("--modules", type=pathlib.Path, default=BUILD / "npm",
                        help="folder in which npm has installed modules (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first script")
    parser.add_argument("--scripts", type=int)
    parser.add_argument("--replay", type=int, metavar="SEED", help="run one script and print both traces")
    parser.add_argument("--script", metavar="TEXT", help="the same for a printed script")
    arguments = parser.parse_args()
    what = importlib.import_module(f"{arguments.what}_scripts")
    try:
        if hasattr(what, "NODE"):
            original = node(what, arguments.modules)
        else:
            original = java(what, arguments.classes / arguments.what)
    except Missing as reason:
        print(f"oracle: SKIPPED, {reason}")
        return 77

    def both(lines):
        """Returns for each script the original's trace, takt's trace, and the differences that were removed."""
        expected = (answer.partition("\t")[::2] for answer in ask(original, lines))
        return [(trace, got, met.split(",") if met else [])
                for (trace, met), got in zip(expected, ask([arguments.takt], lines))]

    def differing(scripts):
        return [expected != got and got != "?" for expected, got, _ in both(list(map(text, scripts)))]

    def show(line):
        ((expected, got, met),) = both([line])
        print(f"script  {line}\n{what.ORIGINAL:8}{expected}\ntakt    {got}" + (f"\ndifferences: {', '.join(met)}" if met else ""))
        return 0 if expected == got else 1

    if arguments.replay is not None or arguments.script:
        return show(arguments.script or text(what.generate(arguments.replay)))
    seeds = range(arguments.seed, arguments.seed + (arguments.scripts or what.SCRIPTS))
    scripts = [what.generate(seed) for seed in seeds]
    answers = both(list(map(text, scripts)))
    wrong = [(len(text(s)), seed, s) for seed, s, (expected, got, _) in zip(seeds, scripts, answers)
             if expected != got and got != "?"]
    print(f"oracle: {len(scripts)} scripts, seeds {seeds[0]} to {seeds[-1]}: {len(wrong)} differ")
    met = collections.Counter(name for *_, names in answers for name in names)
    for name, meaning in what.DIFFERENCES.items():
        print(f"  removed from {met.pop(name, 0):4}: {name}: {meaning}")
    assert not met, f"unknown differences: {met}"
    if not wrong:
        return 0
    _, seed, script = min(wrong, key=lambda w: w[:2])
    print(f"seeds {' '.join(str(w[1]) for w in wrong[:50])}\nseed {seed}:")
    show(text(script))
    print("smallest:", flush=True)
    least = text(shrink(script, what, differing))
    show(least)
    print(f"again: {HERE / 'run.py'} --what {arguments.what} --takt {arguments.takt} "
          f"--replay {seed}\n   or: ... --script '{least}'")
    return 1


if __name__ == "__main__":
    sys.exit(main())
