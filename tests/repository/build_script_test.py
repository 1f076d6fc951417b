#!/usr/bin/env python3
"""Tests scripts/build.sh on a small project: build_script_test.py. Needs CMake, ninja and a C++ compiler."""

import os
import pty
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/build.sh"
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(small CXX)
file(GLOB sources CONFIGURE_DEPENDS *.cc)  # makes ninja look for new files first, as the real project does
add_executable(small ${sources})
"""


class BuildScript(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="with blank ")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "CMakeLists.txt").write_text(PROJECT)
        (self.root / "main.cc").write_text("int one();\nint main() { return one() - 1; }\n")
        (self.root / "one.cc").write_text("int one() { return 1; }\n")
        self.folder = self.root / "out"
        subprocess.run(
            ["cmake", "-G", "Ninja", "-S", self.root, "-B", self.folder], check=True, capture_output=True
        )

    def build(self, *targets):
        done = subprocess.run([SCRIPT, self.folder, *(targets or ["small"])], capture_output=True, text=True)
        self.assertEqual(done.stdout, "")
        return done.returncode, done.stderr

    def test_says_how_far_it_is(self):
        code, text = self.build()
        self.assertEqual(code, 0, text)
        self.assertIn("2 units to compile", text)
        self.assertRegex(text, r"\n +\d+ %, 1 of 2 units, .* left\n")
        self.assertIn("compiled 2 units in", text)
        self.assertLess(max(map(len, text.splitlines())), 80)
        subprocess.run([self.folder / "small"], check=True)

    def test_counts_only_what_is_out_of_date(self):
        self.build()
        self.assertEqual(self.build(), (0, "   up to date\n"))
        (self.root / "one.cc").write_text("int one() { return 2 - 1; }\n")
        self.assertIn("1 unit to compile", self.build()[1])

    def test_shows_warnings(self):
        (self.root / "one.cc").write_text('#warning "look at this"\nint one() { return 1; }\n')
        code, text = self.build()
        self.assertEqual(code, 0)
        self.assertIn('#warning "look at this"', text)

    def test_shows_errors_and_keeps_the_exit_code(self):
        (self.root / "one.cc").write_text("int one() { return nothing; }\n")
        code, text = self.build()
        self.assertNotEqual(code, 0)
        self.assertRegex(text, r"one\.cc:1:\d+: error: .*nothing")
        self.assertIn(f"failed with exit code {code}", text)

    def test_unknown_target(self):
        code, text = self.build("nobody")
        self.assertNotEqual(code, 0)
        self.assertIn("unknown target 'nobody'", text)

    def test_one_line_on_a_terminal(self):
        main, other = pty.openpty()
        done = subprocess.Popen(
            [SCRIPT, self.folder, "small"], stdout=other, stderr=other, env={**os.environ, "TERM": "xterm"}
        )
        os.close(other)
        text = b""
        while True:
            try:
                part = os.read(main, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            text += part
        os.close(main)
        self.assertEqual(done.wait(), 0)
        lines = text.decode().split("\n")
        progress = [line for line in lines if "\r\033[K" in line]
        self.assertEqual(len(progress), 1, lines)
        for drawn in re.split(r"\r\033\[K", progress[0]):
            self.assertLess(len(drawn.strip("\r")), 80, drawn)


if __name__ == "__main__":
    unittest.main()
