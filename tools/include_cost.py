#!/usr/bin/env python3
"""Prints a Markdown table of the cost of including takt's headers: the time to compile a file with only the
include and -O2, its lines after preprocessing, and the size of its object file.
Usage: include_cost.py [--rounds N] [--headers N] [--compiler CXX]... [--only X] [--std-of X]

Rows: standard headers and asio, for comparison; takt/takt.hpp; all headers of each module; and the N headers that
have the most lines alone. Times are medians over the rounds of the compiler's user time, which other work on the
machine disturbs least; each round compiles every row once. --only X selects the rows whose name contains X.
--std-of takt/x.hpp instead lists the standard headers that takt's headers below x.hpp include, with the lines of each
alone, to find the expensive ones."""
import argparse
import concurrent.futures
import functools
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"
REFERENCES = [["vector"], ["functional"], ["chrono"], ["future", "thread"], ["asio.hpp"]]


def fail(message):
    sys.exit(f"include_cost: {message}")


def source(headers):
    return "".join(f"#include <{h}>\n" for h in headers)


def run(compiler, headers, *flags):
    """Compiles a file that includes the headers. Returns the compiler's output and its user time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = [compiler, "-std=c++20", f"-I{INCLUDE}", "-xc++", *flags, "-"]
    done = subprocess.run(command, input=source(headers).encode(), capture_output=True)
    if done.returncode:
        fail(f"{compiler} cannot compile {' '.join(headers)}:\n{done.stderr.decode()}")
    return done.stdout, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


@functools.cache
def lines(compiler, *headers):
    return run(compiler, headers, "-E", "-P")[0].count(b"\n")


def object_size(compiler, headers):
    """Returns the size of code and data, the sections that a program would contain."""
    with tempfile.NamedTemporaryFile(suffix=".o") as file:
        run(compiler, headers, "-O2", "-c", "-o", file.name)
        text, data, bss = subprocess.check_output(["size", file.name], text=True).splitlines()[1].split()[:3]
    return int(text) + int(data) + int(bss)


def exists(compiler, header):
    return subprocess.run([compiler, "-std=c++20", "-xc++", "-E", "-o", "/dev/null", "-"],
                          input=source([header]).encode(), stderr=subprocess.DEVNULL).returncode == 0


def rows(compiler, heaviest):
    """Returns the name and the headers of each row."""
    modules = {}
    for file in sorted(INCLUDE.glob("takt/*/*.hpp")):
        modules.setdefault(file.parent.name, []).append(file.relative_to(INCLUDE).as_posix())
    every = sum(modules.values(), [])
    with concurrent.futures.ThreadPoolExecutor(2) as pool:  # not timed
        count = dict(zip(every, pool.map(lambda h: lines(compiler, h), every)))
    single = sorted(every, key=count.get, reverse=True)[:heaviest]
    by_module = [(f"all of {module}", headers) for module, headers in modules.items()]
    alone = [[h for h in r if exists(compiler, h)] for r in REFERENCES] + [["takt/takt.hpp"]]
    by_name = [(" + ".join(f"`<{h}>`" for h in r), r) for r in alone + [[h] for h in single] if r]
    return by_name[:-heaviest] + sorted(by_module, key=lambda r: lines(compiler, *r[1])) + by_name[-heaviest:]


def standard_headers_of(compiler, header):
    """Returns the standard headers that takt's headers below this one include, with the lines of each alone."""
    listing = subprocess.run([compiler, "-std=c++20", f"-I{INCLUDE}", "-H", "-fsyntax-only", "-xc++", "-"],
                             input=source([header]), capture_output=True, text=True)
    if listing.returncode:
        fail(f"{compiler} cannot compile {header}")
    ours = re.findall(rf"^\.+ {re.escape(str(INCLUDE))}/(\S+)", listing.stderr, re.M)
    names = {n for h in ours for n in re.findall(r"^#include <([a-z_.]+)>", (INCLUDE / h).read_text(), re.M)}
    return sorted(((lines(compiler, n), n) for n in names), reverse=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--headers", type=int, default=5)
    parser.add_argument("--compiler", action="append")
    parser.add_argument("--only", default="")
    parser.add_argument("--std-of", metavar="HEADER")
    arguments = parser.parse_args()
    compilers = arguments.compiler or ["g++", "clang++-19"]
    for compiler in compilers:
        if not shutil.which(compiler):
            fail(f"compiler {compiler} not found; select one with --compiler")
    if arguments.rounds < 1 or arguments.headers < 1:
        fail("--rounds and --headers need at least 1")

    if arguments.std_of:
        for count, name in standard_headers_of(compilers[0], arguments.std_of):
            print(f"{count:7d} {name}")
        return
    table = [r for r in rows(compilers[0], arguments.headers) if arguments.only in r[0]]
    if not table:
        fail(f"no row has '{arguments.only}' in its name")
    seconds = {(name, c): [] for name, _ in table for c in compilers}
    for _ in range(arguments.rounds):
        for name, headers in table:
            for compiler in compilers:
                seconds[name, compiler].append(run(compiler, headers, "-O2", "-c", "-o", "/dev/null")[1])

    print("| included | " + " | ".join(f"{c}, s" for c in compilers) + " | lines | object, bytes |")
    print("|---|" + "---:|" * (len(compilers) + 2))
    for name, headers in table:
        times = " | ".join(f"{statistics.median(seconds[name, c]):.2f}" for c in compilers)
        print(f"| {name} | {times} | {lines(compilers[0], *headers):,} | {object_size(compilers[0], headers):,} |")


if __name__ == "__main__":
    main()
