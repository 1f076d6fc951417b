"""The estimators in scikit-learn: its own checks, and what users do with estimators."""
import os
import pickle
import warnings

os.environ["SCIPY_ARRAY_API"] = "1"  # without it scikit-learn skips its check of the array API

import numpy as np
import pytest
import scipy.sparse
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from mfl.sklearn import FederatedClassifier, FederatedRegressor


@pytest.mark.parametrize("estimator", [FederatedClassifier(), FederatedRegressor(), FederatedClassifier(model="svm"),
                                       FederatedClassifier(partition="contiguous", algorithm="scaffold", nodes=2),
                                       FederatedRegressor(algorithm="fl", nodes=2)], ids=str)
def test_check_estimator(estimator, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checks = check_estimator(estimator, on_fail=None, on_skip=None)
    states = {state: [check["check_name"] for check in checks if check["status"] == state] for state in {check["status"] for check in checks}}
    with capsys.disabled():
        print(f"\nscikit-learn {sklearn.__version__}, {estimator}: " + ", ".join(f"{len(names)} {state}" for state, names in sorted(states.items())))
        for names in (states.get("skipped"),):
            if names:
                print("  skipped by scikit-learn:", ", ".join(names))
    assert not any(check["expected_to_fail"] for check in checks)
    assert [(check["check_name"], check["exception"]) for check in checks if check["status"] == "failed"] == []


@pytest.mark.parametrize("load, least", [(load_breast_cancer, 0.95), (load_wine, 0.95), (load_digits, 0.93)])
def test_known_data(load, least):
    x, y = load(return_X_y=True)
    a, b, c, d = train_test_split(x, y, random_state=0)
    ours = FederatedClassifier().fit(a, c).score(b, d)
    theirs = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(a, c).score(b, d)
    print(load.__name__, ours, theirs)
    assert ours > least and ours > theirs - 0.03


def test_regression_is_that_of_least_squares():
    x, y = load_diabetes(return_X_y=True)
    ours = FederatedRegressor(rounds=3000).fit(x, y)
    theirs = LinearRegression().fit(x, y)
    assert abs(ours.score(x, y) - theirs.score(x, y)) < 1e-3
    assert np.allclose(ours.predict(x), x @ ours.coef_.ravel() + ours.intercept_)


def test_pipeline_grid_and_cross_validation():
    x, y = load_wine(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), FederatedClassifier(rounds=30, standardise="none"))
    assert cross_val_score(pipeline, x, y, cv=3).mean() > 0.9
    search = GridSearchCV(pipeline, {"federatedclassifier__gamma": [0.0, 0.9], "federatedclassifier__algorithm": ["fl", "mfl"]}, cv=2, n_jobs=2)
    search.fit(x, y)
    assert search.best_score_ > 0.9 and len(search.cv_results_["params"]) == 4


def test_copies_predict_alike():
    x, y = load_breast_cancer(return_X_y=True)
    fitted = FederatedClassifier(rounds=20).fit(x, y)
    again = clone(fitted).fit(x, y)
    copied = pickle.loads(pickle.dumps(fitted))
    assert again.digest_ == fitted.digest_ == copied.digest_
    assert np.array_equal(copied.predict_proba(x), fitted.predict_proba(x))
    assert FederatedClassifier(rounds=20, random_state=2).fit(x, y).digest_ != fitted.digest_
    assert FederatedClassifier(rounds=20, n_jobs=2).fit(x, y).digest_ == fitted.digest_


def test_parameters_reach_the_run():
    x, y = load_breast_cancer(return_X_y=True)
    fitted = FederatedClassifier(algorithm="scaffold", partition="dirichlet(0.5)", nodes=6, tau=2, rounds=7, batch_size=20, lambda_=0.01,
                                 class_weight="balanced", settings={"local_epochs": 0, "evaluate_every": 1}).fit(x, y)
    config = fitted.config_
    assert config["algorithm"]["name"].startswith("scaffold") and config["federation"]["nodes"] == 6 and config["model"]["lambda"] == 0.01
    assert config["model"]["class_weight"] == "balanced" and fitted.n_iter_ == 7 and config["run"]["evaluate_every"] == 1
    assert fitted.history_["round"][-1] == 7


def test_class_weights():
    x, y = load_breast_cancer(return_X_y=True)
    shares = [np.mean(FederatedClassifier(rounds=30, class_weight={0: 1, 1: weight}).fit(x, y).predict(x)) for weight in (0.01, 1, 100)]
    assert shares[0] < shares[1] < shares[2]
    count = np.bincount(y)
    balanced = {c: len(y) / (2 * count[c]) for c in (0, 1)}
    assert np.allclose(FederatedClassifier(class_weight=balanced).fit(x, y).coef_, FederatedClassifier(class_weight="balanced").fit(x, y).coef_)


def test_sparse_and_text_labels():
    x, y = load_digits(return_X_y=True)
    names = np.array([f"digit {c}" for c in y])
    fitted = FederatedClassifier(rounds=50).fit(scipy.sparse.csr_matrix(x), names)
    assert fitted.score(scipy.sparse.csr_matrix(x), names) > 0.93
    assert not hasattr(FederatedClassifier(model="svm"), "predict_proba")


def test_frames_have_feature_names():
    frame, y = load_wine(return_X_y=True, as_frame=True)
    fitted = FederatedClassifier(rounds=20).fit(frame, y)
    assert list(fitted.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[frame.columns[::-1]])


def test_bad_parameters():
    x, y = load_breast_cancer(return_X_y=True)
    for keywords, pattern in (({"algorithm": "fedagv"}, "fedavg"), ({"gamma": 2}, "gamma"), ({"settings": {"lr": 1}}, "eta")):
        with pytest.raises(ValueError, match=pattern):
            FederatedClassifier(**keywords).fit(x, y)
    with pytest.raises(ValueError, match="Only binary"):
        FederatedClassifier(model="svm").fit(x, np.arange(len(y)) % 3)
