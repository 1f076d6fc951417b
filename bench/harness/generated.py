"""Data for bench/ab.py, written into a temporary folder; the same bytes on every machine."""

import random
import struct

PIXELS = 784
CLASSES = 10
DISTINCT_LINES = 20_000  # of a CSV file; longer files repeat them in random order


def images(folder, count):
    """An IDX set of `count` pictures of 28 x 28 bytes in ten classes, about a fifth of the pixels set as in MNIST: a picture per class
    with some of its pixels missing and some others set."""
    draw = random.Random(1)

    def scattered(share, value):
        return int.from_bytes(bytes(value() if draw.random() < share else 0 for _ in range(PIXELS)), "big")

    pictures = [scattered(0.2, lambda: draw.randrange(1, 256)) for _ in range(CLASSES)]
    kept = [scattered(0.85, lambda: 255) for _ in range(251)]
    added = [scattered(0.03, lambda: draw.randrange(1, 256)) for _ in range(241)]
    labels = bytes(draw.choices(range(CLASSES), k=count))
    folder.mkdir()
    with open(folder / "train-images-idx3-ubyte", "wb") as out:
        out.write(struct.pack(">IIII", 0x803, count, 28, 28))
        for label in labels:
            picture = pictures[label] & draw.choice(kept) | draw.choice(added)
            out.write(picture.to_bytes(PIXELS, "big"))
    (folder / "train-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, count) + labels)


def csv(file, rows, columns, labels=("no", "yes")):
    """Features between -1 and 1 with six decimals, and a label of two, the last column."""
    draw = random.Random(2)
    plane = [draw.uniform(-1, 1) for _ in range(columns)]
    lines = []
    for _ in range(min(rows, DISTINCT_LINES)):
        features = [draw.uniform(-1, 1) for _ in range(columns)]
        above = sum(x * p for x, p in zip(features, plane)) > draw.gauss(0, 0.1)
        lines.append(",".join(f"{x:.6f}" for x in features) + f",{labels[above]}\n")
    with open(file, "w", encoding="ascii") as out:
        out.write(",".join(f"x{i}" for i in range(columns)) + ",label\n")
        out.writelines(lines)
        out.writelines(draw.choices(lines, k=rows - len(lines)))


def libsvm(file, rows, columns, classes, nonzeros, seed):
    """Sparse rows; every class and the last column occur if there are at least `classes` rows."""
    draw = random.Random(seed)
    with open(file, "w", encoding="ascii") as out:
        for row in range(rows):
            at = sorted({*draw.sample(range(1, columns), nonzeros - 1), columns})
            out.write(f"{row % classes} " + " ".join(f"{i}:{draw.uniform(-1, 1):.4f}" for i in at) + "\n")
