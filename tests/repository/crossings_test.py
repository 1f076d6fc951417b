#!/usr/bin/env python3
"""Tests scripts/crossings.py on a made-up program of four folders: crossings_test.py COMPILER."""

import contextlib
import io
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import crossings  # noqa: E402

COMPILER = sys.argv.pop(1)
# A header's function, which two folders define, and one function per folder and purpose.
HEADER = """#pragma once
namespace mfl {
inline int shared(int x) { volatile int y = x; return y; }
int hash(int x);
int rows(int x);
int columns(int x);
int train(int x);
int experiment(int x);
}
"""
SOURCES = {
    "base/hash.cc": "int hash(int x) { return shared(x) + 1; }",
    "data/rows.cc": "int rows(int x) { return hash(x); }\nint columns(int x) { return hash(x) + 1; }",
    "engine/train.cc": "int train(int x) { return columns(x) + shared(x); }",
    "run/experiment.cc": "int load(int x) { return rows(x); }\n"
    "int round(int x) { return hash(x) + train(x) + rows(x); }\n"
    "int experiment(int x) { x = load(x); for (int i = 0; i < 4; ++i) x += round(x); return x; }",
    "cli/main.cc": "int read(int x) { return columns(x); }\n}\n"
    "int main() { return mfl::experiment(mfl::read(1)) == 0; }\nnamespace mfl {",
}


class CrossingsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.build = Path(folder.name)
        (cls.build / "all.h").write_text(HEADER)
        objects = []
        for name, text in SOURCES.items():
            source = cls.build / "mfl" / name
            source.parent.mkdir(parents=True)
            source.write_text(f'#include "{cls.build}/all.h"\nnamespace mfl {{\n{text}\n}}\n')
            objects.append(source.with_suffix(".o"))
            subprocess.run([COMPILER, "-O0", "-c", source, "-o", objects[-1]], check=True)
        (cls.build / "bin").mkdir()
        subprocess.run([COMPILER, *objects, "-o", cls.build / "bin/mfl"], check=True)

    def script(self, *words):
        """The exit code and what is printed."""
        arguments = ["--build", str(self.build), "--run", "", "--round", "mfl::round(int)", *words]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            return crossings.main(arguments), out.getvalue()

    def test_first_calls_are_counted_by_folder(self):
        code, text = self.script("--list")
        self.assertEqual(code, 0)
        # experiment, load | rows | round: that columns has been called by cli does not count.
        self.assertIn("before the first step: 2 crossings, 2 folders, ", text)
        self.assertRegex(text, r"run:load +-> data:rows\n +data:rows +-> run:round\n")
        # round | train | columns, rows | round, with hash and shared, which do not count.
        self.assertIn("per round: 3 crossings, 3 folders, ", text)
        self.assertRegex(text, r"run:round +-> engine:train\n +engine:train +-> data:columns\n +data:rows +-> run:round\n")

    def test_a_limit_fails_above_it(self):
        self.assertEqual(self.script("--most-before", "2", "--most-per-round", "3")[0], 0)
        self.assertEqual(self.script("--most-before", "1", "--most-per-round", "3")[0], 1)
        self.assertEqual(self.script("--most-before", "2", "--most-per-round", "2")[0], 1)

    def test_an_unknown_round_is_named(self):
        with self.assertRaisesRegex(crossings.Failure, r"no function mfl::step\(\); --round names"):
            self.script("--round", "mfl::step()")


class ShortTest(unittest.TestCase):
    def test_names_without_what_a_reader_does_not_need(self):
        text = "mfl::(anonymous namespace)::Local<float>::run(std::span<int>, std::vector<a<b> >&)"
        self.assertEqual(crossings.short(text), "Local::run")
        self.assertEqual(crossings.short("int mfl::make<double>(int)"), "make")


if __name__ == "__main__":
    unittest.main()
