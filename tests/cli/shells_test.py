#!/usr/bin/env python3
"""Completion scripts in the shells they are for, and manual pages in mandoc: shells_test.py BINARY."""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

MFL = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None


def output(*arguments):
    return subprocess.run([MFL, *arguments], capture_output=True, text=True, check=True).stdout


def bash_candidates(line):
    """What the script offers at the end of `line`, which bash splits at blanks, "=" and ":"."""
    words = [word for word in re.split(r"\s+|([=:])", line) if word] + ([""] if line[-1] == " " else [])
    quoted = " ".join(f"'{word}'" for word in words)
    script = (f"source <({MFL} completion bash)\ncompopt() {{ :; }}\n"
              f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}\n_mfl\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"")
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    return [word for word in done.stdout.split("\n") if word], done.stderr


def shown(raw):
    """The text of a line after backspaces, without bells."""
    text = ""
    for character in raw.replace("\x07", ""):
        text = text[:-1] if character == "\x08" else text + character
    return text


class Terminal:
    """An interactive shell on a pseudo terminal."""

    def __init__(self, *command, environment):
        self.process, self.master = pty.fork()
        if self.process == 0:
            os.execvpe(command[0], command, {**os.environ, "TERM": "dumb", **environment})

    def send(self, text):
        os.write(self.master, text.encode())

    def wait_for(self, pattern):
        seen, deadline = "", time.monotonic() + 60
        while not re.search(pattern, shown(seen)):
            if time.monotonic() > deadline:
                raise AssertionError(f"no {pattern!r} in {seen!r}")
            if select.select([self.master], [], [], 0.2)[0]:
                seen += os.read(self.master, 65536).decode(errors="replace")
        return seen

    def close(self):
        os.close(self.master)
        os.waitpid(self.process, 0)


class Bash(unittest.TestCase):
    def test_commands_flags_choices_and_files(self):
        for line, expected in [
            ("mfl ru", ["run", "runs"]),
            ("mfl runs ex", ["export"]),
            ("mfl run --alg", ["--algorithm"]),
            ("mfl run --algorithm fedav", ["fedavg", "fedavgm"]),
            ("mfl run --algorithm=m", ["mgd", "mfl", "mfl-c", "mime-lite"]),
            ("mfl run --eta 0.1 --engine t", ["threads"]),
            ("mfl run --eta ", []),
            ("mfl sweep --model s", ["svm", "squared-svm", "softmax"]),
            ("mfl run --data c", ["csv:", "cifar10"]),
            ("mfl completion ", ["bash", "zsh", "fish"]),
            ("mfl runs export latest --format ", ["csv", "json"]),
        ]:
            with self.subTest(line):
                found, errors = bash_candidates(line)
                self.assertEqual(errors, "")
                self.assertEqual(sorted(found), sorted(expected))

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "points.csv").touch()
            for line in (f"mfl run --data csv:{folder}/poi", f"mfl run {folder}/poi", f"mfl run --store {folder}/poi"):
                with self.subTest(line):
                    self.assertEqual(bash_candidates(line)[0], [f"{folder}/points.csv"])

    def test_on_a_terminal(self):
        shell = Terminal("bash", "--norc", "--noprofile", "-i", environment={"PS1": "ready> "})
        shell.wait_for("ready> ")
        shell.send(f"source <({MFL} completion bash)\n")
        shell.wait_for("ready> ")
        shell.send("mfl run --algor\tgh\t\n")
        shell.wait_for("mfl run --algorithm ghbm ")
        shell.send("exit\n")
        shell.close()


@unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
class Zsh(unittest.TestCase):
    def test_on_a_terminal(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "_mfl").write_text(output("completion", "zsh"))
            shell = Terminal("zsh", "-f", "-i", environment={"PS1": "ready> "})
            shell.wait_for("ready> ")
            shell.send(f"fpath=({folder} $fpath); autoload -U compinit; compinit -u -D; unsetopt zle_bracketed_paste\n")
            shell.wait_for("ready> ")
            for typed, expected in [
                ("mfl run --algor\tgh\t", "mfl run --algorithm ghbm"),
                ("mfl runs ex\t", "mfl runs export"),
                ("mfl run --engine=s\t", "--engine=serial"),
                ("mfl run --data cs\t", "--data csv:"),
            ]:
                shell.send(typed)
                shell.wait_for(re.escape(expected))
                shell.send("\x15")
            shell.send("exit\n")
            shell.close()


@unittest.skipUnless(shutil.which("fish"), "fish is not installed")
class Fish(unittest.TestCase):
    def candidates(self, line):
        with tempfile.TemporaryDirectory() as home:
            done = subprocess.run(["fish", "--no-config", "-c", f"{MFL} completion fish | source; complete -C {line!r}"],
                                  capture_output=True, text=True, check=True, env={**os.environ, "HOME": home})
        self.assertEqual(done.stderr, "")
        return sorted(row.split("\t")[0] for row in done.stdout.splitlines())

    def test_commands_flags_and_choices(self):
        self.assertEqual(self.candidates("mfl ru"), ["run", "runs"])
        self.assertEqual(self.candidates("mfl runs ex"), ["export"])
        self.assertEqual(self.candidates("mfl run --alg"), ["--algorithm"])
        self.assertEqual(self.candidates("mfl run --algorithm m"), ["mfl", "mfl-c", "mgd", "mime-lite"])
        self.assertEqual(self.candidates("mfl run --engine=s"), ["--engine=serial"])


class Man(unittest.TestCase):
    def test_every_command_has_a_page(self):
        with tempfile.TemporaryDirectory() as folder:
            output("man", "--out", folder)
            pages = {page.stem: page.read_text() for page in Path(folder).iterdir()}
            self.assertIn("mfl", pages)
            self.assertIn("mfl-runs-export", pages)
            self.assertEqual(pages["mfl-run"], output("man", "run"))
            self.assertIn("\\fB\\-\\-algorithm\\fR \\fISPEC\\fR", pages["mfl-run"])
            for name, page in pages.items():
                self.assertIn(f".SH NAME\n{name.replace('-', chr(92) + '-')} ", page)

    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is not installed")
    def test_pages_are_well_formed(self):
        with tempfile.TemporaryDirectory() as folder:
            output("man", "--out", folder)
            done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *Path(folder).iterdir()],
                                  capture_output=True, text=True, check=False)
        found = [line for line in done.stdout.splitlines() if "missing date" not in line]
        self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
