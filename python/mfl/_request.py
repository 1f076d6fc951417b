"""What mfl asks of a trainer, as values; and what a trainer says of itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy

from mfl._frames import Array

PRECISIONS: dict[str, numpy.dtype[Any]] = {"f32": numpy.dtype("<f4"), "f64": numpy.dtype("<f8")}


@dataclasses.dataclass(frozen=True)
class Hello:
    """What mfl says first: the nodes whose data the trainer has, and the run's settings."""

    nodes: tuple[str, ...]
    precision: str = "f32"
    seed: int = 0
    algorithm: str = ""
    vectors: tuple[str, ...] = ("w",)
    hyper_parameters: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def dtype(self) -> numpy.dtype[Any]:
        return PRECISIONS[self.precision]


@dataclasses.dataclass
class Round:
    """One request: what is asked for, and the place for what is measured (`loss`, `metrics`)."""

    node: str
    round: int
    steps: int
    seed: int
    hyper_parameters: dict[str, Any] = dataclasses.field(default_factory=dict)
    epochs: int | None = None  # with local_epochs; `steps` is then what they amount to
    loss: float | None = None  # to be set by train: the mean training loss of the round
    metrics: dict[str, Any] = dataclasses.field(default_factory=dict)  # numbers by name, such as test_accuracy

    @property
    def eta(self) -> float:
        """Step size."""
        return float(self.hyper_parameters["eta"])

    @property
    def gamma(self) -> float:
        """Momentum; 0 without."""
        return float(self.hyper_parameters.get("gamma", 0.0))

    @property
    def nesterov(self) -> bool:
        return bool(self.hyper_parameters.get("nesterov", False))

    @property
    def mu(self) -> float:
        """Weight of the proximal term; 0 without."""
        return float(self.hyper_parameters.get("mu", 0.0))

    @property
    def batch_size(self) -> int | None:
        """Samples of a step; None: all of the node's."""
        size = self.hyper_parameters.get("batch_size")
        return None if size is None else int(size)

    def generator(self) -> numpy.random.Generator:
        """A NumPy generator that depends on the request only."""
        return numpy.random.default_rng(self.seed)

    def batches(self, samples: int) -> Iterator[Any]:
        """The `steps` batches of the round: arrays of row numbers, drawn without replacement within each pass over the samples, or
        slice(None) for all of them if the run has no batch_size. The last batch of a pass may be smaller."""
        size = self.batch_size
        if size is None or size >= samples:
            yield from (slice(None) for _ in range(self.steps))
            return
        generator = self.generator()
        order: Array = numpy.empty(0, int)
        for _ in range(self.steps):
            if not len(order):
                order = generator.permutation(samples)
            batch, order = order[:size], order[size:]
            yield batch


def value_of(trainer: Any, name: str, *arguments: Any) -> Any:
    found = getattr(trainer, name)
    return found(*arguments) if callable(found) else found


def shapes_of(trainer: Any) -> dict[str, tuple[int, ...]]:
    tensors = value_of(trainer, "tensors")
    if tensors is None:
        raise NotImplementedError(f"{type(trainer).__name__} does not define tensors: names and shapes of the model")
    pairs: Any = tensors.items() if isinstance(tensors, dict) else tensors
    return {name: tuple(int(size) for size in getattr(shape, "shape", shape)) for name, shape in pairs}


def samples_of(trainer: Any, node: str) -> int:
    found = value_of(trainer, "samples", node)
    if found is None:
        raise NotImplementedError(f"{type(trainer).__name__} does not define samples: the number of training samples")
    return int(found[node] if isinstance(found, dict) else found)
