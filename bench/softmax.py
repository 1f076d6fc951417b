"""Softmax regression with minibatches on MNIST against a careful NumPy loop, and PyTorch where it is installed: softmax.py --mfl PATH.

The setting is FedML's demo: 1,000 nodes of 60 images, 10 of them per round, one local epoch in batches of 10, eta 0.03, one thread. The peers take the
nodes and batches that mfl draws (Philox, docs/numerics.md), so that the weights can be compared before anything is timed.
"""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"  # read once, when NumPy is loaded

import numpy as np  # noqa: E402

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


def images(folder):
    def read(name, header):
        data = np.fromfile(folder / name, np.uint8)
        return data[header:]
    pixels = read("train-images-idx3-ubyte", 16).reshape(-1, 784).astype(np.float32) / np.float32(255)
    return pixels[:NODES * IMAGES], read("train-labels-idx1-ubyte", 8)[:NODES * IMAGES].astype(np.int64)


def plan(rounds):
    """[(node, order)] of every round, drawn before anything is timed."""
    return [[(node, order(r, node)) for node in chosen_nodes(r)] for r in range(1, rounds + 1)]


def numpy_loop(x, y, rounds):
    hot = np.eye(CLASSES, dtype=np.float32)[y]
    w, b = np.zeros((784, CLASSES), np.float32), np.zeros(CLASSES, np.float32)
    z, g = np.empty((BATCH, CLASSES), np.float32), np.empty((784, CLASSES), np.float32)
    eta, share = np.float32(ETA), np.float32(ETA / BATCH)
    start = time.perf_counter()
    for nodes in rounds:
        sum_w, sum_b = np.zeros((784, CLASSES)), np.zeros(CLASSES)
        for node, rows in nodes:
            own, own_b = w.copy(), b.copy()
            xs, ys = x[node * IMAGES:][:IMAGES][rows], hot[node * IMAGES:][:IMAGES][rows]
            for first in range(0, IMAGES, BATCH):
                batch = xs[first:first + BATCH]
                np.matmul(batch, own, out=z)
                z += own_b
                z -= z.max(axis=1, keepdims=True)
                np.exp(z, out=z)
                z /= z.sum(axis=1, keepdims=True)
                z -= ys[first:first + BATCH]
                np.matmul(batch.T, z, out=g)
                g *= share
                own -= g
                own_b -= share * z.sum(axis=0)
            sum_w += own
            sum_b += own_b
        w, b = (sum_w / CHOSEN).astype(np.float32), (sum_b / CHOSEN).astype(np.float32)
    return time.perf_counter() - start, np.concatenate([w.ravel(), b])


def torch_loop(x, y, rounds):
    import torch
    torch.set_num_threads(1)
    x, y = torch.from_numpy(x), torch.from_numpy(y)
    model = torch.nn.Linear(784, CLASSES)
    for p in model.parameters():
        torch.nn.init.zeros_(p)
    loss_of, optimiser = torch.nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=ETA)
    start = time.perf_counter()
    for nodes in rounds:
        sent = [p.detach().clone() for p in model.parameters()]
        sums = [torch.zeros_like(p) for p in sent]
        for node, rows in nodes:
            with torch.no_grad():
                for p, value in zip(model.parameters(), sent):
                    p.copy_(value)
            xs, ys = x[node * IMAGES:][:IMAGES][rows], y[node * IMAGES:][:IMAGES][rows]
            for first in range(0, IMAGES, BATCH):
                optimiser.zero_grad()
                loss_of(model(xs[first:first + BATCH]), ys[first:first + BATCH]).backward()
                optimiser.step()
            for total, p in zip(sums, model.parameters()):
                total += p.detach()
        with torch.no_grad():
            for p, total in zip(model.parameters(), sums):
                p.copy_(total / CHOSEN)
    seconds = time.perf_counter() - start
    weights, intercept = (p.detach().numpy() for p in model.parameters())
    return seconds, np.concatenate([weights.T.ravel(), intercept])


def mfl_run(binary, rounds, folder):
    weights = folder / "w.npy"
    reply = subprocess.run([str(word) for word in (
        binary, "run", "--data", "mnist", "--train", NODES * IMAGES, "--test", 0, "--model", "softmax", "--intercept", "true",
        "--algorithm", "fl", "--partition", "contiguous", "--nodes", NODES, "--fraction-train", CHOSEN / NODES, "--local-epochs", 1,
        "--batch-size", BATCH, "--rounds", rounds, "--eta", ETA, "--seed", SEED, "--threads", 1, "--record-every", rounds, "--json",
        "--quiet", "--store", folder / "runs.db", "--weights-out", weights)], check=True, capture_output=True, text=True)
    data = json.loads(reply.stdout)["data"]
    return data["wall_seconds"], np.load(weights)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mfl", type=pathlib.Path, required=True)
    parser.add_argument("--mnist", type=pathlib.Path, default=pathlib.Path.home() / ".cache" / "mfl" / "mnist")
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    x, y = images(arguments.mnist)
    rounds = plan(arguments.rounds)
    peers = {"NumPy": numpy_loop}
    try:
        import torch  # noqa: F401
        peers["PyTorch"] = torch_loop
    except ImportError:
        print("PyTorch is not installed: left out", file=sys.stderr)
    ratios = {name: [] for name in peers}
    with tempfile.TemporaryDirectory(prefix="mfl-softmax-") as scratch:
        for _ in range(arguments.repeats):
            own, w = mfl_run(arguments.mfl.resolve(), arguments.rounds, pathlib.Path(scratch))
            for name, loop in peers.items():
                seconds, theirs = loop(x, y, rounds)
                difference = float(np.abs(w - theirs).max() / np.abs(w).max())
                if difference > 1e-4:
                    sys.exit(f"{name}: weights differ by {difference:.2g} of the largest")
                ratios[name].append((seconds / own, seconds, own, difference))
    for name, found in ratios.items():
        found.sort()
        ratio, seconds, own, _ = found[len(found) // 2]
        print(f"{name}: {ratio:.1f} times ({found[0][0]:.1f} to {found[-1][0]:.1f}); {1e3 * own / arguments.rounds:.3f} ms per round against "
              f"{1e3 * seconds / arguments.rounds:.3f}; weights differ by at most {max(f[3] for f in found):.1g} of the largest")


if __name__ == "__main__":
    main()
