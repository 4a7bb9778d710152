#!/usr/bin/env python3
"""Checks takt's public headers: each has #pragma once and compiles alone, its classes have comments,
takt/takt.hpp includes all of them, and takt/fwd.hpp declares exactly the public classes, itself or through
a header that it includes.
Usage: check_headers.py [--root DIR] | --self-test

It finds classes by clang-format's layout: declarations in a namespace are not indented, and a comment
marks the end of a namespace."""
import concurrent.futures
import pathlib
import re
import subprocess
import tempfile

import checking

COMPILERS = ["g++", "clang++-19"]
UMBRELLA, FORWARD = "takt/takt.hpp", "takt/fwd.hpp"
MODEL = "src/model/include"  # headers of the model checker, which is not installed

OPEN = re.compile(r"^(?:inline )?namespace ([\w:]+?)(?:::inline TAKT_ABI)?(?: TAKT_ABI)? ?\{")
CLOSE = re.compile(r"^\}  // namespace")
ATTRIBUTE = r'(?:\[\[[^\]]*\]\] |alignas\([^)]*\) |[A-Z]+_[A-Z_]+(?:\([^)]*\))? )*'
CLASS = re.compile(r"^(?:template <.*> )?(?:class|struct|enum class) " + ATTRIBUTE + r"(?!alignas\()(\w+)\s*(?:final )?(.?)")


def classes(text):
    """Returns the classes at namespace scope, declared or defined, with their namespaces."""
    found, scopes = set(), []
    for line in text.splitlines():
        if OPEN.match(line) and "}" not in line:
            scopes.append(OPEN.match(line).group(1))
        elif CLOSE.match(line):
            scopes.pop()
        elif (match := CLASS.match(line)) and scopes and match.group(2) != "<":  # no specialisation
            found.add("::".join([*scopes, match.group(1)]))
    # takt::sync is not for users: in most builds it holds other names for standard classes.
    return {n for n in found if "detail" not in n and "::sync::" not in n}


def without_comment(text):
    """Returns the classes at namespace scope whose definition has no comment."""
    found, comment = [], False
    for line in text.splitlines():
        if line.startswith("///"):
            comment = True
        elif (match := CLASS.match(line)) and match.group(2) != "<" and not line.endswith(";"):
            if not comment:
                found.append(match.group(1))
        elif not line.startswith(("template ", "  requires")):
            comment = False
    return found


def compiles(compiler, source, root, model):
    """Compiles the source text against root/include and returns the error messages."""
    flags = ["-std=c++20", "-fsyntax-only", "-xc++", "-Wall", "-Wextra", "-Werror", f"-I{root}/include"]
    flags += ["-DTAKT_MODEL=1", f"-I{root}/{MODEL}"] if model else []
    command = [compiler, *flags, "-"]
    done = subprocess.run(command, input=source, stderr=subprocess.PIPE, text=True)
    return done.stderr if done.returncode else ""


def check(root, compilers):
    """Returns all violations below root, one text each."""
    found = []
    root = pathlib.Path(root)
    include = root / "include"
    headers = {p.relative_to(include).as_posix(): p.read_text() for p in sorted(include.rglob("*.hpp"))}
    public = [h for h in headers if "/detail/" not in h]
    found += [f"{h}: no #pragma once" for h, text in headers.items() if "#pragma once" not in text]

    found += [f"{h}: class {c} has no comment" for h in public for c in without_comment(headers[h])]

    included = set(re.findall(r"^#include <(takt/[^>]+)>", headers.get(UMBRELLA, ""), re.M))
    wanted = {h for h in public if h != UMBRELLA}
    found += [f"{UMBRELLA}: does not include <{h}>" for h in sorted(wanted - included)]
    found += [f"{UMBRELLA}: <{h}> is not a public header" for h in sorted(included - wanted)]

    defined = set().union(*(classes(headers[h]) for h in public if h != FORWARD))
    forward = headers.get(FORWARD, "")
    declared = classes(forward).union(*(classes(headers[h]) for h in headers if f"#include <{h}>" in forward))
    found += [f"{FORWARD}: does not declare {c}" for c in sorted(defined - declared)]
    found += [f"{FORWARD}: there is no class {c}" for c in sorted(declared - defined)]

    checker = {p.relative_to(root / MODEL).as_posix(): p.read_text() for p in sorted((root / MODEL).rglob("*.hpp"))}
    found += [f"{h}: no #pragma once" for h, text in checker.items() if "#pragma once" not in text]
    sources = {h: (f"#include <{h}>\n", h in checker) for h in (*headers, *checker)}
    sources["fwd.hpp before all"] = (f"#include <{FORWARD}>\n#include <{UMBRELLA}>\n", False)
    sources["fwd.hpp after all"] = ("".join(f"#include <{h}>\n" for h in public if h != FORWARD)
                                    + f"#include <{FORWARD}>\n", False)
    jobs = [(c, name) for c in compilers for name in sources]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        errors = pool.map(lambda j: compiles(j[0], sources[j[1]][0], root, sources[j[1]][1]), jobs)
        found += [f"{name}: does not compile with {c}\n{e}" for (c, name), e in zip(jobs, errors) if e]
    return found


