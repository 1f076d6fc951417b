#!/usr/bin/env python3
"""scripts/digests.py on a few entries of the tables: digests_test.py MFL_BINARY [network]."""
import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import digests  # noqa: E402
import mfl_program  # noqa: E402

WITH_NETWORK = sys.argv[2:] == ["network"]
MFL = sys.argv[1]
del sys.argv[1:]
ENGINES = ["serial", "threads-3", *(["network"] if WITH_NETWORK else [])]


class DigestsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.file = Path(folder.name) / "digests.json"
        engines = ",".join([*ENGINES, "resumed"])
        cls.code, cls.text = cls.script("record", "--only", "aggregator=m", "--engines", engines)

    @classmethod
    def script(cls, action, *words):
        """The exit code and what is printed."""
        with contextlib.redirect_stdout(io.StringIO()) as out:
            code = digests.main([action, str(cls.file), "--mfl", MFL, *words])
        return code, out.getvalue()

    def recorded(self):
        return json.loads(self.file.read_text())["results"]

    def test_every_engine_has_the_digest_of_the_serial_one(self):
        self.assertEqual((self.code, self.text), (0, ""))
        results = self.recorded()
        for entry in ("mean", "median", "multi-krum"):
            serial = results[f"aggregator={entry}; serial"]
            self.assertRegex(serial, r"^done [0-9a-f]{64}, 5 records [0-9a-f]{16}$")
            for engine in ENGINES:
                self.assertEqual(results[f"aggregator={entry}; {engine}"], serial, engine)
            self.assertRegex(results[f"aggregator={entry}; resumed"], "^done ")
        self.assertEqual(len({results[label].split(",")[0] for label in results if "serial" in label}), 3)

    def test_the_same_program_is_as_recorded(self):
        code, text = self.script("compare", "--only", "aggregator=m", "--engines", "serial,resumed")
        self.assertEqual((code, text), (0, "6 runs as recorded\n"))

    def test_a_digest_that_moved_is_one_line(self):
        content = json.loads(self.file.read_text())
        label = "aggregator=median; serial"
        content["results"][label] = "done " + "0" * 64
        before = self.file.read_text()
        self.file.write_text(json.dumps(content))
        self.addCleanup(self.file.write_text, before)
        code, text = self.script("compare", "--only", "aggregator=m", "--engines", "serial")
        self.assertEqual(code, 1)
        self.assertRegex(text, rf"^{label}: recorded done 0{{64}}; now done [^\n]*\n$")


class DifferencesTest(unittest.TestCase):
    def test_new_and_missing_runs_are_differences(self):
        recorded, now = {"a; serial": "1", "b; serial": "x"}, {"b; serial": "x", "c; serial": "y"}
        lines = list(digests.differences(recorded, now))
        self.assertEqual(lines, ["a; serial: recorded, and no longer there", "c; serial: new, not recorded"])


class EntriesTest(unittest.TestCase):
    def test_parameters_are_those_of_the_help(self):
        block = """  --rule SPEC=mean  what happens: mean, trimmed-mean(fraction),
                    multi-krum(f, [m]), geometric-median(iterations=4,
                    nu=1e-05), sizes:N,N,..., file:PATH"""
        names = ["mean", "trimmed-mean", "multi-krum", "geometric-median", "sizes", "file"]
        entries = mfl_program.entries_of(names, block)
        self.assertEqual([entry.name for entry in entries], names)
        self.assertEqual([entry.required for entry in entries], [0, 1, 1, 0, 0, 0])
        self.assertEqual([entry.text for entry in entries], ["", "", "", "", "N,N", "PATH"])


if __name__ == "__main__":
    unittest.main()
