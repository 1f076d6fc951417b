"""Estimators of scikit-learn that train over simulated nodes.

    from mfl.sklearn import FederatedClassifier
    FederatedClassifier(nodes=10, partition="dirichlet(0.3)", rounds=50).fit(X, y).score(X_test, y_test)

They work in pipelines, grid searches and cross-validation, with `clone` and `pickle`.
"""
from __future__ import annotations

import numbers
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from ._arrays import AnyArray, is_sparse
from ._config import make_experiment
from ._model import Model
from ._result import Result
from ._run import add_data
from ._store import TemporaryStore
from ._wait import run_native

__all__ = ["FederatedClassifier", "FederatedRegressor"]


class _Federated(BaseEstimator):  # type: ignore[misc]
    """What both estimators have: the settings of a run, and its outcome."""

    algorithm: str
    nodes: int
    partition: str
    eta: float | str
    gamma: float
    tau: int | str
    rounds: int
    lambda_: float | str
    standardise: str | bool
    batch_size: int | None
    aggregator: str
    precision: str
    random_state: Any
    n_jobs: int | None
    settings: Mapping[str, Any] | None

    def _keywords(self, model: str, X: Any) -> dict[str, Any]:
        standardise: Any = self.standardise
        if standardise in (True, "auto"):
            standardise = "scale" if is_sparse(X) else "full"
        elif standardise in (False, None):
            standardise = "none"
        seed = self.random_state
        if seed is None:
            seed = 1
        elif not isinstance(seed, numbers.Integral):
            seed = check_random_state(seed).randint(1, np.iinfo(np.int32).max)
        return {"model": model, "algorithm": self.algorithm, "nodes": min(self.nodes, X.shape[0]), "partition": self.partition,
                "eta": self.eta, "gamma": self.gamma, "tau": self.tau, "rounds": self.rounds, "lambda_": self.lambda_,
                "standardise": standardise, "batch_size": "all" if self.batch_size is None else self.batch_size,
                "aggregator": self.aggregator, "precision": self.precision, "seed": int(seed), "threads": self._threads(),
                **(self.settings or {})}

    def _threads(self) -> int:
        """Of scikit-learn's n_jobs: None is one thread, -1 all cores."""
        jobs = 1 if self.n_jobs is None else self.n_jobs
        return jobs if jobs > 0 else 0

    def _train(self, keywords: dict[str, Any], X: Any, y: AnyArray) -> None:
        experiment = make_experiment(None, keywords)
        add_data(experiment, X, y, None, None)
        store = TemporaryStore()
        try:
            data, outcome = run_native(experiment, lambda: experiment.run({"store": store.path}), False, None)
            if outcome.interrupted:
                raise KeyboardInterrupt
            result = Result(data, store.path)
            if result.status != "done":
                warnings.warn(f"the run {result.status}: lower eta or gamma", ConvergenceWarning, stacklevel=3)
            self.model_: Model = result.model
            self.history_ = {name: np.asarray(result.history[name]) for name in ("round", "step", "train_loss", "batch_loss")}
        finally:
            store.delete()
        self.digest_ = result.digest
        self.n_iter_ = result.rounds
        self.config_ = result.config
        self.coef_, self.intercept_ = _linear(self.model_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")  # scikit-learn would take lambda_ for a result

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)


def _linear(model: Model) -> tuple[AnyArray, AnyArray]:
    """Weights and intercepts for features as they are given: scale and standardisation are part of them."""
    tensors = model.weights
    done = model.info["schema"].get("preprocessing") or {}
    weights = tensors["weights"].astype("float64").reshape(len(tensors["weights"]), -1).T
    offset = tensors["intercept"].astype("float64").ravel() if "intercept" in tensors else np.zeros(len(weights))
    if done.get("deviations"):
        weights = weights / np.asarray(done["deviations"])
    if done.get("means"):
        offset = offset - weights @ np.asarray(done["means"])
    return weights * (model.info.get("scale") or 1.0), offset


def _has_probabilities(estimator: FederatedClassifier) -> bool:
    return estimator.model in ("auto", "logistic", "softmax")


