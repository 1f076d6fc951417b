"""Softmax regression in Flower's simulation engine (Ray): 1,000 supernodes, FedAvg over 10 of them per round, no evaluation.

Flower draws which supernodes work; each is told which of mfl's nodes to be, so that the result can be compared. The engine and its workers are started,
and a few rounds run, before the clock starts. Prints a line of JSON.
"""

import argparse
import json
import logging
import os
import pathlib
import sys
import time

import common
import flower_sim

WARM_UP_ROUNDS = 3


def make_server_app(settings, outcome):
    import numpy
    import softmax_work as work
    from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict
    from flwr.serverapp import ServerApp
    from flwr.serverapp.strategy import FedAvg

    class NamedNodes(FedAvg):
        def configure_train(self, server_round, arrays, config, grid):
            messages = super().configure_train(server_round, arrays, config, grid)
            return [Message(content=RecordDict({"arrays": arrays, "config": ConfigRecord({**config, "node": node})}),
                            message_type=message.metadata.message_type, dst_node_id=message.metadata.dst_node_id)
                    for message, node in zip(messages, work.chosen_nodes(server_round), strict=True)]

    app = ServerApp()

    def run_rounds(grid, rounds):
        strategy = NamedNodes(fraction_train=work.CHOSEN / work.NODES, fraction_evaluate=0.0, min_train_nodes=work.CHOSEN,
                              min_available_nodes=work.NODES)
        zeros = [numpy.zeros((784, work.CLASSES), numpy.float32), numpy.zeros(work.CLASSES, numpy.float32)]
        return strategy.start(grid=grid, initial_arrays=ArrayRecord(zeros), num_rounds=rounds,
                              train_config=ConfigRecord({"folder": str(settings.mnist.resolve())}))

    @app.main()
    def main(grid, context):
        run_rounds(grid, WARM_UP_ROUNDS)
        started = time.perf_counter()
        result = run_rounds(grid, settings.rounds)
        outcome["seconds"] = time.perf_counter() - started
        outcome["w"] = numpy.concatenate([array.ravel() for array in result.arrays.to_numpy_ndarrays()])

    return app


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mnist", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=20)
    settings = parser.parse_args()
    common.limit_blas_threads(1)
    flower_sim.quiet_environment()
    import flower_softmax_client
    import flwr
    import flwr.simulation
    import softmax_work as work

    logging.getLogger("flwr").setLevel(logging.ERROR)
    outcome = {}
    backend = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}, "init_args": {"num_cpus": os.cpu_count()}}
    flwr.simulation.run_simulation(make_server_app(settings, outcome), flower_softmax_client.app, num_supernodes=work.NODES,
                                   backend_config=backend)
    if "w" not in outcome:
        sys.exit("flower_softmax: the server app did not finish")
    print(json.dumps({"peer": "flower", "version": flwr.__version__, "seconds": outcome["seconds"], "rounds": settings.rounds,
                      "loss": work.loss(*work.images(settings.mnist), outcome["w"])}), flush=True)


if __name__ == "__main__":
    main()
