"""What the checks of the programs have in common."""
import fcntl
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


def run(name, *arguments, **more):
    return subprocess.run([PROGRAMS / name, *map(str, arguments)], capture_output=True, text=True,
                          timeout=SECONDS, **more)


def full_disk(size):
    """For a child process: no file becomes longer than that."""
    def prepare():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return prepare


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
            self.assertLess(time.monotonic(), end, "it does not come true")
            time.sleep(0.01)

    def sleeps(self, process):
        """Waits until all that a process does is to wait."""
        stat = pathlib.Path(f"/proc/{process.pid}/stat")
        self.comes_true(lambda: stat.read_text().rpartition(")")[2].split()[0] == "S")

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
    unittest.main()
