#!/usr/bin/env python3
"""Runs the programs of this folder as their users do. Usage: check_tools.py FOLDER-OF-PROGRAMS"""
import fcntl
import os
import pathlib
import pty
import signal
import socket
import subprocess
import tempfile
import threading

from tool_test import PROGRAMS, SECONDS, Tool, full_disk, main, run


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
        self.expect(run("index", "/nowhere/at/all"), 2, "is no folder")
        for port in ["0", "65536"]:
            self.expect(run("checkmail", "--port", port, "a"), 2, "option --port needs a number from 1 to 65535")
        for wrong in ("host:", ":25", "host:0", "host:99999", "[::1]:x", "[::1]x", "[::1]:", "[::1", "a]", ""):
            self.expect(run("checkmail", wrong), 2, f"'{wrong}' is no HOST[:PORT]")

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

    def test_a_disk_that_becomes_full(self):
        file = self.folder / "log"
        text = "".join(f"line {i}\n" for i in range(5000))  # less than it reads at once, of a file
        source = self.folder / "source"
        source.write_text(text)
        with open(source) as lines:
            result = run("logpump", file, stdin=lines, preexec_fn=full_disk(4096))
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
                    self.comes_true(lambda: self.unread(reader) >= 65536)  # its write waits
                    for _ in range(signals):
                        p.send_signal(signal.SIGINT)
                        self.comes_true(lambda: not self.is_pending(p.pid))
                    self.assertEqual(p.wait(SECONDS), 3)
                    self.assertIn("stopped without waiting", p.stderr.read())

    def test_is_stopped(self):
        file = self.folder / "log"
        with subprocess.Popen([PROGRAMS / "logpump", file], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
            p.stdin.write("one\n")
            p.stdin.flush()
            self.comes_true(lambda: file.exists() and file.read_text() == "one\n")
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
        result = run("index", self.folder / "tree", "--out", out, preexec_fn=full_disk(4096))
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
        result = run("index", self.folder / "tree", "--out", link, preexec_fn=full_disk(4096))
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
                self.assertIn(code, (3, -signal.SIGINT), said)  # stopped, or before it had begun
                self.assertEqual(out.read_text(), "old")


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

    def test_tells_of_each(self):
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
        self.assertIn("does not greet as a mail server does: hello", lines[2])
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
        self.assertIn(f"{name} given up", said)

    def test_addresses_with_colons(self):
        lines = run("checkmail", "--port", 1, "::1", "[::1]:2", "[127.0.0.1]:1").stdout.splitlines()
        for line, name in zip(lines, ("[::1]:1", "[::1]:2", "127.0.0.1:1"), strict=True):
            self.assertTrue(line.startswith(f"{name} failed: "), line)

    def test_bad_greetings(self):
        servers = [self.listen() for _ in range(3)]
        for (server, _), text in zip(servers, (b"", b"220 " + b"x" * 5000, b"220 a\x1b[2Jb\r\n")):
            self.greet(server, text)
        lines = run("checkmail", *[name for _, name in servers]).stdout.splitlines()
        self.assertIn("closed the connection without a greeting", lines[0])
        self.assertLess(len(lines[1]), 2000)
        self.assertIn("ok: 220 a?[2Jb", lines[2])

    def test_an_output_that_is_full(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([PROGRAMS / "checkmail", "127.0.0.1:1"], stdout=full, stderr=subprocess.PIPE,
                                    text=True, timeout=SECONDS)
        self.assertEqual(result.returncode, 1)
        self.assertIn("checkmail: cannot write to the output: No space left", result.stderr)

    def test_the_second_signal_does_not_wait(self):
        """For a reader of its output that does not read, nor for anything else."""
        servers = [self.listen() for _ in range(10)]
        for server, _ in servers:
            self.greet(server, b"220 " + b"x" * 900 + b"\r\n")
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        fcntl.fcntl(writing, 1031, 4096)  # F_SETPIPE_SZ
        with subprocess.Popen([PROGRAMS / "checkmail", *[name for _, name in servers]], stdout=writing,
                              stderr=subprocess.PIPE, text=True) as p:
            os.close(writing)
            self.comes_true(lambda: self.unread(reading) >= 4096)
            for _ in range(2):
                p.send_signal(signal.SIGINT)
                self.comes_true(lambda: not self.is_pending(p.pid))
            self.assertEqual(p.wait(SECONDS), 3)
            self.assertIn("stopped without waiting", p.stderr.read())

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