GOOD = {
    "takt/base/a.hpp": "#pragma once\nnamespace takt::inline TAKT_ABI {\n\n/// A.\ntemplate <class T>\n"
                       "class a {\n  struct inner {};\n};\n}  // namespace takt::inline TAKT_ABI\n",
    "takt/base/b.hpp": "#pragma once\nnamespace takt::inline TAKT_ABI {\nnamespace rx {\n"
                       "/// B.\nclass [[nodiscard]] b final {};\n}  // namespace rx\n"
                       "namespace detail {\n/// H.\nstruct hidden {};\n}  // namespace detail\n"
                       "/// X.\ntemplate <class T>\nstruct detail_x {};\ntemplate <>\nstruct detail_x<int> {};\ntemplate <>\nstruct alignas(8)\n    detail_x<char> {};\n}  // namespace takt::inline TAKT_ABI\n",
    "takt/fwd.hpp": "#pragma once\nnamespace takt::inline TAKT_ABI {\ntemplate <class T>\nclass a;\n"
                    "namespace rx {\nclass b;\n}  // namespace rx\n}  // namespace takt::inline TAKT_ABI\n",
    "takt/takt.hpp": "#pragma once\n#include <takt/base/a.hpp>\n#include <takt/base/b.hpp>\n#include <takt/fwd.hpp>\n",
}

def self_test():
    def run(changes):
        with tempfile.TemporaryDirectory() as root:
            for name, text in {**GOOD, **changes}.items():
                file = pathlib.Path(root, name if name.startswith("src/") else f"include/{name}")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            return check(root, COMPILERS[:1])

    forward, umbrella, a = GOOD["takt/fwd.hpp"], GOOD["takt/takt.hpp"], GOOD["takt/base/a.hpp"]
    cases = [
        ({}, None),
        ({"takt/base/a.hpp": a.replace("#pragma once\n", "")}, "a.hpp: no #pragma once"),
        ({"takt/base/a.hpp": a + "inline missing_type x;\n"}, "a.hpp: does not compile"),
        ({"takt/base/a.hpp": a.replace("/// A.\n", "")}, "class a has no comment"),
        ({"takt/base/detail/a.hpp": "#pragma once\nclass hidden {};\n"}, None),
        ({"src/model/include/takt/model/m.hpp": "#pragma once\n#include <takt/base/a.hpp>\nstatic_assert(TAKT_MODEL);\n"}, None),
        ({"src/model/include/takt/model/m.hpp": "#pragma once\nmissing_type x;\n"}, "m.hpp: does not compile"),
        ({"takt/takt.hpp": umbrella.replace("#include <takt/base/b.hpp>\n", "")}, "does not include <takt/base/b.hpp>"),
        ({"takt/fwd.hpp": forward.replace("class b;\n", "")}, "does not declare takt::rx::b"),
        ({"takt/fwd.hpp": forward.replace("class b;\n", "class b;\nclass c;\n")}, "there is no class takt::rx::c"),
        ({"takt/fwd.hpp": forward.replace("template <class T>\nclass a;", "").replace("once\n", "once\n#include <takt/base/a.hpp>\n")}, None),
        ({"takt/fwd.hpp": forward.replace("template <class T>\nclass a", "class a")}, "fwd.hpp before all"),
    ]
    for changes, expected in cases:
        found = run(changes)
        good = not found if expected is None else any(expected in f for f in found)
        assert good, f"expected {expected!r}, found {found}"
    print(f"check_headers: {len(cases)} passed, 0 failed")


if __name__ == "__main__":
    checking.main(__doc__, "headers", lambda root: check(root, COMPILERS), self_test)
