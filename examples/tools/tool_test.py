"""Helpers for the end-to-end tests of the programs."""
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

SECONDS = 60  # a program that takes longer hangs
PROGRAMS = pathlib.Path(sys.argv[-1]).resolve()


# Runs a command with a resource limit. Not by preexec_fn, which may deadlock in a process with threads.
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
    """For run(): limits the size of files."""
    return resource.RLIMIT_FSIZE, size


def files_at_most(count):
    """For run(): limits the number of open files."""
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

    def wait_until(self, condition):
        """Polls a condition, for SECONDS at most."""
        end = time.monotonic() + SECONDS
        while not condition():
            self.assertLess(time.monotonic(), end, "the condition did not become true")
            time.sleep(0.01)

    def sleeps(self, process):
        """Waits until a process sleeps."""
        stat = pathlib.Path(f"/proc/{process.pid}/stat")
        self.wait_until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "S")

    def waits_to_write(self, process, descriptor):
        """Returns True if the main thread of a process is in a system call on this descriptor."""
        try:
            call = pathlib.Path(f"/proc/{process.pid}/syscall").read_text().split()
        except PermissionError:
            self.skipTest("the system does not show the system calls of a process")
        return len(call) > 1 and call[1] == hex(descriptor)

    def is_blocked(self, process):
        """Returns True if the main thread of a process sleeps although its input has data."""
        stat = pathlib.Path(f"/proc/{process.pid}/stat")
        for _ in range(20):
            if stat.read_text().rpartition(")")[2].split()[0] != "S" or self.unread(process.stdin) < 32_768:
                return False
            time.sleep(0.005)
        return True

    def full_pipe(self):
        """Returns the two ends of a full pipe: a write to it blocks."""
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
        """The bytes that were written to a full pipe after it was filled."""
        rest = b""
        while block := os.read(pipe, 65_536):
            rest += block
        return rest.lstrip(b"x")

    @staticmethod
    def unread(pipe):
        return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]

    @staticmethod
    def is_pending(pid):
        """Returns True if a signal is pending for a process."""
        try:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return False
        return any(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("ShdPnd"))

    def interrupted(self, process):
        """Sends Ctrl-C, and returns the exit code and the output."""
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
        return process.returncode, (out or "") + (err or "")


def main(usage):
    if len(sys.argv) != 2:
        sys.exit(usage)
    sys.argv.pop()
    faulthandler.dump_traceback_later(4 * SECONDS, exit=True)  # prints where it hangs before ctest kills it
    unittest.main()
