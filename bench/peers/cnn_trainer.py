"""The CNN as a trainer of mfl: cnn_trainer.py MNIST SECONDS. Appends the seconds of every round's training to the file SECONDS."""

import pathlib
import sys
import time

import cnn_work
import torch

import mfl.torch
import mfl.trainer


class Timed(mfl.torch.Trainer):
    def train(self, vectors, round):
        started = time.perf_counter()
        round.seed = cnn_work.seed_of(round.round, int(round.node[-1]))
        trained = super().train(vectors, round)
        with open(sys.argv[2], "a") as file:
            file.write(f"{round.round} {time.perf_counter() - started}\n")
        return trained


folder = pathlib.Path(sys.argv[1])
mfl.trainer.serve(Timed(cnn_work.new_model, lambda node: cnn_work.images_of(folder, int(node[-1])), torch.nn.functional.cross_entropy))
