"""What bench/ab.py runs on both sides: each workload takes 0.5 to 3 seconds, on data generated in a temporary folder."""

import dataclasses
import functools
import hashlib
import os
import pathlib
import resource
import tempfile
from collections.abc import Callable

from . import compare, federation, generated, process, race
from .mfl import SVM

IMAGES = 60_000
PAPER = {**race.PAPER, **SVM}
SOFTMAX = {"train": IMAGES, "model": "softmax", "intercept": "true", "algorithm": "fl", "partition": "contiguous", "nodes": 1000,
           "fraction-train": 0.01, "local-epochs": 1, "batch-size": 10, "eta": 0.03, "seed": 1, "threads": 1}
FLEET = {"data": "fleet:10x784", "nodes": 10**6, "fraction-train": 0.01, "model": "squared-svm", "engine": "serial"}
LARGE = {"columns": 100_000, "classes": 100}  # 10 million numbers, 40 MB


class Data:
    """The inputs, each made when it is first used. A file is the same for both sides."""

    def __init__(self, folder, mfl):
        self.folder, self.mfl = folder, mfl
        cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "mfl"
        self.has_mnist = (pathlib.Path(os.environ.get("MFL_CACHE") or cache) / "mnist").exists()

    @functools.cached_property
    def images(self):
        """MNIST where it is in the cache: what the hinge visits depends on the pictures."""
        if self.has_mnist:
            return "mnist"
        generated.images(self.folder / "images", IMAGES)
        return f"idx:{self.folder / 'images'}"

    @functools.cached_property
    def table(self):
        generated.csv(self.folder / "table.csv", 500_000, 20)
        return f"csv:{self.folder / 'table.csv'}"

    @functools.cached_property
    def small(self):
        generated.csv(self.folder / "small.csv", 150, 4)
        return f"csv:{self.folder / 'small.csv'}"

    @functools.cached_property
    def rows(self):
        generated.csv(self.folder / "rows.csv", 1_000_000, 10)
        return f"csv:{self.folder / 'rows.csv'}"

    @functools.cached_property
    def model(self):
        """Of the columns of `rows`, trained by the old side."""
        generated.csv(self.folder / "train.csv", 2000, 10)
        store, model = self.folder / "model.db", self.folder / "model.npz"
        process.run([self.mfl.binary, "run", "--data", f"csv:{self.folder / 'train.csv'}", "--model", "logistic", "--steps", 100, "--quiet",
                     "--store", store])
        process.run([self.mfl.binary, "model", "export", "latest", "--store", store, "--out", model])
        return model

    @functools.cached_property
    def shards(self):
        self.mfl.split(self.folder / "shards", race.PAPER["train"], federation.NODES, self.images)
        return self.folder / "shards"

    @functools.cached_property
    def sparse(self):
        """A folder with a file of sparse rows per node."""
        folder = self.folder / "sparse"
        folder.mkdir()
        for node in range(LargePeers.nodes):
            generated.libsvm(folder / f"node-{node}.svm", 200, LARGE["columns"], LARGE["classes"], 20, node)
        return folder


class LargePeers(federation.Peers):
    """A State of 40 MB: softmax regression on sparse rows, whose training takes a small part of a round."""

    nodes = 2

    def experiment(self):
        classes = ", ".join(f'"{label}"' for label in range(LARGE["classes"]))
        return {"set": f"schema.classes=[{classes}]", "features": LARGE["columns"], "model": "softmax", "intercept": "false",
                "algorithm": "fl", "eta": 0.1, "tau": 1, "steps": self.rounds, "record-every": self.rounds}

    def data_of(self, node):
        return f"libsvm:{self.shards}/node-{node}.svm"


@dataclasses.dataclass
class Workload:
    name: str
    title: str
    run: Callable  # (Data, Mfl, an empty folder) -> (seconds, what identifies the result)


def flags(options):
    return [word for name, value in options.items() for word in (f"--{name}", value)]


def digests(reply):
    return " ".join(sorted(run["digest"] for run in reply.get("runs", [reply])))


def training(options, verb="run", on_images=True, settings=()):
    """The whole process of `mfl run` or `mfl sweep`."""
    def run(data, mfl, folder):
        source = {"data": data.images} if on_images else {}
        reply, finished = mfl.answer([mfl.binary, verb, *flags({"test": 0, **options, **source}), *settings, "--quiet", "--json",
                                      "--store", folder / "runs.db"])
        return finished.elapsed, digests(reply)
    return run


