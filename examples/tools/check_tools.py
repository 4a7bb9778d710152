#!/usr/bin/env python3
"""Tests the programs of this folder end to end. Usage: check_tools.py FOLDER-OF-PROGRAMS"""
import fcntl
import os
import pathlib
import pty
import signal
import socket
import subprocess
import tempfile
import threading
import time

from tool_test import PROGRAMS, SECONDS, Tool, files_at_most, full_disk, main, run

# More lines of 30,000 bytes than logpump can queue while its file blocks. The sink alone buffers up to 64 lines between
# two flushes.
MORE_LINES_THAN_FIT = 400


class Usage(Tool):
    def test_help_and_wrong_arguments(self):
        for name in ("checkmail", "crawl", "index", "logpump"):
            if not (PROGRAMS / name).exists():
                continue
            with self.subTest(name):
                self.expect(run(name, "--help"), 0, f"usage: {name}")
                for wrong in (["--nonsense"], ["--help=1"], [], ["a", "b", "--nonsense"]):
                    result = run(name, *wrong, cwd=self.folder)
                    self.expect(result, 2, f"{name}: ")
                    self.assertEqual(len(result.stderr.splitlines()), 1)
                self.assertEqual(list(self.folder.iterdir()), [])
        self.expect(run("checkmail", "--timeout", "soon", "a"), 2, "needs a number from 1")
        self.expect(run("checkmail", "--timeout"), 2, "needs a value")
        self.expect(run("index", "/nowhere/at/all"), 2, "is not a folder")
        for port in ["0", "65536"]:
            self.expect(run("checkmail", "--port", port, "a"), 2, "option --port needs a number from 1 to 65535")
        for wrong in ("host:", ":25", "host:0", "host:99999", "[::1]:x", "[::1]x", "[::1]:", "[::1", "a]", ""):
            self.expect(run("checkmail", wrong), 2, f"'{wrong}' is not a HOST[:PORT]")

    def test_help_that_nobody_can_read(self):
        with open("/dev/full", "w") as full:
            self.assertEqual(subprocess.run([PROGRAMS / "index", "--help"], stdout=full).returncode, 1)