class FederatedClassifier(ClassifierMixin, _Federated):  # type: ignore[misc]
    """A linear classifier that is trained over simulated nodes.

    Args:
        model: `logistic`, `softmax`, `svm` or `squared-svm`; `auto` is logistic for two classes and softmax for more.
        algorithm: an algorithm of mfl, such as `mfl`, `fl` or `scaffold`, with parameters in brackets: `fedprox(0.1)`.
        nodes: how many nodes share the samples; fewer if there are fewer samples.
        partition: which node holds which samples: `iid`, `dirichlet(0.3)`, `pathological(2)`, `label-sorted` and others.
        eta: step size; `auto` measures it.
        gamma: momentum of the nodes, in [0, 1).
        tau: local steps between two aggregations.
        rounds: how many rounds are trained.
        lambda_: weight of the L2 regulariser; `auto` is 0.3 for the SVMs, else 0.
        standardise: `full`, `scale` or `none`; `auto` is full, and scale for sparse data.
        class_weight: None, `balanced`, or a number for each class.
        batch_size: samples of a local step; None is all samples of the node.
        aggregator: `mean` or a robust rule.
        precision: `f64` or `f32`.
        random_state: the seed of the run. None is 1: results do not change from fit to fit.
        n_jobs: threads; None is one, -1 all cores. The result does not depend on it.
        settings: any other keys of an experiment by name.

    Attributes:
        classes_: the classes, in order.
        coef_, intercept_: the weights, for features as they are given.
        n_features_in_: the number of features.
        n_iter_: the number of rounds.
        history_: training and batch loss by round.
        digest_: SHA-256 of the weights.
        model_: the `mfl.Model`.
        config_: the whole configuration.
    """

    def __init__(self, *, model: str = "auto", algorithm: str = "mfl", nodes: int = 4, partition: str = "iid", eta: float | str = "auto",
                 gamma: float = 0.9, tau: int | str = 4, rounds: int = 100, lambda_: float | str = "auto", standardise: str | bool = "auto",
                 class_weight: str | Mapping[Any, float] | None = None, batch_size: int | None = None, aggregator: str = "mean",
                 precision: str = "f64", random_state: Any = None, n_jobs: int | None = None,
                 settings: Mapping[str, Any] | None = None) -> None:
        self.model = model
        self.algorithm = algorithm
        self.nodes = nodes
        self.partition = partition
        self.eta = eta
        self.gamma = gamma
        self.tau = tau
        self.rounds = rounds
        self.lambda_ = lambda_
        self.standardise = standardise
        self.class_weight = class_weight
        self.batch_size = batch_size
        self.aggregator = aggregator
        self.precision = precision
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.settings = settings

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.model in ("auto", "softmax")
        return tags

    def fit(self, X: Any, y: Any) -> FederatedClassifier:
        """Trains on X, of shape (samples, features), and the labels y."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("FederatedClassifier needs samples of at least 2 classes, the data has one class")
        if len(self.classes_) > 2 and self.model not in ("auto", "softmax"):
            raise ValueError(f"Only binary classification is supported. The type of the target is {type_of_target(y)}.")
        model = self.model
        if model == "auto":
            model = "logistic" if len(self.classes_) == 2 else "softmax"
        self._train({**self._keywords(model, X), "class_weight": self._class_weight(y, codes)}, X, codes.astype("int64"))
        return self

    def _class_weight(self, y: AnyArray, codes: AnyArray) -> str:
        if self.class_weight is None or self.class_weight == "balanced":
            return self.class_weight or "none"
        weights = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        shares = np.bincount(codes) / len(codes)
        return ",".join(repr(float(weight)) for weight in weights / (shares @ weights))  # their mean is 1

    def predict(self, X: Any) -> AnyArray:
        """The class of each row."""
        rows = self._rows(X)
        found: AnyArray = self.classes_[self.model_.predict(rows)]
        return found

    def decision_function(self, X: Any) -> AnyArray:
        """The score of each row, above zero for the second class; one column per class where there are more than two."""
        scores = safe_sparse_dot(self._rows(X), self.coef_.T, dense_output=True) + self.intercept_
        if scores.shape[1] == 2:  # softmax of two classes
            return np.asarray(scores[:, 1] - scores[:, 0])
        return np.asarray(scores.ravel() if scores.shape[1] == 1 else scores)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> AnyArray:
        """The probability of each class, in the order of `classes_`."""
        rows = self._rows(X)
        return self.model_.predict_proba(rows)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> AnyArray:
        """The logarithm of `predict_proba`."""
        found: AnyArray = np.log(self.predict_proba(X))
        return found


class FederatedRegressor(RegressorMixin, _Federated):  # type: ignore[misc]
    """Linear regression that is trained over simulated nodes. Arguments and attributes are those of `FederatedClassifier`."""

    def __init__(self, *, algorithm: str = "mfl", nodes: int = 4, partition: str = "iid", eta: float | str = "auto", gamma: float = 0.9,
                 tau: int | str = 4, rounds: int = 100, lambda_: float | str = "auto", standardise: str | bool = "auto",
                 batch_size: int | None = None, aggregator: str = "mean", precision: str = "f64", random_state: Any = None,
                 n_jobs: int | None = None, settings: Mapping[str, Any] | None = None) -> None:
        self.algorithm = algorithm
        self.nodes = nodes
        self.partition = partition
        self.eta = eta
        self.gamma = gamma
        self.tau = tau
        self.rounds = rounds
        self.lambda_ = lambda_
        self.standardise = standardise
        self.batch_size = batch_size
        self.aggregator = aggregator
        self.precision = precision
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.settings = settings

    def fit(self, X: Any, y: Any) -> FederatedRegressor:
        """Trains on X, of shape (samples, features), and the targets y."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], y_numeric=True)
        self._train(self._keywords("linear", X), X, np.asarray(y, dtype="float64"))
        return self

    def predict(self, X: Any) -> AnyArray:
        """The predicted target of each row."""
        rows = self._rows(X)
        return self.model_.predict(rows)
