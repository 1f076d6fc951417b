"""A trainer out of a PyTorch model:

    import mfl.torch, mfl.trainer, torch

    trainer = mfl.torch.Trainer(Net, train_set, torch.nn.functional.cross_entropy, test=test_set)
    mfl.trainer.serve(trainer)

Steps are those of torch.optim.SGD, whose momentum buffers are the vector d: set before the first step of a round and read after the last.
"""

from __future__ import annotations

import contextlib
import logging
import math
import random
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any

import numpy
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, RandomSampler, SequentialSampler, TensorDataset

import mfl.trainer

__all__ = ["Trainer"]

Arrays = dict[str, Any]  # by the names of the model's tensors
DTYPES = {"f32": torch.float32, "f64": torch.float64}
CHUNK = 1024  # samples that pass through the model at a time where a step, or a loss, is over all of them
log = logging.getLogger("mfl.torch")

# Trainers on several threads of a process share torch's generator, so one works at a time.
_working = threading.Lock()


def _seed(seed: int) -> None:
    torch.manual_seed(seed % (1 << 63))
    random.seed(seed)
    numpy.random.seed(seed % (1 << 32))


def _by_node(given: Any) -> Callable[[str], Any]:
    if isinstance(given, Mapping):
        def data_of(node: str) -> Any:
            if node not in given:
                raise ValueError(f"there is no data of {node}, only of {', '.join(map(str, list(given)[:3]))}{', ...' * (len(given) > 3)}; "
                                 f"give each node of the run its data, or set nodes={len(given)}")
            return given[node]
        return data_of
    return given if callable(given) and not isinstance(given, (Dataset, DataLoader)) else lambda node: given


class _Data:
    """The samples of a node in any of the forms that Trainer takes, as batches of row numbers or as a loader of its own order."""

    def __init__(self, given: Any, samples: int | None = None) -> None:
        self.loader: Any = given if isinstance(given, DataLoader) else None
        if self.loader is not None:
            given = self.loader.dataset
        elif isinstance(given, (tuple, list)):
            given = TensorDataset(*(torch.as_tensor(part) for part in given))
        elif not isinstance(given, Dataset):
            raise TypeError(f"data is a Dataset, a DataLoader or a pair of arrays or tensors, not {type(given).__name__}")
        self.dataset = given
        self.own_order = isinstance(given, IterableDataset) or (
            self.loader is not None and type(self.loader.sampler) not in (RandomSampler, SequentialSampler))
        if self.own_order and self.loader is None:
            self.loader = DataLoader(given, batch_size=None)
        try:
            self.samples = int(len(given) if samples is None else samples)
        except TypeError:
            raise ValueError("this dataset has no length: pass samples=, the number of training samples") from None
        self.chunk = (self.loader.batch_size if self.loader is not None else None) or CHUNK

    def picked(self, batches: Any) -> Iterator[Any]:
        """The samples of each batch of row numbers, collated."""
        if isinstance(self.dataset, TensorDataset) and (self.loader is None or self.loader.num_workers == 0):
            yield from (tuple(tensor[torch.as_tensor(rows)] for tensor in self.dataset.tensors) for rows in batches)
            return
        options: dict[str, Any] = {}
        if self.loader is not None:
            options = {"num_workers": self.loader.num_workers, "collate_fn": self.loader.collate_fn,
                       "worker_init_fn": self.loader.worker_init_fn, "pin_memory": self.loader.pin_memory}
        yield from DataLoader(self.dataset, batch_sampler=[[int(row) for row in rows] for rows in batches], **options)

    def everything(self) -> Iterator[Any]:
        """All samples in order, a chunk at a time."""
        if isinstance(self.dataset, IterableDataset):
            yield from self.loader
        else:
            yield from self.picked(numpy.array_split(numpy.arange(self.samples), math.ceil(self.samples / self.chunk)))

    def cycled(self, steps: int, seed: int) -> Iterator[Any]:
        """`steps` batches in the loader's own order, from the beginning."""
        sampler = self.loader.sampler
        for generator in {id(g): g for g in (self.loader.generator, getattr(sampler, "generator", None)) if g is not None}.values():
            generator.manual_seed(seed % (1 << 63))
        count, epoch = 0, 0
        while count < steps:
            if hasattr(sampler, "set_epoch"):
                sampler.set_epoch(epoch)
            before = count
            for batch in self.loader:
                yield batch
                count += 1
                if count == steps:
                    return
            epoch += 1
            if count == before:
                raise ValueError("the loader has no batches")


