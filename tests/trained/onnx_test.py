#!/usr/bin/env python3
"""onnx_test.py MFL: what other programs make of exported models is what mfl predict says, on every row.

numpy.load opens model files, and onnxruntime runs the graphs. A model file with standardised features is also made here, by the
description in docs/model-files.md.
"""
import csv
import hashlib
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import numpy
import onnxruntime

MFL = sys.argv[1]
HOLDER = tempfile.TemporaryDirectory(prefix="mfl-onnx-")
FOLDER = Path(HOLDER.name)
os.environ["MFL_STORE"] = str(FOLDER / "runs.db")
TOLERANCE = 1e-6


def mfl(*words):
    done = subprocess.run([MFL, *map(str, words)], cwd=FOLDER, capture_output=True, text=True)
    assert done.returncode == 0, f"mfl {' '.join(map(str, words))}: {done.stderr}"
    return done.stdout


def write_rows(path, classes, rows=400, columns=5, seed=1):
    """A class per row that depends on the features; numbers where there are no classes."""
    draw = random.Random(seed)
    with open(path, "w") as out:
        out.write(",".join(f"x{i}" for i in range(columns)) + ",y\n")
        for _ in range(rows):
            x = [draw.gauss(i, 1 + i) for i in range(columns)]
            if classes:
                y = max(range(len(classes)), key=lambda k: (x[k] - k) / (1 + k) + 0.4 * draw.gauss(0, 1))
                label = classes[y]
            else:
                label = f"{x[0] - 0.5 * x[1] + draw.gauss(0, 0.1):.9g}"
            out.write(",".join(f"{v:.9g}" for v in x) + f",{label}\n")


def read_features(path):
    with open(path) as lines:
        rows = list(csv.reader(lines))
    return numpy.array([[float(v) for v in row[:-1]] for row in rows[1:]])


def compare(name, data, model):
    """The graph of a model against mfl predict."""
    mfl("model", "export", model, "--format", "onnx", "--out", f"{name}.onnx")
    said = list(csv.DictReader(mfl("predict", model, "--data", f"csv:{data}").splitlines()))
    session = onnxruntime.InferenceSession(str(FOLDER / f"{name}.onnx"), providers=["CPUExecutionProvider"])
    features = read_features(FOLDER / data)
    outputs = {o.name: v for o, v in zip(session.get_outputs(), session.run(None, {"features": features}))}
    assert len(said) == len(features) > 0
    if "prediction" in outputs:
        ours = numpy.array([float(row["prediction"]) for row in said])
        worst = numpy.max(numpy.abs(ours - outputs["prediction"]) / numpy.maximum(1, numpy.abs(ours)))
        assert outputs["prediction"].shape == (len(said),)
    else:
        labels = [str(label) for label in outputs["label"]]
        assert labels == [row["label"] for row in said], f"{name}: labels differ"
        assert len(set(labels)) > 1, f"{name}: every row has the same label"
        columns = list(said[0])[1:]
        theirs = outputs["scores" if columns == ["score"] else "probabilities"]
        ours = numpy.array([[float(row[c]) for c in columns] for row in said])
        worst = numpy.max(numpy.abs(ours - theirs) / numpy.maximum(1, numpy.abs(ours)))
        if columns != ["score"]:
            assert numpy.allclose(theirs.sum(axis=1), 1)
    assert worst <= TOLERANCE, f"{name}: differs by {worst}"
    return session


def train(name, *flags):
    mfl("run", "--nodes", "3", "--steps", "60", "--eta", "0.02", "--test", "0", "--name", name, "--quiet", *flags)