class Logpump(Tool):
    def test_writes_all_lines(self):
        file = self.folder / "log"
        text = "".join(f"line {i}\n" for i in range(5000)) + "without an end"
        self.expect(run("logpump", file, input=text), 0, "5001 lines written, 0 not")
        self.assertEqual(file.read_text(), text + "\n")
        self.expect(run("logpump", "--sync", file, input="more\n"), 0, "1 lines written")
        self.assertEqual(file.read_text(), text + "\nmore\n")
        self.expect(run("logpump", "--truncate", file, input=""), 0, "0 lines written")
        self.assertEqual(file.read_text(), "")

    def test_errors(self):
        self.expect(run("logpump", self.folder / "no" / "log", input="a\n"), 1, "No such file")
        if os.path.exists("/dev/full"):
            self.expect(run("logpump", "/dev/full", input="a\nb\nc"), 1, "0 lines written, 3 not",
                        "logpump: takt::to_file: /dev/full cannot be written to: No space left")
        self.expect(run("logpump", self.folder, input="a\n"), 1, "Is a directory")

    def test_long_lines(self):
        file = self.folder / "log"
        million = "x" * 1_000_000
        for text, lengths in ((million + "\nnext", [1_000_000, 4]), (million, [1_000_000]),
                              (million + "x\n" + "\n", [1_000_000, 1, 0]),
                              (million + million + "\n", [1_000_000, 1_000_000])):
            self.expect(run("logpump", "--truncate", file, input=text), 0, f"{len(lengths)} lines written, 0 not")
            self.assertEqual([len(line) for line in file.read_text().split("\n")[:-1]], lengths)

    def test_a_line_feed_that_comes_after_a_million_bytes(self):
        file = self.folder / "log"
        with subprocess.Popen([PROGRAMS / "logpump", file], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            p.stdin.write(b"x" * 1_000_000)
            p.stdin.flush()
            self.wait_until(lambda: self.unread(p.stdin) == 0)  # it has read exactly these bytes
            _, said = p.communicate(b"\nnext\n", timeout=SECONDS)
        self.assertIn(b"2 lines written", said)
        self.assertEqual([len(line) for line in file.read_text().splitlines()], [1_000_000, 4])

    def test_a_pipe_whose_reader_is_gone(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        with subprocess.Popen([PROGRAMS / "logpump", pipe], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            p.stdin.write(b"one\n")
            p.stdin.flush()
            self.wait_until(lambda: self.unread(reader) == 4)
            os.close(reader)
            _, said = p.communicate(b"two\n", timeout=SECONDS)
        self.assertEqual(p.returncode, 1, said)
        self.assertIn(b"Broken pipe", said)
        self.assertIn(b"1 lines written, 1 not", said)

    def test_bytes_that_wait_are_bounded(self):
        """Without a bound on bytes, the allowed number of lines would take 64 MB."""
        for drop in (["--drop"], []):
            with self.subTest(drop):
                pipe = self.folder / f"pipe{len(drop)}"
                os.mkfifo(pipe)
                reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
                with subprocess.Popen([PROGRAMS / "logpump", "--wait", str(SECONDS), *drop, pipe], stdin=subprocess.PIPE,
                                      stderr=subprocess.PIPE) as p:
                    line = b"x" * 999_999 + b"\n"
                    fed = 0
                    def feed():
                        nonlocal fed
                        for _ in range(64):
                            p.stdin.write(line)
                            p.stdin.flush()
                            fed += 1
                        p.stdin.close()
                    feeder = threading.Thread(target=feed, daemon=True)
                    feeder.start()
                    if drop:
                        feeder.join(SECONDS)  # it reads all lines and drops most of them
                    else:
                        self.wait_until(lambda: fed == 64 or (fed >= 15 and self.is_blocked(p)))
                    before = fed
                    os.set_blocking(reader, True)
                    got = 0
                    while block := os.read(reader, 1_000_000):
                        got += len(block)
                    os.close(reader)
                    feeder.join(SECONDS)
                    said = p.stderr.read()
                    code = p.wait(SECONDS)
                if drop:
                    self.assertEqual(code, 3, said)
                    self.assertLess(got, 20_000_000)
                    self.assertGreater(got, 10_000_000)
                else:
                    self.assertEqual(code, 0, said)
                    self.assertEqual(got, 64_000_000)
                    self.assertLess(before, 20)

    def test_bytes_in_the_buffer_of_the_file_are_bounded(self):
        """The lines between two flushes would take 3.2 MB."""
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        line = b"x" * 49_999 + b"\n"
        with subprocess.Popen([PROGRAMS / "logpump", "--bytes", "1000000", pipe], stdin=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, bufsize=0) as p:
            try:
                fed = []
                feeder = self.feed_until_blocked(p, line, 400, fed)
                got = 0
                for end in range(200_000, 3_000_000, 350_000):  # at several points between two flushes
                    while got < end:
                        self.wait_until(lambda: self.unread(reader) != 0)
                        got += len(os.read(reader, 65_536))
                    self.wait_until(lambda: self.is_blocked(p))
                    taken = sum(fed) - self.unread(p.stdin)
                    in_hand = 65_536 + len(line)
                    self.assertLess(taken - got - self.unread(reader), 1_000_000 + in_hand + 50_000)
            finally:
                p.kill()
            feeder.join(SECONDS)

    def test_a_line_that_is_longer_than_the_bytes_that_may_wait(self):
        file = self.folder / "log"
        self.expect(run("logpump", "--bytes", 1, file, input="one\ntwo\n"), 0, "2 lines written, 0 not")
        self.assertEqual(file.read_text(), "one\ntwo\n")

    def test_a_disk_that_becomes_full(self):
        file = self.folder / "log"
        text = "".join(f"line {i}\n" for i in range(5000))  # less than one read() of a file
        source = self.folder / "source"
        source.write_text(text)
        with open(source) as lines:
            result = run("logpump", file, stdin=lines, limit=full_disk(4096))
        self.expect(result, 1, "File too large")
        words = next(line for line in result.stderr.splitlines() if "written" in line).split()
        self.assertEqual(int(words[1]) + int(words[4]), 5000, "each line is accounted for")
        self.assertGreaterEqual(len(file.read_text().splitlines()), int(words[1]))
        self.assertTrue(text.startswith(file.read_text()))

    def test_a_disk_that_does_not_answer(self):
        for signals, wait in ((1, 0), (2, 1000)):
            with self.subTest(signals):
                pipe = self.folder / f"pipe{signals}"
                os.mkfifo(pipe)
                reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # and never reads
                self.addCleanup(os.close, reader)
                with subprocess.Popen([PROGRAMS / "logpump", "--wait", str(wait), pipe],
                                      stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
                    p.stdin.write("x" * 500_000 + "\n")
                    p.stdin.flush()
                    self.wait_until(lambda: self.unread(reader) >= 65536)  # its write waits
                    for _ in range(signals):
                        p.send_signal(signal.SIGINT)
                        self.wait_until(lambda: not self.is_pending(p.pid))
                    self.assertEqual(p.wait(SECONDS), 3)
                    self.assertIn("stopped without waiting", p.stderr.read())

    def feed_until_blocked(self, process, text, times, written=None):
        """Writes to the input of a process until it blocks on its file. `written` receives the number of bytes."""
        written = [] if written is None else written
        def feed():
            try:
                for _ in range(times):
                    written.append(process.stdin.write(text))
            except (BrokenPipeError, ValueError):  # the process or the test has ended
                pass
        feeder = threading.Thread(target=feed, daemon=True)
        feeder.start()
        self.wait_until(lambda: self.is_blocked(process))
        return feeder

    def test_a_full_queue_and_a_disk_that_does_not_answer(self):
        for name, bound in (("lines", ["--capacity", "4"]), ("bytes", ["--bytes", "100000"])):
            with self.subTest(name):
                pipe = self.folder / name
                os.mkfifo(pipe)
                reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # and never reads
                self.addCleanup(os.close, reader)
                with subprocess.Popen([PROGRAMS / "logpump", "--wait", "1", *bound, pipe], stdin=subprocess.PIPE,
                                      stderr=subprocess.PIPE, bufsize=0) as p:
                    feeder = self.feed_until_blocked(p, b"x" * 29_999 + b"\n", MORE_LINES_THAN_FIT)
                    p.send_signal(signal.SIGTERM)
                    try:
                        code = p.wait(SECONDS)
                    finally:
                        p.kill()
                    said = p.stderr.read()
                    feeder.join(SECONDS)
                self.assertEqual(code, 3, said)
                self.assertNotIn(b" 0 not", said)

    def test_a_full_queue_and_a_disk_that_answers_after_ctrl_c(self):
        """All lines that were read are written."""
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        with subprocess.Popen([PROGRAMS / "logpump", "--wait", "1000", "--capacity", "4", pipe], stdin=subprocess.PIPE,
                              stderr=subprocess.PIPE, bufsize=0) as p:
            feeder = self.feed_until_blocked(p, b"x" * 29_999 + b"\n", MORE_LINES_THAN_FIT)
            p.send_signal(signal.SIGINT)
            self.wait_until(lambda: not self.is_pending(p.pid))
            os.set_blocking(reader, True)
            got = b""
            while block := os.read(reader, 1_000_000):
                got += block
            os.close(reader)
            said = p.stderr.read()
            self.assertEqual(p.wait(SECONDS), 0, said)
            feeder.join(SECONDS)
        self.assertIn(f"{len(got.splitlines())} lines written, 0 not".encode(), said)

    def test_is_stopped(self):
        file = self.folder / "log"
        with subprocess.Popen([PROGRAMS / "logpump", file], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
            p.stdin.write("one\n")
            p.stdin.flush()
            self.wait_until(lambda: file.exists() and file.read_text() == "one\n")
            p.send_signal(signal.SIGINT)
            self.assertEqual(p.wait(SECONDS), 0)
            self.assertIn("1 lines written, 0 not", p.stderr.read())

    def test_progress_is_for_terminals(self):
        ours, theirs = pty.openpty()
        with subprocess.Popen([PROGRAMS / "logpump", self.folder / "log"], stdin=subprocess.PIPE, stderr=theirs) as p:
            os.close(theirs)
            p.stdin.write(b"one\n")
            p.stdin.flush()
            said = b""
            while b"\r\x1b[K1 lines read, 1 written" not in said:
                said += os.read(ours, 1000)
            p.stdin.close()
            while b"\r\x1b[Klogpump: 1 lines written, 0 not" not in said:
                said += os.read(ours, 1000)
        os.close(ours)

    def test_is_stopped_while_nobody_reads_the_pipe(self):
        os.mkfifo(self.folder / "pipe")
        with subprocess.Popen([PROGRAMS / "logpump", self.folder / "pipe"], stdin=subprocess.DEVNULL) as p:
            self.sleeps(p)
            self.assertEqual(self.interrupted(p)[0], -signal.SIGINT)


class Index(Tool):
    def test_indexes_a_tree(self):
        (self.folder / "sub").mkdir()
        (self.folder / "a.txt").write_text("One two, TWO; it\n")
        (self.folder / "sub" / "b.txt").write_text("two three")
        (self.folder / "binary").write_bytes(b"two\0two")
        a, b = self.folder / "a.txt", self.folder / "sub" / "b.txt"
        result = run("index", "--readers", 3, self.folder)
        self.expect(result, 0, "3 words in 3 files")
        self.assertEqual(result.stdout,
                         f"one\t1 {a}\nthree\t1 {b}\ntwo\t1 {b}\t2 {a}\n")
        self.expect(run("index", self.folder, "--min=4", "--out", self.folder / "out"), 0)
        self.assertEqual((self.folder / "out").read_text(), f"three\t1 {b}\n")
        self.expect(run("index", self.folder, "--out", "/nowhere/at/all"), 1, "cannot write")

    def test_a_full_disk_leaves_the_old_index(self):
        (self.folder / "tree").mkdir()
        (self.folder / "tree" / "a.txt").write_text(" ".join(f"word{i}" for i in range(1000)))
        out = self.folder / "out"
        out.write_text("old")
        result = run("index", self.folder / "tree", "--out", out, limit=full_disk(4096))
        self.expect(result, 1, "cannot write", "File too large")
        self.assertEqual(out.read_text(), "old")
        self.assertEqual(len(list(self.folder.iterdir())), 2, "nothing is left behind")
        with open("/dev/full", "w") as full:
            result = subprocess.run([PROGRAMS / "index", self.folder / "tree"], stdout=full,
                                    stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot write to the output: No space left", result.stderr)
        self.expect(run("index", self.folder / "tree", "--out", "/dev/full"), 1, "No space left")

    def test_a_link_stays_a_link_to_the_index(self):
        (self.folder / "tree").mkdir()
        (self.folder / "tree" / "a.txt").write_text(" ".join(f"word{i}" for i in range(1000)))
        out, link = self.folder / "out", self.folder / "link"
        out.write_text("old")
        link.symlink_to("out")
        result = run("index", self.folder / "tree", "--out", link, limit=full_disk(4096))
        self.expect(result, 1, "cannot write", "File too large")
        self.assertEqual(out.read_text(), "old")
        self.expect(run("index", self.folder / "tree", "--out", link), 0)
        self.assertTrue(link.is_symlink())
        self.assertEqual(len(out.read_text().splitlines()), 1000)

    def test_is_stopped_while_nobody_reads_the_pipe(self):
        os.mkfifo(self.folder / "pipe")
        with subprocess.Popen([PROGRAMS / "index", self.folder, "--out", self.folder / "pipe"],
                              stderr=subprocess.PIPE, text=True) as p:
            self.assertIn("0 words", p.stderr.readline())
            self.sleeps(p)
            self.assertEqual(self.interrupted(p)[0], -signal.SIGINT)

    def test_what_cannot_be_read_is_named(self):
        (self.folder / "secret").write_text("word")
        (self.folder / "locked").mkdir()
        (self.folder / "listed").mkdir()
        (self.folder / "listed" / "hidden").write_text("word")
        (self.folder / "open").write_text("word")
        os.chmod(self.folder / "secret", 0)
        os.chmod(self.folder / "locked", 0)
        os.chmod(self.folder / "listed", 0o444)
        os.chmod(self.folder, 0o755)
        nobody = {"user": 65534} if os.geteuid() == 0 else {}
        result = run("index", self.folder, **nobody)
        os.chmod(self.folder / "locked", 0o700)
        os.chmod(self.folder / "listed", 0o700)
        self.expect(result, 1, "1 words in 2 files", "secret': Permission denied", "locked': Permission denied",
                    "hidden': Permission denied")

    def test_is_stopped(self):
        for i in range(300):
            (self.folder / f"{i}.txt").write_text(f"word{i} " * 1000)
        with tempfile.TemporaryDirectory() as elsewhere:
            out = pathlib.Path(elsewhere) / "out"
            out.write_text("old")
            with subprocess.Popen([PROGRAMS / "index", self.folder, "--readers", "1", "--out", out],
                                  stderr=subprocess.PIPE, text=True) as p:
                code, said = self.interrupted(p)
            if code == 0:
                self.assertIn("300 words", said)
            else:
                self.assertIn(code, (3, -signal.SIGINT), said)  # stopped, or interrupted before it started
                self.assertEqual(out.read_text(), "old")


    def test_is_stopped_when_all_files_are_read(self):
        """It blocks on stderr at that point."""
        tree, out = self.tree(), self.folder / "out"
        out.write_text("old")
        reading, writing = self.full_pipe()
        with subprocess.Popen([PROGRAMS / "index", tree, "--out", out], stderr=writing) as p:
            os.close(writing)
            try:
                self.wait_until(lambda: self.waits_to_write(p, 2))
                p.send_signal(signal.SIGINT)
                self.wait_until(lambda: not self.is_pending(p.pid))
                self.assertIn(b"without an index", self.rest_of(reading))
                self.assertEqual(p.wait(SECONDS), 3)
            finally:
                p.kill()
        self.assertEqual(out.read_text(), "old")
        self.assertEqual(len(list(self.folder.iterdir())), 2, "nothing is left behind")

    def tree(self):
        (self.folder / "tree").mkdir()
        (self.folder / "tree" / "a.txt").write_text("word")
        return self.folder / "tree"

    def test_removes_and_follows_nothing_beside_the_index(self):
        tree, out, beside = self.tree(), self.folder / "out", self.folder / "out.new"
        victim = self.folder / "victim"
        victim.write_text("precious")
        for made in (lambda: beside.write_text("precious"), lambda: beside.symlink_to(victim), beside.mkdir):
            made()
            self.expect(run("index", tree, "--out", out), 0)
            self.assertTrue(out.read_text().startswith("word\t1 "))
            self.assertFalse(out.is_symlink())
            self.assertEqual(victim.read_text(), "precious")
            if beside.is_dir():
                beside.rmdir()
            else:
                self.assertEqual(beside.read_text(), "precious")
                beside.unlink()
            self.assertEqual(len(list(self.folder.iterdir())), 3, "nothing is left behind")
            out.unlink()

    def test_keeps_the_mode_of_the_index(self):
        tree, out = self.tree(), self.folder / "out"
        out.write_text("old")
        out.chmod(0o600)
        self.expect(run("index", tree, "--out", out), 0)
        self.assertEqual(out.stat().st_mode & 0o777, 0o600)

    def test_two_at_once_do_not_mix(self):
        out = self.folder / "out"
        for name, words in (("big", 100_000), ("small", 1000)):
            (self.folder / name).mkdir()
            (self.folder / name / "a.txt").write_text(" ".join(f"{name}{i:06}" for i in range(words)))
        for _ in range(5):
            both = [subprocess.Popen([PROGRAMS / "index", self.folder / name, "--out", out], stderr=subprocess.DEVNULL)
                    for name in ("big", "small", "big", "small")]
            self.assertEqual([p.wait(SECONDS) for p in both], [0] * 4)
            lines = out.read_text().splitlines()
            name = "big" if len(lines) == 100_000 else "small"
            self.assertEqual(len(lines), 100_000 if name == "big" else 1000)
            self.assertTrue(all(line.startswith(name) for line in lines))

    def test_names_forge_no_lines(self):
        tree = self.tree()
        for name in ("a\nforged\t1 b", "t\tt", "back\\slash", "caf\u00e9", b"\x9b\xff"):
            folder, name = (os.fsencode(tree), name) if isinstance(name, bytes) else (str(tree), name)
            with open(os.path.join(folder, name), "w") as file:
                file.write("word")
        result = run("index", tree)
        self.expect(result, 0, "1 words in 6 files")
        self.assertEqual(result.stdout, "word" + "".join(f"\t1 {tree}/{name}" for name in sorted(
            (r"a\nforged\t1 b", "a.txt", r"back\\slash", "caf\u00e9", r"t\tt", r"\x9B\xFF"),
            key=lambda n: (n.startswith(r"\x"), n.replace(r"\n", "\n")))) + "\n")
        os.mkdir(tree / "x\ny")
        os.chmod(tree / "x\ny", 0)
        if os.geteuid() != 0:
            self.assertIn(r"x\ny': Permission denied", run("index", tree).stderr)

    def test_leaves_out_files_that_are_larger_than_their_size_says(self):
        """Like files that grow while they are read: these report a size of 0."""
        result = run("index", "--max-bytes", 8, "/proc/sys/kernel/random")
        self.assertNotIn("boot_id", result.stdout + result.stderr)
        self.assertIn("boot_id", run("index", "/proc/sys/kernel/random").stdout)


class Checkmail(Tool):
    def listen(self):
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        return server, f"127.0.0.1:{server.getsockname()[1]}"

    def greet(self, server, text):
        def answer():
            connection, _ = server.accept()
            with connection:
                connection.sendall(text)
        thread = threading.Thread(target=answer)
        thread.start()
        self.addCleanup(thread.join)

    def test_reports_each_host(self):
        servers = [self.listen() for _ in range(4)]
        for (server, _), text in zip(servers, (b"220 mail\r\n", b"+OK pop\r\n", b"hello\r\n")):
            self.greet(server, text)
        names = [name for _, name in servers]
        with socket.create_server(("127.0.0.1", 0)) as s:
            closed = f"127.0.0.1:{s.getsockname()[1]}"
        result = run("checkmail", "--timeout", 1, "--stdin", *names, input=closed + "\n")
        self.expect(result, 1, "2 of 5 answer")
        lines = result.stdout.splitlines()
        self.assertEqual(lines[0], f"{names[0]} ok: 220 mail")
        self.assertEqual(lines[1], f"{names[1]} ok: +OK pop")
        self.assertIn("does not greet like a mail server: hello", lines[2])
        self.assertEqual(lines[3], f"{names[3]} no answer")
        self.assertEqual(lines[4], f"{closed} failed: Connection refused")

    def test_is_stopped(self):
        server, name = self.listen()
        with subprocess.Popen([PROGRAMS / "checkmail", "--timeout", "1000", name],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
            connection, _ = server.accept()
            with connection:
                code, said = self.interrupted(p)
        self.assertEqual(code, 3)
        self.assertIn(f"{name} cancelled", said)

    def test_more_hosts_than_files_may_be_open(self):
        """All hosts answer, however few are checked at a time."""
        server, name = self.listen()
        def answer():
            for _ in range(120):
                connection, _ = server.accept()
                with connection:
                    connection.sendall(b"220 mail\r\n")
        threading.Thread(target=answer, daemon=True).start()
        result = run("checkmail", "--timeout", SECONDS, *[name] * 120, limit=files_at_most(60))
        self.expect(result, 0, "120 of 120 answer")

    def test_bounds_the_hosts_that_are_checked_at_a_time(self):
        servers = [self.listen() for _ in range(3)]
        with subprocess.Popen([PROGRAMS / "checkmail", "--parallel", "2", "--timeout", "1000", *[name for _, name in servers]],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
            first, second = (server.accept()[0] for server, _ in servers[:2])
            servers[2][0].settimeout(0.2)  # the third host is not checked, however long this waits
            with self.assertRaises(TimeoutError):
                servers[2][0].accept()
            servers[2][0].settimeout(SECONDS)
            for connection in first, second:
                with connection:
                    connection.sendall(b"220 mail\r\n")
            with servers[2][0].accept()[0] as connection:
                connection.sendall(b"220 mail\r\n")
            out, _ = p.communicate(timeout=SECONDS)
        self.assertEqual(out.count("ok: 220 mail"), 3, out)

    def test_each_host_has_its_own_time(self):
        """The second host is checked after the time-out of the first one."""
        silent, greets = self.listen(), self.listen()
        self.greet(greets[0], b"220 mail\r\n")
        result = run("checkmail", "--parallel", 1, "--timeout", 5, silent[1], greets[1])
        self.expect(result, 1, f"{silent[1]} no answer", f"{greets[1]} ok: 220 mail")

    def test_parallel_checks_that_the_system_does_not_allow(self):
        result = run("checkmail", "--parallel", 50, *["127.0.0.1:1"] * 100, limit=files_at_most(60))
        self.expect(result, 2, "checking 50 hosts at a time needs more open files", "ulimit -n")
        self.expect(run("checkmail", "--parallel", 50, "127.0.0.1:1", limit=files_at_most(60)), 1, "0 of 1 answer")

    def test_addresses_with_colons(self):
        lines = run("checkmail", "--port", 1, "::1", "[::1]:2", "[127.0.0.1]:1").stdout.splitlines()
        for line, name in zip(lines, ("[::1]:1", "[::1]:2", "127.0.0.1:1"), strict=True):
            self.assertTrue(line.startswith(f"{name} failed: "), line)

    def test_bad_greetings(self):
        servers = [self.listen() for _ in range(3)]
        for (server, _), text in zip(servers, (b"", b"220 " + b"x" * 5000, "220 a\x1b[2Jb \x9b caf\u00e9\r\n".encode())):
            self.greet(server, text)
        lines = run("checkmail", *[name for _, name in servers]).stdout.splitlines()
        self.assertIn("closed the connection without a greeting", lines[0])
        self.assertLess(len(lines[1]), 2000)
        self.assertIn("ok: 220 a\\x1B[2Jb \\xC2\\x9B caf\u00e9", lines[2])

    def test_an_output_that_is_full(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([PROGRAMS / "checkmail", "127.0.0.1:1"], stdout=full, stderr=subprocess.PIPE,
                                    text=True, timeout=SECONDS)
        self.assertEqual(result.returncode, 1)
        self.assertIn("checkmail: cannot write to the output: No space left", result.stderr)

    def test_the_second_signal_does_not_wait(self):
        """Not even for a reader of its output that does not read."""
        servers = [self.listen() for _ in range(10)]
        for server, _ in servers:
            self.greet(server, b"220 " + b"x" * 900 + b"\r\n")
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        fcntl.fcntl(writing, 1031, 4096)  # F_SETPIPE_SZ
        with subprocess.Popen([PROGRAMS / "checkmail", *[name for _, name in servers]], stdout=writing,
                              stderr=subprocess.PIPE, text=True) as p:
            os.close(writing)
            self.wait_until(lambda: self.unread(reading) >= 4096)
            for _ in range(2):
                p.send_signal(signal.SIGINT)
                self.wait_until(lambda: not self.is_pending(p.pid))
            self.assertEqual(p.wait(SECONDS), 3)
            self.assertIn("stopped without waiting", p.stderr.read())

    def test_the_second_signal_does_not_wait_for_a_reader_of_its_errors(self):
        server, name = self.listen()
        _, writing = self.full_pipe()
        with subprocess.Popen([PROGRAMS / "checkmail", "--timeout", "1000", name], stdout=subprocess.DEVNULL,
                              stderr=writing) as p:
            os.close(writing)
            try:
                connection, _ = server.accept()
                with connection:
                    for _ in range(2):
                        p.send_signal(signal.SIGINT)
                        self.wait_until(lambda: not self.is_pending(p.pid))
                    self.assertEqual(p.wait(SECONDS), 3)
            finally:
                p.kill()

    def test_an_input_that_cannot_be_read(self):
        folder = os.open(self.folder, os.O_RDONLY)
        self.addCleanup(os.close, folder)
        self.expect(run("checkmail", "--stdin", "127.0.0.1:1", stdin=folder), 1, "cannot read the input")

    def test_is_stopped_while_it_reads_its_input(self):
        with subprocess.Popen([PROGRAMS / "checkmail", "--stdin"], stdin=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as p:
            p.stdin.write("127.0.0.1:1\n")
            p.stdin.flush()
            p.send_signal(signal.SIGINT)
            self.assertEqual(p.wait(SECONDS), -signal.SIGINT)


if __name__ == "__main__":
    main(__doc__)
