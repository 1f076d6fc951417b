#!/usr/bin/env python3
"""Tests scripts/check_sources.py on a small made-up tree, in which some files miss an include."""

import argparse
import contextlib
import io
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import check_sources  # noqa: E402

FILES = {
    "mfl/base/good.h": "#pragma once\n#include <vector>\ninline std::vector<int> numbers() { return {1}; }\n",
    "mfl/base/good.cc": '#include "mfl/base/good.h"\nint first() { return numbers().front(); }\n',
    "mfl/base/bad.h": "#pragma once\ninline std::string word() { return {}; }\n",
    "mfl/base/bad.cc": "int many() { return std::vector<int>{1}.size(); }\n",
    "mfl/base/warned.cc": "int unused() { int nothing; return 0; }\n",
    "mfl/base/lanes-inl.h": "HWY_BEFORE_NAMESPACE();\n",
    "mfl/base/kernels.cc": '#include "hwy/foreach_target.h"\n',
    "mfl/base/inner/only.h": '#pragma once\n#include "mfl/base/good.h"\n',
    "mfl/optional/absent.h": "#pragma once\n#include <no_such_library.h>\n",
    "mfl/optional/absent.cc": '#include "mfl/optional/absent.h"\n',
    "tests/base/good_test.cc": "int test() { return 0; }\n",
}


class CheckSources(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        for name, text in FILES.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text, encoding="utf-8")
        built = [name for name in FILES if name.endswith(".cc") and "optional" not in name]
        self.tree = check_sources.Tree([self.entry(name) for name in built], self.root)

    def entry(self, name):
        return {
            "directory": str(self.root),
            "file": str(self.root / name),
            "command": f"ccache g++ -Wall -Werror -std=c++20 -I{self.root} -include {self.root}/cmake_pch.hxx "
            f"-MD -MT x -MF x.d -o x.o -c {self.root / name}",
        }

    def git(self, *arguments):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
            cwd=self.root,
            check=True,
            capture_output=True,
        )

    def choose(self, **values):
        return check_sources.chosen(
            argparse.Namespace(**{"all": False, "files": [], "changed": "HEAD~1", "tests": False, **values}),
            self.tree,
        )

    def test_finds_what_misses_an_include(self):
        for name in ("mfl/base/good.h", "mfl/base/good.cc", "mfl/base/inner/only.h"):
            self.assertIsNone(self.tree.check(name), name)
        self.assertRegex(self.tree.check("mfl/base/bad.cc"), r"mfl/base/bad\.cc:1:\d+: error: ")
        self.assertRegex(self.tree.check("mfl/base/bad.h"), r"mfl/base/bad\.h:2:\d+: error: ")

    def test_warnings_are_no_errors(self):
        self.assertIsNone(self.tree.check("mfl/base/warned.cc"))

    def test_prints_one_line_and_the_first_error_per_file(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(
                check_sources.check_all(self.tree, ["mfl/base/good.cc", "mfl/base/bad.cc"], 1), 1
            )
        lines = out.getvalue().splitlines()
        self.assertEqual(lines[0], "mfl/base/bad.cc: does not compile alone")
        self.assertEqual(len(lines), 2)

    def test_skips_what_cannot_be_checked(self):
        skipped = {name for name in FILES if self.tree.reason_to_skip(name)}
        self.assertEqual(
            skipped,
            {
                "mfl/base/lanes-inl.h",
                "mfl/base/kernels.cc",
                "mfl/optional/absent.h",
                "mfl/optional/absent.cc",
            },
        )

    def test_the_command_of_a_check(self):
        flags = check_sources.flags_of(self.entry("mfl/base/good.cc"))
        self.assertEqual(flags, ["g++", "-Wall", "-std=c++20", f"-I{self.root}", "-w", "-fsyntax-only"])

    def test_all_and_named(self):
        self.assertEqual(set(self.choose(all=True)[0]), {name for name in FILES if name.startswith("mfl/")})
        self.assertEqual(set(self.choose(all=True, tests=True)[0]), set(FILES))
        self.assertEqual(self.choose(files=[self.root / "mfl/base/good.h"])[0], ["mfl/base/good.h"])
        with self.assertRaises(check_sources.Failure):
            self.choose(files=[self.root / "mfl/base/nothing.h"])

    @unittest.skipUnless(shutil.which("git"), "needs git")
    def test_changed(self):
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-qm", "one")
        headers = sorted(name for name in FILES if name.endswith(".h"))
        self.assertEqual(self.choose()[0], headers)  # no HEAD~1
        (self.root / "mfl/base/good.h").write_text(FILES["mfl/base/good.h"] + "\n")
        (self.root / "mfl/base/bad.cc").unlink()
        (self.root / "notes.md").write_text("")
        self.git("add", ".")
        self.git("commit", "-qam", "two")
        self.assertEqual(self.choose()[0], ["mfl/base/good.h"])
        (self.root / "mfl/base/good.cc").write_text("")  # not committed
        (self.root / "mfl/base/new.cc").write_text("")  # not known to git
        self.assertEqual(self.choose()[0], ["mfl/base/good.h", "mfl/base/good.cc", "mfl/base/new.cc"])
        self.assertEqual(self.choose(changed="HEAD")[0], ["mfl/base/good.cc", "mfl/base/new.cc"])


if __name__ == "__main__":
    unittest.main()
