"""The work of the trainer comparison: the CNN of the FedAvg paper on MNIST, four nodes of 600 images, MFL with one local epoch in batches of 50.

Batches are drawn from (round, node), so that mfl and Flower train on the same ones. Every process computes on one thread.
"""

import time

import numpy as np
import torch

NODES, IMAGES, BATCH, ETA, GAMMA, SEED = 4, 600, 50, 0.02, 0.9, 1
STEPS = IMAGES // BATCH

torch.set_num_threads(1)


class Cnn(torch.nn.Sequential):
    """1,663,370 parameters."""

    def __init__(self):
        nn = torch.nn
        super().__init__(nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, 10))


def new_model():
    torch.manual_seed(SEED)
    return Cnn()


def images_of(folder, node):
    """(pixels in 0..1, digits) of a node, as tensors."""
    rows = slice(node * IMAGES, (node + 1) * IMAGES)
    pixels = np.fromfile(folder / "train-images-idx3-ubyte", np.uint8)[16:].reshape(-1, 1, 28, 28)[rows]
    digits = np.fromfile(folder / "train-labels-idx1-ubyte", np.uint8)[8:][rows]
    return torch.from_numpy(pixels.astype(np.float32) / np.float32(255)), torch.from_numpy(digits.astype(np.int64))


def seed_of(round_, node):
    return 1000 * round_ + node


def train(model, data, arrays, round_, node):
    """One epoch from (w, d), a list of arrays. Returns the list after it, and the seconds that it took."""
    started = time.perf_counter()
    x, y = data
    parameters = list(model.parameters())
    optimiser = torch.optim.SGD(parameters, lr=ETA, momentum=GAMMA)
    with torch.no_grad():
        for parameter, w, d in zip(parameters, arrays[: len(parameters)], arrays[len(parameters) :], strict=True):
            parameter.copy_(torch.from_numpy(w))
            optimiser.state[parameter]["momentum_buffer"] = torch.from_numpy(d).clone()
    order = np.random.default_rng(seed_of(round_, node)).permutation(IMAGES)
    for step in range(STEPS):
        rows = torch.from_numpy(order[step * BATCH : (step + 1) * BATCH])
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        optimiser.step()
    trained = [parameter.detach().numpy() for parameter in parameters]
    trained += [optimiser.state[parameter]["momentum_buffer"].numpy() for parameter in parameters]
    return trained, time.perf_counter() - started


def mean_loss(folder, weights):
    """F over the images of all nodes."""
    model = new_model()
    with torch.no_grad():
        for parameter, w in zip(model.parameters(), weights, strict=True):
            parameter.copy_(torch.from_numpy(w))
        losses = [torch.nn.functional.cross_entropy(model(x), y).item() for x, y in (images_of(folder, node) for node in range(NODES))]
    return sum(losses) / NODES
