#!/usr/bin/env python3
"""check_names.py on trees made for it."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECK = Path(__file__).with_name("check_names.py")


class CheckNames(unittest.TestCase):
    def check(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder) / "mfl" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return subprocess.run([sys.executable, "-B", CHECK, folder], capture_output=True, text=True)

    def test_one_name_in_two_headers(self):
        one, other = "namespace mfl {\nstruct Plan {\n};\n}\n", "namespace mfl {\nclass Plan final : public X {\n};\n}\n"
        done = self.check({"a/a.h": one, "b/b.h": other})
        self.assertEqual(done.returncode, 1)
        self.assertIn("mfl::Plan is defined in mfl/a/a.h and mfl/b/b.h", done.stdout)

    def test_other_namespaces_declarations_and_sources(self):
        done = self.check({"a/a.h": "namespace mfl {\nenum class Plan {\n};\nclass Other;\n}\n",
                           "b/b.h": "namespace mfl::cli {\nstruct Plan {\n};\n}\n",
                           "c/c.h": "namespace mfl {\nclass Other;\n  struct Plan {\n  };\n}\n",
                           "c/c.cc": "namespace mfl {\nstruct Plan {\n};\n}\n"})
        self.assertEqual((done.returncode, done.stdout), (0, ""))


if __name__ == "__main__":
    unittest.main()
