#!/usr/bin/env python3
"""Runs clang-tidy-19 on C++ files, two at a time, without a build.
Usage: tidy.py [--minutes N] FILE...   With --minutes no file is started after N minutes."""
import argparse
import concurrent.futures
import subprocess
import sys
import time


def flags(path):
    result = ["-std=c++20", "-xc++", "-Iinclude", "-pthread", "-Wthread-safety"]
    if "/model/" in path:
        result += ["-DTAKT_MODEL=1", "-Isrc/model/include"]
    if path.startswith("bench/"):
        result += ["-Ibench"]
    return result


def tidy(path, deadline):
    """Returns True if the file is clean, None if there was no time left."""
    if deadline and time.monotonic() > deadline:
        return None
    command = ["clang-tidy-19", "--quiet", "--warnings-as-errors=*", path, "--", *flags(path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        print(done.stdout + done.stderr, flush=True)
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    deadline = arguments.minutes and time.monotonic() + 60 * arguments.minutes
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda f: tidy(f, deadline), arguments.files))
    bad, skipped = results.count(False), results.count(None)
    print(f"clang-tidy: {results.count(True)} files clean, {bad} with findings")
    if skipped:
        print(f"clang-tidy: no time for {skipped} more files: ./dev lint --all")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
