"""The Flower client: tau local steps in NumPy from the (w, d) that came down.

A module of its own, so that worker processes import it by name and keep a node's data between rounds.
"""

import argparse
import functools
import pathlib

import common
import numpy
import numpy_loop
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

app = ClientApp()


@functools.lru_cache(maxsize=None)
def node_of_partition(folder, partition, precision, eta, gamma, lam):
    data = common.load_nodes(pathlib.Path(folder))
    dtype = numpy.float32 if precision == "f32" else numpy.float64
    settings = argparse.Namespace(model="svm", eta=eta, gamma=gamma, lam=lam)
    return numpy_loop.make_nodes(data[partition : partition + 1], "nodes", dtype, settings)[0]


@app.train()
def train(message, context):
    config = message.content["config"]
    node = node_of_partition(config["folder"], context.node_config["partition-id"], config["precision"], config["eta"],
                             config["gamma"], config["lambda"])
    w, d = message.content["arrays"].to_numpy_ndarrays()
    node.train(w, d, config["tau"])
    content = RecordDict({"arrays": ArrayRecord([node.w, node.d]),
                          "metrics": MetricRecord({"num-examples": node.samples})})
    return Message(content=content, reply_to=message)
