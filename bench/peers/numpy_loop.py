"""MFL on the paper's linear models in NumPy: preconverted features, BLAS products into preallocated arrays, no work per sample.

Forms: nodes (one matrix per node), copies (a second, transposed copy of each for the gradient), stacked (all nodes in one
batched product; needs shards of equal size) and pool (nodes on two Python threads; BLAS releases the interpreter lock).
"""

import concurrent.futures
import time

import common

FORMS = ["nodes", "copies", "stacked", "pool"]


def pulls_of(model):
    """A function that writes how strongly each sample pulls, minus the derivative of its loss by y z, from the margins y z."""
    import numpy as np

    def hinge(margins, pulls):
        np.less(margins, 1, out=pulls)

    def residual(margins, pulls):
        np.subtract(1, margins, out=pulls)

    def squared_hinge(margins, pulls):
        np.subtract(1, margins, out=pulls)
        np.maximum(pulls, 0, out=pulls)

    def logistic(margins, pulls):
        np.exp(margins, out=pulls)
        np.add(pulls, 1, out=pulls)
        np.reciprocal(pulls, out=pulls)

    return {"svm": hinge, "squared-svm": squared_hinge, "logistic": logistic, "linear": residual}[model]


class Node:
    """One node's data and its working vectors; a step allocates nothing."""

    def __init__(self, signed, transposed, settings):
        import numpy

        self.numpy = numpy
        self.signed = signed
        self.transposed = transposed
        self.samples, features = signed.shape
        dtype = signed.dtype.type
        self.eta, self.gamma, self.lam = dtype(settings.eta), dtype(settings.gamma), dtype(settings.lam)
        self.write_pulls = pulls_of(settings.model)
        self.share = dtype(common.samples_share(settings.model, self.samples))
        self.margins = numpy.empty(self.samples, dtype)
        self.pulls = numpy.empty(self.samples, dtype)
        self.w, self.d, self.gradient, self.scratch = (numpy.zeros(features, dtype) for _ in range(4))

    def train(self, w, d, steps):
        self.w[:] = w
        self.d[:] = d
        for _ in range(steps):
            self.step()

    def step(self):
        np = self.numpy
        np.dot(self.signed, self.w, out=self.margins)
        self.write_pulls(self.margins, self.pulls)
        if self.transposed is None:
            np.dot(self.pulls, self.signed, out=self.gradient)
        else:
            np.dot(self.transposed, self.pulls, out=self.gradient)
        np.multiply(self.gradient, self.share, out=self.gradient)
        np.multiply(self.d, self.gamma, out=self.d)
        np.subtract(self.d, self.gradient, out=self.d)
        if self.lam != 0:
            np.multiply(self.w, self.lam, out=self.scratch)
            np.add(self.d, self.scratch, out=self.d)
        np.multiply(self.d, self.eta, out=self.scratch)
        np.subtract(self.w, self.scratch, out=self.w)


class StackedNodes:
    """All nodes as one array of nodes x samples x features, one batched product for each half of a gradient."""

    def __init__(self, signed_of_nodes, settings):
        import numpy

        self.numpy = numpy
        self.signed = numpy.stack(signed_of_nodes)
        count, samples, features = self.signed.shape
        dtype = self.signed.dtype.type
        self.eta, self.gamma, self.lam = dtype(settings.eta), dtype(settings.gamma), dtype(settings.lam)
        self.write_pulls = pulls_of(settings.model)
        self.share = dtype(common.samples_share(settings.model, samples))
        self.margins = numpy.empty((count, samples, 1), dtype)
        self.pulls = numpy.empty((count, 1, samples), dtype)
        self.w, self.d, self.scratch = (numpy.zeros((count, features), dtype) for _ in range(3))
        self.gradient = numpy.zeros((count, 1, features), dtype)

    def train(self, w, d, steps):
        self.w[:] = w
        self.d[:] = d
        for _ in range(steps):
            self.step()

    def step(self):
        np = self.numpy
        np.matmul(self.signed, self.w[:, :, None], out=self.margins)
        self.write_pulls(self.margins[:, :, 0], self.pulls[:, 0, :])
        np.matmul(self.pulls, self.signed, out=self.gradient)
        np.multiply(self.gradient, self.share, out=self.gradient)
        np.multiply(self.d, self.gamma, out=self.d)
        np.subtract(self.d, self.gradient[:, 0, :], out=self.d)
        if self.lam != 0:
            np.multiply(self.w, self.lam, out=self.scratch)
            np.add(self.d, self.scratch, out=self.d)
        np.multiply(self.d, self.eta, out=self.scratch)
        np.subtract(self.w, self.scratch, out=self.w)


def make_nodes(data, form, dtype, settings):
    import numpy

    signed = [common.signed_features(x, labels, dtype) for x, labels in data]
    second = [numpy.ascontiguousarray(s.T) if form == "copies" else None for s in signed]
    return [Node(s, t, settings) for s, t in zip(signed, second)]


def train_nodes(nodes, rounds, map_nodes):
    """Rounds of (local steps on every node, averages of w and d weighted by samples); returns w."""
    import numpy

    weights = numpy.array([node.samples for node in nodes], dtype=nodes[0].signed.dtype)
    weights /= weights.sum()
    w = numpy.zeros_like(nodes[0].w)
    d = numpy.zeros_like(w)
    for steps in rounds:
        for _ in map_nodes(lambda node: node.train(w, d, steps), nodes):
            pass
        w = weights @ numpy.stack([node.w for node in nodes])
        d = weights @ numpy.stack([node.d for node in nodes])
    return w


def train_stacked(nodes, rounds):
    import numpy

    w = numpy.zeros(nodes.w.shape[1], nodes.w.dtype)
    d = numpy.zeros_like(w)
    for steps in rounds:
        nodes.train(w, d, steps)
        w = nodes.w.mean(axis=0)
        d = nodes.d.mean(axis=0)
    return w


def make_training(data, settings, dtype):
    """A function from a list of rounds to the trained w."""
    if settings.form == "stacked":
        stacked = StackedNodes([common.signed_features(x, labels, dtype) for x, labels in data], settings)
        return lambda rounds: train_stacked(stacked, rounds)
    nodes = make_nodes(data, settings.form, dtype, settings)
    if settings.form == "pool":
        pool = concurrent.futures.ThreadPoolExecutor(2)
        return lambda rounds: train_nodes(nodes, rounds, pool.map)
    return lambda rounds: train_nodes(nodes, rounds, map)


def main():
    settings = common.parse_arguments(FORMS)
    common.limit_blas_threads(settings.threads)
    import numpy

    data = common.load_nodes(settings.data)
    train = make_training(data, settings, numpy.float32 if settings.precision == "f32" else numpy.float64)
    rounds = common.intervals(settings.steps, settings.tau)
    train(rounds[: common.WARM_UP_ROUNDS])
    started = time.perf_counter()
    w = train(rounds)
    seconds = time.perf_counter() - started
    loss = common.loss_of(settings.model, data, w, settings.lam)
    common.report("numpy", numpy.__version__, seconds, loss, settings.threads, form=settings.form,
                  precision=settings.precision, rounds=len(rounds))


if __name__ == "__main__":
    main()
