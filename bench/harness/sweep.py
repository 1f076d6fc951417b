"""A sweep of sixteen gammas against one run of the same setting, with data that fits the cache and data that does not."""

import dataclasses
import json

from . import race, spread

GAMMAS = [round(0.06 * index, 2) for index in range(16)]
SINGLE_GAMMA = GAMMAS[8]
# (what, key of its target, model, samples, steps, the most it may cost)
SETTINGS = [("svm, 5,000 samples (fits the cache)", "sweep-5000", "svm", 5000, 1000, 8.0),
            ("svm, 60,000 samples (47 MB of bytes)", "sweep-60000", "svm", 60000, 100, 5.0),
            ("squared-svm, 5,000 samples", "sweep-smooth", "squared-svm", 5000, 1000, 5.0)]


@dataclasses.dataclass
class Outcome:
    title: str
    key: str
    limit: float
    steps: int
    sweep: spread.Spread
    single: spread.Spread
    ratio: spread.Spread
    clock: str
    same_digest: str


def experiment(model, train, steps):
    return f"""[data]
source = "mnist"
train = {train}
test = 0
[federation]
nodes = 4
partition = "contiguous"
[model]
name = "{model}"
[algorithm]
name = "mfl"
eta = 0.002
gamma = {GAMMAS}
tau = 4
[run]
steps = {steps}
threads = 2
record_every = {steps}
"""


def digest_found(sweep_data, digest):
    listed = json.dumps(sweep_data)
    return "yes" if digest in listed else ("NO" if '"digest"' in listed else "not listed")


def measure_one(mfl, title, key, model, train, steps, limit, repeats):
    file = mfl.scratch / f"{key}.toml"
    file.write_text(experiment(model, train, steps))
    options = {**race.PAPER, "model": model, "train": train, "gamma": SINGLE_GAMMA}
    sweeps, singles, clock, same = [], [], "wall_seconds", ""
    for repeat in range(repeats):
        command = [mfl.binary, "sweep", file, "--json", "--quiet", "--store", mfl.scratch / f"{key}-{repeat}.db"]
        sweep_data, sweep_process = mfl.answer(command)
        single_data, single_process = mfl.train(steps, **options)
        same = digest_found(sweep_data, single_data["digest"])
        if "wall_seconds" in sweep_data:
            sweeps.append(sweep_data["wall_seconds"])
            singles.append(single_data["wall_seconds"])
        else:
            clock = "whole process"
            sweeps.append(sweep_process.elapsed)
            singles.append(single_process.elapsed)
    return Outcome(title, key, limit, steps, spread.spread_of(sweeps), spread.spread_of(singles),
                   spread.ratios(sweeps, singles), clock, same)


def measure(mfl, repeats, step_share=1.0):
    """A list of outcomes, or None if this mfl has no sweep command."""
    if "sweep" not in mfl.verbs():
        return None
    outcomes = []
    for title, key, model, train, steps, limit in SETTINGS:
        outcomes.append(measure_one(mfl, title, key, model, train, max(4, int(steps * step_share)), limit, repeats))
        race.say(f"sweep on {title} measured")
    return outcomes
