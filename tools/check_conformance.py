#!/usr/bin/env python3
"""Compares takt's tests with lists of upstream tests, and counts.
Usage: check_conformance.py [--root DIR] [--lists DIR] [--open] | --self-test

A GoogleTest suite.case corresponds to the upstream test of that class and name. An upstream test without
a meaning in C++ has a row `suite.name | reason` in docs/conformance.md, which also explains how titles
become identifiers. Open names are counted; --open prints them.
Fails on an unknown reason, an exclusion that does not exist upstream, and a name that is both tested and excluded."""
import argparse
import collections
import contextlib
import fnmatch
import io
import pathlib
import re
import sys
import tempfile

REASONS = ["null collection", "null unit", "security manager", "garbage collection",
           "Java subclassing", "operators out of scope", "deliberate difference"]

# Classes of RxJava 3 that test behaviour; the others test its internals.
RXJAVA3 = ["AbstractSchedulerTests", "AbstractSchedulerConcurrencyTests", "ExecutorScheduler*Test",
           "CachedThreadSchedulerTest", "CompositeDisposableTest", "TrampolineSchedulerTest", "TestSchedulerTest"]


def identifier(title):
    """Converts a title to an identifier: > and = become words, every run of other characters one underscore."""
    title = title.replace(">", " greater than ").replace("=", " is ")
    return re.sub(r"[^A-Za-z0-9]+", "_", title).strip("_")


def java_suites(text):
    """java.util.concurrent: `## Class (count)`, then names on any number of lines."""
    suites = {}
    for title, body in re.findall(r"^## (.+)\n((?:(?!## ).*\n?)*)", text, re.M):
        if found := re.fullmatch(r"(\w+) \(\d+\)", title):
            suites[found.group(1)] = list(dict.fromkeys(body.split()))
        elif title.startswith("Regression programs"):
            suites["Regression"] = re.findall(r"[A-Z]\w+", re.sub(r"\(.*?\)", "", body))
    return suites


def rx_suites(text):
    """RxJS: `## rxjs 7.x path/Name-spec.ts`, then titles; RxJava: `## RxJava N.x path/Class.java`."""
    suites = collections.defaultdict(list)
    for title, body in re.findall(r"^## (.+)\n((?:(?!## ).*\n?)*)", text, re.M):
        lines = [line for line in body.splitlines() if line]
        if found := re.match(r"rxjs .*/(\w+)-spec\.ts", title):
            group = ""
            for line in lines:
                if "should" not in line.split():  # the title of a group; the first one is the file's
                    group = line + " " if line != lines[0] else ""
                else:
                    names, name = suites[found.group(1)], identifier(group + line)
                    names.append(f"{name}_2" if name in names else name)
        elif found := re.match(r"RxJava (\d)\.x .*/(\w+)\.java", title):
            version, suite = found.groups()
            if version == "1" or any(fnmatch.fnmatch(suite, pattern) for pattern in RXJAVA3):
                suites[suite] += [n for n in lines if n not in suites[suite]]
    return suites


def upstream(lists):
    """The upstream tests, suite by suite."""
    suites = java_suites((lists / "juc.md").read_text())
    for suite, names in rx_suites((lists / "rx.md").read_text()).items():
        suites[suite] = suites.get(suite, []) + names
    return {suite: names for suite, names in suites.items() if names}


