#!/usr/bin/env python3
"""Makes reports with the mfl binary and looks at them in a browser: reports_test.py MFL."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import check_page

MFL = None

DATA = '[data]\nsource = "synthetic:300x24"\ntrain = 160\ntest = 80\ntake = "random"\n'


def experiment(model, algorithm, gamma, tau, steps):
    return (f'{DATA}[model]\nname = {model}\n[algorithm]\nname = {algorithm}\neta = 0.02\ngamma = {gamma}\n'
            f'tau = {tau}\n[run]\nsteps = {steps}\nrecord_every = 4\n')


class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="mfl-browser-test-")
        cls.root = Path(cls.folder.name)
        small = cls.root / "small"
        small.mkdir()
        both = '["svm", "squared-svm"]'
        files = {
            "figure-4": experiment('["svm", "squared-svm", "linear", "logistic"]', '["gd", "mgd", "fl", "mfl"]', 0.5, 4, 40),
            "figure-5": experiment(both, '"mfl"', "[0.0, 0.3, 0.5, 0.7, 0.9, 0.99]", 4, 40),
            "figure-6": experiment(both, '["fl", "mfl"]', 0.5, "[1, 4, 10]", 40),
            "figure-6-long": experiment(both, '"mfl"', 0.5, "[10, 100, 200]", 400),
        }
        for name, text in files.items():
            (small / f"{name}.toml").write_text(text, encoding="utf-8")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def mfl(self, *arguments):
        environment = {**os.environ, "MFL_STORE": str(self.root / "runs.db"), "HOME": str(self.root)}
        done = subprocess.run([MFL, *arguments, "--json"], cwd=self.root, env=environment, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)["data"]

    def check(self, report):
        report = Path(report)
        figures = sorted(path.stem for path in (report.parent / "figures").glob("*.svg"))
        self.assertTrue(figures)
        self.assertEqual(check_page.problems(report.read_text(encoding="utf-8"), figures), [])
        return figures

    def test_reproduce(self):
        data = self.mfl("reproduce", "--experiments", "small", "--seeds", "2", "--out", "reproduction")
        figures = self.check(data["report"])
        for name in ("fig4a", "fig4b", "fig4c", "fig4d", "fig5a", "fig5b", "fig5c", "fig6"):
            self.assertIn(name, figures)

    def test_report(self):
        ids = [self.mfl("run", "--data", "synthetic:120x16", "--train", "80", "--test", "40", "--steps", "12", "--algorithm",
                        algorithm, "--eta", eta)["run_id"]
               for algorithm, eta in (("fl", "0.01"), ("mfl", "0.01"), ("mfl", "0.02"), ("gd", "0.01"))]
        self.check(self.mfl("report", *ids, "--out", "page")["report"])

    def test_report_of_settings_with_several_seeds(self):
        grid = (DATA + '[federation]\npartition = ["iid", "label-sorted"]\n[algorithm]\nname = ["fl", "mfl"]\n'
                'eta = [0.01, 0.02, 0.04, 0.08]\n[run]\nsteps = 24\nrecord_every = 4\nseed = [1, 2]\n')
        (self.root / "seeds.toml").write_text(grid, encoding="utf-8")
        runs = [run["run_id"] for run in self.mfl("sweep", "seeds.toml")["runs"]]
        self.assertEqual(len(runs), 32)
        report = Path(self.mfl("report", *runs, "--out", "seeds")["report"])
        self.check(report)
        page = report.read_text(encoding="utf-8")
        self.assertIn("Means over 2 seeds", page)
        self.assertEqual(page.count("What all runs have in common"), 1)
        table = (report.parent / "data" / "comparison.csv").read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(table), 1 + 16)

    def test_study(self):
        algorithms = ", ".join(f'"{name}"' for name in ("fedavg", "scaffold", "fedacg", "feddyn", "scaffold-acg"))
        (self.root / "study.toml").write_text(
            f'{DATA}[run]\nrounds = 12\n[study]\nalgorithms = [{algorithms}, {{ name = "mfl", tune = {{ gamma = [0.5, 0.9] }} }}]\n'
            'splits = ["iid", "contiguous", "label-sorted"]\nproblems = [{ data = "synthetic:300x24", model = "squared-svm" }]\n'
            'eta = [0.01, 0.05]\nseeds = [1, 2]\ntuning_seeds = [9]\nreference = "fedavg"\nfocus = "mfl"\n', encoding="utf-8")
        figures = self.check(self.mfl("study", "study.toml", "--out", "study")["report"])
        for name in ("ranking", "final-1", "rounds-1", "curves-1-1", "curves-1-3"):
            self.assertIn(name, figures)

    def test_the_check_sees_what_is_wrong(self):
        svg = '<svg viewBox="0 0 560 400" style="width:100%"><text x="20" y="50">one</text><text x="25" y="52">two</text></svg>'
        html = ('<!DOCTYPE html><html><head><meta name="viewport" content="width=device-width"></head><body>'
                '<h1>A</h1><p style="margin-top:-60px">over it</p><div style="width:3000px">wide</div>'
                f'<figure id="a">{svg}<figcaption></figcaption></figure><img src="http://127.0.0.1:9/x.png"></body></html>')
        found = "\n".join(check_page.problems(html, ["a", "b"]))
        for part in ("desktop: the page is", "phone: the page is", "overlaps", "texts overlap in #a: one and two",
                     "no caption in figure#a", "requests http://127.0.0.1:9/x.png", "figure b is missing", "no table",
                     "refers to http://127.0.0.1:9/x.png"):
            self.assertIn(part, found)


if __name__ == "__main__":
    MFL = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
