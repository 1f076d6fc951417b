"""The comparison of mfl with its peers on the same work: losses are checked first, then all are timed in turn."""

import dataclasses
import os
import pathlib
import shutil
import statistics
import sys
import sysconfig

from . import process, spread

TOLERANCE = 1e-6
FLOWER_ROUNDS = 25
FLOWER_REPEATS = 3  # it starts its engine for each, and is slower by orders of magnitude
TRIALS = 3  # of a form, the proof included
NEAR = 2.0  # a form slower than the fastest by this factor gets no further trial
TAU = 4
MODELS = ("svm", "squared-svm", "logistic", "linear")  # the paper's
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
    like: str = ""  # the key of a contender before it: only variants that are near that one's fastest are tried
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

    @property
    def near(self):
        """The variants whose best time is within a factor of NEAR of the fastest."""
        fastest = min(seconds for _, seconds in self.trials)
        return [variant for variant, seconds in self.trials if seconds <= NEAR * fastest]


def variants(forms):
    """Every form with one thread and with two, except that a pool brings its own two threads."""
    both = [{"form": form, "threads": threads} for form in forms for threads in (1, 2)]
    return [*both, {"form": "pool", "threads": 1}]


def can_compile():
    """Whether torch.compile finds what it needs to build programs for the CPU."""
    return shutil.which("g++") is not None and (pathlib.Path(sysconfig.get_path("include")) / "Python.h").exists()


def linear_contenders(steps, torch_forms):
    """mfl, NumPy and PyTorch on each of the paper's models, in both precisions."""
    everyone = [Contender(f"mfl-{model}-{precision}", f"mfl {model} {precision}, 2 threads",
                          options={"model": model, "precision": precision}, steps=steps)
                for precision in ("f32", "f64") for model in MODELS]
    for peer, title, script, forms in (("numpy", "NumPy", "numpy_loop.py", variants(["nodes", "copies", "stacked"])),
                                       ("torch", "PyTorch", "torch_loop.py", variants(torch_forms))):
        everyone += [Contender(f"{peer}-{own.key.removeprefix('mfl-')}", f"{title} {own.options['model']} {own.options['precision']}",
                               own.key, script, own.options, forms, steps=steps,
                               like="" if own.options["model"] == MODELS[0] else f"{peer}-{MODELS[0]}-{own.options['precision']}")
                     for own in everyone if own.is_mfl]
    return everyone


def contenders(steps, only, absent=()):
    flower_steps = min(FLOWER_ROUNDS * TAU, steps - steps % TAU)
    everyone = [
        *linear_contenders(steps, ["nodes", "bmm", "compiled"] if can_compile() else ["nodes", "bmm"]),
        Contender("mfl-rounds", f"mfl svm f32, {flower_steps // TAU} rounds", options={"precision": "f32"}, steps=flower_steps),
        Contender("sklearn-svm", "scikit-learn LinearSVC", "mfl-svm-f32", "sklearn_optimum.py", {"model": "svm"},
                  same_trajectory=False),
        Contender("sklearn-logistic", "scikit-learn LogisticRegression", "mfl-logistic-f32", "sklearn_optimum.py",
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
            if contender.like:
                contender.variants = self.by_key[contender.like].near
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

    def over_models(self, peer, precision):
        """{model: median ratio} of a peer, or None unless all of the paper's models were measured."""
        found = {model: self.by_key.get(f"{peer}-{model}-{precision}") for model in MODELS}
        if not all(contender and contender.seconds for contender in found.values()):
            return None
        return {model: self.ratio(contender).median for model, contender in found.items()}

    def mean_over_models(self, peer, precision):
        ratios = self.over_models(peer, precision)
        return statistics.geometric_mean(ratios.values()) if ratios else None


def describe(variant):
    return ", ".join(str(value) for value in variant.values())


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)
