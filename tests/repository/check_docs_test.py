#!/usr/bin/env python3
"""Tests check_docs.py on a small made-up tree."""
import tempfile
import unittest
from pathlib import Path

import check_docs

GOOD = {
    "README.md": "[results](bench/RESULTS.md)\n\n| **788** times | x |\n| **10.0** times | y |\n",
    "bench/RESULTS.md": "| 788.12 | 10.0 (5..13) | [top](../README.md#mfl) [web](https://example.org/a.md)\n",
}


def problems(**changed):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in {**GOOD, **changed.get("files", {})}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        return check_docs.problems(root, sorted({**GOOD, **changed.get("files", {})}))


class CheckDocs(unittest.TestCase):
    def test_good_tree(self):
        self.assertEqual(problems(), [])

    def test_broken_link(self):
        self.assertEqual(problems(files={"docs/a.md": "one\n[b](b.md)\n"}), ["docs/a.md:2: b.md does not exist"])

    def test_tests_that_do_not_exist(self):
        page = "| what happens | test |\n|---|---|\n| a | `A.B` |\n| b | `A.C` |\n| c | |\n"
        files = {"docs/failures.md": page, "tests/a_test.cc": "TEST_F(A, B) {\n"}
        self.assertEqual(problems(files=files), ["docs/failures.md:4: there is no test A.C",
                                                 "docs/failures.md:5: the row names no test"])

    def test_formula(self):
        self.assertEqual(problems(files={"docs/a.md": "w_[k](t)\n"}), [])

    def test_number_that_was_not_measured(self):
        self.assertEqual(problems(files={"README.md": "| **78** times |\n"}), ["README.md: 78 is not in bench/RESULTS.md"])

    def test_no_numbers(self):
        self.assertEqual(problems(files={"README.md": "fast\n"}), ["README.md: no table with bold numbers"])


if __name__ == "__main__":
    unittest.main()
