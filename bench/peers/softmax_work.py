"""The work of the softmax comparison: FedML's setting, the nodes and batches that mfl draws (Philox, docs/numerics.md), and a node's epoch in NumPy.

1,000 nodes of 60 MNIST images, 10 of them per round, one local epoch in batches of 10, eta 0.03. Import it after the number of BLAS threads is set.
"""

import hashlib

import numpy as np

NODES, CHOSEN, IMAGES, BATCH, CLASSES, ETA, SEED = 1000, 10, 60, 10, 10, 0.03, 1
CHOOSE_NODES, BATCHES = 16, 20  # purposes of streams
WORD = 1 << 64


class Stream:
    def __init__(self, purpose, round_, node, part=0):
        counter = round_ * WORD + node * WORD**2 + part * WORD**3
        self.bits = np.random.Philox(counter=(counter - 1) % WORD**4, key=SEED + purpose * WORD)

    def below(self, bound):
        excess = (WORD - bound) % bound
        while True:
            x = int(self.bits.random_raw())
            if x >= excess:
                return x % bound


def chosen_nodes(round_):
    stream, taken, out = Stream(CHOOSE_NODES, round_, 1), set(), []
    for i in range(CHOSEN):
        last = NODES - CHOSEN + i
        number = stream.below(last + 1)
        number = last if number in taken else number
        taken.add(number)
        out.append(number)
    return sorted(out)


def order(round_, node):
    key = int.from_bytes(hashlib.sha256(f"node-{node:04}".encode()).digest()[:8], "big")
    stream, rows = Stream(BATCHES, round_, key), list(range(IMAGES))
    for i in range(IMAGES, 1, -1):
        j = stream.below(i)
        rows[i - 1], rows[j] = rows[j], rows[i - 1]
    return np.array(rows)


def plan(rounds):
    """[(node, order)] of every round, drawn before anything is timed."""
    return [[(node, order(r, node)) for node in chosen_nodes(r)] for r in range(1, rounds + 1)]


def images(folder):
    """Pixels as f32 in 0..1, and digits."""
    def read(name, header):
        data = np.fromfile(folder / name, np.uint8)
        return data[header:]
    pixels = read("train-images-idx3-ubyte", 16).reshape(-1, 784).astype(np.float32) / np.float32(255)
    return pixels[:NODES * IMAGES], read("train-labels-idx1-ubyte", 8)[:NODES * IMAGES].astype(np.int64)


def one_hot(y):
    return np.eye(CLASSES, dtype=np.float32)[y]


class Epoch:
    """A node's epoch: two BLAS products per batch into arrays that are made once."""

    def __init__(self):
        self.z, self.g = np.empty((BATCH, CLASSES), np.float32), np.empty((784, CLASSES), np.float32)

    def train(self, xs, ys, w, b):
        """Changes w and b. xs and ys (one-hot) are in the order of the batches."""
        z, g, share = self.z, self.g, np.float32(ETA / BATCH)
        for first in range(0, IMAGES, BATCH):
            batch = xs[first:first + BATCH]
            np.matmul(batch, w, out=z)
            z += b
            z -= z.max(axis=1, keepdims=True)
            np.exp(z, out=z)
            z /= z.sum(axis=1, keepdims=True)
            z -= ys[first:first + BATCH]
            np.matmul(batch.T, z, out=g)
            g *= share
            w -= g
            b -= share * z.sum(axis=0)


def loss(x, y, weights):
    """F(w) in f64, whatever the peer trained in; `weights` is the matrix, row by row, and the intercepts."""
    w, b = weights[:-CLASSES].astype(np.float64).reshape(784, CLASSES), weights[-CLASSES:].astype(np.float64)
    total = 0.0
    for first in range(0, len(x), 10000):
        z = x[first:first + 10000].astype(np.float64) @ w + b
        top = z.max(axis=1)
        total += (top + np.log(np.exp(z - top[:, None]).sum(axis=1)) - z[np.arange(len(z)), y[first:first + 10000]]).sum()
    return total / len(x)
