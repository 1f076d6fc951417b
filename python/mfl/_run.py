"""mfl.run, mfl.sweep and mfl.compare."""
from __future__ import annotations

import os
import tomllib
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _arrays
from ._arrays import AnyArray
from ._config import key_of, make_experiment, read_config, refuse_ignored, states_model
from ._errors import RunWarning, config_error, data_error
from ._native import TEST, TRAIN, Experiment, store_query
from ._result import Result
from ._service import served
from ._store import Store, store_path
from ._sweep import Comparison, Sweep
from ._wait import Progress, run_native

OnRound = Callable[[Progress], Any]


def _pair(x: Any, y: Any, names: tuple[str, str]) -> None:
    if (x is None) != (y is None):
        there, missing = names if y is None else names[::-1]
        raise data_error(f"{there} is given without {missing}", "give both, or none of them")


def _check_lengths(features: _arrays.Features, labels: _arrays.Labels, names: tuple[str, str]) -> None:
    if features.rows != len(labels.values):
        raise data_error(f"{names[0]} has {features.rows} rows, {names[1]} has {len(labels.values)} labels", "give one label per row")


def add_data(experiment: Experiment, X: Any, y: Any, X_test: Any, y_test: Any) -> tuple[AnyArray | None, Any]:
    """Gives arrays to the experiment. Returns the classes that y was coded with and the type of its numbers."""
    _pair(X, y, ("X", "y"))
    _pair(X_test, y_test, ("X_test", "y_test"))
    if X is None:
        if X_test is not None:
            raise data_error("X_test is given without X", "give X and y too")
        return None, None
    regression = tomllib.loads(experiment.config())["model"]["name"] == "linear"
    features, labels = _arrays.features(X, "X"), _arrays.labels(y, "y", as_classes=not regression)
    _check_lengths(features, labels, ("X", "y"))
    names: dict[str, Any] = {"features": features.names, "label": labels.name,
                             "classes": labels.names}
    names = {name: value for name, value in names.items() if value is not None}
    if names:
        experiment.names(names)
    experiment.data(TRAIN, features.array, labels.array(), (features, labels))
    if X_test is not None:
        if features.names and _arrays.is_table(X_test) and _arrays.column_names(X_test) != features.names:
            try:
                X_test = X_test[features.names]
            except KeyError as error:
                raise data_error(f"X_test lacks columns of X: {error}", "give it the columns of X") from None
        tests, truths = _arrays.features(X_test, "X_test"), _arrays.labels(y_test, "y_test", labels.classes, not regression)
        _check_lengths(tests, truths, ("X_test", "y_test"))
        if tests.columns != features.columns:
            raise data_error(f"X_test has {tests.columns} features, X has {features.columns}", "give it the columns of X")
        experiment.data(TEST, tests.array, truths.array(), (tests, truths))
    return labels.classes, None if labels.classes is not None else np.asarray(y).dtype


def _told(result: Result, arguments: str, interrupted: bool) -> Result:
    """Says how a run that is not done can be continued; `arguments` must be given again."""
    if result.status == "interrupted":
        result.message = (f"run {result.run_id} stopped at step {result.data['final']['step']}; "
                          f"continue it with mfl.run({arguments}resume=result)")
        if interrupted:
            warnings.warn(result.message, RunWarning, stacklevel=3)
    elif result.status != "done":
        told = result.message or "its loss is not finite"
        warnings.warn(f"run {result.run_id} {result.status}: {told}; lower eta or gamma", RunWarning, stacklevel=3)
    return result


def run(config: str | os.PathLike[str] | Mapping[str, Any] | None = None, X: Any = None, y: Any = None, X_test: Any = None,
        y_test: Any = None, *, nodes: int | None = None, model: str | None = None, algorithm: str | None = None,
        store: str | os.PathLike[str] | Store | bool | None = None, resume: str | Result | None = None, reuse: bool = False,
        monitor: bool = False, trainer: Any = None, trainer_processes: int | None = None, trainer_deadline: float | None = None,
        progress: bool | None = None, callback: OnRound | None = None, **keywords: Any) -> Result:
    """Trains one model with one algorithm over simulated nodes.

    Args:
        config: path of an experiment file, its TOML text, or a dictionary: `{"algorithm": {"eta": 0.1}}`, `{"algorithm.eta": 0.1}`
            or `{"eta": 0.1}`.
        X: one row per sample: an array, a SciPy sparse matrix or a DataFrame, whose column names become feature names. Dense
            numbers of uint8, float32 and float64 are not copied. uint8 is divided by 255, as images are; `scale=1` turns that off.
        y: one label per sample: numbers, text, booleans or categories.
        X_test, y_test: samples to test on. Without them there is no test set, unless `train=` and `test=` divide X.
        nodes, model, algorithm: the keys that most runs set.
        store: the file to record the run in. None: a temporary one, deleted at the end of this process. True: that of the program.
        resume: a stopped run to continue: a `Result`, or a name together with `store`. Data in memory must be given again.
        reuse: give an equal finished run of the store instead of training.
        monitor: watch for signs of a bad setting; they are in `Result.warnings`.
        trainer: a model of your own in place of `model`, which has its own data: an `mfl.trainer.Trainer`, called on a thread of this
            process, or a command such as `"python train.py"`.
        trainer_processes, trainer_deadline: how many processes a command is started in, and the seconds that a call may take.
        progress: whether to draw a bar, with tqdm. None: in a terminal or a notebook.
        callback: called with an `mfl.Progress` after every round; True stops the run.
        keywords: any other key of an experiment file by its name: eta, gamma, tau, partition, rounds, batch_size, seed. `lambda_`
            is lambda.

    Ctrl-C stops the run at the end of a round: the result has the status `interrupted` and can be continued.

    Raises:
        mfl.ConfigError, mfl.DataError, mfl.RunFailed: with `.message` and `.hint`.
    """
    keywords = {"nodes": nodes, "model": model, "algorithm": algorithm, **keywords}
    refuse_ignored(keywords, X is not None)
    if trainer is None and (trainer_processes is not None or trainer_deadline is not None):
        raise config_error("trainer_processes and trainer_deadline need a trainer", "give trainer, or leave them out")
    path = store_path(store)
    if resume is not None:
        given = sorted(word for word, value in keywords.items() if value is not None and word not in ("engine", "threads"))
        if config is not None or given:
            raise config_error(f"resume continues with the run's own configuration, and {given[0] if given else 'config'} is given",
                               f"remove {given[0] if given else 'config'}")
        if isinstance(resume, Result):
            path, keywords = (resume.store if store is None else path), {**keywords, **_model_of(resume)}
            resume = resume.run_id
        else:
            keywords = {**keywords, **_model_of(store_query(path, what="run", run=resume)["run"])}
    experiment = make_experiment(config, keywords)
    if trainer is not None and not states_model(config, keywords):
        experiment.set("model.name", "external")
    classes, dtype = add_data(experiment, X, y, X_test, y_test)
    optional = {"resume": resume, "trainer_processes": trainer_processes, "trainer_deadline": trainer_deadline}
    options = {"store": path, "reuse": reuse, "monitor": monitor, **{word: value for word, value in optional.items() if value is not None}}
    with served(trainer) as address:
        if address:
            options["trainer"] = address
        data, outcome = run_native(experiment, lambda: experiment.run(options), progress, callback)
    arguments = "X=X, y=y, " if X is not None else "trainer=trainer, " if address else ""
    return _told(Result(data, path, classes, dtype), arguments, outcome.interrupted)


