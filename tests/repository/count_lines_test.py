#!/usr/bin/env python3
"""Tests scripts/count_lines.py on a made-up library of two sources, with budgets that it meets or exceeds."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import count_lines  # noqa: E402

CODE = """// A comment.
#include "mfl/base/a.h"

/* Two lines
   of comment. */ int a;   // and one after code
const char* text = "// no comment";
const char* raw = R"x(
/* no comment
)x";
char quote = '"'; /* a comment */
"""


class CountLines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        self.budget = self.root / "budget.toml"
        self.build = self.root / "build"
        unity = self.build / "mfl/base/CMakeFiles/mfl_base.dir/Unity/unity_0_cxx.cxx"
        unity.parent.mkdir(parents=True)
        (self.root / "mfl/base").mkdir(parents=True)
        self.write("a.h", "#pragma once\n" + "int x();\n" * 30)
        self.write("a.cc", '#include "mfl/base/a.h"\nint a() { return x(); }\n')
        self.write("b.cc", '#include "mfl/base/a.h"\nint b() { return x(); }\n')
        unity.write_text("".join(f'#include "{self.root}/mfl/base/{name}.cc"\n' for name in "ab"))
        self.entries = [
            self.entry(unity, "mfl/base/CMakeFiles/mfl_base.dir/Unity/unity_0_cxx.cxx.o"),
            self.entry(self.root / "mfl/base/a.cc", "tests/base/CMakeFiles/base_test.dir/a.cc.o"),
        ]

    def write(self, name, text):
        (self.root / "mfl/base" / name).write_text(text, encoding="utf-8")

    def entry(self, source, target):
        return {
            "directory": str(self.build),
            "file": str(source),
            "command": f"g++ -I{self.root} -o {target} -c {source}",
        }

    def run_script(self, *words):
        """The exit code and what is printed."""
        (self.build / "compile_commands.json").write_text(json.dumps(self.entries))
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
            code = count_lines.main(["--build", str(self.build), *words], self.root / "mfl", self.budget)
        return code, out.getvalue()

    def test_code_lines(self):
        self.assertEqual(count_lines.code_lines(CODE), 7)
        self.assertEqual(count_lines.code_lines("// only\n\n/* this */\n"), 0)

    def test_counts_units_of_the_library_only(self):
        code, text = self.run_script("--update")
        self.assertEqual(code, 0, text)
        self.assertIn(
            "32 mfl/base, unit 0 (2 sources)\n", text
        )  # 30 of the header, once, and one of each source
        self.assertIn("32 in all 1 units, 35 lines of code: 0.9 per line of code", text)

    def test_the_same_tree_is_within_its_budget(self):
        self.run_script("--update")
        code, text = self.run_script()
        self.assertEqual(code, 0, text)
        self.assertIn("within 10 %", text)

    def test_a_source_outside_of_the_unit_is_above_the_budget(self):
        self.run_script("--update")
        self.entries.append(
            self.entry(self.root / "mfl/base/b.cc", "mfl/base/CMakeFiles/mfl_base.dir/b.cc.o")
        )
        code, text = self.run_script()
        self.assertEqual(code, 1)
        self.assertIn("above the budget of 0.9", text)
        self.assertIn("--update", text)
        self.assertIn("31 mfl/base/b.cc", text)

    def test_a_heavy_header_is_above_the_budget(self):
        self.run_script("--update")
        self.write("a.cc", '#include <vector>\n#include "mfl/base/a.h"\n')
        self.assertEqual(self.run_script()[0], 1)

    def test_another_compiler_is_not_judged(self):
        self.budget.write_text('compiler = "GCC 1.0"\nlines_per_code_line = 0.1\n')
        code, text = self.run_script()
        self.assertEqual(code, 0)
        self.assertIn("not judged", text)

    def test_less_is_worth_recording(self):
        self.run_script("--update")
        self.budget.write_text(self.budget.read_text().replace("= 0.9", "= 9.9"))
        code, text = self.run_script()
        self.assertEqual(code, 0)
        self.assertIn("record it", text)

    def test_a_unit_that_does_not_compile(self):
        self.run_script("--update")
        self.write("a.cc", "#include <no_such_header>\n")
        code, text = self.run_script()
        self.assertEqual(code, 2)
        self.assertRegex(text, "cannot preprocess mfl/base, unit 0.*error: no_such_header")

    def test_no_budget(self):
        self.assertEqual(self.run_script()[0], 2)


if __name__ == "__main__":
    unittest.main()
