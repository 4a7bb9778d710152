#!/usr/bin/env python3
"""Random scripts on the JDK's ScheduledThreadPoolExecutor and on takt::scheduled_pool: the order of
runs, what every call said and what became of every task have to be the same.
Usage: run.py --takt PROGRAM --classes DIR [--seed S] [--scripts N] [--replay SEED | --script TEXT]

Without a seed the scripts are always the same ones. A failure is shrunk, and printed with its seed.

A script is a line: K and the two policies (delayed, periodic; 1: goes on after shutdown), the tasks,
and phases. In a phase operations are issued while the one worker is held; then it does all that is
due.
  T<id>:<how>:<delay>:<period>:<runs>:<end>:<operations>    a task; the operations are of its first run
     how   x execute, s submit, e execute later, d schedule, r fixed rate, w fixed delay
     end   of the last run: n returns, t throws, c cancels itself
  +<id> submits   -<id> cancels   ><ns> lets time pass   P<policies> changes them
  S shutdown      N shutdown_now, which is also what ends each script
A trace: | a phase begins, r<id> a run begins, +<id>! rejected, -<id>=1 cancelled by this, N,<ids> given
back; and in the end the outcomes.

Deliberate differences (docs/differences.md), and how they are kept out:
- Of equal deadlines a task without a delay comes last; so 1 ns passes after each of them.
- Cancelled tasks are not given back; JavaOracle leaves them out.
- What is never due does not keep a pool that is shut down alive; JavaOracle cancels it.
- Runs that are late are left out; so takt is told to catch up.
- Without a future a task that runs or was given back cannot be cancelled; so e does not try."""
import argparse
import pathlib
import random
import shutil
import subprocess
import sys

STEP = 1000
FAR = 10**6 * STEP


def generate(seed):
    """A script: (policies, {id: task}, phases)."""
    dice = random.Random(seed)
    count = dice.randint(1, 9)
    places = [[] for _ in range(dice.randint(1, 5))]  # phases; lists of operations, as below
    tasks = {}
    for i in range(count):
        how = dice.choices("xsedrw", [2, 2, 1, 4, 3, 3])[0]
        once = how not in "rw"
        delay = dice.choices([0, -5 * STEP, STEP, 2 * STEP, 3 * STEP, 5 * STEP, FAR, "never"],
                             [5, 1, 4, 4, 3, 2, 1, 0.4])[0]
        tasks[i] = {"how": how, "delay": 0 if how in "xs" else delay,
                    "period": 0 if once else dice.choice([1, STEP, STEP, 2 * STEP, 3 * STEP, FAR]),
                    "runs": 1 if once else dice.randint(1, 5),
                    "end": dice.choices("ntc", [6, 2, 1])[0] if once else dice.choice("tc"), "ops": []}
    for i in range(count):  # in a phase, or within an earlier task
        within = i > 0 and dice.random() < 0.25
        (tasks[dice.randrange(i)]["ops"] if within else dice.choice(places)).append(f"+{i}")

    def some(choices, weights):
        kind = dice.choices(choices, weights)[0]
        return {"-": f"-{dice.randrange(count)}", "S": "S", "N": "N",
                ">": f">{dice.choice([1, STEP, STEP, 2 * STEP, 2 * STEP, 3 * STEP, 5 * STEP, FAR])}",
                "P": f"P{dice.randint(0, 1)}{dice.randint(0, 1)}"}[kind]

    for ops in places:
        for _ in range(dice.randint(0, 3)):
            ops.insert(dice.randint(0, len(ops)), some("->SNP", [4, 8, 1.5, 0.3, 1]))
    for task in tasks.values():
        while dice.random() < 0.2:
            task["ops"].insert(dice.randint(0, len(task["ops"])), some("->SNP", [4, 4, 1, 0.3, 1]))
    return f"{dice.randint(0, 1)}{dice.randint(0, 1)}", tasks, places


def text(script):
    keep, tasks, phases = script
    words = [f"K{keep}"]
    words += [f"T{i}:{t['how']}:{t['delay']}:{t['period']}:{t['runs']}:{t['end']}:{','.join(t['ops'])}"
              for i, t in tasks.items()]
    for ops in phases:
        words += ["|", *ops]
    return " ".join(words)


