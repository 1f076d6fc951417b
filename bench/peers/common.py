"""What all peers share: arguments, the nodes' data, the loss that is compared, and the result line.

Nothing here imports NumPy before threads are set: BLAS reads its number of threads once, when it is loaded.
"""

import argparse
import json
import os
import pathlib

WARM_UP_ROUNDS = 5
# The regulariser of each model, unless --lambda says otherwise: mfl's own.
LAMBDAS = {"svm": 0.3, "squared-svm": 0.3, "logistic": 0.0, "linear": 0.0}


def parse_arguments(forms):
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True, type=pathlib.Path, help="what mfl data split wrote")
    parser.add_argument("--form", choices=forms, default=forms[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--model", choices=LAMBDAS, default="svm")
    parser.add_argument("--precision", choices=["f32", "f64"], default="f32")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--tau", type=int, default=4)
    parser.add_argument("--eta", type=float, default=0.002)
    parser.add_argument("--gamma", type=float, default=0.5)
    parser.add_argument("--lambda", dest="lam", type=float)
    settings = parser.parse_args()
    if settings.lam is None:
        settings.lam = LAMBDAS[settings.model]
    return settings


def limit_blas_threads(threads):
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)


def load_nodes(folder):
    """One pair (bytes of n x features, +1 for even and -1 for odd digits) per node, in the order of the nodes."""
    import numpy

    nodes = []
    for node in sorted(folder.glob("node-*")):
        digits = numpy.load(node / "y.npy").astype(numpy.int64)
        nodes.append((numpy.load(node / "x.npy"), numpy.where(digits % 2 == 0, 1.0, -1.0)))
    if not nodes:
        raise SystemExit(f"{folder} contains no node-* folder")
    return nodes


def signed_features(bytes_of_node, labels, dtype):
    """y x for every sample, scaled to 0..1: with labels of +1 and -1 every loss needs x only in this product, so it is made once."""
    import numpy

    features = bytes_of_node.astype(numpy.float64) / 255.0
    return numpy.ascontiguousarray((features * labels[:, None]).astype(dtype))


def intervals(steps, tau):
    """The number of local steps of each round; the last may be short."""
    return [min(tau, steps - start) for start in range(0, steps, tau)]


def samples_share(model, samples):
    """What a node's sum over its samples is multiplied by: the paper's hinge has a factor of 1/2."""
    return 1.0 / (2.0 * samples) if model == "svm" else 1.0 / samples


def loss_of(model, nodes, w, lam):
    """F(w) in f64, whatever the peer trained in."""
    import numpy

    losses = {"svm": lambda m: numpy.maximum(0.0, 1.0 - m) / 2, "squared-svm": lambda m: numpy.maximum(0.0, 1.0 - m) ** 2 / 2,
              "logistic": lambda m: numpy.logaddexp(0.0, -m), "linear": lambda m: (1.0 - m) ** 2 / 2}
    w = numpy.asarray(w, dtype=numpy.float64)
    samples = sum(len(labels) for _, labels in nodes)
    total = sum(losses[model](signed_features(x, labels, numpy.float64) @ w).sum() for x, labels in nodes)
    return float(0.5 * lam * (w @ w) + total / samples)


def report(peer, version, seconds, loss, threads, **details):
    print(
        json.dumps(
            {
                "peer": peer,
                "version": version,
                "seconds": seconds,
                "loss": loss,
                "threads": threads,
                "details": details,
            }
        ),
        flush=True,
    )
