"""Softmax regression with minibatches as a loop in NumPy or PyTorch, on one thread: softmax_loops.py numpy|torch --mnist DIR --rounds N.

`loss --weights FILE` only evaluates F. Prints a line of JSON.
"""

import argparse
import json
import pathlib
import time

import common

common.limit_blas_threads(1)
import numpy as np  # noqa: E402
import softmax_work as work  # noqa: E402

WARM_UP_ROUNDS = 5


def numpy_loop(x, y, rounds):
    hot, epoch = work.one_hot(y), work.Epoch()
    w, b = np.zeros((784, work.CLASSES), np.float32), np.zeros(work.CLASSES, np.float32)
    start = time.perf_counter()
    for nodes in rounds:
        sum_w, sum_b = np.zeros((784, work.CLASSES)), np.zeros(work.CLASSES)
        for node, rows in nodes:
            own, own_b = w.copy(), b.copy()
            first = node * work.IMAGES
            epoch.train(x[first:first + work.IMAGES][rows], hot[first:first + work.IMAGES][rows], own, own_b)
            sum_w += own
            sum_b += own_b
        w, b = (sum_w / work.CHOSEN).astype(np.float32), (sum_b / work.CHOSEN).astype(np.float32)
    return time.perf_counter() - start, np.concatenate([w.ravel(), b]), np.__version__


def torch_loop(x, y, rounds):
    import torch
    torch.set_num_threads(1)
    x, y = torch.from_numpy(x), torch.from_numpy(y)
    model = torch.nn.Linear(784, work.CLASSES)
    for p in model.parameters():
        torch.nn.init.zeros_(p)
    loss_of, optimiser = torch.nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=work.ETA)
    start = time.perf_counter()
    for nodes in rounds:
        sent = [p.detach().clone() for p in model.parameters()]
        sums = [torch.zeros_like(p) for p in sent]
        for node, rows in nodes:
            with torch.no_grad():
                for p, value in zip(model.parameters(), sent):
                    p.copy_(value)
            first = node * work.IMAGES
            xs, ys = x[first:first + work.IMAGES][rows], y[first:first + work.IMAGES][rows]
            for at in range(0, work.IMAGES, work.BATCH):
                optimiser.zero_grad()
                loss_of(model(xs[at:at + work.BATCH]), ys[at:at + work.BATCH]).backward()
                optimiser.step()
            for total, p in zip(sums, model.parameters()):
                total += p.detach()
        with torch.no_grad():
            for p, total in zip(model.parameters(), sums):
                p.copy_(total / work.CHOSEN)
    seconds = time.perf_counter() - start
    weights, intercept = (p.detach().numpy() for p in model.parameters())
    return seconds, np.concatenate([weights.T.ravel(), intercept]), torch.__version__


LOOPS = {"numpy": numpy_loop, "torch": torch_loop}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=[*LOOPS, "loss"])
    parser.add_argument("--mnist", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--weights", type=pathlib.Path)
    settings = parser.parse_args()
    x, y = work.images(settings.mnist)
    if settings.what == "loss":
        print(json.dumps({"loss": work.loss(x, y, np.load(settings.weights))}))
        return
    loop = LOOPS[settings.what]
    loop(x, y, work.plan(WARM_UP_ROUNDS))
    seconds, weights, version = loop(x, y, work.plan(settings.rounds))
    print(json.dumps({"peer": settings.what, "version": version, "seconds": seconds, "rounds": settings.rounds,
                      "loss": work.loss(x, y, weights)}))


if __name__ == "__main__":
    main()
