"""The Flower client of the softmax comparison: one epoch in NumPy of the node that the message names.

A module of its own, so that worker processes import it by name and keep the images between rounds.
"""

import functools
import pathlib

import softmax_work as work
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

app = ClientApp()


@functools.lru_cache(maxsize=None)
def data_of(folder):
    x, y = work.images(pathlib.Path(folder))
    return x, work.one_hot(y), work.Epoch()


@app.train()
def train(message, context):
    config = message.content["config"]
    x, hot, epoch = data_of(config["folder"])
    w, b = (array.copy() for array in message.content["arrays"].to_numpy_ndarrays())
    rows = config["node"] * work.IMAGES + work.order(config["server-round"], config["node"])
    epoch.train(x[rows], hot[rows], w, b)
    content = RecordDict({"arrays": ArrayRecord([w, b]), "metrics": MetricRecord({"num-examples": work.IMAGES})})
    return Message(content=content, reply_to=message)
