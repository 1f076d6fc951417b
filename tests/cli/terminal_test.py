#!/usr/bin/env python3
"""What mfl draws on a terminal: terminal_test.py MFL_BINARY.

mfl runs on a pseudo-terminal of a given width, as stderr alone; every line that it draws must be narrower than the terminal,
also after a resize.
"""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

MFL = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "mfl"
PATIENCE = 60  # seconds until a test that hangs fails
ENDLESS = ["--data", "synthetic:400x50", "--test", "0", "--steps", "1000000000"]
NOTICE = "mfl: stopping after this round; Ctrl-C again to stop now"


def drawn_lines(text):
    """Each text between two moves to the start of a line, without colours and erasures."""
    return [line for line in re.split(r"[\r\n]", re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)) if line]


class Terminal:
    def __init__(self, folder, width, *args, environment=None):
        self.folder = folder
        self.environment = {"MFL_STORE": os.path.join(folder, "store.db"), "HOME": folder, "PATH": os.environ["PATH"],
                            **(environment or {})}
        self.text = ""
        self.ended = False
        self.out = os.path.join(folder, "out")
        # The child waits for the terminal to have its size.
        ready, go = os.pipe()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.close(go)
            os.read(ready, 1)
            os.dup2(os.open(self.out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
            os.execve(MFL, [MFL, *args], self.environment)
        os.close(ready)
        self.resize(width)
        os.close(go)

    def resize(self, width):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))

    def read_some(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            chunk = os.read(self.fd, 65536)
        except OSError:  # the last process has closed the terminal
            self.ended = True
            return False
        self.text += chunk.decode()
        return bool(chunk)

    def read_until(self, found):
        deadline = time.monotonic() + PATIENCE
        while not found(drawn_lines(self.text)):
            if self.ended or time.monotonic() > deadline:
                raise TimeoutError(f"ended or still waiting; drawn so far: {self.text[-400:]!r}")
            self.read_some(1)

    def forget(self):
        """Drops what is drawn so far, and the line that is being drawn."""
        while self.read_some(0):
            pass
        self.text = ""
        self.read_until(lambda lines: len(lines) >= 2)
        self.text = ""

    def ctrl_c(self):
        os.write(self.fd, b"\x03")

    def wait(self):
        deadline = time.monotonic() + PATIENCE
        while True:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                break
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                raise TimeoutError("mfl does not end")
            if self.fd is None:
                time.sleep(0.05)
            else:
                self.read_some(0.05)
        if self.fd is not None:
            while self.read_some(0):
                pass
            os.close(self.fd)
            self.fd = None
        self.pid = None
        return os.waitstatus_to_exitcode(status)

    def kill(self):
        if self.pid is not None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = None
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    def hang_up(self):
        os.close(self.fd)
        self.fd = None

    def runs(self):
        listed = subprocess.run([MFL, "runs", "list", "--json"], env=self.environment, stdout=subprocess.PIPE, check=True)
        return json.loads(listed.stdout)["data"]["runs"]


class TerminalTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def start(self, width, *args, environment=None):
        terminal = Terminal(self.folder.name, width, *args, environment=environment)
        self.addCleanup(terminal.kill)
        return terminal

    def check_width(self, terminal, width):
        lines = drawn_lines(terminal.text)
        self.assertGreaterEqual(len(lines), 4)
        for line in lines:
            self.assertLess(len(line), width, line)
        return lines

    def several(self, width, *args, environment=None):
        terminal = self.start(width, *args, environment=environment)
        terminal.read_until(lambda lines: len(lines) >= 5)
        return terminal

    def test_a_run_fits(self):
        expected = {100: "[", 80: "[", 60: "loss ", 40: "step ", 20: " %", 12: " %"}
        for width, part in expected.items():
            with self.subTest(width=width):
                terminal = self.several(width, "run", *ENDLESS)
                lines = self.check_width(terminal, width)
                self.assertTrue(any(part in line for line in lines), lines)
                terminal.kill()

    def test_a_sweep_fits_and_counts_settings(self):
        for width in (80, 60):
            with self.subTest(width=width):
                terminal = self.several(width, "sweep", *ENDLESS, "--set", "algorithm.gamma=[0.1, 0.5, 0.9]")
                lines = self.check_width(terminal, width)
                self.assertTrue(any("0 of 3 settings done" in line for line in lines), lines)
                self.assertFalse(any("loss" in line for line in lines), lines)
                terminal.kill()

    def test_theory_fits(self):
        terminal = self.start(60, "theory", "run", "--data", "synthetic:400x50", "--model", "squared-svm", "--test", "0",
                              "--steps", "100000")
        terminal.read_until(lambda lines: len(lines) >= 5)
        self.check_width(terminal, 60)

    def test_a_resize_is_followed(self):
        terminal = self.several(80, "run", *ENDLESS)
        self.check_width(terminal, 80)
        for width in (60, 40, 100):
            terminal.resize(width)
            terminal.forget()
            terminal.read_until(lambda lines: len(lines) >= 5)
            lines = self.check_width(terminal, width)
        self.assertGreater(max(map(len, lines)), 60, "a wider terminal is used")

    def test_columns_is_the_fallback(self):
        terminal = self.several(0, "run", *ENDLESS, environment={"COLUMNS": "50"})
        self.check_width(terminal, 50)

    def test_the_first_ctrl_c_says_what_happens(self):
        for args in (["run", *ENDLESS], ["sweep", *ENDLESS, "--set", "algorithm.gamma=[0.1, 0.5]"]):
            with self.subTest(command=args[0]):
                terminal = self.several(80, *args)
                terminal.ctrl_c()
                self.assertEqual(terminal.wait(), 1)
                self.assertIn(NOTICE, self.check_width(terminal, 80))
                self.assertLess(len(NOTICE), 60)
        self.assertEqual({run["status"] for run in terminal.runs()}, {"interrupted"})

    def test_a_closed_terminal_leaves_a_checkpoint(self):
        terminal = self.several(80, "run", *ENDLESS)
        terminal.hang_up()
        self.assertEqual(terminal.wait(), 1)
        runs = terminal.runs()
        self.assertEqual([run["status"] for run in runs], ["interrupted"])
        resumed = self.start(80, "run", "--resume", "latest")
        resumed.read_until(lambda lines: len(lines) >= 1)
        first = int(re.search(r"step (\d+)/", drawn_lines(resumed.text)[0]).group(1))
        self.assertGreater(first, runs[0]["final"]["step"])


if __name__ == "__main__":
    unittest.main()
