#!/usr/bin/env python3
"""Prints the tests that a change needs beyond ./dev test: stages, and build targets for the sanitizers.
Usage: touched.py < PATHS | --self-test

PATHS are the changed files, one per line. The output has one word per line: stage:NAME, target:NAME, or the single word
everything. A module's tests are affected by every module that it may include."""
import re
import sys

from check_layering import MODULES, reachable

MODEL = {"target:tests/model/all"}
STRESS = {"target:tests/stress/all"}
SANITIZERS = {"stage:asan", "stage:tsan"}
PARKING = {"base", "clock", "task", "exec"}  # modules that the stage portable builds

TESTED = [module for module in MODULES if module not in ("model", "job")]


def after_module(module):
    """Returns the targets that a change of a library module affects: the module, and all that may include it."""
    affected = [m for m in TESTED if module in reachable(m)]
    words = {f"target:takt_{m}_tests" for m in affected} | MODEL | STRESS | SANITIZERS
    words |= {"stage:" + s for s in ("fuzz", "deep", "release", "oracle", "lint", "package", "docs")}
    return words | ({"stage:portable"} if module in PARKING else set())


def after_test(module):
    return {f"target:takt_{module}_tests", "stage:lint"} | SANITIZERS


LINT = {"stage:lint"}
# The first matching pattern decides.
RULES = [
    (r"(?:src|tests)/model/", lambda m: MODEL | SANITIZERS | LINT | {"stage:deep", "stage:portable"}),
    (r"src/(\w+)/\w+_test\.cpp$", lambda m: after_test(m[1])),
    (r"(?:include/takt|src)/(\w+)/.*\.[ch]pp$", lambda m: after_module(m[1])),
    (r"include/takt/\w+\.hpp$", lambda m: after_module("base")),
    (r"tests/conformance/.*\.[ch]pp$", lambda m: after_test("exec") | after_test("sched") | after_test("rx")),
    (r"tests/(stress|fault)/", lambda m: STRESS | SANITIZERS | LINT | {"stage:release"}),
    (r"tests/fuzz/", lambda m: LINT | {"stage:fuzz"}),
    (r"tests/oracle/", lambda m: LINT | {"stage:oracle"}),
    (r"tests/package/", lambda m: {"stage:package"}),
    (r"examples/", lambda m: {"target:examples/all", "stage:release"} | SANITIZERS | LINT),
    (r"bench/", lambda m: LINT | {"stage:release"}),
    (r"docs/|[^/]*\.md$|Doxyfile$", lambda m: {"stage:docs"}),
    (r"tools/|LICENSE$|\.gitignore$", lambda m: LINT),
]


def touched(paths):
    words = set()
    for path in paths:
        for pattern, rule in RULES:
            match = re.match(pattern, path)
            if match:
                words |= rule(match)
                break
        else:
            return {"everything"}
    return words


def self_test():
    cases = [  # paths, expected words, unexpected words
        (["docs/rx.md", "README.md"], {"stage:docs"}, {"stage:asan", "stage:lint"}),
        (["src/rx/worker.cpp"], {"target:takt_rx_tests", "stage:tsan"}, {"target:takt_service_tests", "stage:portable"}),
        (["include/takt/sched/when.hpp"], {"target:takt_rx_tests", "target:takt_service_tests"}, {"target:takt_exec_tests"}),
        (["src/base/os.cpp"], {"target:takt_timer_tests", "stage:portable"}, set()),
        (["src/exec/task_harness.cpp"], {"target:takt_sched_tests", "stage:portable"}, {"target:takt_timer_tests"}),
        (["src/base/os_test.cpp"], {"target:takt_base_tests"}, {"target:takt_sched_tests", "stage:package"}),
        (["include/takt/fwd.hpp"], {"target:takt_base_tests", "target:takt_rx_tests"}, set()),
        (["tests/model/parker_model.cpp"], {"target:tests/model/all", "stage:deep"}, {"target:takt_exec_tests"}),
        (["tests/fuzz/fuzz_marbles.cpp"], {"stage:fuzz"}, {"stage:asan"}),
        (["docs/rx.md", "CMakeLists.txt"], {"everything"}, {"stage:docs"}),
        (["src/exec/CMakeLists.txt"], {"everything"}, set()),
        (["tests/support/pools.hpp"], {"everything"}, set()),
        ([], set(), {"everything"}),
    ]
    for paths, there, absent in cases:
        words = touched(paths)
        assert there <= words and not absent & words, f"{paths}: {sorted(words)}"
    print(f"touched: {len(cases)} passed, 0 failed")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        print("\n".join(sorted(touched(line.strip() for line in sys.stdin if line.strip()))))
