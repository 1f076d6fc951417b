"""MFL in Flower's simulation engine (Ray): FedAvg over the two arrays (w, d), weighted by samples, no evaluation.

The engine and its workers are started, and a few rounds run, before the clock starts.
"""

import logging
import os
import sys
import time

import common

FORMS = ["ray"]


def quiet_environment():
    os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"


def make_server_app(settings, nodes, features, outcome):
    import numpy
    from flwr.app import ArrayRecord, ConfigRecord
    from flwr.serverapp import ServerApp
    from flwr.serverapp.strategy import FedAvg

    dtype = numpy.float32 if settings.precision == "f32" else numpy.float64
    app = ServerApp()

    def run_rounds(grid, rounds):
        strategy = FedAvg(fraction_train=1.0, fraction_evaluate=0.0, min_train_nodes=nodes, min_available_nodes=nodes)
        zeros = numpy.zeros(features, dtype)
        config = ConfigRecord({"folder": str(settings.data.resolve()), "precision": settings.precision, "tau": settings.tau,
                               "eta": settings.eta, "gamma": settings.gamma, "lambda": settings.lam})
        return strategy.start(grid=grid, initial_arrays=ArrayRecord([zeros, zeros.copy()]), num_rounds=rounds,
                              train_config=config)

    @app.main()
    def main(grid, context):
        run_rounds(grid, common.WARM_UP_ROUNDS)
        started = time.perf_counter()
        result = run_rounds(grid, settings.steps // settings.tau)
        outcome["seconds"] = time.perf_counter() - started
        outcome["w"] = result.arrays.to_numpy_ndarrays()[0]

    return app


def main():
    settings = common.parse_arguments(FORMS)
    if settings.steps % settings.tau != 0:
        raise SystemExit("flower_sim: steps must be a multiple of tau")
    common.limit_blas_threads(1)
    quiet_environment()
    import flwr
    import flwr.simulation
    import flower_client
    import ray

    logging.getLogger("flwr").setLevel(logging.ERROR)
    data = common.load_nodes(settings.data)
    outcome = {}
    server_app = make_server_app(settings, len(data), data[0][0].shape[1], outcome)
    backend = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}, "init_args": {"num_cpus": settings.threads}}
    flwr.simulation.run_simulation(server_app, flower_client.app, num_supernodes=len(data), backend_config=backend)
    if "w" not in outcome:
        sys.exit("flower_sim: the server app did not finish")
    loss = common.loss_of("svm", data, outcome["w"], settings.lam)
    common.report("flower", flwr.__version__, outcome["seconds"], loss, settings.threads, form="ray",
                  precision=settings.precision, rounds=settings.steps // settings.tau, ray=ray.__version__)


if __name__ == "__main__":
    main()