def _model_of(run: Any) -> dict[str, Any]:
    """The model of a run to resume, which decides how labels are read."""
    return {"model": run.config["model"]["name"] if isinstance(run, Result) else run["model"]}


def sweep(config: str | os.PathLike[str] | Mapping[str, Any] | None = None, grid: Mapping[str, Sequence[Any]] | None = None,
          X: Any = None, y: Any = None, X_test: Any = None, y_test: Any = None, *,
          store: str | os.PathLike[str] | Store | bool | None = None, reuse: bool = False, progress: bool | None = None,
          callback: OnRound | None = None, **keywords: Any) -> Sweep:
    """Trains every combination of the values in `grid`; settings on the same data share each pass over it.

    Args:
        grid: values by key: `{"eta": [0.01, 0.1], "algorithm": ["fl", "mfl"]}`; the last key varies fastest.
        reuse: do not train settings again that the store already has; continues a sweep that was stopped.

    The other arguments are those of `mfl.run`. Each run has the digest that `mfl.run` gives it.
    """
    if not grid:
        raise config_error("a sweep needs a grid", "give values by key: grid={\"eta\": [0.01, 0.1]}")
    values: dict[str, list[Any]] = {}
    refuse_ignored({**keywords, **grid}, X is not None)
    for word, given in grid.items():
        if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
            raise config_error(f"grid: {word} has the single value {given!r}", f"give a list: {{\"{word}\": [{given!r}]}}")
        values[key_of(word)] = [value.item() if isinstance(value, np.generic) else value for value in given]
    path = store_path(store)
    experiment = make_experiment(config, keywords)
    models = [value for key, chosen in values.items() if key == "model.name" for value in chosen]
    if models and all(str(name) == "linear" for name in models):
        experiment.set("model.name", "linear")
    classes, dtype = add_data(experiment, X, y, X_test, y_test)
    options = {"store": path, "reuse": reuse}
    data, outcome = run_native(experiment, lambda: experiment.sweep(values, options), progress, callback)
    results = [Result(one, path, classes, dtype) for one in data]
    expected = int(np.prod([len(chosen) for chosen in values.values()]))
    stopped = len(results) < expected or any(result.status == "interrupted" for result in results)
    if stopped and outcome.interrupted:
        warnings.warn("the sweep was stopped; call mfl.sweep again with reuse=True to continue it", RunWarning, stacklevel=2)
    return Sweep(values, results, "interrupted" if stopped else "done")


def compare(*runs: str | Result | Sweep, store: str | os.PathLike[str] | Store | bool | None = None, baseline: str | None = None,
            target: float | None = None) -> Comparison:
    """Compares runs: losses, and how many rounds and bytes each needed to reach a target.

    Args:
        runs: results, sweeps, or names of runs in `store`. All must be in one store; those without a store of their own are.
        baseline: the algorithm whose final loss is the target; `fl` by default.
        target: a training loss to use in its place.
    """
    results = [one for given in runs for one in (given if isinstance(given, Sweep) else [given])]
    stores = {one.store for one in results if isinstance(one, Result)}
    if store is not None or any(isinstance(one, str) for one in results):
        stores.add(store_path(store))
    if not results:
        raise config_error("compare needs runs", "give results or names of runs")
    if len(stores) > 1:
        raise config_error(f"the runs are in {len(stores)} stores", "train with the same store=, or join stores with mfl runs merge")
    names = [one.run_id if isinstance(one, Result) else str(one) for one in results]
    return Comparison(store_query(stores.pop(), what="compare", runs=names, baseline=baseline, target=target))


__all__ = ["add_data", "compare", "read_config", "run", "sweep"]
