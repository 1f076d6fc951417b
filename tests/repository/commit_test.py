#!/usr/bin/env python3
"""Tests cmake/mfl_commit.cmake on folders with and without a repository."""
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "cmake" / "mfl_commit.cmake"


def git(root, *words):
    done = subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", root, *words], check=True,
                          capture_output=True, text=True)
    return done.stdout.strip()


class Commit(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root, self.out = Path(folder.name) / "root", Path(folder.name) / "commit.cc"
        self.root.mkdir()
        (self.root / "file").write_text("one\n", encoding="utf-8")

    def commit(self, root=None):
        """The commit in the source that the script writes."""
        subprocess.run(["cmake", "-D", f"ROOT={root or self.root}", "-D", f"OUT={self.out}", "-P", SCRIPT], check=True)
        return self.out.read_text(encoding="utf-8").split('return "')[1].split('"')[0]

    def make_repository(self):
        git(self.root, "init", "-q")
        git(self.root, "add", "file")
        git(self.root, "commit", "-q", "-m", "one")
        return git(self.root, "rev-parse", "HEAD")[:12]

    def test_a_folder_without_a_repository_has_none(self):
        self.assertEqual(self.commit(), "")

    def test_a_folder_inside_the_repository_of_another_project_has_none(self):
        self.make_repository()
        (self.root / "vendored").mkdir()
        self.assertEqual(self.commit(self.root / "vendored"), "")

    def test_a_repository(self):
        head = self.make_repository()
        git(self.root, "tag", "v9")  # is not what the commit is called
        self.assertEqual(self.commit(), head)
        (self.root / "file").write_text("two\n", encoding="utf-8")
        self.assertEqual(self.commit(), f"{head}-dirty")

    def test_the_source_is_written_only_if_the_commit_has_changed(self):
        self.make_repository()
        self.commit()
        before = self.out.stat().st_mtime_ns
        self.commit()
        self.assertEqual(self.out.stat().st_mtime_ns, before)


if __name__ == "__main__":
    unittest.main()
