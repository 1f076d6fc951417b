"""The Flower ServerApp of the deployment: FedAvg over (w, d), with the clock around its rounds, and the outcome in a file."""

import pathlib
import time

import numpy
from flwr.app import ArrayRecord, ConfigRecord
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAvg

app = ServerApp()


def run_rounds(grid, settings, rounds):
    nodes = settings["nodes"]
    strategy = FedAvg(fraction_train=1.0, fraction_evaluate=0.0, min_train_nodes=nodes, min_available_nodes=nodes)
    zeros = numpy.zeros(settings["features"], numpy.float32 if settings["precision"] == "f32" else numpy.float64)
    config = ConfigRecord({name: settings[name] for name in ("folder", "precision", "tau", "eta", "gamma", "lambda")})
    return strategy.start(grid=grid, initial_arrays=ArrayRecord([zeros, zeros.copy()]), num_rounds=rounds,
                          train_config=config)


@app.main()
def main(grid, context):
    settings = context.run_config
    run_rounds(grid, settings, settings["warm-up"])
    started = time.perf_counter()
    result = run_rounds(grid, settings, settings["rounds"])
    seconds = time.perf_counter() - started
    outcome = pathlib.Path(settings["outcome"])
    numpy.savez(outcome.with_suffix(".part.npz"), w=result.arrays.to_numpy_ndarrays()[0], seconds=seconds)
    outcome.with_suffix(".part.npz").rename(outcome)
