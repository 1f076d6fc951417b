#!/usr/bin/env python3
"""Tests check_includes.py on small made-up trees, each with one thing wrong."""
import tempfile
import unittest
from pathlib import Path

import check_includes

GOOD = {
    "mfl/base/a.h": '#pragma once\n#include <vector>\n',
    "mfl/base/a.cc": '#include "mfl/base/a.h"\n',
    "mfl/base/CMakeLists.txt": "",
    "mfl/data/b.h": '#pragma once\n#include "mfl/base/a.h"\n',
    "mfl/solve/c.cc": '#include "mfl/base/a.h"\n#include "mfl/data/b.h"\n',
}


def problems(**changed):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in {**GOOD, **changed.get("files", {})}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        return check_includes.problems(root)


class CheckIncludes(unittest.TestCase):
    def assert_one(self, found, part):
        self.assertEqual(len(found), 1, found)
        self.assertIn(part, found[0])

    def test_good_tree(self):
        self.assertEqual(problems(), [])

    def test_wrong_edge(self):
        found = problems(files={"mfl/base/up.cc": '#include "mfl/data/b.h"\n'})
        self.assertIn("mfl/base/up.cc:1: mfl/base may not include mfl/data (mfl/data/b.h)", found)

    def test_wrong_edge_with_odd_spaces(self):
        found = problems(files={"mfl/model/m.h": "#pragma once\n",
                                "mfl/aggregate/g.cc": '  #  include  <mfl/model/m.h>\n'})
        self.assert_one(found, "mfl/aggregate may not include mfl/model")

    def test_folder_cycle(self):
        found = problems(files={"mfl/base/up.cc": '#include "mfl/data/b.h"\n'})
        self.assertTrue(any(line.startswith("cycle: base -> data -> base") for line in found), found)

    def test_file_cycle(self):
        found = problems(files={"mfl/base/a.h": '#pragma once\n#include "mfl/base/z.h"\n',
                                "mfl/base/z.h": '#pragma once\n#include "mfl/base/a.h"\n'})
        self.assert_one(found, "cycle: mfl/base/a.h -> mfl/base/z.h -> mfl/base/a.h")

    def test_source_that_includes_itself(self):
        self.assertEqual(problems(files={"mfl/base/k.cc": '#include "mfl/base/k.cc"\n'}), [])

    def test_header_without_pragma_once(self):
        self.assert_one(problems(files={"mfl/data/b.h": "// nothing\n"}), "mfl/data/b.h: no #pragma once")

    def test_unknown_folder(self):
        self.assert_one(problems(files={"mfl/utils/u.h": "#pragma once\n"}), "unknown folder mfl/utils")

    def test_configured_header(self):
        self.assertEqual(problems(files={"mfl/base/v.h.in": "#pragma once\n",
                                         "mfl/base/a.cc": '#include "mfl/base/v.h"\n'}), [])

    def test_other_file(self):
        self.assert_one(problems(files={"mfl/base/notes.txt": ""}), "mfl/base/notes.txt: not a .h")

    def test_missing_target(self):
        self.assert_one(problems(files={"mfl/base/a.cc": '#include "mfl/base/gone.h"\n'}), "does not exist")

    def test_relative_include(self):
        for wrong in ('"a.h"', '"./a.h"', '"../base/a.h"'):
            self.assert_one(problems(files={"mfl/base/a.cc": f"#include {wrong}\n"}), "by its path from the root")

    def test_library_in_quotes(self):
        self.assertEqual(problems(files={"mfl/base/a.cc": '#include "hwy/highway.h"\n'}), [])

    def test_header_for_each_simd_target(self):
        self.assertEqual(problems(files={"mfl/base/k-inl.h": "#if 1\n#endif\n"}), [])

    def test_table_is_ordered(self):
        """A folder names only folders above it, so the table itself can have no cycle."""
        above = set()
        for folder, targets in check_includes.ALLOWED.items():
            self.assertLessEqual(set(targets.split()), above, folder)
            above.add(folder)


if __name__ == "__main__":
    unittest.main()