def check_run(name, data, *flags):
    train(name, "--data", f"csv:{data}", *flags)
    session = compare(name, data, name)
    shown = json.loads(mfl("model", "show", name, "--json"))["data"]
    properties = session.get_modelmeta().custom_metadata_map
    assert properties["digest"] == shown["digest"] and properties["run"] == shown["run"]
    assert json.loads(properties["features"]) == shown["schema"]["features"]
    mfl("model", "export", name, "--format", "npz", "--out", f"{name}.npz")
    arrays = numpy.load(FOLDER / f"{name}.npz")
    weights = numpy.concatenate([arrays[tensor["name"]].ravel() for tensor in shown["tensors"]])
    assert hashlib.sha256(weights.tobytes()).hexdigest() == shown["digest"], "numpy has other weights"
    compare(name + "-file", data, f"{name}.npz")


def zip_of(members):
    out, directory = b"", b""
    for name, body in members:
        header = struct.pack("<HHHHHIIIHH", 20, 1 << 11, 0, 0, 33, zlib.crc32(body), len(body), len(body),
                             len(name), 0)
        directory += struct.pack("<IH", 0x02014B50, 20) + header + struct.pack("<HHHII", 0, 0, 0, 0, len(out))
        directory += name.encode()
        out += struct.pack("<I", 0x04034B50) + header + name.encode() + body
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, len(members), len(members), len(directory), len(out), 0)
    return out + directory + end


def standardised(source, target):
    """The same model on features that are standardised first."""
    arrays = numpy.load(FOLDER / source)
    about = json.loads(arrays["mfl.json"])
    columns = about["schema"]["columns"]
    means = [0.25 * i for i in range(columns)]
    deviations = [1.5 + i for i in range(columns)]
    about["schema"]["preprocessing"] = {"intercept": False, "standardise": "full", "means": means,
                                        "deviations": deviations}
    about["scale"] = 0.5
    members = [(f"{tensor['name']}.npy", arrays[tensor["name"]]) for tensor in about["tensors"]]
    members += [("means.npy", numpy.array(means)), ("deviations.npy", numpy.array(deviations))]
    bodies = []
    for name, numbers in members:
        path = FOLDER / name
        numpy.save(path, numbers)
        bodies.append((name, path.read_bytes()))
    del about["sha256"]
    text = json.dumps(about, separators=(",", ":"))
    digest = hashlib.sha256(b"".join(n.encode() + b for n, b in bodies) + text.encode()).hexdigest()
    bodies.append(("mfl.json", f'{text[:-1]},"sha256":"{digest}"}}'.encode()))
    (FOLDER / target).write_bytes(zip_of(bodies))


def main():
    write_rows(FOLDER / "two.csv", ["no", "yes"])
    write_rows(FOLDER / "numbers.csv", ["0", "1"])
    write_rows(FOLDER / "three.csv", ["red", "green", "blue"])
    write_rows(FOLDER / "whole.csv", ["1", "2", "10"])
    write_rows(FOLDER / "amounts.csv", [])
    check_run("logistic", "two.csv", "--model", "logistic")
    check_run("first-is-positive", "two.csv", "--model", "logistic", "--positive", "no", "--precision", "f64")
    check_run("whole-labels", "numbers.csv", "--model", "logistic", "--scale", "0.5")
    check_run("svm", "two.csv", "--model", "svm")
    check_run("squared-svm", "numbers.csv", "--model", "squared-svm", "--positive", "0")
    check_run("softmax", "three.csv", "--model", "softmax")
    check_run("softmax-intercept", "whole.csv", "--model", "softmax", "--intercept", "true")
    check_run("linear", "amounts.csv", "--model", "linear")
    for name, data in (("softmax-intercept", "whole.csv"), ("logistic", "two.csv"), ("linear", "amounts.csv")):
        standardised(f"{name}.npz", f"{name}-standardised.npz")
        compare(f"{name}-standardised", data, f"{name}-standardised.npz")
        assert mfl("predict", f"{name}-standardised.npz", "--data", f"csv:{data}") != \
            mfl("predict", f"{name}.npz", "--data", f"csv:{data}"), "standardising changed nothing"


main()
print("ok")
