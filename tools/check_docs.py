#!/usr/bin/env python3
"""Checks the Markdown files: targets of links to files and headings exist, a program after <!-- path --> equals
that file, a program after <!-- from path --> is a part of it (indented there or not), and tokens of model checks name
tests that exist. Pages, and comments and messages of the library, use no phrase of PHRASES.
Usage: check_docs.py [--root DIR] | --self-test"""
import pathlib
import re
import tempfile
import textwrap

import checking

PROGRAM = re.compile(r"^<!-- (from )?(\S+) -->\n```\w*\n(.*?)^```$", re.M | re.S)
FENCED = re.compile(r"^```.*?^```$", re.M | re.S)
TOKEN = re.compile(r"\b(\w+)\.(\w+)(?:#\d+)?@(?:random|pct|pos|sticky|dfs):")
# Phrases without a clear subject or with a private meaning. A sentence names its subject: the caller, a producer, a worker.
PHRASES = re.compile("|".join([
    r"\b(?:who|whom|whoever|somebody|nobody|anybody|himself)\b",
    r"\b(?:is|are|was|were|be|been|being|not|never) told\b", r"\btold of\b",
    r"\btell(?:s|ing)? (?:of|that|what|how|whether|its|it|them)\b",
    r"\bbec(?:omes?|ame) of\b", r"\bcom(?:e|es|ing) to (?:its|their|an) end\b", r"\bcomes true\b",
    r"\b(?:give|gives|gave|given|giving) (?:up|back)\b", r"\b(?:let|lets|letting) go\b",
    r"\b(?:see|sees|seen|saw) to\b", r"\b(?:take|takes|took|taken|taking) in\b",
    r"\bask(?:s|ed|ing)?\b[^.;]{0,40}\bto stop\b", r"\bnot (?:before|after)\b",
    r"\bmend(?:s|ed|ing)?\b", r"\bhas its say\b", r"\bof its own accord\b", r"\bsociable\b", r"\bnothing comes of\b",
    r"\b(?:base|clock|observe|task|timer|exec|sched|rx|service|model|job) room\b", r"\brooms\b",
    r"\bthat of (?:it|them|those)\b", r"\bthose (?:which|who)\b", r"\bas (?:one|you) likes?\b", r"\bow(?:e|es|ed|ing)\b",
]), re.I)
# Sources whose comments are revised together with their code.
UNREVISED = (
    "include/takt/timer/detail/", "src/timer/",
    "src/sched/delay_queue", "src/sched/timer_inbox", "src/sched/timer_node", "src/sched/wheel_",
    "include/takt/rx/detail/worker_", "src/rx/task_subscription", "src/rx/worker_",
    "include/takt/task/detail/future_state", "src/task/future_state",
)
# Text of sources: comments and literals.
TEXT = re.compile(r'//.*|"(?:\\.|[^"\\])*"')
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def anchors(text):
    """The anchors of the headings, as GitHub generates them."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", text), re.M)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def phrases(root):
    """Phrases that are used, one line each."""
    files = [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("include/**/*.hpp"), *root.glob("src/**/*.[ch]pp")]
    for file in sorted(files):
        name = file.relative_to(root).as_posix()
        if name.endswith("_test.cpp") or any(name.startswith(prefix) for prefix in UNREVISED):
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            text = line if name.endswith(".md") else " ".join(t for t in TEXT.findall(line) if not line.startswith("#include"))
            for phrase in PHRASES.finditer(text):
                yield f"{name}:{number}: '{phrase.group()}': name the subject and the action"


def check(root):
    """Returns all violations below root, one line each."""
    found = []
    root = pathlib.Path(root)
    tests = "".join(file.read_text() for file in root.glob("tests/model/*.cpp"))
    for file in sorted([*root.glob("*.md"), *root.glob("docs/**/*.md")]):
        name, text = file.relative_to(root).as_posix(), file.read_text()
        for part, path, program in PROGRAM.findall(text):
            source = (root / path).read_text() if (root / path).is_file() else ""
            quoted = [program, textwrap.indent(program, "  ")]
            if not any(text in source for text in quoted) if part else program != source:
                found.append(f"{name}: the program is not that of {path}")
        for suite, test in TOKEN.findall(text):
            if not re.search(rf"TEST\w*\({suite}, {test}\)", tests):
                found.append(f"{name}: there is no model check {suite}.{test}")
        for link in LINK.findall(FENCED.sub("", text)):
            if re.match(r"\w+:", link):
                continue
            path, _, anchor = link.partition("#")
            if not path and name.startswith("docs/"):
                found.append(f"{name}: {link} without its file: doxygen does not find it")
            target = file.parent / path if path else file
            if not target.exists():
                found.append(f"{name}: there is no {link}")
            elif anchor and anchor not in anchors(target.read_text()):
                found.append(f"{name}: there is no heading {link}")
    return found + list(phrases(root))


def self_test():
    good = {"README.md": "# A\n[b](docs/b.md#the-c) [web](https://x.y)\n<!-- e.cpp -->\n```cpp\nint x;\n```\n",
            "docs/b.md": "# B\n## The `C`\n[up](../README.md)\n```\n# No heading [x](nowhere)\n```\n", "e.cpp": "int x;\n"}
    part = "# A\n<!-- from e.cpp -->\n```cpp\nint x;\n```\n"
    cases = [({}, None), ({"e.cpp": "int y;\n"}, "is not that of e.cpp"), ({"README.md": part, "e.cpp": "//\nint x;\n"}, None),
             ({"README.md": part, "e.cpp": "{\n  int x;\n}\n"}, None), ({"README.md": part, "e.cpp": "int y;\n"}, "is not that of e.cpp"), ({"docs/b.md": "# B\n"}, "no heading"),
             ({"tests/model/a.cpp": "TEST(a, b) {}", "c.md": "`a.b@pct:3:1:7`"}, None), ({"c.md": "'a.b#2@dfs:1'"}, "no model check a.b"),
             ({"src/a/a.cpp": "int who;  // waits\n"}, None), ({"src/a/a.cpp": "// Who waits.\n"}, "src/a/a.cpp:1: 'Who'"),
             ({"include/a.hpp": 'fail("nobody waits");\n'}, "'nobody'"), ({"docs/b.md": "## The C\nIt is told.\n"}, "'is told'"),
             ({"docs/b.md": "## The C\n[x](#the-c)\n"}, "#the-c without its file"),
             ({"docs/b.md": "## The C\n[x](none.md)\n"}, "there is no none.md")]
    for changes, expected in cases:
        with tempfile.TemporaryDirectory() as root:
            for name, text in {**good, **changes}.items():
                file = pathlib.Path(root, name)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            found = check(root)
        right = not found if expected is None else len(found) == 1 and expected in found[0]
        assert right, f"expected {expected!r}, found {found}"
    print(f"check_docs: {len(cases)} passed, 0 failed")


if __name__ == "__main__":
    checking.main(__doc__, "documents", check, self_test)
