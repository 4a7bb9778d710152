#!/usr/bin/env python3
"""Checks that takt's rooms include each other downwards only, and that concurrency goes through
the sync shim. Usage: check_layering.py [--root DIR] | --self-test"""
import pathlib
import re
import tempfile

import checking

# A room, and the rooms that it names as usable; what those may use, it may use too.
# Siblings (rx, service) do not reach each other.
ROOMS = {
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
    # The checker stands beside the library and instruments it: it may look at every room.
    "model": ["rx", "job"],
}

# (file, included header): the two places where the library knows the checker.
ALLOWED = {
    # The shim is what the checker replaces.
    ("include/takt/base/sync.hpp", "takt/model/sync.hpp"),
    # In the model build a failed assertion ends the run, with its replay token.
    ("src/base/assert.cpp", "takt/model/explore.hpp"),
}

# Standard names with a counterpart in takt::sync. Tests may use them.
FORBIDDEN = re.compile(
    r"\bstd::(atomic\w*|(?:\w+_)?mutex|j?thread|this_thread|condition_variable\w*|stop_\w+|nostopstate"
    r"|call_once|once_flag|counting_semaphore"
    r"|binary_semaphore|latch|barrier|async|promise|(?:shared_)?future|packaged_task)\b"
    r"|\bthread_local\b|\batomic_(?:thread|signal)_fence\b")
MAY_USE_STD = ("include/takt/base/sync.hpp", "include/takt/model/", "src/model/")

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"](takt/[^>"]+)[>"]')


def reachable(room):
    seen, todo = {room}, [room]
    while todo:
        for below in ROOMS[todo.pop()]:
            if below not in seen:
                seen.add(below)
                todo.append(below)
    return seen


def without_comments(text):
    """The text with comments and literals blanked, line by line as before."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
    blank = lambda m: m.group() if m.group()[0] == '"' and "takt/" in m.group() else re.sub(r"[^\n]", " ", m.group())
    return token.sub(blank, text)


def room_of(path):
    """The room of include/takt/<room>/x.hpp or src/<room>/x.cpp; None for include/takt/x.hpp."""
    parts = pathlib.PurePath(path).parts
    below = parts[2:] if parts[0] == "include" else parts[1:]
    return below[0] if len(below) > 1 else None


def check(root):
    """All violations below root, one line each."""
    found = []
    root = pathlib.Path(root)
    files = [p for d in ("include", "src") for p in sorted((root / d).rglob("*.[ch]pp"))]
    for file in files:
        path = file.relative_to(root).as_posix()
        room = room_of(path)
        if room is None:  # takt.hpp and fwd.hpp include or name everything
            continue
        if room not in ROOMS:
            found.append(f"{path}: '{room}' is not a room of takt")
            continue
        is_test = path.endswith("_test.cpp")
        for number, line in enumerate(without_comments(file.read_text()).splitlines(), 1):
            include = INCLUDE.match(line)
            if include:
                target = room_of("include/" + include.group(1))
                if target is None:
                    if include.group(1) != "takt/fwd.hpp" and not is_test:
                        found.append(f"{path}:{number}: the library itself never includes <{include.group(1)}>")
                elif target not in reachable(room) and (path, include.group(1)) not in ALLOWED:
                    found.append(f"{path}:{number}: room {room} may not include room {target}")
            name = FORBIDDEN.search(line)
            if name and not is_test and not path.startswith(MAY_USE_STD):
                found.append(f"{path}:{number}: {name.group()} instead of the name in takt::sync")
    return found


def self_test():
    cases = {  # path: (content, what the complaint contains, or None)
        "src/base/a.cpp": ("#include <takt/timer/wheel.hpp>\n", "room base may not include room timer"),
        "src/base/ok.cpp": ("#include <takt/base/sync.hpp>\n// std::mutex in a comment\n", None),
        "src/rx/a.cpp": ("#include <takt/service/group.hpp>\n", "room rx may not include room service"),
        "src/rx/ok.cpp": ("#include <takt/timer/wheel.hpp>\n", None),
        "src/base/assert.cpp": ("#include <takt/model/explore.hpp>\n", None),
        "src/base/parker.cpp": ("#include <takt/model/explore.hpp>\n", "may not include room model"),
        "src/base/b.cpp": ("/* a\n b */ std::atomic<int> x;\n", "b.cpp:2: std::atomic"),
        "src/base/c.cpp": ("thread_local int x;\n", "thread_local"),
        "src/base/d.cpp": ("std::atomic_thread_fence(o);\n", "std::atomic_thread_fence"),
        "src/base/e.cpp": ("std::this_thread::yield();\n", "std::this_thread"),
        "src/base/e_test.cpp": ("std::thread t;\n", None),
        "include/takt/base/sync.hpp": ("using std::mutex;\n", None),
        "include/takt/attic/x.hpp": ("", "not a room"),
        "include/takt/takt.hpp": ("#include <takt/rx/worker.hpp>\n", None),
        "include/takt/base/up.hpp": ("#include <takt/takt.hpp>\n", "never includes"),
        "include/takt/base/names.hpp": ("#include <takt/fwd.hpp>\n", None),
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
