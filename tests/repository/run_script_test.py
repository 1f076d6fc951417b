#!/usr/bin/env python3
"""Tests what run.sh says and in which order, with a program that answers at once in place of mfl."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ANSWER = (
    '{"schema_version":1,"status":"ok","data":{"run_id":"f1bd57ce","final":{"step":1000,'
    '"train_loss":0.27045,"test_loss":0.3,"test_accuracy":0.8404},"best":{"step":1000,"train_loss":0.1}}}'
)
PROGRAM = f"""#!/bin/sh
echo "$*" >> called.txt
case "$*" in
  $FAILS*) echo 'it failed' >&2; exit 3 ;;
  run*) echo '{ANSWER}' ;;
  reproduce*)
    printf '4a      holds  SVM.  so\\n4b      holds with a limit  SVM.  so\\n'
    printf '2 of 29 claims were not tested.\\n'
    ;;
esac
"""


class RunScript(unittest.TestCase):
    def run_script(self, fails="nothing"):
        """The exit code, both outputs of run.sh in one, and the arguments of each call of the program."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "scripts").mkdir()
            (root / "build/release/bin").mkdir(parents=True)
            shutil.copy(ROOT / "run.sh", root)
            for name, text in {
                "scripts/install_packages.sh": "#!/bin/sh\n",
                "scripts/build.sh": '#!/bin/sh\necho "build $*" >> called.txt\n',
                "build/release/bin/mfl": PROGRAM,
            }.items():
                (root / name).write_text(text)
                (root / name).chmod(0o755)
            done = subprocess.run(
                [root / "run.sh"],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env={**os.environ, "FAILS": fails},
            )
            return done.returncode, done.stdout, (root / "called.txt").read_text().splitlines()

    def test_the_first_model_comes_before_the_others(self):
        code, text, called = self.run_script()
        self.assertEqual(code, 0, text)
        self.assertEqual(called[:2], ["build release mfl_cli", "data fetch mnist"])
        self.assertIn("run experiments/paper/svm.toml --algorithm mfl", called[2])
        first = text.index("first model: test accuracy 84.04 %, training loss 0.2705 (MNIST)")
        self.assertLess(first, text.index("== 5 of 6"))

    def test_every_line_fits(self):
        for fails in ("nothing", "data fetch"):
            self.assertLess(max(map(len, self.run_script(fails)[1].splitlines())), 80)

    def test_what_to_open_and_to_try(self):
        text = self.run_script()[1]
        self.assertIn("  results/reproduction/report.html ", text)
        self.assertEqual(
            text.splitlines()[-4:],
            [
                "Try next:",
                "  build/release/bin/mfl runs list --store results/runs.db",
                "  build/release/bin/mfl sweep experiments/sweep.toml",
                "  build/release/bin/mfl demo federation",
            ],
        )
        self.assertIn("1 claims: holds\n", text)
        self.assertIn("1 claims: holds with a limit\n", text)

    def test_without_mnist_everything_is_synthetic(self):
        code, text, called = self.run_script("data fetch")
        self.assertEqual(code, 0, text)
        self.assertIn("(synthetic data)", text)
        for call in called:
            if call.startswith("run "):
                self.assertIn("--data synthetic", call)
            elif call.startswith("reproduce "):
                self.assertIn("--set data.source=synthetic", call)
        for command in text.splitlines()[-2:]:
            self.assertRegex(command, "quickstart|--data synthetic")

    def test_a_failure_names_its_step(self):
        code, text, _ = self.run_script("run experiments/paper/linear.toml --algorithm fl")
        self.assertEqual(code, 1)
        self.assertTrue(text.endswith("run.sh: stopped with exit code 1: train linear with fl\n"), text)


if __name__ == "__main__":
    unittest.main()
