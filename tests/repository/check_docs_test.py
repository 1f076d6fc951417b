#!/usr/bin/env python3
"""Tests check_docs.py on a small made-up tree."""
import tempfile
import unittest
from pathlib import Path

import check_docs

GOOD = {
    "README.md": "# In short: `mfl`\n[results](bench/RESULTS.md)\n\n| **788** times | x |\n| **10.0** times | y |\n",
    "bench/RESULTS.md": "# Results\n| 788.12 | 10.0 (5..13) | [top](../README.md#in-short-mfl) [web](https://example.org/a.md)\n",
    "docs/index.md": "[commands](commands.md)\n",
    "docs/commands.md": "## mfl run\n## mfl runs list\n",
}


def problems(**changed):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in {**GOOD, **changed.get("files", {})}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        names = sorted({**GOOD, **changed.get("files", {})})
        return check_docs.problems(root, [name for name in names if name.endswith(".md")])


class CheckDocs(unittest.TestCase):
    def test_good_tree(self):
        self.assertEqual(problems(), [])

    def test_broken_link(self):
        self.assertEqual(problems(files={"a.md": "one\n[b](b.md)\n"}), ["a.md:2: b.md does not exist"])

    def test_heading_that_does_not_exist(self):
        page = "# One two\n[a](#one-two) [b](#two) [c](docs/commands.md#mfl-runs-list) [d](docs/commands.md#mfl-node)\n"
        self.assertEqual(problems(files={"a.md": page}), ["a.md:2: a.md has no heading #two",
                                                          "a.md:2: docs/commands.md has no heading #mfl-node"])

    def test_page_that_the_index_does_not_link(self):
        self.assertEqual(problems(files={"docs/new.md": "text\n"}), ["docs/index.md: no link to new.md"])

    def test_paths_and_scripts_in_code(self):
        files = {"a.md": "`docs/commands.md` `docs/*.md` `docs/<page>` `docs/` `fl/none`\n`docs/gone.md` `./gone.sh now` docs/none\n"}
        self.assertEqual(problems(files=files), ["a.md:2: docs/gone.md does not exist", "a.md:2: gone.sh does not exist"])

    def test_commands_and_presets(self):
        page = "`mfl run --x`, mfl fly\n```console\n$ mfl runs list\nmfl said\n$ mfl walk\n```\n`cmake --preset fast --preset dev`\n"
        files = {"a.md": page, "CMakePresets.json": '{"configurePresets": [{"name": "dev"}]}'}
        self.assertEqual(problems(files=files), ["a.md:2: there is no command mfl walk", "a.md:7: there is no preset fast"])

    def test_folders_of_the_map(self):
        files = {"docs/index.md": "[a](commands.md) [b](map.md)", "mfl/base/a.h": "", "mfl/data/a.h": "", "mfl/load/a.h": "",
                 "docs/map.md": "**base** and `mfl/data`\n**solve** solves\n"}
        self.assertEqual(problems(files=files), ["docs/map.md: mfl/load is missing", "docs/map.md: solve does not exist"])

    def test_changes_name_what_was_there(self):
        self.assertEqual(problems(files={"CHANGELOG.md": "`docs/gone.md` and `mfl walk`\n"}), [])

    def test_tests_that_do_not_exist(self):
        page = "| what happens | test |\n|---|---|\n| a | `A.B` |\n| b | `A.C` |\n| c | |\n"
        files = {"docs/failures.md": page, "tests/a_test.cc": "TEST_F(A, B) {\n", "docs/index.md": "[a](commands.md) [b](failures.md)"}
        self.assertEqual(problems(files=files), ["docs/failures.md:4: there is no test A.C",
                                                 "docs/failures.md:5: the row names no test"])

    def test_formula(self):
        self.assertEqual(problems(files={"a.md": "w_[k](t)\n"}), [])

    def test_number_that_was_not_measured(self):
        self.assertEqual(problems(files={"README.md": "# In short: `mfl`\n| **78** times |\n"}), ["README.md: 78 is not in bench/RESULTS.md"])

    def test_no_numbers(self):
        self.assertEqual(problems(files={"README.md": "# In short: `mfl`\n"}), ["README.md: no table with bold numbers"])


if __name__ == "__main__":
    unittest.main()
