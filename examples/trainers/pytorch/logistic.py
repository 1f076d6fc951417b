#!/usr/bin/env python3
"""mfl's own logistic model without an intercept, in PyTorch: train.py of ../numpy with mfl.torch in place of the arithmetic.

    mfl run experiment.toml --nodes 4 --trainer "python logistic.py --data FOLDER"

--data is a folder of folders with x.npy and y.npy, one per node (mfl data split writes such), or one of these.
"""

import argparse
import pathlib

import numpy
import torch

import mfl.torch
import mfl.trainer


class Logistic(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weights = torch.nn.Parameter(torch.zeros(columns))

    def forward(self, x):
        return x @ self.weights


def load(folder, node, positive):
    if not (folder / "x.npy").exists():
        parts = sorted(folder.iterdir())
        folder = next((part for part in parts if part.name == node), None) or parts[int(node.rpartition("-")[2]) % len(parts)]
    x, labels = numpy.load(folder / "x.npy"), numpy.load(folder / "y.npy")
    if x.dtype == numpy.uint8:
        x = x / 255.0
    return x.astype(numpy.float64), (labels == positive).astype(numpy.float64)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--positive", type=float, default=1, help="the label of the positive class (1)")
    parser.add_argument("--lambda", dest="penalty", type=float, default=0.0)
    parser.add_argument("--listen", help="path of a Unix socket, for mfl node --trainer unix:PATH")
    settings = parser.parse_args()
    torch.set_num_threads(1)
    columns = load(settings.data, "node-0", settings.positive)[0].shape[1]

    class Trainer(mfl.torch.Trainer):
        def batch_loss(self, batch):
            x, y = batch
            z = self.model(x)
            penalty = 0.5 * settings.penalty * (self.model.weights**2).sum()
            return (torch.nn.functional.softplus(z) - y * z).mean() + penalty, len(y), None, None

    mfl.trainer.serve(Trainer(lambda: Logistic(columns), lambda node: load(settings.data, node, settings.positive), None), settings.listen)


if __name__ == "__main__":
    main()
