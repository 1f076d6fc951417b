"""MFL of the CNN on Flower's deployment engine: a SuperLink and four SuperNodes as flower_deploy.py starts them."""

import argparse
import json
import pathlib
import tempfile

import cnn_work
import flower_deploy
import flwr
import numpy as np

MODULES = ["cnn_work.py", "flower_cnn_client.py", "flower_cnn_server.py"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mnist", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--warm-up", type=int, default=1)
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mfl-flower-") as folder:
        scratch = pathlib.Path(folder)
        outcome = scratch / "outcome.npz"
        flower_deploy.write_app(scratch / "app", {"rounds": settings.rounds, "warm-up": settings.warm_up, "outcome": str(outcome),
                                                  "folder": str(settings.mnist.resolve())}, MODULES, "flower_cnn")
        with flower_deploy.Federation(scratch, cnn_work.NODES) as federation:
            federation.submit(scratch / "app")
            federation.wait_for(outcome)
        with np.load(outcome) as found:
            rounds, slowest = found["rounds"].tolist(), found["slowest"].tolist()
            weights = [found[name] for name in sorted((n for n in found.files if n.startswith("arr_")), key=lambda n: int(n[4:]))]
    print(json.dumps({"peer": "flower", "version": flwr.__version__, "loss": cnn_work.mean_loss(settings.mnist, weights),
                      "rounds": rounds, "slowest": slowest}), flush=True)


if __name__ == "__main__":
    main()
