"""Trainers: programs that train a model of yours for mfl, in the protocol of docs/trainer.md.

    class Mean(mfl.trainer.Trainer):              # fits the mean of some points
        tensors = {"mean": (2,)}
        samples = 100

        def train(self, vectors: dict[str, dict[str, Array]], round: Round) -> Mapping[str, Mapping[str, Any]]:
            w = vectors["w"]["mean"]
            round.loss = 0.5 * ((w - points) ** 2).sum(axis=1).mean()
            for step in range(round.steps):
                w -= round.eta * (w - points.mean(axis=0))
            return vectors

    if __name__ == "__main__":
        mfl.trainer.serve(Mean())                 # mfl node --trainer "python mean.py"

Needs NumPy and nothing else.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy

from mfl._frames import Array, ProtocolError
from mfl._request import Hello, Round, samples_of, shapes_of, value_of
from mfl._service import Service, serve

__all__ = ["Hello", "ProtocolError", "Round", "Service", "Trainer", "serve"]


class Trainer:
    """Base class of trainers. A subclass has `tensors`, `samples` and `train`; the rest is optional. Each of the first five may be a
    value or a method.

    All calls for a trainer come from the thread that serves it, one at a time.
    """

    name: Any = None  # for messages
    vectors: Any = ("w",)  # ("w", "d") for a trainer that takes steps with momentum
    hyper_parameters: Any = ("eta",)  # those that train follows: of eta, gamma, nesterov, mu, batch_size
    schema: Any = None  # what the data means: {"classes": [...], "features": [...], "label": "..."}, or parts of it

    tensors: Any = None  # {name: shape} of the model, in order; arrays are taken by their shapes
    samples: Any = None  # the number of training samples: a number, a dict by node, or a method samples(node)

    def start(self, hello: Hello) -> None:
        """Called with the first request of every connection, before anything else is asked."""

    def initialise(self, seed: int) -> Mapping[str, Any]:
        """{name: array}: the weights to begin with. Zeros, unless a subclass has something better."""
        return {name: numpy.zeros(shape) for name, shape in shapes_of(self).items()}

    def train(self, vectors: dict[str, dict[str, Array]], round: Round) -> Mapping[str, Mapping[str, Any]]:
        """Takes `round.steps` steps from `vectors` on the data of `round.node`, sets `round.loss`, and returns the vectors.

        `vectors` is {"w": {name: array}} and, if the trainer has it, "d". The arrays may be changed and returned.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define train")

    def evaluate(self, w: dict[str, Array], round: Round) -> float:
        """The training loss of `w` over all samples of `round.node`.

        Without a definition it is the loss of a pass over the samples by `train` with the step size 0, which keeps the weights.
        """
        size = round.batch_size
        steps = 1 if size is None else math.ceil(samples_of(self, round.node) / size)
        settings = {**round.hyper_parameters, "eta": 0.0}
        pass_over = dataclasses.replace(round, steps=steps, hyper_parameters=settings, loss=None, metrics={})
        vectors = {name: {tensor: numpy.zeros_like(array) for tensor, array in w.items()} for name in value_of(self, "vectors")}
        self.train({**vectors, "w": w}, pass_over)
        if pass_over.loss is None:
            raise ValueError(f"{type(self).__name__}.train did not set round.loss")
        return pass_over.loss

    def metrics(self, w: dict[str, Array], round: Round) -> Mapping[str, Any]:
        """Numbers by name about `w`, the weights that were sent: test_loss, test_accuracy, test_samples or your own. Asked with
        every train and evaluate request; what `round.metrics` has already comes on top."""
        return {}