def smaller(script):
    """All scripts that lack one thing."""
    keep, tasks, phases = script
    for i in range(len(phases)):
        if len(phases) > 1:
            yield keep, tasks, phases[:i] + phases[i + 1:]
            if i > 0:
                yield keep, tasks, phases[:i - 1] + [phases[i - 1] + phases[i]] + phases[i + 1:]
        for k in range(len(phases[i])):
            yield keep, tasks, phases[:i] + [phases[i][:k] + phases[i][k + 1:]] + phases[i + 1:]
    used = {op[1:] for ops in [*phases, *(t["ops"] for t in tasks.values())] for op in ops if op[0] in "+-"}
    for i, task in tasks.items():
        if str(i) not in used:
            yield keep, {k: t for k, t in tasks.items() if k != i}, phases
        for k in range(len(task["ops"])):
            yield keep, {**tasks, i: {**task, "ops": task["ops"][:k] + task["ops"][k + 1:]}}, phases
        if task["runs"] > 1:
            yield keep, {**tasks, i: {**task, "runs": task["runs"] - 1}}, phases
        if task["delay"] != 0:
            yield keep, {**tasks, i: {**task, "delay": 0}}, phases


def ask(command, lines):
    """What a program says to scripts, a line each."""
    try:
        done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=120)
        answers, error = done.stdout.splitlines(), done.stderr
    except subprocess.TimeoutExpired as expired:
        answers, error = (expired.stdout or b"").decode().splitlines(), "it hangs"
    if len(answers) < len(lines):
        answers.append(f"no answer: {error.strip()}")
    return answers + ["?"] * (len(lines) - len(answers))


def shrink(script, differs):
    while True:
        candidates = list(smaller(script))
        found = [c for c, (java, takt) in zip(candidates, differs(candidates)) if java != takt and "?" not in takt]
        if not found:
            return script
        script = min(found, key=lambda c: len(text(c)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--takt", required=True, help="the program takt_oracle")
    parser.add_argument("--classes", required=True, type=pathlib.Path, help="where to compile JavaOracle to")
    parser.add_argument("--seed", type=int, default=1, help="of the first script")
    parser.add_argument("--scripts", type=int, default=5000)
    parser.add_argument("--replay", type=int, metavar="SEED", help="one script, with both traces")
    parser.add_argument("--script", metavar="TEXT", help="the same, of a script that was printed")
    arguments = parser.parse_args()
    if shutil.which("javac") is None:
        print("oracle: SKIPPED, there is no JDK: javac was not found (Debian: openjdk-17-jdk-headless)")
        return 77
    source = pathlib.Path(__file__).resolve().parent / "JavaOracle.java"
    compiled = arguments.classes / "JavaOracle.class"
    if not compiled.exists() or compiled.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["javac", "-d", str(arguments.classes), str(source)], check=True)
    java = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", str(arguments.classes), "JavaOracle"]

    def both(lines):
        return list(zip(ask(java, lines), ask([arguments.takt], lines)))

    if arguments.replay is not None or arguments.script:
        line = arguments.script or text(generate(arguments.replay))
        ((expected, got),) = both([line])
        print(f"script  {line}\njava    {expected}\ntakt    {got}")
        return 0 if expected == got else 1
    seeds = range(arguments.seed, arguments.seed + arguments.scripts)
    scripts = [generate(seed) for seed in seeds]
    wrong = [(len(text(s)), seed, s) for seed, s, (expected, got) in zip(seeds, scripts, both(list(map(text, scripts))))
             if expected != got and got != "?"]
    print(f"oracle: {len(scripts)} scripts, seeds {seeds[0]} to {seeds[-1]}: {len(wrong)} differ")
    if not wrong:
        return 0
    _, seed, script = min(wrong, key=lambda w: w[:2])
    least = text(shrink(script, lambda all: both(list(map(text, all)))))
    ((expected, got),) = both([least])
    print(f"seed {seed} (--replay {seed}); all seeds: {' '.join(str(w[1]) for w in wrong[:50])}\n"
          f"script  {text(script)}\nsmallest:\nscript  {least}\njava    {expected}\ntakt    {got}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
