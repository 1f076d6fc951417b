# Written by scripts/reference.py; do not edit.
"""Types of the package, with every key of an experiment file as a keyword of run() and sweep()."""
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ._errors import ConfigError as ConfigError
from ._errors import DataError as DataError
from ._errors import Error as Error
from ._errors import NetworkError as NetworkError
from ._errors import RunFailed as RunFailed
from ._errors import RunWarning as RunWarning
from ._model import Model as Model
from ._model import load as load
from ._native import version as native_version
from ._result import Result as Result
from ._run import OnRound
from ._run import compare as compare
from ._store import Store as Store
from ._sweep import Comparison as Comparison
from ._sweep import Sweep as Sweep
from ._wait import Progress as Progress
from .federation import node as node
from .federation import server as server
from .trainer import Trainer as Trainer
from .trainer import serve as serve

__version__: str
__all__ = [
    "Comparison",
    "ConfigError",
    "DataError",
    "Error",
    "Model",
    "NetworkError",
    "Progress",
    "Result",
    "RunFailed",
    "RunWarning",
    "Store",
    "Sweep",
    "Trainer",
    "compare",
    "load",
    "native_version",
    "node",
    "run",
    "serve",
    "server",
    "sweep",
]

def run(
    config: str | os.PathLike[str] | Mapping[str, Any] | None = ...,
    X: Any = ...,
    y: Any = ...,
    X_test: Any = ...,
    y_test: Any = ...,
    *,
    nodes: int | None = ...,
    model: str | None = ...,
    algorithm: str | None = ...,
    store: str | os.PathLike[str] | Store | bool | None = ...,
    resume: str | Result | None = ...,
    reuse: bool = ...,
    monitor: bool = ...,
    trainer: Any = ...,
    trainer_processes: int | None = ...,
    trainer_deadline: float | None = ...,
    progress: bool | None = ...,
    callback: OnRound | None = ...,
    # where the samples come from
    data: str | None = ...,
    # separate test data
    test_source: str | None = ...,
    # training samples, or all
    train: int | Literal["all"] | None = ...,
    # test samples, or all; 0 for none
    test: int | Literal["all"] | None = ...,
    # which samples: first or random
    take: Literal["first", "random"] | None = ...,
    # labels to train on: even-odd, multiclass, raw, or auto (multiclass for softmax; raw for csv, libsvm and
    # npy, else even-odd)
    task: Literal["auto", "even-odd", "raw", "multiclass"] | None = ...,
    # factor on every feature, or auto (1/255 for bytes)
    scale: float | Literal["auto"] | None = ...,
    # CSV label column: name, zero-based number, or last
    label: str | int | None = ...,
    # whether a CSV file starts with column names: auto, yes or no
    header: Literal["auto", "yes", "no"] | None = ...,
    # cross-validation: folds of the data, 0 for none
    folds: int | None = ...,
    # the fold that is held out for the test, from 0, or all: each in turn
    fold: int | Literal["all"] | None = ...,
    # CSV columns to ignore: names or zero-based numbers, separated by commas
    drop: Sequence[str | int] | None = ...,
    # CSV columns to take as features, in this order; if not given, all but the label and those to ignore
    features: Sequence[str | int] | None = ...,
    # what separates the fields of a CSV file: , ; | or tab
    separator: str | None = ...,
    # the positive class; if not given, the last of the two: 1 of 0 and 1, malignant of benign and malignant
    positive: str | float | None = ...,
    # columns that data may have: one wrong number in a file must not take all memory
    max_columns: int | None = ...,
    # which node holds which samples
    partition: str | None = ...,
    # how features differ between simulated nodes
    feature_skew: str | None = ...,
    # how a round's updates become one
    aggregator: str | None = ...,
    # what an update passes on its way to the server, separated by commas
    codecs: str | None = ...,
    # share of the nodes that a round chooses, in (0, 1]
    fraction_train: float | None = ...,
    # nodes that must be connected for a round to start, 0 for all
    min_available_nodes: int | None = ...,
    # updates that a round needs at its deadline, 0 for all that it chose
    quorum: int | None = ...,
    # seconds that a round waits for updates, > 0
    round_deadline: float | None = ...,
    # samples that a node may join a server with, 0 for any number
    max_samples: int | None = ...,
    # distance of a node's update from the State it got, 0 for a multiple of what earlier rounds had
    max_update_norm: float | None = ...,
    # samples per second of a device, for virtual time: X, uniform(A, B), lognormal(MEDIAN, SIGMA) or none
    device_speed: str | float | None = ...,
    # chance that a chosen node does not answer, fixed or drawn as the speed
    device_dropout: str | float | None = ...,
    # bytes per second from a node, fixed or drawn, or none
    up: str | float | None = ...,
    # bytes per second to a node, fixed or drawn, or none
    down: str | float | None = ...,
    # seconds that a message takes one way, fixed or drawn
    latency: str | float | None = ...,
    # weight of the regulariser, or auto (0.3 for the svms, else 0)
    lambda_: float | Literal["auto"] | None = ...,
    # whether the model has an intercept: true, false, or auto (true for data of csv, libsvm and npy)
    intercept: bool | Literal["auto"] | None = ...,
    # what is done to each feature first: none, scale (divide by its deviation) or full (subtract its mean
    # too)
    standardise: Literal["none", "scale", "full"] | None = ...,
    # what a sample counts in the loss: none (as any other), balanced (classes count alike), or one number per
    # class in their order, separated by commas
    class_weight: str | Sequence[float] | None = ...,
    # step size, > 0, or auto (measured for data of csv, libsvm and npy, else 0.002)
    eta: float | Literal["auto"] | None = ...,
    # momentum of the nodes, in [0, 1)
    gamma: float | None = ...,
    # local steps between two aggregations, adaptive (by the budget of the run), or auto (4 unless
    # local_epochs is given)
    tau: int | Literal["auto", "adaptive"] | None = ...,
    # most local steps of a round with an adaptive tau
    tau_max: int | None = ...,
    # control parameter of an adaptive tau, > 0
    phi: float | None = ...,
    # passes over a node's samples between two aggregations, in place of tau; 0 for none
    local_epochs: int | None = ...,
    # samples of a local step, or all
    batch_size: int | Literal["all"] | None = ...,
    # leave out the last batch of an epoch where it is smaller: true or false
    drop_last: bool | None = ...,
    # what nodes do to a gradient, or auto (as the algorithm has it)
    correction: str | None = ...,
    # momentum of the nodes, or auto (as the algorithm has it)
    momentum: str | None = ...,
    # what the server does with the mean of the nodes, or auto (as the algorithm has it)
    server_step: str | None = ...,
    # rounds between two means of the nodes' momentum, where it is averaged
    sync_momentum: int | None = ...,
    # a label of your own
    name: str | None = ...,
    # local steps in all, T, or auto (1000 unless rounds or a budget is given)
    steps: int | Literal["auto"] | None = ...,
    # the length of the run in rounds, in place of steps; 0 for none
    rounds: int | None = ...,
    # stop early once the training loss is at most this, or none
    target_loss: float | Literal["none"] | None = ...,
    # stop early once the test accuracy is at least this, in (0, 1], or none
    target_accuracy: float | Literal["none"] | None = ...,
    # stop early after this many rounds without an improvement of the training loss, 0 for never
    patience: int | None = ...,
    # end before a round that would take the run past this time, virtual if it has virtual time, or none
    budget_seconds: float | Literal["none"] | None = ...,
    # end before a round that would take the run past this traffic, up and down, or none
    budget_bytes: int | Literal["none"] | None = ...,
    # random seed
    seed: int | None = ...,
    # f32 or f64
    precision: Literal["f32", "f64"] | None = ...,
    # where nodes run: threads, serial or mpi (under mpirun always mpi)
    engine: Literal["threads", "serial", "mpi"] | None = ...,
    # threads, 0 for one per core
    threads: int | None = ...,
    # rounds between passes over all samples for the training loss, where a round does not measure it
    # (batches, trainers, lookahead); auto for 10 to 100 of them, 0 for none
    evaluate_every: int | Literal["auto"] | None = ...,
    # steps between records, 0 for about a hundred records per run
    record_every: int | None = ...,
    # rounds between checkpoints, 0 for only when stopped
    checkpoint_every: int | None = ...,
    # States of the last rounds that a server keeps, for mfl server --from-round
    keep_states: int | None = ...,
    # start from the weights of a trained model: a run that is done, or a model file (.npz)
    init: str | os.PathLike[str] | None = ...,
    # feature names in order, separated by commas, or their number; 0: as the data has them
    schema_features: Sequence[str] | int | None = ...,
    # name that the label column must have
    schema_label: str | None = ...,
    # what labels are: binary (two classes), even-odd, multiclass, regression (numbers), or auto
    schema_task: str | None = ...,
    # the classes, all of them, separated by commas
    classes: Sequence[str | int] | None = ...,
    # the positive one of the classes
    schema_positive: str | float | None = ...,
) -> Result: ...

