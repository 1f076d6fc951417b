"""scikit-learn on the same objective, not the same trajectory: the time its solver takes to reach the loss that mfl ended with.

svm: LinearSVC with the hinge minimises 1/2 |w|^2 + C sum max(0, 1 - y z); with C = 1/(2 n lambda) that is F / lambda.
logistic: LogisticRegression without penalty and intercept minimises F itself.
Both hold all samples in one place. The smallest number of iterations that reaches the loss is found first, then timed.
"""

import argparse
import pathlib
import time
import warnings

import common

MOST_ITERATIONS = 200


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--model", choices=["svm", "logistic"], default="svm")
    parser.add_argument("--target-loss", type=float, required=True)
    parser.add_argument("--lambda", dest="lam", type=float, default=0.3)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def make_solver(model, samples, lam, iterations):
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    if model == "svm":
        return LinearSVC(loss="hinge", C=1.0 / (2.0 * samples * lam), dual=True, fit_intercept=False, tol=1e-12,
                         max_iter=iterations, random_state=0)
    return LogisticRegression(C=float("inf"), fit_intercept=False, tol=1e-12, max_iter=iterations)


def main():
    settings = parse_arguments()
    common.limit_blas_threads(settings.threads)
    import numpy
    import sklearn

    warnings.filterwarnings("ignore")
    data = common.load_nodes(settings.data)
    features = numpy.ascontiguousarray(numpy.concatenate([x for x, _ in data]).astype(numpy.float64) / 255.0)
    labels = numpy.concatenate([y for _, y in data])

    def fit(iterations):
        solver = make_solver(settings.model, len(labels), settings.lam, iterations)
        started = time.perf_counter()
        solver.fit(features, labels)
        seconds = time.perf_counter() - started
        w = solver.coef_.ravel()
        return seconds, common.loss_of(settings.model, data, w, settings.lam if settings.model == "svm" else 0.0)

    iterations = 1
    while fit(iterations)[1] > settings.target_loss:
        iterations += 1
        if iterations > MOST_ITERATIONS:
            raise SystemExit(f"scikit-learn did not reach {settings.target_loss} in {MOST_ITERATIONS} iterations")
    seconds, loss = fit(iterations)
    common.report("scikit-learn", sklearn.__version__, seconds, loss, settings.threads, model=settings.model,
                  form=f"{iterations} iterations", precision="f64", iterations=iterations)


if __name__ == "__main__":
    main()
