#!/usr/bin/env python3
"""What runs, sweeps and algorithms are called where people read: names_test.py MFL_BINARY."""
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

MFL = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "mfl"
PATIENCE = 120  # seconds until a command that hangs fails
SMALL = ["--data", "synthetic:200x12", "--train", "150", "--test", "50"]
GRID = ["--set", "algorithm.name=[fl, fedadam, fedadam(server_lr=0.01), mfl]", "--eta", "[0.05, 0.5]", "--rounds", "30"]


class NamesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = {"MFL_STORE": os.path.join(self.folder, "store.db"), "HOME": self.folder, "PATH": os.environ["PATH"]}

    def mfl(self, *args, code=0):
        ended = subprocess.run([MFL, *args], cwd=self.folder, env=self.environment, text=True, capture_output=True, timeout=PATIENCE,
                               check=False)
        self.assertEqual(ended.returncode, code, ended.stdout + ended.stderr)
        return ended.stdout if code == 0 else ended.stderr

    def data(self, *args):
        return json.loads(self.mfl(*args, "--json"))["data"]

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def test_a_sweep_is_a_group(self):
        swept = self.data("sweep", *SMALL, *GRID, "--name", "grp")
        ids = [run["run_id"] for run in swept["runs"]]
        self.assertEqual((swept["group"], len(ids)), ("grp", 8))
        self.assertEqual([run["config"]["run"]["name"] for run in swept["runs"]], [f"grp/{i}" for i in range(1, 9)])
        other = self.data("run", *SMALL, "--rounds", "3", "--name", "other")["run_id"]
        self.assertEqual([run["run_id"] for run in self.data("runs", "list", "--name", "grp")["runs"]], ids[::-1])
        self.assertEqual([run["run_id"] for run in self.data("runs", "show", "grp")["runs"]], ids)
        self.assertEqual(self.data("runs", "show", "grp/3")["run"]["run_id"], ids[2])
        self.assertEqual([run["run_id"] for run in self.data("runs", "compare", "grp", "other", "grp/1")["runs"]], [*ids, other])
        exported = list(csv.DictReader(io.StringIO(self.mfl("runs", "export", "grp"))))
        self.assertEqual(list(dict.fromkeys(row["run"] for row in exported)), ids)
        self.mfl("report", "grp", "--out", "page")
        self.assertIn("<h1>8 runs of mfl</h1>", self.read("page/report.html"))
        self.assertIn("no run", self.mfl("runs", "show", "gr", code=2))
        self.assertEqual(self.data("runs", "delete", "grp")["deleted"], ids)
        self.assertEqual([run["run_id"] for run in self.data("runs", "list")["runs"]], [other])

    def test_a_sweep_without_a_name_gets_one_that_stays(self):
        first = self.data("sweep", *SMALL, "--eta", "[0.1, 0.2]", "--rounds", "3")
        self.assertRegex(first["group"], "^sweep-[0-9a-f]{4}$")
        self.assertEqual(self.data("sweep", *SMALL, "--eta", "[0.1, 0.2]", "--rounds", "3", "--resume")["group"], first["group"])
        self.assertEqual(len(self.data("runs", "show", first["group"])["runs"]), 2)
        self.assertIn(f"mfl report {first['group']}\n", self.mfl("sweep", *SMALL, "--eta", "[0.1, 0.2]", "--rounds", "3"))
        self.assertEqual(self.data("sweep", *SMALL, "--rounds", "3", "--name", "one")["group"], "")

    def test_algorithms_are_named_briefly(self):
        printed = self.mfl("sweep", *SMALL, *GRID, "--name", "grp", "--quiet")
        texts = {"sweep": printed, "list": self.mfl("runs", "list"), "compare": self.mfl("runs", "compare", "grp"),
                 "latex": self.mfl("runs", "compare", "grp", "--format", "latex")}
        self.mfl("report", "grp", "--out", "page")
        page = self.read("page/report.html")
        texts["page"] = page
        for where, text in texts.items():
            with self.subTest(where=where):
                self.assertRegex(text, r"fedadam\(server(_|\\_)lr=0.01\)")
                self.assertNotIn("beta1", text)
                self.assertNotIn("FEDADAM", text)
        self.assertNotIn("MFL", texts["page"].replace("MFL_STORE", ""))
        self.assertIn(" grp/8 ", texts["list"])
        alone = self.mfl("runs", "compare", "grp/3", "grp/1", "--baseline", "fedadam")
        self.assertIn("  fedadam  ", alone)
        self.assertIn("where fedadam (run", alone)
        self.assertIn(", fedadam, eta", self.mfl("run", *SMALL, "--algorithm", "fedadam", "--rounds", "2", "--quiet"))
        self.assertIn(", fedadam(server_lr=1), eta",
                      self.mfl("run", *SMALL, "--algorithm", "fedadam(server_lr=1)", "--rounds", "2", "--quiet"))

    def test_what_a_page_is_drawn_over_and_called(self):
        self.data("sweep", *SMALL, "--eta", "[0.1, 0.2]", "--rounds", "30", "--name", "grp")
        axes = {"steps": "local steps t", "rounds": "rounds", "bytes": "traffic (MB)", "seconds": "time (s)"}
        for x, axis in axes.items():
            with self.subTest(x=x):
                self.mfl("report", "grp", "--x", x, "--out", x, "--title", "Two <steps>", "--label", "grp/1=plain & slow")
                page = self.read(f"{x}/report.html")
                self.assertIn("<h1>Two &lt;steps&gt;</h1>", page)
                self.assertIn("plain &amp; slow", page)
                self.assertIn(axis, self.read(f"{x}/figures/loss-1.svg"))
        self.assertIn("must be steps, rounds, bytes or seconds", self.mfl("report", "grp", "--x", "days", code=2))
        self.assertIn("must be RUN=TEXT", self.mfl("report", "grp", "--label", "grp/1", code=2))
        self.assertIn("plain", self.mfl("runs", "compare", "grp", "--label", "grp/1=plain"))

    def test_a_page_begins_with_a_sentence_and_a_picture(self):
        self.data("sweep", *SMALL, "--eta", "[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]", "--rounds", "30", "--name", "grp")
        for runs, sentence in ((["grp"], "ended with the lowest training loss of 6 settings"), (["grp/1"], "ended with a training loss of")):
            self.mfl("report", *runs, "--out", "page")
            page = self.read("page/report.html")
            places = [page.index(part) for part in (sentence, "<figure", "<table")]
            self.assertEqual(places, sorted(places))
        self.mfl("report", "grp", "--out", "page")
        self.assertNotIn("<h2>Run ", self.read("page/report.html"), "six runs are rows of a table")

    def test_the_end_of_a_run_fits_a_terminal(self):
        rows = ["a,b,c,y", *(f"{r % 7},{r % 11},{r % 3},{'class ' + str(r % 12) if r % 12 else 'none'}" for r in range(240))]
        with open(os.path.join(self.folder, "many.csv"), "w", encoding="utf-8") as file:
            file.write("\n".join(rows) + "\n")
        with open(os.path.join(self.folder, "two.csv"), "w", encoding="utf-8") as file:
            file.write("\n".join(["a,b,flat,y", *(f"{r % 7},{r % 11},1,{'yes' if r % 3 else 'no'}" for r in range(240))]) + "\n")
        most = 24
        for source, more in (("csv:many.csv", ["--model", "softmax"]),
                             ("csv:two.csv", ["--model", "logistic", "--standardise", "full", "--algorithm", "fl", "--gamma", "0.9"])):
            printed = self.mfl("run", "--data", source, *more, "--train", "200", "--take", "random", "--eta", "0.0001", "--rounds", "60",
                               "--quiet")
            lines = sum(max(1, -(-len(line) // 80)) for line in printed.splitlines())
            self.assertLessEqual(lines, most, printed)
            self.assertIn("test accuracy", printed)
            run = re.search(r"one by one: mfl runs show (\w+)", printed)[1]
            self.assertIn("test set by class", self.mfl("runs", "show", run))


if __name__ == "__main__":
    unittest.main()
