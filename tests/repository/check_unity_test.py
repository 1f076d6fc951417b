#!/usr/bin/env python3
"""check_unity.py on trees made for it."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECK = Path(__file__).with_name("check_unity.py")


def source(body):
    return f"namespace mfl {{\nnamespace {{\n\n{body}\n\n}}  // namespace\n}}  // namespace mfl\n"


class CheckUnity(unittest.TestCase):
    def check(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, body in files.items():
                path = Path(folder) / "mfl" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(source(body))
            return subprocess.run([sys.executable, "-B", CHECK, folder], capture_output=True, text=True)

    def refused(self, one, other, name):
        done = self.check({"a/one.cc": one, "a/part/other.cc": other})
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stdout, f"{name} is defined in mfl/a/one.cc and mfl/a/part/other.cc: rename one of them\n")

    def test_an_overload(self):
        self.refused("void put(std::string& out, int x) {\n}", "template <class T>\nvoid put(std::string& out, T x) {\n}", "put")

    def test_types_constants_and_enumerators(self):
        self.refused("struct Layout {\n};", "enum class Layout { kA };", "Layout")
        self.refused("constexpr int kA = 1, kB{2};", "constexpr std::size_t kB = 3;", "kB")
        self.refused("enum Draw : int { kRow = 0, kPair };", "constexpr int kPair = 3;", "kPair")

    def test_aliases_of_different_types(self):
        self.refused("using Clock = A;", "using Clock = B;", "Clock")
        self.refused("using Clock = A;", "struct Clock {\n};", "Clock")

    def test_what_may_be_repeated(self):
        same = "using Clock = std::chrono::steady_clock;"
        done = self.check({"a/one.cc": same + "\nint f() {\n  const int kLocal = 1;\n}\nconst char* kText = \"void g() {}\";",
                           "a/other.cc": same + "\nint h() {\n  const int kLocal = 2;\n  f(kText);\n}",
                           "b/one.cc": "int f() {\n}"})
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)


if __name__ == "__main__":
    unittest.main()
