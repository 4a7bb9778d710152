#!/usr/bin/env python3
"""Checks that includes between takt's modules point downwards only, private headers included, and that code
uses threads, atomics and locks through the sync shim. Usage: check_layering.py [--root DIR] | --self-test"""
import pathlib
import posixpath
import re
import tempfile

import checking

# Each module, and the modules that it may include, transitively. Siblings (rx, service) cannot include each other.
MODULES = {
    "base": [],
    "clock": ["base"],
    "observe": ["base"],
    "task": ["clock", "observe"],
    "timer": ["base"],
    "exec": ["task"],
    "sched": ["exec", "timer"],
    "rx": ["sched"],
    "service": ["sched"],
    "job": ["service"],
    # The checker instruments the library: it may include every module.
    "model": ["rx", "job"],
}

# (file, included header): the two places where the library includes the checker.
ALLOWED = {
    # The checker replaces the shim.
    ("include/takt/base/detail/sync.hpp", "takt/model/sync.hpp"),
    # In the model build a failed assertion ends the run and prints its replay token.
    ("src/base/assert.cpp", "takt/model/explore.hpp"),
}

# Standard names with a counterpart in takt::sync. Tests may use them.
FORBIDDEN = re.compile(
    r"\bstd::(atomic\w*|(?:\w+_)?mutex|j?thread|this_thread|condition_variable\w*|stop_\w+|nostopstate"
    r"|call_once|once_flag|counting_semaphore"
    r"|binary_semaphore|latch|barrier|async|promise|(?:shared_)?future|packaged_task)\b"
    r"|\bthread_local\b|\batomic_(?:thread|signal)_fence\b")
MAY_USE_STD = ("include/takt/base/detail/sync.hpp", "src/model/")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def reachable(module):
    seen, todo = {module}, [module]
    while todo:
        for below in MODULES[todo.pop()]:
            if below not in seen:
                seen.add(below)
                todo.append(below)
    return seen


def without_comments(text):
    """Blanks comments and literals, keeping the lines."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
    blank = lambda m: m.group() if m.group().endswith('.hpp"') else re.sub(r"[^\n]", " ", m.group())
    return token.sub(blank, text)


def module_of(path):
    """Returns the module of include/takt/<module>/x.hpp or src/<module>/x.cpp; None for include/takt/x.hpp and other folders."""
    parts = pathlib.PurePath(path).parts
    if parts[:2] == ("include", "takt"):
        below = parts[2:]
    elif parts[0] == "src":
        below = parts[1:]
    else:
        return None
    return below[0] if len(below) > 1 else None


def check_include(path, module, is_test, quote, name):
    """Returns the violation of this include, or None."""
    if quote == "<" and not name.startswith("takt/"):
        return None
    if name.startswith("takt/"):
        target = "include/" + name
        if quote == '"':
            return f'<{name}> is included with <>, "" is for headers beside the source'
    else:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    owner = module_of(target)
    if owner is None:
        allowed = is_test or target == "include/takt/fwd.hpp"
        return None if allowed else f"the library itself never includes {target}"
    if owner not in reachable(module) and (path, name) not in ALLOWED:
        return f"module {module} may not include module {owner}"
    return None


def check(root):
    """Returns all violations below root, one line each."""
    found = []
    root = pathlib.Path(root)
    files = [p for d in ("include", "src") for p in sorted((root / d).rglob("*.[ch]pp"))]
    for file in files:
        path = file.relative_to(root).as_posix()
        module = module_of(path)
        if module is None:  # takt.hpp and fwd.hpp include or name everything
            continue
        if module not in MODULES:
            found.append(f"{path}: '{module}' is not a module of takt")
            continue
        is_test = path.endswith("_test.cpp")
        for number, line in enumerate(without_comments(file.read_text()).splitlines(), 1):
            if include := INCLUDE.match(line):
                if wrong := check_include(path, module, is_test, *include.groups()):
                    found.append(f"{path}:{number}: {wrong}")
            name = FORBIDDEN.search(line)
            if name and not is_test and not path.startswith(MAY_USE_STD):
                found.append(f"{path}:{number}: {name.group()} instead of the name in takt::sync")
    return found


def self_test():
    cases = {  # path: (content, part of the expected message, or None)
        "src/base/a.cpp": ("#include <takt/timer/wheel.hpp>\n", "module base may not include module timer"),
        "src/base/ok.cpp": ("#include <takt/base/detail/sync.hpp>\n// std::mutex in a comment\n", None),
        "src/rx/a.cpp": ("#include <takt/service/group.hpp>\n", "module rx may not include module service"),
        "src/rx/ok.cpp": ("#include <takt/timer/wheel.hpp>\n", None),
        "src/base/assert.cpp": ("#include <takt/model/explore.hpp>\n", None),
        "src/base/parker.cpp": ("#include <takt/model/explore.hpp>\n", "may not include module model"),
        "src/base/b.cpp": ("/* a\n b */ std::atomic<int> x;\n", "b.cpp:2: std::atomic"),
        "src/base/c.cpp": ("thread_local int x;\n", "thread_local"),
        "src/base/d.cpp": ("std::atomic_thread_fence(o);\n", "std::atomic_thread_fence"),
        "src/base/e.cpp": ("std::this_thread::yield();\n", "std::this_thread"),
        "src/base/e_test.cpp": ("std::thread t;\n", None),
        "include/takt/base/detail/sync.hpp": ("using std::mutex;\n", None),
        "include/takt/attic/x.hpp": ("", "not a module"),
        "include/takt/takt.hpp": ("#include <takt/rx/worker.hpp>\n", None),
        "include/takt/base/up.hpp": ("#include <takt/takt.hpp>\n", "never includes"),
        "include/takt/base/names.hpp": ("#include <takt/fwd.hpp>\n", None),
        # Private headers.
        "src/exec/own.cpp": ('#include "pool_core.hpp"\n#include "../base/os.hpp"\n', None),
        "src/base/private.cpp": ('#include "../exec/task_harness.hpp"\n', "private.cpp:1: module base may not include module exec"),
        "src/service/private.hpp": ('#include "../rx/worker_core.hpp"\n', "module service may not include module rx"),
        "include/takt/rx/private.hpp": ('#include "../service/x.hpp"\n', "module rx may not include module service"),
        "src/exec/support.cpp": ('#include "../../tests/support/pools.hpp"\n', "never includes tests/support/pools.hpp"),
        "src/exec/support_test.cpp": ('#include "../../tests/support/pools.hpp"\n', None),
        "src/exec/quoted.cpp": ('#include "takt/base/detail/mutex.hpp"\n', "is included with <>"),
        "src/model/include/takt/model/x.hpp": ("#include <takt/rx/worker.hpp>\nstd::mutex m;\n", None),
    }
    for path, (content, expected) in cases.items():
        with tempfile.TemporaryDirectory() as root:
            file = pathlib.Path(root, path)
            file.parent.mkdir(parents=True)
            file.write_text(content)
            found = check(root)
            good = not found if expected is None else len(found) == 1 and expected in found[0]
            assert good, f"{path}: expected {expected!r}, found {found}"
    print(f"check_layering: {len(cases)} passed, 0 failed")


if __name__ == "__main__":
    checking.main(__doc__, "layering", check, self_test)
