"""A trainer out of a Flower client: an object with get_parameters, fit and evaluate, as flwr's NumPyClient has them. flwr is not needed.

    trainer = mfl.flower.Trainer(MyClient(), samples=len(train_set))
    mfl.trainer.serve(trainer)

Such a client has weights and no momentum: mfl refuses algorithms whose nodes send d (mfl, fednag) and takes those where nodes send weights
alone: fl or fedavg, fedavgm, slowmo, fedadam, fedyogi, fedadagrad, fednova, fedacg, and fedprox if the client follows mu.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

import mfl.trainer

__all__ = ["Trainer"]


class Trainer(mfl.trainer.Trainer):
    """A trainer of a Flower client.

    Args:
        client: the client, or a callable that makes the client of a node's name.
        samples: the number of training samples, or a callable or a dict by a node's name. The number that fit returns must be
            the same.
        hyper_parameters: those that fit takes out of its config. mfl sends eta always and refuses a trainer that does not follow it.
        names: the names of the arrays, in order; p0, p1, ... if not given.
        name: the name of the trainer in messages.
        schema: what the data means, as in `mfl.trainer.Trainer`.

    The config of fit has `eta`, `gamma`, `mu` and `batch_size` as far as the run has them, and `server_round`, `local_steps`,
    `local_epochs` (0 without) and `seed`. The loss of a round is the metric `loss` or `train_loss` of fit, else that of evaluate at the
    weights that were sent. Its other metrics that are numbers are passed on. evaluate gives the loss of the run's weights; its
    metric `accuracy` becomes test_accuracy, weighted by the samples it was computed on. Arrays of integers are sent as floating-point
    numbers and come back rounded.
    """

    vectors = ("w",)

    def __init__(self, client: Any, samples: int | Mapping[str, int] | Callable[[str], int], *,
                 hyper_parameters: Sequence[str] = ("eta",), names: Sequence[str] | None = None, name: str | None = None,
                 schema: Mapping[str, Any] | None = None) -> None:
        self._client_of = client if isinstance(client, type) or not hasattr(client, "fit") and callable(client) else lambda node: client
        self._samples = samples
        self._names = list(names) if names is not None else None
        self.hyper_parameters = tuple(hyper_parameters)
        self.name = name or "flower client"
        self.schema = dict(schema) if schema else None
        self._clients: dict[str, Any] = {}

    def start(self, hello: mfl.trainer.Hello) -> None:
        self._clients = {node: _numpy_client(self._client_of(node)) for node in hello.nodes}
        first = [numpy.asarray(array) for array in next(iter(self._clients.values())).get_parameters(config={})]
        names = self._names or [f"p{number}" for number in range(len(first))]
        if len(names) != len(first):
            raise ValueError(f"{len(names)} names for the {len(first)} arrays of the client")
        self._first = dict(zip(names, first))

    def tensors(self) -> dict[str, Any]:
        return self._first

    def samples(self, node: str) -> Any:
        found = self._samples(node) if callable(self._samples) else self._samples
        return found[node] if isinstance(found, Mapping) else found

    def initialise(self, seed: int) -> dict[str, Any]:
        return self._first

    def train(self, vectors: dict[str, dict[str, Any]], round: mfl.trainer.Round) -> dict[str, dict[str, Any]]:
        client, config = self._clients[round.node], _config(round)
        sent = self._parameters(vectors["w"])
        fallback = None
        trained, samples, metrics = client.fit([array.copy() for array in sent], config)
        if int(samples) != int(self.samples(round.node)):
            raise ValueError(f"fit returned {samples} samples and the trainer was made with {self.samples(round.node)}; pass samples={samples}")
        loss = next((metrics[key] for key in ("loss", "train_loss") if key in metrics), None)
        if loss is None:
            fallback = client.evaluate(sent, config)
            loss = fallback[0]
        round.loss = loss
        round.metrics.update({key: value for key, value in metrics.items()
                              if isinstance(value, (int, float)) and key not in ("loss", "train_loss")})
        if fallback is not None:
            round.metrics.update(_tested(*fallback))
        return {"w": dict(zip(self._first, trained, strict=True))}

    def evaluate(self, w: dict[str, Any], round: mfl.trainer.Round) -> float:
        found = self._clients[round.node].evaluate(self._parameters(w), _config(round))
        round.metrics.update(_tested(*found))
        return float(found[0])

    def _parameters(self, w: dict[str, Any]) -> list[Any]:
        return [w[name].astype(first.dtype) if first.dtype.kind == "f" else numpy.rint(w[name]).astype(first.dtype)
                for name, first in self._first.items()]


def _numpy_client(client: Any) -> Any:
    missing = [method for method in ("get_parameters", "fit", "evaluate") if not callable(getattr(client, method, None))]
    if missing:
        raise TypeError(f"{type(client).__name__} has no {missing[0]}; a client with the methods of flwr's NumPyClient is needed")
    return client


def _config(round: mfl.trainer.Round) -> dict[str, Any]:
    return {**round.hyper_parameters, "server_round": round.round, "local_steps": round.steps, "local_epochs": round.epochs or 0,
            "seed": round.seed}


def _tested(loss: float, samples: int, metrics: Mapping[str, Any]) -> dict[str, Any]:
    found = {"test_loss": loss, "test_samples": samples}
    return {**found, "test_accuracy": metrics["accuracy"]} if "accuracy" in metrics else found
