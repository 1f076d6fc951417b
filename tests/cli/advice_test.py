#!/usr/bin/env python3
"""Advice that mfl prints works: advice_test.py MFL_BINARY.

Each test brings about a situation, takes the command that mfl recommends in it, and runs that command as a person would paste it.
"""
import csv
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

MFL = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "mfl"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATIENCE = 120  # seconds until a command that hangs fails


class AdviceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = {"MFL_STORE": os.path.join(self.folder, "store.db"), "HOME": self.folder, "PATH": os.environ["PATH"],
                            "PYTHONPATH": os.path.join(ROOT, "python"), "PYTHONDONTWRITEBYTECODE": "1"}

    def write(self, name, rows):
        with open(os.path.join(self.folder, name), "w", newline="", encoding="utf-8") as file:
            if isinstance(rows, str):
                file.write(rows)
            else:
                csv.writer(file, lineterminator="\n").writerows(rows)

    def mfl(self, *args):
        return subprocess.run([MFL, *args], cwd=self.folder, env=self.environment, text=True, capture_output=True,
                              timeout=PATIENCE, check=False)

    def done(self, *args):
        """The object "data" of a command that succeeds."""
        ended = self.mfl(*args, "--json")
        self.assertEqual(ended.returncode, 0, ended.stderr + ended.stdout)
        return json.loads(ended.stdout)["data"]

    def paste(self, command):
        """A line that starts with "mfl ", into a shell; gives what it prints."""
        self.assertTrue(command.startswith("mfl "), command)
        ended = subprocess.run(["/bin/sh", "-c", command.replace("mfl", '"$0"', 1), MFL], cwd=self.folder, env=self.environment,
                               text=True, capture_output=True, timeout=PATIENCE, check=False)
        self.assertEqual(ended.returncode, 0, f"{command}\n{ended.stderr}")
        return ended.stdout

    def refused(self, code, *args):
        ended = self.mfl(*args)
        self.assertEqual(ended.returncode, code, ended.stdout + ended.stderr)
        return ended.stderr

    def points(self, name, classes, rows=90, header=("a", "b", "y")):
        source = random.Random(7)
        self.write(name, [header, *([round(source.gauss(k, 1), 3), round(source.gauss(-k, 1), 3), f"c{k}"]
                                    for k in (r % classes for r in range(rows)))])

    def fact(self, text, name):
        """The value of a fact; None where there is none."""
        found = re.search(rf"^{name} +(.*)$", text, re.MULTILINE)
        return found and found[1]

    # What a run that was set badly recommends.

    def advised(self, *run):
        """Follows the advice of a run to its end; gives the train losses of both runs and the advised configuration."""
        printed = self.mfl("run", *run, "--quiet")
        self.assertEqual(printed.returncode, 0, printed.stderr)
        self.assertIn("warning", printed.stdout)
        line = self.fact(printed.stdout, "try")
        if line is None:
            return None
        before = self.done("runs", "show", "latest")["run"]
        self.paste(self.fact(self.paste(line), "run it"))
        after = self.done("runs", "show", "latest")["run"]
        self.assertLess(after["final"]["train_loss"], before["final"]["train_loss"])
        return after

    def test_a_slow_run_is_told_a_better_setting(self):
        self.points("two.csv", 2)
        for more in (["--model", "logistic"], ["--model", "svm", "--lambda", "0.01"], ["--model", "linear"],
                     ["--model", "logistic", "--class-weight", "balanced"], ["--model", "squared-svm", "--intercept", "false"]):
            with self.subTest(more=more):
                self.write("labels.csv", "")
                source = "csv:two.csv"
                if "linear" in more:
                    self.write("numbers.csv", [("a", "b", "y"), *((r % 7, r % 5, 3 * (r % 7) + r % 3) for r in range(60))])
                    source = "csv:numbers.csv"
                run = self.advised("--data", source, *more, "--eta", "0.00002", "--rounds", "60")
                self.assertIsNotNone(run)
                intercept = "false" if "squared-svm" in more else "auto"
                self.assertIn(f'intercept = {"false" if intercept == "false" else chr(34) + "auto" + chr(34)}', run["config"])

    def test_every_file_of_init(self):
        self.points("two.csv", 2)
        self.points("three.csv", 3)
        for name in ("two", "three"):
            with self.subTest(name=name):
                made = self.mfl("init", f"csv:{name}.csv", "--out", f"{name}.toml")
                self.assertEqual(made.returncode, 0, made.stderr)
                self.paste(self.fact(made.stdout, "next"))
                run = self.advised(f"{name}.toml", "--eta", "0.00001", "--rounds", "60", "--patience", "0")
                if name == "two":
                    self.assertIn("intercept = true", run["config"])
                    self.assertIn("lambda = 0.014", run["config"])
                else:
                    self.assertIsNone(run, "trials of softmax take long: they are not recommended unasked")
                advice = self.done("theory", "advise", f"{name}.toml", "--budget-rounds", "10", "--max-tau", "2")
                self.assertIsNone(advice["theory"])
                self.paste(advice["command"])
        refused = self.refused(2, "theory", "run", "two.toml")
        self.assertIn("add --intercept false", refused)
        self.done("theory", "run", "two.toml", "--intercept", "false", "--rounds", "5", "--patience", "0")

    def trainer(self, python):
        self.write("train.py", textwrap.dedent("""
            import numpy, time
            import mfl.trainer

            class Slope(mfl.trainer.Trainer):
                vectors = ("w", "d")
                hyper_parameters = ("eta", "gamma")

                def tensors(self):
                    return {"w": (2,)}

                def samples(self, node):
                    return 10

                def train(self, vectors, round):
                    time.sleep(0.01)
                    round.loss = float(numpy.abs(vectors["w"]["w"] - 1).sum())
                    vectors["w"]["w"] += round.eta * (1 - vectors["w"]["w"])
                    return vectors

                def evaluate(self, w, round):
                    return float(numpy.abs(w["w"] - 1).sum())

            mfl.trainer.serve(Slope())
            """))
        return f"{python} train.py"

    def python(self):
        """An interpreter with numpy, which trainers need."""
        found = next((one for one in (sys.executable, os.path.join(ROOT, "build", "python-package", "bin", "python3"))
                       if shutil.which(one) and not subprocess.run([one, "-c", "import numpy"], capture_output=True).returncode), None)
        if found is None:
            self.skipTest("trainers need numpy")
        return found

    def test_a_trainer_that_says_nan(self):
        self.trainer(self.python())
        with open(os.path.join(self.folder, "train.py"), encoding="utf-8") as file:
            text = file.read().replace("round.loss = float(", "round.loss = float('nan') * float(")
        self.write("nan.py", textwrap.dedent("""
            import json, types
            import mfl._frames, mfl._session
            mfl._frames.json = types.SimpleNamespace(dumps=lambda header, **_: json.dumps(header), loads=json.loads)
            mfl._session._number = float
            """) + text)
        ended = self.mfl("run", "--trainer", f"{self.python()} nan.py", "--nodes", "2", "--eta", "0.1", "--rounds", "3", "--quiet")
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("sent NaN or Infinity, which JSON does not have: send null", ended.stderr)

    def test_a_host_that_does_not_exist(self):
        self.mfl("certs", "init", "pki")
        self.mfl("certs", "node", "pki", "a")
        self.points("two.csv", 2)
        told = self.refused(4, "node", "--server", "nohost.invalid:7443", "--tls", "pki/a", "--data", "csv:two.csv", "--give-up-after", "1")
        self.assertIn("cannot resolve nohost.invalid", told)

    def test_a_trainer(self):
        command = self.trainer(self.python())
        self.assertIsNone(self.advised("--trainer", command, "--nodes", "2", "--eta", "0.0001", "--rounds", "60", "--evaluate-every", "1"))
        self.assertIn("try step sizes with mfl run --trainer",
                      self.refused(2, "theory", "advise", "--model", "external", "--data", "trainer", "--set", "algorithm.eta=1", "--budget-rounds", "5"))
        store = os.path.join(self.folder, "other's.db")
        stopped = self.interrupted("run", "--trainer", command, "--nodes", "2", "--eta", "0.1", "--steps", "100000", "--store", store)
        line = re.search(r"\(continue: (.*)\)\n$", stopped)[1]
        self.interrupted(*shell_words(line)[1:])

    def interrupted(self, *args, stop=signal.SIGTERM):
        """What a run says that is stopped after it has begun."""
        store = args[args.index("--store") + 1] if "--store" in args else self.environment["MFL_STORE"]
        process = subprocess.Popen([MFL, *args], cwd=self.folder, env=self.environment, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        until = time.monotonic() + PATIENCE
        while not (os.path.exists(store) and "running" in self.mfl("runs", "list", "--store", store, "--status", "running").stdout):
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
        process.send_signal(stop)
        told = process.communicate(timeout=PATIENCE)[1]
        self.assertEqual(process.returncode, 1, told)
        return told

    # Files.

    def test_columns_that_are_no_features(self):
        rows = [("diagnosis", "patient_id", "admitted on", "age", "area")]
        rows += [("BM"[r % 2], f"P{r:04}", f"2024-01-{r % 28 + 1:02}", 30 + r % 40, r * r % 17) for r in range(60)]
        self.write("raw.csv", rows)
        told = self.refused(3, "init", "csv:raw.csv")
        for name in ("'diagnosis'", "'patient_id'", "'admitted on'", "line 2"):
            self.assertIn(name, told)
        drop = re.search(r"--drop ('[^']*'|\S+)", told)[1]
        self.assertEqual(drop, "'diagnosis,patient_id,admitted on'")
        made = self.paste(f"mfl init csv:raw.csv --label diagnosis --drop {drop.replace('diagnosis,', '')}")
        self.assertIn('column "diagnosis"', made)
        self.paste(self.fact(made, "next"))

    def test_a_value_that_is_missing(self):
        self.write("hole.csv", [("age", "area", "y"), *((r, "" if r == 4 else r * r % 7, r % 2) for r in range(30))])
        told = self.refused(3, "run", "--data", "csv:hole.csv", "--model", "logistic")
        self.assertIn("line 6: column 'area' is empty", told)
        self.done("run", "--data", "csv:hole.csv", "--model", "logistic", "--rounds", "3", *re.search(r"--drop area", told)[0].split())

    def test_an_identifier_in_numbers(self):
        self.write("ids.csv", [("id", "age", "y"), *((100 + 3 * r, r % 9, r % 2) for r in range(40))])
        note = self.mfl("init", "csv:ids.csv").stdout
        self.assertIn("id has a different whole number in every row", note)
        flags = re.search(r"repeat the command with (.*)$", note, re.MULTILINE)[1].split()
        again = self.done("init", "csv:ids.csv", *flags)
        self.assertEqual((again["schema"]["features"], again["identifiers"]), (["age"], []))

    def test_one_class(self):
        self.write("one.csv", [("a", "b", "y"), *((r % 3, r % 7, 0) for r in range(30))])
        told = self.refused(3, "run", "--data", "csv:one.csv", "--model", "logistic")
        classes = re.search(r"--schema-classes (\S+)\)", told)[1].replace("OTHER", "1")
        run = self.done("run", "--data", "csv:one.csv", "--model", "logistic", "--schema-classes", classes, "--rounds", "3")
        self.assertEqual(run["schema"]["classes"], ["0", "1"])

    def test_a_packed_file(self):
        self.points("two.csv", 2)
        subprocess.run(["gzip", "two.csv"], cwd=self.folder, check=True)
        self.assertIn("compressed with gzip (unpack it with gunzip", self.refused(3, "init", "csv:two.csv.gz"))
        subprocess.run(["gunzip", "two.csv.gz"], cwd=self.folder, check=True)
        self.done("init", "csv:two.csv")

    def test_predictions_carry_an_identifier(self):
        self.points("two.csv", 2)
        self.done("run", "--data", "csv:two.csv", "--model", "logistic", "--rounds", "5")
        self.write("new.csv", [("b", "patient", "a"), (1.5, "P7", 2), (-1, 'O"Hara, Jim', 0.5), (0, "", 3)])
        plain = list(csv.reader(self.mfl("predict", "latest", "--data", "csv:new.csv").stdout.splitlines()))
        named = list(csv.reader(self.mfl("predict", "latest", "--data", "csv:new.csv", "--id", "patient").stdout.splitlines()))
        self.assertEqual([row[0] for row in named], ["patient", "P7", 'O"Hara, Jim', ""])
        self.assertEqual([row[1:] for row in named], plain)
        self.assertIn("no column of identifiers named 'who'", self.refused(2, "predict", "latest", "--data", "csv:new.csv", "--id", "who"))

    # Words and flags.

    def test_the_words_of_the_field(self):
        small = ["--data", "synthetic:60x8", "--test", "0", "--rounds", "2"]
        for flag, meant in (("--momentum", "gamma"), ("--beta", "fedadam"), ("--beta1", "beta1"), ("--mu", "fedprox"),
                            ("--server-lr", "server_lr"), ("--server-momentum", "fedavgm"), ("--dirichlet", "dirichlet"),
                            ("--alpha", "dirichlet"), ("--proximal-mu", "fedprox"), ("--non-iid", "label-sorted")):
            with self.subTest(flag=flag):
                told = self.refused(2, "run", *small, flag, "0.9")
                self.assertIn(meant, told)
                for advice in re.findall(r"(--[a-z]+) ('[^']*'|[\w.-]+)", told.split("; ", 1)[1].split(" (")[0]):
                    self.paste(" ".join(["mfl run", *small, *advice]))
        self.assertIn("needs --trainer", self.refused(2, "run", "--model", "cnn"))

    def test_flags_override_the_file(self):
        self.write("steps.toml", '[data]\nsource = "synthetic:60x8"\ntest = 0\n[algorithm]\ntau = 5\n[run]\nsteps = 400\n')
        self.assertEqual(self.done("run", "steps.toml", "--rounds", "3")["final"]["step"], 15)
        self.assertEqual(self.done("run", "steps.toml", "--set", "run.rounds=3")["rounds"], 3)
        self.assertEqual(self.done("run", "steps.toml", "--local-epochs", "2", "--rounds", "3")["config"]["algorithm"]["tau"], "auto")
        swept = self.done("sweep", "steps.toml", "--rounds", "2", "--eta", "[0.1, 0.2]")
        self.assertEqual([run["rounds"] for run in swept["runs"]], [2, 2])
        self.write("rounds.toml", '[data]\nsource = "synthetic:60x8"\ntest = 0\n[run]\nrounds = 7\n')
        self.assertEqual(self.done("run", "rounds.toml", "--steps", "9")["final"]["step"], 9)
        self.assertEqual(self.done("run", "rounds.toml", "--set", "run.steps = 6")["final"]["step"], 6)
        self.assertIn("both say how long", self.refused(2, "run", "steps.toml", "--rounds", "3", "--steps", "4"))

    def test_a_parameter_without_effect_is_warned_of(self):
        small = ["--data", "synthetic:60x8", "--test", "0", "--rounds", "2"]
        def told(*more):
            return [warning["id"] for warning in self.done("run", *small, *more)["warnings"]]
        self.assertEqual(told("--algorithm", "fl", "--gamma", "0.9"), ["no_effect"])
        self.assertEqual(told("--algorithm", "fl"), [])
        self.assertEqual(told("--algorithm", "fl", "--gamma", "0"), [])
        self.assertEqual(told("--gamma", "0.9"), [])
        self.assertEqual(told("--algorithm", "gd", "--tau", "3", "--nodes", "5"), ["no_effect"])
        printed = self.mfl("run", *small, "--algorithm", "fl", "--gamma", "0.9", "--quiet").stdout
        self.assertIn("gamma = 0.9 has no effect", printed)
        self.assertNotIn("\ntry ", printed)

    def test_names_that_mean_something_else(self):
        small = ["--data", "synthetic:60x8", "--test", "0", "--rounds", "2"]
        self.assertIn("choose another name", self.refused(2, "run", *small, "--name", "latest"))
        self.assertIn("name it with --data", self.refused(2, "node", "--server", "127.0.0.1:9", "--plaintext", "--name", "a"))

    def test_the_signal_of_a_batch_system_stops_as_term_does(self):
        told = self.interrupted("run", "--data", "synthetic:400x50", "--test", "0", "--steps", "1000000000", stop=signal.SIGUSR1)
        self.assertEqual(self.done("runs", "list")["runs"][0]["shown_status"], "interrupted")
        self.assertIn("continue: mfl run --resume", told)


def shell_words(line):
    """The words of a command as a shell takes them."""
    printed = subprocess.run(["/bin/sh", "-c", f"printf '%s\\0' {line}"], capture_output=True, text=True, check=True).stdout
    return printed.split("\0")[:-1]


if __name__ == "__main__":
    unittest.main()
