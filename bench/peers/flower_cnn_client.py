"""The Flower client of the CNN: an epoch in PyTorch from the (w, d) that came down."""

import functools
import pathlib

import cnn_work
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

app = ClientApp()


@functools.lru_cache(maxsize=None)
def work_of(folder, node):
    return cnn_work.new_model(), cnn_work.images_of(pathlib.Path(folder), node)


@app.train()
def train(message, context):
    config, node = message.content["config"], context.node_config["partition-id"]
    model, data = work_of(config["folder"], node)
    arrays, seconds = cnn_work.train(model, data, message.content["arrays"].to_numpy_ndarrays(), config["server-round"], node)
    metrics = MetricRecord({"num-examples": cnn_work.IMAGES, "seconds": seconds})
    return Message(content=RecordDict({"arrays": ArrayRecord(arrays), "metrics": metrics}), reply_to=message)
