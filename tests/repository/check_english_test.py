#!/usr/bin/env python3
"""Tests check_english.py on single phrases and on a small made-up tree."""
import tempfile
import unittest
from pathlib import Path

import check_english

WRONG = [
    "one a core", "Two rows a node.", "bytes a second", "7.8 us a node", "a row a sample", "the run goes on", "a round under way",
    "index 3 stands twice", "2 can be had", "mend the labels", "the data is not what it was", "was started anew", "nodes that are here",
    "X is there and is no report of mfl", "the engine mpi is not in this mfl", "seed of all that is random",
]
RIGHT = [
    "one per core", "What a node sends", "in a round", "once a round", "1,000 times a second", "on the one hand", "under a model",
    "it stands for the mean", "recommend", "amended", "goes on the stack", "of a fleet of 10. A round", "in one of a node's rounds",
    "return_one_a_core", "a second, transposed copy of a row",
]


def problems(text):
    return check_english.problems_of("file.md", text)


class CheckEnglish(unittest.TestCase):
    def test_wrong_phrases(self):
        for phrase in WRONG:
            self.assertNotEqual(problems(phrase), [], phrase)

    def test_right_phrases(self):
        for phrase in RIGHT:
            self.assertEqual(problems(phrase), [], phrase)

    def test_names_the_line_and_a_better_wording(self):
        self.assertEqual(problems("first\nit goes on\n"), ['file.md:2: "goes on": write continue'])

    def test_phrase_across_lines(self):
        for text in ("it goes\non", "// it goes\n  // on", "# it goes\n# on", 'say("it goes "\n    "on");'):
            self.assertEqual(len(problems(text)), 1, text)
        self.assertEqual(problems("it goes\n\non"), [])

    def test_tree(self):
        files = {"README.md": "fine\n", "mfl/data/a.h": "// one a row\n", "mfl/base/b.h": "// one a row\n", "build/c.h": "// one a row\n",
                 ".hidden/d.md": "one a row\n", "mfl/e.csv": "one a row\n"}
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            found, clean = check_english.problems(root, ["mfl/base/", "README.md"])
        self.assertEqual([line.split(":")[0] for line in found], ["mfl/data/a.h"])
        self.assertEqual(clean, ["README.md"])


if __name__ == "__main__":
    unittest.main()