class Trainer(mfl.trainer.Trainer):
    """A trainer of a PyTorch model.

    Args:
        model: a Module, trained from the weights it has; or a callable that makes one, which is called with torch seeded by the
            run's seed.
        data: the samples of the node: a Dataset, a DataLoader, or a pair (inputs, targets) of tensors or arrays; or, for the many
            nodes of a simulation, a dict of these by the nodes' names, or a callable that returns the samples of a node's name.
        loss: loss(model(inputs), targets), the mean over a batch, such as torch.nn.functional.cross_entropy.
        test: test samples, as data; the replies then have test_loss, test_samples and, for a classifier, test_accuracy.
        test_every: rounds between two tests of the weights that mfl sends; 0: only where mfl asks for the loss of the weights.
        device: where the model is trained; its current device if not given.
        weight_decay: the weight decay of torch.optim.SGD, on parameters only.
        samples: the number of samples, for a dataset without a length.
        share_frozen: whether parameters with requires_grad = False are part of w. By default they stay at the node.
        name: the name of the trainer in messages; the name of the model's class if not given.
        schema: what the data means, as in `mfl.trainer.Trainer`.

    w has the parameters and the floating-point buffers of the model, such as the running statistics of batch norm; d of a buffer is zero.
    Integer buffers, such as num_batches_tracked, stay at the node and begin every round as they were when the model was made. The model
    is trained in the precision of the run. Batches depend on the request alone: with batch_size they are drawn by its seed, without it
    every step is on all samples, a chunk at a time. A loader's workers and collate_fn are used, its batch size is that of the
    chunks; a loader with a sampler of its own kind, or of an IterableDataset, keeps its order and batches, which must be
    of the run's batch_size.

    A subclass may override `batch_loss` for batches that are not pairs.
    """

    vectors = ("w", "d")
    hyper_parameters = ("eta", "gamma", "nesterov", "mu", "batch_size")

    def __init__(self, model: torch.nn.Module | Callable[[], torch.nn.Module], data: Any, loss: Callable[..., torch.Tensor], *,
                 test: Any = None, test_every: int = 1, device: Any = None, weight_decay: float = 0.0, samples: int | None = None,
                 share_frozen: bool = False, name: str | None = None, schema: Mapping[str, Any] | None = None) -> None:
        self._make: Any = None if isinstance(model, torch.nn.Module) else model
        self._given: Any = {key: value.detach().clone() for key, value in model.state_dict().items()} if isinstance(model, torch.nn.Module) else None
        self.model: Any = model if self._make is None else None
        self.loss, self.test_every, self.device = loss, test_every, device
        self.weight_decay, self.share_frozen = weight_decay, share_frozen
        self.name = name or (model.__name__ if self._make and hasattr(model, "__name__") else type(model).__name__)
        self.schema = dict(schema) if schema else None
        self._count = samples
        self._data_of = _by_node(data)
        self._test_of = _by_node(test) if test is not None else None
        self._nodes: dict[str, _Data] = {}
        self._tests: dict[str, _Data] = {}
        self._dtype = torch.float32

    # What mfl asks first.

    def start(self, hello: mfl.trainer.Hello) -> None:
        with _working:
            if self._make is not None:
                _seed(hello.seed)
                self.model = self._make()
            self._dtype = DTYPES[hello.precision]
            self.model.to(device=self.device, dtype=self._dtype)
            parameter = next(self.model.parameters(), None)
            self.device = parameter.device if parameter is not None else torch.device(self.device or "cpu")
            self._learned = {name: value for name, value in self.model.named_parameters() if value.requires_grad}
            kept = self.model.state_dict()
            self._shared = dict(self._learned)
            if self.share_frozen:
                self._shared.update((name, value) for name, value in self.model.named_parameters() if not value.requires_grad)
            buffers = {name: value for name, value in self.model.named_buffers() if name in kept}
            self._shared.update((name, value) for name, value in buffers.items() if value.is_floating_point())
            self._counters = {name: (value, value.clone()) for name, value in buffers.items() if not value.is_floating_point()}
            for node in hello.nodes:
                self._nodes[node] = data = _Data(self._data_of(node), self._count)
                if "batch_size" not in hello.hyper_parameters and data.loader is not None and data.chunk < data.samples:
                    log.warning("the run has no batch_size: steps of %s are on all of its %d samples, not on batches of %d", node,
                                data.samples, data.chunk)

    def tensors(self) -> dict[str, tuple[int, ...]]:
        return {name: tuple(value.shape) for name, value in self._shared.items()}

    def samples(self, node: str) -> int:
        return self._nodes[node].samples

    def initialise(self, seed: int) -> Arrays:
        with _working:
            if self._make is not None:
                _seed(seed)
                source = self._make().state_dict()
            else:
                source = self._given
            return {name: source[name].detach().to("cpu", self._dtype).numpy() for name in self._shared}

    # A round.

    def batch_loss(self, batch: Any) -> tuple[torch.Tensor, int, torch.Tensor | None, torch.Tensor | None]:
        """(mean loss, number of samples, outputs, targets) of a batch on the model's device; outputs and targets may be None."""
        inputs, targets = batch
        outputs = self.model(inputs)
        return self.loss(outputs, targets), len(targets), outputs, targets

    def train(self, vectors: dict[str, Arrays], round: mfl.trainer.Round) -> dict[str, Arrays]:
        with _working:
            _seed(round.seed)
            self._set(vectors["w"])
            self.model.train()
            sent = {name: value.detach().clone() for name, value in self._learned.items()} if round.mu else {}
            optimiser = self._optimiser(round, vectors.get("d"))
            total, count = 0.0, 0
            with contextlib.closing(self._batches(round)) as batches:  # ends a loader's workers
                for step in range(round.steps):
                    optimiser.zero_grad(set_to_none=True)
                    loss, samples = self._backward(round, batches)
                    if round.batch_size is not None or step == 0:
                        total, count = total + loss * samples, count + samples
                    self._correct(round.mu, sent)
                    optimiser.step()
            round.loss = total / count if count else self._mean_loss(self._nodes[round.node])[0]
            trained = {"w": self._arrays({name: value.detach() for name, value in self._shared.items()})}
            if "d" in vectors:
                trained["d"] = {**vectors["d"], **self._arrays(self._momentum(round, optimiser))}
            return trained

    def _set(self, w: Arrays) -> None:
        with torch.no_grad():
            for name, value in self._shared.items():
                value.copy_(torch.from_numpy(numpy.require(w[name], requirements="W")))
            for value, first in self._counters.values():
                value.copy_(first)

    def _optimiser(self, round: mfl.trainer.Round, d: Arrays | None) -> Any:
        optimiser = torch.optim.SGD(list(self._learned.values()), lr=round.eta, momentum=round.gamma,
                                    nesterov=round.nesterov and round.gamma > 0)
        if d is not None and round.gamma > 0:
            for name, value in self._learned.items():
                optimiser.state[value]["momentum_buffer"] = torch.from_numpy(d[name]).to(value.device, value.dtype, copy=True)
        return optimiser

    def _batches(self, round: mfl.trainer.Round) -> Generator[Any, None, None]:
        """The batches of a round with batch_size."""
        data = self._nodes[round.node]
        if round.batch_size is None:
            return
        if data.own_order:
            yield from data.cycled(round.steps, round.seed)
        else:
            everything = numpy.arange(data.samples)
            yield from data.picked([everything[rows] for rows in round.batches(data.samples)])

    def _backward(self, round: mfl.trainer.Round, batches: Iterator[Any]) -> tuple[float, int]:
        """Leaves the gradient of a step in the parameters. Returns the loss and its number of samples."""
        data = self._nodes[round.node]
        if round.batch_size is None:
            total = 0.0
            for batch in data.everything():
                loss, samples, _, _ = self.batch_loss(self._moved(batch))
                torch.autograd.backward(loss * (samples / data.samples))
                total += loss.item() * samples / data.samples
            return total, data.samples
        loss, samples, _, _ = self.batch_loss(self._moved(next(batches)))
        if data.own_order and samples > round.batch_size:
            raise ValueError(f"the loader has batches of {samples} samples and the run has batch_size {round.batch_size}; make them equal")
        torch.autograd.backward(loss)
        return loss.item(), samples

    def _correct(self, mu: float, sent: dict[str, Any]) -> None:
        """Weight decay and the proximal term, as parts of the gradient. A parameter without one is left alone, as SGD does."""
        with torch.no_grad():
            for name, value in self._learned.items():
                if value.grad is None:
                    continue
                if self.weight_decay:
                    value.grad.add_(value, alpha=self.weight_decay)
                if mu:
                    value.grad.add_(value - sent[name], alpha=mu)

    def _momentum(self, round: mfl.trainer.Round, optimiser: Any) -> dict[str, Any]:
        """d after the last step. SGD keeps no buffer with gamma 0: d is then the last gradient."""
        if round.gamma > 0:
            return {name: optimiser.state[value]["momentum_buffer"] for name, value in self._learned.items()
                    if optimiser.state[value].get("momentum_buffer") is not None}
        return {name: value.grad for name, value in self._learned.items() if value.grad is not None} if round.steps else {}

    def _arrays(self, tensors: dict[str, Any]) -> Arrays:
        return {name: value.detach().to("cpu", self._dtype).numpy() for name, value in tensors.items()}

    def _moved(self, batch: Any) -> Any:
        if isinstance(batch, torch.Tensor):
            return batch.to(self.device, self._dtype if batch.is_floating_point() else batch.dtype, non_blocking=True)
        if isinstance(batch, Mapping):
            return {key: self._moved(part) for key, part in batch.items()}
        if isinstance(batch, (tuple, list)):
            return tuple(self._moved(part) for part in batch)
        return batch

    # Losses.

    def evaluate(self, w: Arrays, round: mfl.trainer.Round) -> float:
        with _working:
            _seed(round.seed)
            self._set(w)
            return self._mean_loss(self._nodes[round.node])[0]

    def metrics(self, w: Arrays, round: mfl.trainer.Round) -> dict[str, float]:
        asked_for_loss = round.steps == 0
        if self._test_of is None or not (asked_for_loss or (self.test_every and round.round % self.test_every == 0)):
            return {}
        with _working:
            _seed(round.seed)
            self._set(w)
            data = self._test_data(round.node)
            loss, accuracy = self._mean_loss(data)
        found = {"test_loss": loss, "test_samples": data.samples}
        return found if accuracy is None else {**found, "test_accuracy": accuracy}

    def _test_data(self, node: str) -> _Data:
        if node not in self._tests:
            assert self._test_of is not None
            self._tests[node] = _Data(self._test_of(node))
        return self._tests[node]

    def _mean_loss(self, data: _Data) -> tuple[float, float | None]:
        """(mean loss, share of right predictions or None) of the model over all samples, without dropout."""
        before = self.model.training
        self.model.eval()
        try:
            total, count = 0.0, 0
            right: int | None = 0
            with torch.no_grad():
                for batch in data.everything():
                    loss, samples, outputs, targets = self.batch_loss(self._moved(batch))
                    total, count = total + loss.item() * samples, count + samples
                    hits = _hits(outputs, targets)
                    right = None if hits is None or right is None else right + hits
            return total / count, None if right is None else right / count
        finally:
            self.model.train(before)


def _hits(outputs: Any, targets: Any) -> int | None:
    """The number of right predictions; None where this is no classification."""
    if outputs is None or targets is None or targets.is_floating_point():
        return None
    if outputs.ndim == 2 and outputs.shape[1] > 1 and targets.ndim == 1:
        return int((outputs.argmax(dim=1) == targets).sum())
    if outputs.shape == targets.shape:
        return int(((outputs > 0).to(targets.dtype) == targets).sum())
    return None
