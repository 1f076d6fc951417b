"""The runs of digests.py beside those of the tables."""

from small_data import ROWS

COLUMNS, NODES = 16, 5  # as few nodes as the robust rules take with small parameters

# What every run has unless its keys say otherwise.
BASE = {
    "data.source": f"synthetic:{ROWS}x{COLUMNS}",
    "data.train": str(ROWS),
    "data.test": "0",
    "federation.nodes": str(NODES),
    "algorithm.eta": "0.3",  # large enough that updates are clipped by 0.3
    "algorithm.tau": "3",
    "run.steps": "12",
}
LONG = {"run.steps": "60000", "run.record_every": "20000"}  # for an interruption in the middle
# An algorithm that fits the entries of a table of parts of algorithms.
FITTING = {"server-step": {"algorithm.name": "fl"}}
BATCHES, ROUNDS = {"algorithm.batch_size": "7"}, {"run.steps": "auto", "run.rounds": "3"}
OWN = {"data.source": "csv:../csv", "data.drop": "site", "data.scale": "0.05"}
VIRTUAL = {"devices.speed": "lognormal(2000, 0.5)", "network.up": "1e5", "network.down": "1e6"}
# Runs with what is no table: keys that change what is loaded, how a round is planned, or how long a run is.
SETTINGS = {
    "f64": {"run.precision": "f64"},
    "one-node": {"federation.nodes": "1"},
    "batches": {**BATCHES, "run.evaluate_every": "2"},
    "epochs": {**BATCHES, "algorithm.local_epochs": "2", "algorithm.tau": "auto", **ROUNDS},
    "softmax-batches": {**BATCHES, "model.name": "softmax", "run.precision": "f64"},
    "sample-of-nodes": {"federation.fraction_train": "0.5", "federation.partition": "label-sorted"},
    "random-rows": {"data.take": "random", "data.train": "100", "data.test": "50"},
    "target-accuracy": {"data.train": "100", "data.test": "50", "run.target_accuracy": "0.55"},
    "patience": {"run.patience": "2", "algorithm.eta": "3"},
    "regularised": {"model.name": "logistic", "model.lambda": "0.1", "model.intercept": "true"},
    "own-data": OWN,
    "eta-auto": {**OWN, "algorithm.eta": "auto"},
    "standardise-full": {**OWN, "model.standardise": "full", "model.name": "logistic"},
    "standardise-scale": {**OWN, "model.standardise": "scale", "model.class_weight": "balanced"},
    "regression": {**OWN, "model.name": "linear", "algorithm.eta": "0.01"},
    "own-softmax": {**OWN, "model.name": "softmax", "model.class_weight": "balanced"},
    "fold": {**OWN, "data.train": "all", "data.test": "all", "data.folds": "3", "data.fold": "1"},
    "sync-momentum": {"algorithm.sync_momentum": "2"},
    "virtual-time": {**VIRTUAL, "federation.quorum": "3", "federation.round_deadline": "0.3"},
    "adaptive-tau": {**VIRTUAL, "algorithm.tau": "adaptive", "run.steps": "auto", "run.budget_seconds": "2"},
    "budget-bytes": {"run.steps": "auto", "run.budget_bytes": "3000"},
    "fleet": {"data.source": "fleet", "data.train": "all", "federation.fraction_train": "0.5"},
    "median-f64": {"run.precision": "f64", "federation.aggregator": "median", "federation.codecs": "bf16"},
}
# Sweeps, which share passes over the data.
SWEEPS = {
    "algorithms": {"algorithm.name": "[gd, mgd, fl, mfl, scaffold, fedadam, fednova]"},
    "lengths": {"algorithm.tau": "[2, 3]", "algorithm.eta": "[0.1, 0.3]", "run.seed": "[1, 2]"},
    "data": {"federation.nodes": "[1, 3]", "model.name": "[svm, softmax, logistic]"},
}