def sweep(
    config: str | os.PathLike[str] | Mapping[str, Any] | None = ...,
    grid: Mapping[str, Sequence[Any]] | None = ...,
    X: Any = ...,
    y: Any = ...,
    X_test: Any = ...,
    y_test: Any = ...,
    *,
    store: str | os.PathLike[str] | Store | bool | None = ...,
    reuse: bool = ...,
    progress: bool | None = ...,
    callback: OnRound | None = ...,
    data: str | None = ...,
    test_source: str | None = ...,
    train: int | Literal["all"] | None = ...,
    test: int | Literal["all"] | None = ...,
    take: Literal["first", "random"] | None = ...,
    task: Literal["auto", "even-odd", "raw", "multiclass"] | None = ...,
    scale: float | Literal["auto"] | None = ...,
    label: str | int | None = ...,
    header: Literal["auto", "yes", "no"] | None = ...,
    folds: int | None = ...,
    fold: int | Literal["all"] | None = ...,
    drop: Sequence[str | int] | None = ...,
    features: Sequence[str | int] | None = ...,
    separator: str | None = ...,
    positive: str | float | None = ...,
    max_columns: int | None = ...,
    nodes: int | None = ...,
    partition: str | None = ...,
    feature_skew: str | None = ...,
    aggregator: str | None = ...,
    codecs: str | None = ...,
    fraction_train: float | None = ...,
    min_available_nodes: int | None = ...,
    quorum: int | None = ...,
    round_deadline: float | None = ...,
    max_samples: int | None = ...,
    max_update_norm: float | None = ...,
    device_speed: str | float | None = ...,
    device_dropout: str | float | None = ...,
    up: str | float | None = ...,
    down: str | float | None = ...,
    latency: str | float | None = ...,
    model: str | None = ...,
    lambda_: float | Literal["auto"] | None = ...,
    intercept: bool | Literal["auto"] | None = ...,
    standardise: Literal["none", "scale", "full"] | None = ...,
    class_weight: str | Sequence[float] | None = ...,
    algorithm: str | None = ...,
    eta: float | Literal["auto"] | None = ...,
    gamma: float | None = ...,
    tau: int | Literal["auto", "adaptive"] | None = ...,
    tau_max: int | None = ...,
    phi: float | None = ...,
    local_epochs: int | None = ...,
    batch_size: int | Literal["all"] | None = ...,
    drop_last: bool | None = ...,
    correction: str | None = ...,
    momentum: str | None = ...,
    server_step: str | None = ...,
    sync_momentum: int | None = ...,
    name: str | None = ...,
    steps: int | Literal["auto"] | None = ...,
    rounds: int | None = ...,
    target_loss: float | Literal["none"] | None = ...,
    target_accuracy: float | Literal["none"] | None = ...,
    patience: int | None = ...,
    budget_seconds: float | Literal["none"] | None = ...,
    budget_bytes: int | Literal["none"] | None = ...,
    seed: int | None = ...,
    precision: Literal["f32", "f64"] | None = ...,
    engine: Literal["threads", "serial", "mpi"] | None = ...,
    threads: int | None = ...,
    evaluate_every: int | Literal["auto"] | None = ...,
    record_every: int | None = ...,
    checkpoint_every: int | None = ...,
    keep_states: int | None = ...,
    init: str | os.PathLike[str] | None = ...,
    schema_features: Sequence[str] | int | None = ...,
    schema_label: str | None = ...,
    schema_task: str | None = ...,
    classes: Sequence[str | int] | None = ...,
    schema_positive: str | float | None = ...,
) -> Sweep: ...
