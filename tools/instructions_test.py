#!/usr/bin/env python3
"""Tests of instructions.py. Run it without arguments."""
import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import instructions

DUMP = """# callgrind format
cmd:  takt_instructions
part: 1
desc: Trigger: Client Request: pool, execute: queue/10000

events: Ir
summary: 1667953

fn=(1) main
16 400
totals: 1664500
"""


def figures(compiler="GCC 12", **paths):
    return {"compiler": compiler, "instructions": paths}


class Dump(unittest.TestCase):
    def test_gives_instructions_per_operation(self):
        self.assertEqual(instructions.path_in(DUMP), ("pool, execute: queue", 166.45))

    def test_of_the_end_of_the_program_is_no_path(self):
        self.assertIsNone(instructions.path_in(DUMP.replace("Client Request: pool, execute: queue/10000", "Program end")))

    def test_without_a_total_is_an_error(self):
        with self.assertRaises(instructions.Failed):
            instructions.path_in(DUMP.replace("totals:", "other:"))


class Comparison(unittest.TestCase):
    def wrong(self, found, baseline, tolerance=3.0):
        return instructions.compare(found, baseline, tolerance)[1]

    def test_a_path_that_has_grown_is_named(self):
        self.assertEqual(self.wrong(figures(a=104.0, b=50.0), figures(a=100.0, b=50.0)),
                         ["a: 100.0 instructions have become 104.0, +4.0 %"])

    def test_within_the_tolerance_or_less_is_fine(self):
        self.assertEqual(self.wrong(figures(a=102.9, b=10.0), figures(a=100.0, b=50.0)), [])
        self.assertEqual(len(self.wrong(figures(a=102.9), figures(a=100.0), 2.0)), 1)

    def test_each_path_is_in_the_table(self):
        lines, _ = instructions.compare(figures(a=104.0), figures(a=100.0), 3.0)
        self.assertIn("       104.0     100.0    +4.0%  a", lines)

    def test_new_and_missing_paths_are_named(self):
        self.assertEqual(self.wrong(figures(new=1.0), figures(old=1.0)),
                         ["new: not in the baseline", "old: in the baseline, but was not run"])

    def test_another_compiler_is_not_compared(self):
        self.assertEqual(self.wrong(figures("GCC 13", a=900.0), figures(a=1.0)),
                         ["the baseline is of GCC 12, this is GCC 13: not comparable"])


class Program(unittest.TestCase):
    def run_main(self, found, baseline, *arguments):
        """The exit code, what it said on stderr, and the baseline after it."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "baseline.json"
            if baseline is not None:
                file.write_text(baseline, encoding="utf-8")
            errors = io.StringIO()
            with mock.patch.object(instructions, "measure", return_value=found), \
                 contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
                code = instructions.main(["program", "--baseline", str(file), *arguments])
            return code, errors.getvalue(), file.read_text(encoding="utf-8") if file.exists() else None

    def test_exits_1_if_a_path_has_grown(self):
        code, errors, _ = self.run_main(figures(a=2.0), json.dumps(figures(a=1.0)))
        self.assertEqual(code, 1)
        self.assertIn("instructions: a: 1.0 instructions have become 2.0", errors)

    def test_exits_0_if_none_has(self):
        self.assertEqual(self.run_main(figures(a=1.0), json.dumps(figures(a=1.0)))[:2], (0, ""))

    def test_update_writes_what_is_then_the_baseline(self):
        code, _, written = self.run_main(figures(a=2.0), json.dumps(figures(a=1.0)), "--update")
        self.assertEqual((code, json.loads(written)), (0, figures(a=2.0)))

    def test_no_baseline_is_a_message(self):
        for text in (None, "{", "[]", "{}", '{"compiler": "x", "instructions": {"a": 0}}'):
            code, errors, _ = self.run_main(figures(a=1.0), text)
            self.assertEqual(code, 1, text)
            self.assertIn("no baseline", errors, text)

    def test_valgrind_that_is_not_there_is_a_message(self):
        errors = io.StringIO()
        with mock.patch.object(instructions.subprocess, "run", side_effect=FileNotFoundError("valgrind")), \
             contextlib.redirect_stderr(errors):
            self.assertEqual(instructions.main(["program"]), 1)
        self.assertIn("valgrind does not start", errors.getvalue())


if __name__ == "__main__":
    unittest.main()
