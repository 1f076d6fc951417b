"""The comparison of mfl with its peers on the same work: losses are checked first, then all are timed in turn."""

import dataclasses
import os
import sys

from . import process, spread

TOLERANCE = 1e-6
FLOWER_ROUNDS = 25
FLOWER_REPEATS = 3  # it starts its engine for each, and is slower by orders of magnitude
TRIALS = 3  # of a form, the proof included
NEAR = 2.0  # a form slower than the fastest by this factor gets no further trial
TAU = 4
PAPER = {"data": "mnist", "train": "5000", "nodes": "4", "partition": "contiguous", "threads": "2"}


@dataclasses.dataclass
class Contender:
    """One side of a comparison. `against` is the key of the mfl contender that does the same work."""

    key: str
    title: str
    against: str = ""
    script: str = ""
    options: dict = dataclasses.field(default_factory=dict)
    variants: list = dataclasses.field(default_factory=lambda: [{}])
    same_trajectory: bool = True
    steps: int = 0
    most: int = 1000  # repeats at most
    chosen: dict = dataclasses.field(default_factory=dict)
    trials: list = dataclasses.field(default_factory=list)  # (variant, best seconds)
    version: str = ""
    form: str = ""
    losses: list = dataclasses.field(default_factory=list)
    seconds: list = dataclasses.field(default_factory=list)
    peaks: list = dataclasses.field(default_factory=list)

    @property
    def is_mfl(self):
        return not self.script


def variants(forms):
    """Every form with one thread and with two, except that a pool brings its own two threads."""
    both = [{"form": form, "threads": threads} for form in forms for threads in (1, 2)]
    return [*both, {"form": "pool", "threads": 1}]


def contenders(steps, only, absent=()):
    flower_steps = min(FLOWER_ROUNDS * TAU, steps - steps % TAU)
    numpy_forms, torch_forms = variants(["nodes", "copies", "stacked"]), variants(["nodes", "bmm"])
    everyone = [
        Contender("mfl-f32", "mfl f32, 2 threads", options={"precision": "f32"}, steps=steps),
        Contender("mfl-f64", "mfl f64, 2 threads", options={"precision": "f64"}, steps=steps),
        Contender("mfl-logistic", "mfl f32, logistic", options={"precision": "f32", "model": "logistic"}, steps=steps),
        Contender("mfl-rounds", f"mfl f32, {flower_steps // TAU} rounds", options={"precision": "f32"}, steps=flower_steps),
        Contender("numpy-f32", "NumPy f32", "mfl-f32", "numpy_loop.py", {"precision": "f32"}, numpy_forms, steps=steps),
        Contender("numpy-f64", "NumPy f64", "mfl-f64", "numpy_loop.py", {"precision": "f64"}, numpy_forms, steps=steps),
        Contender("torch-f32", "PyTorch f32", "mfl-f32", "torch_loop.py", {"precision": "f32"}, torch_forms, steps=steps),
        Contender("torch-f64", "PyTorch f64", "mfl-f64", "torch_loop.py", {"precision": "f64"}, torch_forms, steps=steps),
        Contender("sklearn-svm", "scikit-learn LinearSVC", "mfl-f32", "sklearn_optimum.py", {"model": "svm"},
                  same_trajectory=False),
        Contender("sklearn-logistic", "scikit-learn LogisticRegression", "mfl-logistic", "sklearn_optimum.py",
                  {"model": "logistic"}, same_trajectory=False),
        Contender("flower-f32", f"Flower simulation, {flower_steps // TAU} rounds", "mfl-rounds", "flower_sim.py",
                  {"precision": "f32"}, [{"threads": os.cpu_count()}], steps=flower_steps, most=FLOWER_REPEATS),
    ]
    peers = [c for c in everyone if not c.is_mfl and (not only or c.key.startswith(only)) and not c.key.startswith(tuple(absent))]
    needed = {peer.against for peer in peers}
    return [c for c in everyone if c.is_mfl and c.key in needed] + peers


class Race:
    def __init__(self, mfl, python, peers_folder, shards, everyone):
        self.mfl = mfl
        self.python = python
        self.peers_folder = peers_folder
        self.shards = shards
        self.everyone = everyone
        self.by_key = {contender.key: contender for contender in everyone}

    def once(self, contender, variant):
        """(seconds, loss, peak in KiB) of one process; also records the version and the form."""
        if contender.is_mfl:
            data, finished = self.mfl.train(contender.steps, **PAPER, **contender.options)
            return data["wall_seconds"], data["final"]["train_loss"], finished.peak_kib
        options = {"data": self.shards, **contender.options, **variant}
        if contender.same_trajectory:
            options["steps"] = contender.steps
        else:
            options["target-loss"] = repr(self.by_key[contender.against].losses[0])
        command = [self.python, self.peers_folder / contender.script]
        for name, value in options.items():
            command += [f"--{name}", value]
        finished = process.run(command)
        reply = process.last_json(finished.stdout, command)
        contender.version = f"{reply['peer']} {reply['version']}"
        contender.form = f"{reply['details']['form']}, {reply['threads']} thread{'s' if reply['threads'] != 1 else ''}"
        return reply["seconds"], reply["loss"], finished.peak_kib

    def check(self, contender, loss):
        """A peer on the same trajectory must end at mfl's loss; a solver of the same problem at or below it."""
        own = self.by_key[contender.against].losses[0]
        off = (loss - own) / abs(own)
        bad = abs(off) > TOLERANCE if contender.same_trajectory else off > TOLERANCE
        if bad or off != off:
            raise process.Failed(f"{contender.title}: loss {loss!r} differs from mfl's {own!r} by {off:.3g} relative (at most "
                                 f"{TOLERANCE:g} is allowed); nothing was timed")

    def prove_and_choose(self, trials=TRIALS):
        """Checks the loss of every variant of every contender and chooses the fastest variant of each."""
        for contender in self.everyone:
            first = [self.prove(contender, variant) for variant in contender.variants]
            self.choose(contender, first, trials)

    def prove(self, contender, variant):
        """Its seconds, once its loss was found right."""
        seconds, loss, _ = self.once(contender, variant)
        if not contender.is_mfl:
            self.check(contender, loss)
        contender.losses.append(loss)
        say(f"{contender.title:32} {describe(variant):20} loss {loss:.12f}")
        return seconds

    def choose(self, contender, first, trials):
        """Each trial visits every variant that is near the fastest of the first one, so that a slow moment of the machine does not
        penalise one of them."""
        best = list(first)
        near = [i for i, seconds in enumerate(first) if seconds <= NEAR * min(first)]
        for _ in range(trials - 1 if len(near) > 1 else 0):
            for i in near:
                best[i] = min(best[i], self.once(contender, contender.variants[i])[0])
        contender.trials = list(zip(contender.variants, best))
        contender.chosen = min(contender.trials, key=lambda trial: trial[1])[0]

    def run(self, repeats):
        for repeat in range(repeats):
            for contender in self.everyone:
                if repeat >= contender.most:
                    continue
                seconds, loss, peak = self.once(contender, contender.chosen)
                if not contender.is_mfl:
                    self.check(contender, loss)
                contender.seconds.append(seconds)
                contender.peaks.append(peak)
            say(f"repeat {repeat + 1} of {repeats} done")

    def ratio(self, contender):
        """Within each repeat that the contender took part in."""
        return spread.ratios(contender.seconds, self.by_key[contender.against].seconds[:len(contender.seconds)])


def describe(variant):
    return ", ".join(str(value) for value in variant.values())


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)
