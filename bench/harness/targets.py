"""The targets on the page, each judged reached, missed or not measured from the data alone."""

import dataclasses
import tomllib

from . import fleet, process, race as races

# (key, kernels, what their names contain, the limit that binds them or any, the share they are to reach)
KERNELS = [("kernel-bytes", "fused kernel on bytes", "fused bytes", None, 0.7), ("kernel-l2", "dense f32 kernel, data in the L2 cache", "fused f32", "L2", 0.7),
           ("kernel-f32", "dense f32 kernel, data out of cache", "fused f32", "memory", 0.7),
           ("kernel-batched", "16 settings of a smooth loss in one pass over bytes", "batched bytes", None, 0.65)]

# Of the paper's models, two threads: the ratio to a peer that mfl is to reach, for the hinge and for the smooth losses.
PEERS = [("numpy", "NumPy", "f32", 10, 4.5), ("torch", "PyTorch", "f32", 15, 4.5), ("numpy", "NumPy", "f64", 3, 3)]

SOFTMAX = [("softmax-numpy", "a NumPy loop on one thread", 4), ("softmax-torch", "a PyTorch loop on one thread", 15),
           ("softmax-flower", "Flower's simulation on all cores, per round", 300)]

FLEETS = [("fleet", "a fleet of 784 x 10 samples per node"), ("fleet-mnist", "MNIST with one sample per node")]


@dataclasses.dataclass
class Target:
    key: str
    text: str
    limit: float
    at_most: bool  # the figure must stay below the limit, not above it
    value: float | None

    @property
    def verdict(self):
        if self.value is None:
            return "not measured"
        if self.at_most:
            return "reached" if self.value <= self.limit else f"missed by {100 * (self.value / self.limit - 1):.1f} %"
        return "reached" if self.value >= self.limit else f"missed by {100 * (1 - self.value / self.limit):.1f} %"


def kernel_share(roofline, words, bound):
    """The smallest share among the kernels with these words in their name; only those that `bound` binds, if there is one."""
    named = [k for k in roofline["kernels"] if words in k["name"] and bound in (None, k.get("bound"))] if roofline else []
    return min((k["share"] for k in named if k.get("share") is not None), default=None)


def judge(race, sweeps, roofline, laws=None, federation=None, ranks=None, softmax=None, trainer=None):
    def ratio(key):
        contender = race.by_key.get(key) if race else None
        return race.ratio(contender).median if contender and contender.seconds else None

    targets = [Target(f"{peer}-{model}-{precision}", f"MFL {model} {precision}, two threads, against {title} {precision}",
                      hinge if model == races.MODELS[0] else smooth, False, ratio(f"{peer}-{model}-{precision}"))
               for peer, title, precision, hinge, smooth in PEERS for model in races.MODELS]
    sweep_ratio = {outcome.key: outcome.ratio.median for outcome in sweeps or []}
    targets += [
        Target("numpy-mean", "MFL f32, two threads, against NumPy f32: geometric mean over the paper's four models", 5.5, False,
               race.mean_over_models("numpy", "f32") if race else None),
        Target("flower-f32", "MFL svm f32 against Flower's simulation of the same rounds", 100, False, ratio("flower-f32")),
        Target("sweep-5000", "16 gammas in runs of one setting, data in cache", 8, True, sweep_ratio.get("sweep-5000")),
        Target("sweep-60000", "16 gammas in runs of one setting, data out of cache", 5, True, sweep_ratio.get("sweep-60000")),
        Target("sweep-smooth", "16 gammas of squared-svm in runs of one setting, data in cache", 5, True, sweep_ratio.get("sweep-smooth")),
    ]
    targets += [
        Target("federation-flower", "server and 4 nodes on loopback against Flower's deployment, rounds per second", 10, False,
               federation.flower_ratio.median if federation and federation.flower_ratio else None),
        Target("federation-stream", "State of 40 MB, 16 nodes, rounds committed to disk: share of a bare stream over the same transport", 0.7, False,
               federation.stream_share["disk"].median if federation and federation.stream_share else None),
    ]
    targets.append(Target("trainer", "PyTorch CNN over 4 trainers: a round's time beyond its training, as a share of it", 0.15, True,
                          trainer.own.share.median if trainer else None))
    by_peer = {peer.key: peer.ratio.median for peer in softmax.peers} if softmax else {}
    for key, text, limit in SOFTMAX:
        targets.append(Target(key, f"softmax regression in FedML's setting, one thread, against {text}", limit, False, by_peer.get(key)))
    targets.append(Target("mpi-mean", "exact mean of 10 million f32 over 4 ranks, in MPI_Allreduce calls of doubles", 6, True,
                          ranks.ratio["f32"].median if ranks else None))
    for key, text, words, bound, share in KERNELS:
        targets.append(Target(key, f"{text}: share of the roofline that binds it", share, False, kernel_share(roofline, words, bound)))
    by_key = {law.key: law for law in laws or []}
    for key, text in FLEETS:
        law = by_key.get(key)
        targets.append(Target(key, f"{text}: cost of a participating node relative to the sum of its parts, at any number of nodes",
                              fleet.LIMIT, True, law.worst if law else None))
    peak = max((p.peak_mib for p in by_key["fleet"].points), default=None) if "fleet" in by_key else None
    targets.append(Target("fleet-memory", "a fleet of a million nodes: peak memory in MiB", 1000, True, peak))
    return targets


def reasons(file, run):
    """{key: why the target is missed}, written by hand for this run; what was written for another run is left out."""
    entries = tomllib.loads(file.read_text()) if file.exists() else {}
    unknown = entries.keys() - {target.key for target in judge(None, None, None)}
    if unknown:
        raise process.Failed(f"{file.name}: no target is called {', '.join(sorted(unknown))}")
    return {key: entry["why"] for key, entry in entries.items() if entry["run"] == run}
