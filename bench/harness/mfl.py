"""Calls the mfl binary; every run goes into a temporary store."""

from . import process

SVM = {"model": "svm", "algorithm": "mfl", "eta": "0.002", "gamma": "0.5", "tau": "4"}


class Mfl:
    def __init__(self, binary, scratch):
        self.binary = binary
        self.scratch = scratch
        self.store = scratch / "runs.db"

    def verbs(self):
        help_text = process.run([self.binary, "--help"]).stdout
        return {line.split()[0] for line in help_text.splitlines() if line.startswith("  ") and line.split()}

    def train(self, steps, **options):
        """(data of the JSON answer, Finished). Evaluates F only before the first step and after the last."""
        command = [self.binary, "run", "--json", "--quiet", "--store", self.store, "--test", "0", "--steps", steps,
                   "--record-every", steps]
        for name, value in {**SVM, **options}.items():
            command += [f"--{name}", value]
        return self.answer(command)

    def answer(self, command):
        finished = process.run(command)
        reply = process.last_json(finished.stdout, command)
        if reply.get("status") != "ok":
            raise process.Failed(f"mfl: {reply.get('error', {}).get('message', 'no answer')}")
        return reply["data"], finished

    def split(self, folder, train, nodes, data="mnist"):
        process.run([self.binary, "data", "split", data, "--train", train, "--nodes", nodes, "--partition", "contiguous",
                     "--out", folder])
