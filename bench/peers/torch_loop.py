"""MFL on the hinge SVM in PyTorch on the CPU: gradient written out, inference mode, preallocated outputs.

Forms: nodes (one matrix per node), bmm (all nodes in one batched product; needs shards of one size) and pool (nodes on two
Python threads).
"""

import concurrent.futures
import time

import common

FORMS = ["nodes", "bmm", "pool"]


class Node:
    def __init__(self, signed, settings):
        import torch

        self.torch = torch
        self.settings = settings
        self.signed = signed
        self.transposed = signed.t()
        self.samples, features = signed.shape
        self.margins = torch.empty(self.samples, dtype=signed.dtype)
        self.active = torch.empty(self.samples, dtype=signed.dtype)
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
        torch.lt(self.margins, 1, out=self.active)
        torch.mv(self.transposed, self.active, out=self.gradient)
        self.d.mul_(settings.gamma).add_(self.gradient, alpha=-0.5 / self.samples).add_(self.w, alpha=settings.lam)
        self.w.add_(self.d, alpha=-settings.eta)


class BatchedNodes:
    def __init__(self, signed_of_nodes, settings):
        import torch

        self.torch = torch
        self.settings = settings
        self.signed = torch.stack(signed_of_nodes)
        self.transposed = self.signed.transpose(1, 2)
        count, self.samples, features = self.signed.shape
        dtype = self.signed.dtype
        self.margins = torch.empty(count, self.samples, 1, dtype=dtype)
        self.active = torch.empty(count, self.samples, 1, dtype=dtype)
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
        torch.lt(self.margins, 1, out=self.active)
        torch.bmm(self.transposed, self.active, out=self.gradient)
        self.d.mul_(settings.gamma).add_(self.gradient, alpha=-0.5 / self.samples).add_(self.w, alpha=settings.lam)
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
    loss = common.svm_loss(data, w.numpy(), settings.lam)
    common.report("torch", torch.__version__, seconds, loss, settings.threads, form=settings.form,
                  precision=settings.precision, rounds=len(rounds))


if __name__ == "__main__":
    main()
