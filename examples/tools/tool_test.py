"""What the checks of the programs have in common."""
import faulthandler
import fcntl
import os
import pathlib
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

SECONDS = 60  # no program takes as long, unless it hangs
PROGRAMS = pathlib.Path(sys.argv[-1]).resolve()


# Runs a command within a limit. Not by preexec_fn, which may hang in a process that has threads, such as those of a server.
WITHIN_LIMIT = """
import os, resource, signal, sys
limit, value = map(int, sys.argv[1:3])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(limit, (value, value))
os.execv(sys.argv[3], sys.argv[3:])
"""


def run(name, *arguments, limit=(), **more):
    command = [PROGRAMS / name, *map(str, arguments)]
    if limit:
        command = [sys.executable, "-c", WITHIN_LIMIT, *map(str, limit), *command]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, **more)


def full_disk(size):
    """For run(): no file becomes longer than that."""
    return resource.RLIMIT_FSIZE, size


def files_at_most(count):
    """For run(): the program may not have more files open."""
    return resource.RLIMIT_NOFILE, count


class Tool(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def expect(self, result, code, *texts):
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        for text in texts:
            self.assertIn(text, result.stdout + result.stderr)

    def comes_true(self, condition):
        """Looks again and again, for SECONDS at most."""
        end = time.monotonic() + SECONDS
        while not condition():
            self.assertLess(time.monotonic(), end, "the condition did not become true")
            time.sleep(0.01)

    def sleeps(self, process):
        """Waits until all that a process does is to wait."""
        stat = pathlib.Path(f"/proc/{process.pid}/stat")
        self.comes_true(lambda: stat.read_text().rpartition(")")[2].split()[0] == "S")

    def waits_to_write(self, process, descriptor):
        """Whether the main thread of a process is in a call of the system for that descriptor."""
        try:
            call = pathlib.Path(f"/proc/{process.pid}/syscall").read_text().split()
        except PermissionError:
            self.skipTest("the system does not tell what a process waits for")
        return len(call) > 1 and call[1] == hex(descriptor)

    def is_blocked(self, process):
        """Whether the main thread of a process waits for something else than its input, which is there to be read."""
        stat = pathlib.Path(f"/proc/{process.pid}/stat")
        for _ in range(20):
            if stat.read_text().rpartition(")")[2].split()[0] != "S" or self.unread(process.stdin) < 32_768:
                return False
            time.sleep(0.005)
        return True

    def full_pipe(self):
        """Two ends; a write to it waits."""
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        fcntl.fcntl(writing, 1031, 4096)  # F_SETPIPE_SZ
        os.set_blocking(writing, False)
        for size in 4096, 1:
            try:
                while True:
                    os.write(writing, b"x" * size)
            except BlockingIOError:
                pass
        os.set_blocking(writing, True)
        return reading, writing

    @staticmethod
    def rest_of(pipe):
        """What was written to a full pipe."""
        rest = b""
        while block := os.read(pipe, 65_536):
            rest += block
        return rest.lstrip(b"x")

    @staticmethod
    def unread(pipe):
        return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]

    @staticmethod
    def is_pending(pid):
        """Whether a signal is on its way to a process."""
        try:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return False
        return any(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("ShdPnd"))

    def interrupted(self, process):
        """Its exit code and output after Ctrl-C."""
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
        return process.returncode, (out or "") + (err or "")


def main(usage):
    if len(sys.argv) != 2:
        sys.exit(usage)
    sys.argv.pop()
    faulthandler.dump_traceback_later(4 * SECONDS, exit=True)  # says where it hangs, before ctest ends it
    unittest.main()
