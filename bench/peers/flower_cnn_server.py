"""The Flower ServerApp of the CNN: FedAvg over (w, d); the duration of every round and of its slowest training, in a file."""

import pathlib
import time

import cnn_work
import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, MetricRecord
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAvg

app = ServerApp()


class Timed(FedAvg):
    """Notes when a round has been aggregated, and the slowest training in it."""

    def __init__(self, **options):
        super().__init__(**options, train_metrics_aggr_fn=self.slowest_of)
        self.times, self.slowest = [time.perf_counter()], []

    def slowest_of(self, contents, weighted_by_key):
        self.slowest.append(max(content["metrics"]["seconds"] for content in contents))
        return MetricRecord({"seconds": self.slowest[-1]})

    def aggregate_train(self, server_round, replies):
        result = super().aggregate_train(server_round, replies)
        self.times.append(time.perf_counter())
        return result


def run_rounds(grid, settings, rounds):
    strategy = Timed(fraction_train=1.0, fraction_evaluate=0.0, min_train_nodes=cnn_work.NODES, min_available_nodes=cnn_work.NODES)
    weights = [parameter.detach().numpy() for parameter in cnn_work.new_model().parameters()]
    result = strategy.start(grid=grid, initial_arrays=ArrayRecord(weights + [np.zeros_like(w) for w in weights]), num_rounds=rounds,
                            train_config=ConfigRecord({"folder": settings["folder"]}), timeout=900)
    return strategy, result.arrays.to_numpy_ndarrays()[: len(weights)]


@app.main()
def main(grid, context):
    settings = context.run_config
    run_rounds(grid, settings, settings["warm-up"])
    strategy, weights = run_rounds(grid, settings, settings["rounds"])
    outcome = pathlib.Path(settings["outcome"])
    part = outcome.with_suffix(".part.npz")
    np.savez(part, *weights, rounds=np.diff(strategy.times), slowest=np.array(strategy.slowest))
    part.rename(outcome)
