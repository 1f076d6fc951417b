#!/usr/bin/env python3
"""Tests run_examples.py with the shell's own commands."""
import unittest
from pathlib import Path

import run_examples

NO_BINARY = Path("/nowhere/mfl")


def outcome(text):
    return run_examples.run(run_examples.parse(text), NO_BINARY, None)


def console(text):
    return f"words\n```console\n{text}\n```\nwords\n$ false\n```sh\n$ false\n```\n"


class RunExamples(unittest.TestCase):
    def test_output(self):
        self.assertIsNone(outcome(console("$ echo a  b\na b")))
        self.assertIsNone(outcome(console("$ printf 'no newline'\nno newline")))
        self.assertIn("does not match", outcome(console("$ echo a\nb")))
        self.assertIn("does not match", outcome(console("$ true\na")))
        self.assertIn("does not match", outcome(console("$ printf 'a\\nb\\n'\na")))

    def test_no_lines_are_not_compared(self):
        self.assertIsNone(outcome(console("$ echo a")))

    def test_dots(self):
        self.assertIsNone(outcome(console("$ echo loss 0.26954 at 1000\nloss 0.26... at ...")))
        self.assertIn("does not match", outcome(console("$ echo loss 0.31\nloss 0.26...")))
        self.assertIsNone(outcome(console("$ seq 5\n1\n...\n5")))
        self.assertIsNone(outcome(console("$ seq 2\n1\n...\n2")))
        self.assertIn("does not match", outcome(console("$ seq 5\n1\n...\n4")))

    def test_exit_code(self):
        self.assertIn("exit code 3", outcome(console("$ bash -c 'exit 3'")))
        self.assertIn("line 3", outcome(console("$ false")))

    def test_stops_at_the_first_failure(self):
        self.assertIn("$ false", outcome(console("$ false\n$ echo never\nnever")))

    def test_one_shell(self):
        self.assertIsNone(outcome(console("$ x=7\n$ echo $x\n7")))

    def test_more_lines(self):
        self.assertIsNone(outcome(console("$ cat > a.csv << END\n> 1,2\n>\n> 3,4\n> END\n$ wc -l < a.csv\n3")))

    def test_own_folder_and_home(self):
        self.assertIsNone(outcome(console('$ ls -A\n$ [ -z "$(ls -A "$HOME")" ] && [ "$(ls -A | wc -l)" = 0 ]')))

    def test_block_without_command(self):
        with self.assertRaises(ValueError):
            outcome(console("mfl run"))


if __name__ == "__main__":
    unittest.main()
