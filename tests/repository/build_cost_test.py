#!/usr/bin/env python3
"""Tests scripts/build_cost.py on a made-up repository of two commits."""

import contextlib
import io
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import build_cost  # noqa: E402

FILES = {
    "CMakeLists.txt": "cmake_minimum_required(VERSION 3.25)\nproject(small CXX)\n"
    "add_executable(mfl_cli main.cc)\n",
    "CMakePresets.json": '{"version": 6, "configurePresets": [{"name": "release", "generator": "Ninja", '
    '"binaryDir": "${sourceDir}/build/${presetName}"}], '
    '"buildPresets": [{"name": "release", "configurePreset": "release"}]}',
    "main.cc": "int main() {}\n",
    "test.sh": "#!/bin/sh\n[ ! -d build ]\n",
}


@unittest.skipUnless(shutil.which("git"), "needs git")
class BuildCost(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name, text in FILES.items():
            (self.root / name).write_text(text)
        (self.root / "test.sh").chmod(0o755)
        self.git("init", "-q")
        self.commit("one")
        (self.root / ".ci").mkdir()
        (self.root / ".ci/run").write_text("#!/bin/sh\necho what is wrong\nexit 3\n")
        (self.root / ".ci/run").chmod(0o755)
        self.commit("two")

    def git(self, *arguments):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
            cwd=self.root,
            check=True,
            capture_output=True,
        )

    def commit(self, message):
        self.git("add", ".")
        self.git("commit", "-qm", message)

    def run_script(self, *words):
        """The exit code, standard output and standard error."""
        with (
            contextlib.redirect_stdout(io.StringIO()) as out,
            contextlib.redirect_stderr(io.StringIO()) as errors,
        ):
            code = build_cost.main(["HEAD~1", "HEAD", *words], self.root)
        return code, out.getvalue(), errors.getvalue()

    def test_release(self):
        code, out, errors = self.run_script()
        self.assertEqual(code, 0, errors)
        self.assertRegex(
            out, r"\| release \| [\d.]+ s \| [\d.]+ s \| \d+ % \| [\d.]+ s \| [\d.]+ s \| \d+ % \|"
        )
        self.assertIn("Release build of HEAD~1: 1 units", out)
        self.assertRegex(out, r"\| main\.cc \| [\d.]+ s \|")

    def test_per_source(self):
        code, out, errors = self.run_script("--per-source")
        self.assertEqual(code, 0, errors)
        self.assertRegex(out, r"peak memory of one compiler \d+ MB \(main\.cc\)")
        self.assertRegex(out, r"\| main\.cc \| [\d.]+ s \| \d+ MB \|")

    def test_every_stage_starts_from_an_empty_tree(self):
        code, out, errors = self.run_script("--stages", "release,test")
        self.assertEqual(code, 0, errors)
        self.assertRegex(out, r"\| test \| [\d.]+ s ")

    def test_a_stage_that_is_missing_and_one_that_fails(self):
        code, out, errors = self.run_script("--stages", "ci")
        self.assertEqual(code, 1)
        self.assertIn("| ci | - | failed | - | - | failed | - |", out)
        self.assertIn("what is wrong", errors)

    def test_wrong_arguments(self):
        for words in (["--stages", "lunch"], ["--no-such-option"]):
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                build_cost.main(["HEAD~1", "HEAD", *words], self.root)
        with self.assertRaises(SystemExit):
            build_cost.main(["HEAD", "nothing"], self.root)

    def test_names_of_units(self):
        for name, path in {
            "mfl/run/mfl_run unity_0": "mfl/run/CMakeFiles/mfl_run.dir/Unity/unity_0_cxx.cxx.o",
            "mfl/base/kernels.cc": "mfl/base/CMakeFiles/mfl_base.dir/kernels/kernels.cc.o",
            "main.cc": "CMakeFiles/mfl_cli.dir/main.cc.o",
        }.items():
            self.assertEqual(build_cost.unit_name(path), name)


if __name__ == "__main__":
    unittest.main()