def tests(root):
    """(suite, case) of every test macro in the sources."""
    macro = re.compile(r"^\s*(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.M)
    files = [*root.glob("src/**/*_test.cpp"), *root.glob("tests/**/*.cpp"), *root.glob("tests/**/*.hpp")]
    return {found for file in files for found in macro.findall(file.read_text())}


def exclusions(root):
    """{(suite, name): reason} of the rows in docs/conformance.md."""
    text = (root / "docs/conformance.md").read_text()
    rows = re.findall(r"^\|? *`?(\w+)\.(\w+)`? *\| *(.+?) *\|?$", text, re.M)
    return {(suite, name): reason for suite, name, reason in rows}


def check(root, lists, print_open=False):
    """(violations, totals)"""
    suites, tested, excluded = upstream(lists), tests(root), exclusions(root)
    known = {(suite, name) for suite, names in suites.items() for name in names}
    violations = []
    for (suite, name), reason in sorted(excluded.items()):
        row = f"docs/conformance.md: {suite}.{name}"
        kind = next((r for r in REASONS if reason == r or reason.startswith(r + " ")), None)
        if kind is None:
            violations.append(f"{row}: unknown reason '{reason}'; known: {', '.join(REASONS)}")
        elif kind == "deliberate difference" and not re.search(r"\]\(.+\)", reason):
            violations.append(f"{row}: a deliberate difference needs a link to its explanation")
        if (suite, name) not in known:
            violations.append(f"{row}: no such upstream test")
        if (suite, name) in tested:
            violations.append(f"{row}: both tested and excluded")
    totals = collections.Counter()
    print(f"{'suite':44} {'names':>6} {'tested':>6} {'excluded':>8} {'open':>6}")
    for suite, names in sorted(suites.items()):
        keys = {(suite, name) for name in names}
        left = keys - tested - excluded.keys()
        row = {"names": len(keys), "tested": len(keys & tested), "excluded": len(keys & excluded.keys()), "open": len(left)}
        totals.update(row)
        print(f"{suite:44} {row['names']:6} {row['tested']:6} {row['excluded']:8} {row['open']:6}")
        if print_open:
            print("".join(f"  {suite}.{name}\n" for _, name in sorted(left)), end="")
    print(f"{'all':44} {totals['names']:6} {totals['tested']:6} {totals['excluded']:8} {totals['open']:6}")
    return violations, totals


def self_test():
    juc = "# x\n## ATest (3)\ntestA testB \ntestA_c\n\n## Regression programs beside\nDelay, Other (a Note); Third.\n## What\n- x\n"
    rx = ("# x\nprose\n\n## rxjs 7.x spec/Asap-spec.ts\nScheduler.asap\nshould act if delay > 0\nadd()\nshould go\nadd\nshould go\n"
          "## RxJava 1.x a/b/CTest.java (1)\none\n## RxJava 3.x a/CTest.java (1)\ntwo\n"
          "## RxJava 3.x a/TestSchedulerTest.java (1)\nthree\n")

    def run(rows, source=""):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {"juc.md": juc, "rx.md": rx, "docs/conformance.md": rows, "src/a/a_test.cpp": source}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            with contextlib.redirect_stdout(io.StringIO()):
                return check(root, root)

    assert identifier("add() Zed_is > 0, x=5%") == "add_Zed_is_greater_than_0_x_is_5"
    count = lambda totals: tuple(totals[k] for k in ("names", "tested", "excluded", "open"))
    cases = [
        (("",), (11, 0, 0, 11), []),
        (("| `ATest.testA` | null unit |\n", "TEST(ATest, testA_c) {\n  TEST_F(Asap, add_should_go) {\n  TEST_F(Asap, add_should_go_2)"), (11, 3, 1, 7), []),
        (("ATest.testA | no time\n",), (11, 0, 1, 10), ["unknown reason"]),
        (("ATest.testX | null unit\n",), (11, 0, 0, 11), ["no such upstream test"]),
        (("ATest.testA | null unit\n", "TEST(ATest, testA)"), (11, 1, 1, 10), ["both tested and excluded"]),
        (("ATest.testA | deliberate difference\n",), (11, 0, 1, 10), ["needs a link"]),
        (("ATest.testA | deliberate difference ([why](differences.md#a))\n",), (11, 0, 1, 10), []),
    ]
    for arguments, counts, expected in cases:
        violations, totals = run(*arguments)
        assert count(totals) == counts, f"{arguments}: counted {count(totals)}"
        assert len(violations) == len(expected), violations
        assert all(e in v for e, v in zip(expected, violations)), violations
    print(f"check_conformance: {len(cases) + 1} passed, 0 failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--root", type=pathlib.Path, default=root)
    parser.add_argument("--lists", type=pathlib.Path, help="folder of the lists (default: ../shared/conformance, beside the checkout)")
    parser.add_argument("--open", action="store_true", help="print the open names too")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    lists = arguments.lists or arguments.root.parent / "shared/conformance"
    if not lists.is_dir():
        rows = exclusions(arguments.root)
        print(f"conformance: no upstream lists at {lists}: nothing to compare; {len(rows)} exclusions")
        return 0
    violations, totals = check(arguments.root, lists, arguments.open)
    for violation in violations:
        print(violation)
    print(f"conformance: {totals['tested']} tested, {totals['excluded']} excluded, {totals['open']} open, "
          f"of {totals['names']} upstream names")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
