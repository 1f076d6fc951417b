#!/usr/bin/env python3
"""scikit-learn's SGDClassifier as a trainer: what partial_fit does between two averages is scikit-learn's own.

    mfl run experiment.toml --nodes 4 --trainer "python train.py" --algorithm fl
    mfl node --server HOST:PORT --tls pki/site-a --trainer "python train.py --data my.csv"

w has coef_ and intercept_. The classifier has no momentum of its own that could be averaged, so the algorithm is one without d: fl,
fedavgm, slowmo, fedadam and others (docs/algorithms.md). A step of mfl is one call of partial_fit on a batch, whose samples the classifier
takes one after the other. --data is a CSV file with a header whose last column is the label; without it nodes share the
breast cancer data of scikit-learn.
"""

import argparse
import zlib

import numpy
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss

import mfl.trainer


def load(file):
    if file is None:
        x, y = load_breast_cancer(return_X_y=True)
    else:
        rows = numpy.genfromtxt(file, delimiter=",", skip_header=1)
        x, y = rows[:, :-1], rows[:, -1].astype(int)
    return x, y


class Classifier(mfl.trainer.Trainer):
    hyper_parameters = ("eta", "batch_size")

    def __init__(self, x, y, classes, parts):
        self.x, self.y, self.classes, self.parts = x, y, classes, parts
        self.schema = {"classes": [str(value) for value in classes]}
        rows = 1 if len(classes) == 2 else len(classes)
        self.tensors = {"coef": (rows, x.shape[1]), "intercept": (rows,)}

    def rows(self, node):
        """Every so many rows, beginning with the one that the number in the node's name gives."""
        number = node.rpartition("-")[2]
        first = (int(number) if number.isdigit() else zlib.crc32(node.encode())) % self.parts
        return slice(first, None, self.parts)

    def samples(self, node):
        return len(self.y[self.rows(node)])

    def model(self, w, round):
        """A classifier with the weights `w`."""
        model = SGDClassifier(loss="log_loss", penalty=None, learning_rate="constant", eta0=max(round.eta, 1e-300), shuffle=False)
        model.classes_ = self.classes
        model.coef_, model.intercept_ = w["coef"].astype(float), w["intercept"].astype(float)
        return model

    def train(self, vectors, round):
        x, y = self.x[self.rows(round.node)], self.y[self.rows(round.node)]
        model, losses = self.model(vectors["w"], round), []
        for batch in round.batches(len(y)):
            losses.append(log_loss(y[batch], model.predict_proba(x[batch]), labels=self.classes))
            model.partial_fit(x[batch], y[batch], classes=self.classes)
        round.loss = losses[0] if round.batch_size is None else numpy.mean(losses)
        return {"w": {"coef": model.coef_, "intercept": model.intercept_}}

    def evaluate(self, w, round):
        x, y = self.x[self.rows(round.node)], self.y[self.rows(round.node)]
        return log_loss(y, self.model(w, round).predict_proba(x), labels=self.classes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="CSV file")
    parser.add_argument("--parts", type=int, default=4, help="parts that the rows are divided into; 1 with --data of a node's own (4)")
    parser.add_argument("--listen", help="path of a Unix socket, for mfl node --trainer unix:PATH")
    settings = parser.parse_args()
    x, y = load(settings.data)
    x = (x - x.mean(axis=0)) / numpy.maximum(x.std(axis=0), 1e-12)
    mfl.trainer.serve(Classifier(x, y, numpy.unique(y), settings.parts), settings.listen)


if __name__ == "__main__":
    main()
