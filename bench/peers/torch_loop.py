"""MFL on the paper's linear models in PyTorch on the CPU: gradient written out, inference mode, preallocated outputs.

Forms: nodes (one matrix per node), bmm (all nodes in one batched product; needs shards of one size), compiled (a step of one node
by torch.compile, which needs a C++ compiler) and pool (nodes on two Python threads).
"""

import concurrent.futures
import time

import common

FORMS = ["nodes", "bmm", "compiled", "pool"]


def pulls_of(model):
    """A function that writes how strongly each sample pulls, minus the derivative of its loss by y z, from the margins y z."""
    import torch

    def hinge(margins, out):
        torch.lt(margins, 1, out=out)

    def residual(margins, out):
        torch.neg(margins, out=out).add_(1)

    def squared_hinge(margins, out):
        torch.neg(margins, out=out).add_(1).clamp_(min=0)

    def logistic(margins, out):
        torch.neg(margins, out=out).sigmoid_()

    return {"svm": hinge, "squared-svm": squared_hinge, "logistic": logistic, "linear": residual}[model]


def compiled_step(settings, samples):
    """(signed features, w, d) -> (w, d) after a step."""
    import torch

    pulls = {"svm": lambda m: (m < 1).to(m.dtype), "squared-svm": lambda m: (1 - m).clamp(min=0),
             "logistic": lambda m: torch.sigmoid(-m), "linear": lambda m: 1 - m}[settings.model]
    share = common.samples_share(settings.model, samples)

    def step(signed, w, d):
        gradient = signed.t().mv(pulls(signed.mv(w)))
        d = settings.gamma * d - share * gradient
        if settings.lam != 0:
            d = d + settings.lam * w
        return w - settings.eta * d, d

    return torch.compile(step, fullgraph=True, dynamic=False)


class Node:
    def __init__(self, signed, settings):
        import torch

        self.torch = torch
        self.settings = settings
        self.signed = signed
        self.transposed = signed.t()
        self.samples, features = signed.shape
        self.margins = torch.empty(self.samples, dtype=signed.dtype)
        self.pulls = torch.empty(self.samples, dtype=signed.dtype)
        self.write_pulls = pulls_of(settings.model)
        self.share = common.samples_share(settings.model, self.samples)
        self.gradient = torch.empty(features, dtype=signed.dtype)
        self.w = torch.zeros(features, dtype=signed.dtype)
        self.d = torch.zeros(features, dtype=signed.dtype)

    def train(self, w, d, steps):
        with self.torch.inference_mode():
            self.w.copy_(w)
            self.d.copy_(d)
            for _ in range(steps):
                self.step()

    def step(self):
        torch, settings = self.torch, self.settings
        torch.mv(self.signed, self.w, out=self.margins)
        self.write_pulls(self.margins, self.pulls)
        torch.mv(self.transposed, self.pulls, out=self.gradient)
        self.d.mul_(settings.gamma).add_(self.gradient, alpha=-self.share)
        if settings.lam != 0:
            self.d.add_(self.w, alpha=settings.lam)
        self.w.add_(self.d, alpha=-settings.eta)


class CompiledNode:
    def __init__(self, signed, settings, step):
        self.signed, self.step = signed, step
        self.samples = len(signed)
        self.w = self.d = signed.new_zeros(signed.shape[1])

    def train(self, w, d, steps):
        self.w, self.d = w, d
        for _ in range(steps):
            self.w, self.d = self.step(self.signed, self.w, self.d)


class BatchedNodes:
    def __init__(self, signed_of_nodes, settings):
        import torch

        self.torch = torch
        self.settings = settings
        self.signed = torch.stack(signed_of_nodes)
        self.transposed = self.signed.transpose(1, 2)
        count, samples, features = self.signed.shape
        self.write_pulls = pulls_of(settings.model)
        self.share = common.samples_share(settings.model, samples)
        dtype = self.signed.dtype
        self.margins = torch.empty(count, samples, 1, dtype=dtype)
        self.pulls = torch.empty(count, samples, 1, dtype=dtype)
        self.gradient = torch.empty(count, features, 1, dtype=dtype)
        self.w = torch.zeros(count, features, 1, dtype=dtype)
        self.d = torch.zeros(count, features, 1, dtype=dtype)

    def train(self, w, d, steps):
        self.w.copy_(w.expand_as(self.w))
        self.d.copy_(d.expand_as(self.d))
        for _ in range(steps):
            self.step()

    def step(self):
        torch, settings = self.torch, self.settings
        torch.bmm(self.signed, self.w, out=self.margins)
        self.write_pulls(self.margins, self.pulls)
        torch.bmm(self.transposed, self.pulls, out=self.gradient)
        self.d.mul_(settings.gamma).add_(self.gradient, alpha=-self.share)
        if settings.lam != 0:
            self.d.add_(self.w, alpha=settings.lam)
        self.w.add_(self.d, alpha=-settings.eta)


def train_nodes(nodes, rounds, map_nodes):
    """Rounds of (local steps on every node, averages of w and d weighted by samples); returns w."""
    import torch

    weights = torch.tensor([node.samples for node in nodes], dtype=nodes[0].w.dtype)
    weights /= weights.sum()
    w = torch.zeros_like(nodes[0].w)
    d = torch.zeros_like(w)
    for steps in rounds:
        for _ in map_nodes(lambda node: node.train(w, d, steps), nodes):
            pass
        w = weights @ torch.stack([node.w for node in nodes])
        d = weights @ torch.stack([node.d for node in nodes])
    return w


def train_batched(nodes, rounds):
    import torch

    w = torch.zeros_like(nodes.w[:1])
    d = torch.zeros_like(w)
    for steps in rounds:
        nodes.train(w, d, steps)
        w = nodes.w.mean(dim=0, keepdim=True)
        d = nodes.d.mean(dim=0, keepdim=True)
    return w.flatten()


def make_training(data, settings, dtype):
    """A function from a list of rounds to the trained w."""
    import numpy
    import torch

    signed = [torch.from_numpy(common.signed_features(x, labels, numpy.float64)).to(dtype) for x, labels in data]
    if settings.form == "bmm":
        batched = BatchedNodes(signed, settings)
        return lambda rounds: train_batched(batched, rounds)
    if settings.form == "compiled":
        steps = {samples: compiled_step(settings, samples) for samples in {len(s) for s in signed}}
        compiled = [CompiledNode(s, settings, steps[len(s)]) for s in signed]
        return lambda rounds: train_nodes(compiled, rounds, map)
    nodes = [Node(s, settings) for s in signed]
    if settings.form == "pool":
        pool = concurrent.futures.ThreadPoolExecutor(2)
        return lambda rounds: train_nodes(nodes, rounds, pool.map)
    return lambda rounds: train_nodes(nodes, rounds, map)


def main():
    settings = common.parse_arguments(FORMS)
    common.limit_blas_threads(settings.threads)
    import torch

    torch.set_num_threads(settings.threads)
    data = common.load_nodes(settings.data)
    rounds = common.intervals(settings.steps, settings.tau)
    with torch.inference_mode():
        train = make_training(data, settings, torch.float32 if settings.precision == "f32" else torch.float64)
        train(rounds[: common.WARM_UP_ROUNDS])
        started = time.perf_counter()
        w = train(rounds)
        seconds = time.perf_counter() - started
    loss = common.loss_of(settings.model, data, w.numpy(), settings.lam)
    common.report("torch", torch.__version__, seconds, loss, settings.threads, form=settings.form,
                  precision=settings.precision, rounds=len(rounds))


if __name__ == "__main__":
    main()