def paper(model, steps):
    return training({**PAPER, "model": model, "steps": steps, "record-every": steps})


def read_table(data, mfl, _):
    reply, finished = mfl.answer([mfl.binary, "data", "info", data.table, "--json"])
    return finished.elapsed, reply["train"]["digest"]


def predict(data, mfl, folder):
    out = folder / "predictions.csv"
    command = [mfl.binary, "predict", data.model, "--data", data.rows, "--out", out]
    seconds = sum(process.run(command).elapsed for _ in range(2))
    return seconds, hashlib.sha256(out.read_bytes()).hexdigest()


def start_up(data, mfl, folder):
    """Many short runs by one shell, which adds less to each than a process started by Python."""
    script = 'count=$1; shift; while [ "$count" -gt 0 ]; do "$@" || exit; count=$((count - 1)); done'
    command = [mfl.binary, "run", "--data", data.small, "--model", "logistic", "--steps", 8, "--quiet", "--json", "--store", folder / "runs.db"]
    finished = process.run(["sh", "-c", script, "sh", 40, *command])
    return finished.elapsed, digests(process.last_json(finished.stdout, command)["data"])


def federated(rounds, tls):
    """The seconds are those between the first and the last commit; CPU time is that of all processes from start to end."""
    def run(data, mfl, folder):
        with federation.Peers(mfl, folder / "federation", data.shards, rounds, tls) as peers:
            per_round, digest = peers.run()
        return per_round * (rounds - 1), digest
    return run


def federated_large(rounds):
    def run(data, mfl, folder):
        with LargePeers(mfl, folder / "federation", data.sparse, rounds, tls=False) as peers:
            per_round, digest = peers.run()
        return per_round * (rounds - 1), digest
    return run


WORKLOADS = [
    Workload("svm", "the paper's run: hinge SVM, 5,000 images, 4 nodes, 2 threads, T = 20,000", paper("svm", 20_000)),
    Workload("squared-svm", "the same with the squared SVM, T = 4,000", paper("squared-svm", 4000)),
    Workload("logistic", "the same with logistic regression, T = 4,000", paper("logistic", 4000)),
    Workload("linear", "the same with linear regression, T = 4,000", paper("linear", 4000)),
    Workload("sweep", "16 settings of logistic regression in one sweep, T = 400",
             training({**race.PAPER, "model": "logistic", "algorithm": "mfl", "tau": 4, "steps": 400}, "sweep",
                      settings=["--set", "algorithm.eta=[0.001,0.002,0.003,0.004]", "--set", "algorithm.gamma=[0,0.3,0.5,0.9]"])),
    Workload("softmax", "softmax regression in batches of 10 (FedML's setting): 1,000 nodes, 10 per round, one thread, 1,500 rounds",
             training({**SOFTMAX, "rounds": 1500, "record-every": 1500})),
    Workload("fleet", "a fleet of 1,000,000 nodes, 1 % per round, 10 rounds, one thread",
             training({**FLEET, "steps": 40, "record-every": 40}, on_images=False)),
    Workload("small-rounds", "100,000 rounds of one step on 200 x 30 numbers, one thread: the cost of a round itself",
             training({"data": "synthetic:200x30", "steps": 100_000, "tau": 1, "threads": 1}, on_images=False)),
    Workload("csv", "mfl data info of a CSV file of 500,000 x 20 numbers", read_table),
    Workload("predict", "twice mfl predict of 1,000,000 rows of 10 features, CSV to CSV", predict),
    Workload("start-up", "40 times mfl run of 8 steps on a CSV file of 150 rows", start_up),
    Workload("federation", "mfl server and 4 mfl node on loopback, 784 parameters, plaintext, 1,000 rounds", federated(1000, False)),
    Workload("federation-tls", "the same with mutual TLS", federated(1000, True)),
    Workload("federation-40mb", "mfl server and 2 mfl node, a State of 40 MB (10 million f32), plaintext, 4 rounds", federated_large(4)),
]


def children_cpu():
    """CPU seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def sample(workload, data, mfl):
    with tempfile.TemporaryDirectory(dir=mfl.scratch) as folder:
        before = children_cpu()
        seconds, result = workload.run(data, mfl, pathlib.Path(folder))
        return compare.Sample(seconds, children_cpu() - before, result)
