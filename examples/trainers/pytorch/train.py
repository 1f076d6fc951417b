#!/usr/bin/env python3
"""A small CNN as a trainer, in PyTorch with the Python package of mfl.

    mfl node --server HOST:PORT --tls pki/site-a --trainer "python train.py"
    mfl run experiment.toml --nodes 4 --trainer "python train.py"

The data is MNIST from mfl's cache (mfl data fetch mnist), or the digits of scikit-learn where that does not exist. A node has the
rows that its name chooses: one of --parts parts, by the number at its end or, without one, by a checksum of the name.
"""

import argparse
import gzip
import os
import pathlib
import zlib

import numpy
import torch

import mfl.torch
import mfl.trainer


def read_idx(file):
    """An array of bytes, plain or gzipped."""
    raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    shape = numpy.frombuffer(raw, ">u4", raw[3], 4).astype(int)
    return numpy.frombuffer(raw, numpy.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def load(folder, samples):
    """(images, labels) as tensors; the images have one channel and pixels in 0..1."""
    found = [sorted(folder.glob(f"train-{part}*")) for part in ("images", "labels")]
    if all(found):
        images, labels = (read_idx(files[0]) for files in found)
        images = images / 255.0
    else:
        from sklearn.datasets import load_digits

        digits = load_digits()
        images, labels = digits.images / 16.0, digits.target
    return torch.tensor(images[:samples, None], dtype=torch.float32), torch.tensor(labels[:samples], dtype=torch.int64)


def network(side):
    return torch.nn.Sequential(torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                               torch.nn.Flatten(), torch.nn.Linear(8 * (side // 2) ** 2, 10))


def part_of(node, parts):
    number = node.rpartition("-")[2]
    return (int(number) if number.isdigit() else zlib.crc32(node.encode())) % parts


def main():
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "mfl" / "mnist"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mnist", type=pathlib.Path, default=cache)
    parser.add_argument("--samples", type=int, default=6000, help="of all nodes and of the test set (6000)")
    parser.add_argument("--parts", type=int, default=4, help="parts that the training samples are divided into (4)")
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch (1)")
    parser.add_argument("--listen", help="path of a Unix socket, for mfl node --trainer unix:PATH")
    settings = parser.parse_args()
    torch.set_num_threads(settings.threads)
    images, labels = load(settings.mnist, settings.samples)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(1))
    test, rest = order[: len(order) // 6], order[len(order) // 6 :]

    def data(node):
        rows = rest[part_of(node, settings.parts) :: settings.parts]
        return images[rows], labels[rows]

    trainer = mfl.torch.Trainer(lambda: network(images.shape[-1]), data, torch.nn.functional.cross_entropy,
                                test=(images[test], labels[test]), test_every=0, schema={"classes": [str(digit) for digit in range(10)]})
    mfl.trainer.serve(trainer, settings.listen)


if __name__ == "__main__":
    main()
