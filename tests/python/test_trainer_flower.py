"""mfl.flower with a client that has Flower's methods; flwr itself is not needed."""

import numpy
import pytest
from test_trainer_serve import Served
from trainer_peer import Peer, Refused, federate

import mfl.flower


class Client:
    """Least squares as a Flower NumPyClient; `count` is an integer, as num_batches_tracked of a PyTorch model is."""

    def __init__(self, node="a", loss=True, samples=None):
        draw = numpy.random.default_rng(len(node))
        self.x, self.loss, self.samples, self.configs = draw.normal(size=(20, 3)), loss, samples, []
        self.y = self.x @ [1.0, -2.0, 0.5]

    def get_parameters(self, config):
        return [numpy.zeros(3, "f4"), numpy.array(5)]

    def fit(self, parameters, config):
        self.configs.append(config)
        w, count = parameters
        assert w.dtype == numpy.float32 and count.dtype.kind == "i"
        loss = 0.5 * ((self.x @ w - self.y) ** 2).mean()
        for _ in range(config["local_steps"]):
            w = w - config["eta"] * self.x.T @ (self.x @ w - self.y) / 20
        metrics = {"loss": loss, "note": "text"} if self.loss else {}
        return [w.astype("f4"), count], self.samples or 20, metrics

    def evaluate(self, parameters, config):
        return 0.5 * float(((self.x @ parameters[0] - self.y) ** 2).mean()), 20, {"accuracy": 0.5}


def peer_of(connection, nodes=("a",), **settings):
    return Peer(connection, list(nodes), algorithm="fl", vectors=["w"], eta=0.2, **settings)


@pytest.mark.parametrize("loss", [True, False])
def test_rounds(loss):
    client = Client(loss=loss)
    with Served(mfl.flower.Trainer(client, 20)) as connection:
        peer = peer_of(connection)
        assert peer.shapes == {"p0": (3,), "p1": ()}
        vectors, losses = federate([peer], 100, 3)
        numpy.testing.assert_allclose(vectors["w"]["p0"], [1, -2, 0.5], atol=1e-3)
        assert vectors["w"]["p1"] == 5 and losses[-1] < 1e-3 * losses[0]
        found = peer.evaluate("a", 101, vectors["w"])
        assert found["metrics"] == {"test_loss": found["loss"], "test_samples": 20.0, "test_accuracy": 0.5}
    assert client.configs[6]["eta"] == 0.2
    assert client.configs[6]["server_round"] == 7 and client.configs[6]["local_steps"] == 3 and client.configs[6]["seed"] > 0


def test_a_client_for_each_node():
    with Served(mfl.flower.Trainer(Client, {"a": 20, "bb": 20}, names=["w", "count"])) as connection:
        peer = peer_of(connection, ["a", "bb"])
        assert list(peer.shapes) == ["w", "count"]
        start = {"w": {"w": numpy.zeros(3, "f4"), "count": numpy.array(5, "f4")}}
        assert peer.train("a", 1, 1, start)[0]["loss"] != peer.train("bb", 1, 1, start)[0]["loss"]


def test_refusals(capfd):
    with Served(mfl.flower.Trainer(Client(), 20)) as connection, pytest.raises(Refused, match="this trainer has no d"):
        Peer(connection, ["a"], eta=0.2, gamma=0.5)
    with Served(mfl.flower.Trainer(Client(samples=19), 20)) as connection:
        peer = peer_of(connection)
        with pytest.raises(Refused, match="fit returned 19 samples and the trainer was made with 20"):
            peer.train("a", 1, 1, {"w": peer.initialise()})
    with Served(mfl.flower.Trainer(object(), 20)) as connection, pytest.raises(Refused, match="object has no get_parameters"):
        peer_of(connection)
    with Served(mfl.flower.Trainer(Client(), 20, names=["w"])) as connection, pytest.raises(Refused, match="1 names for the 2 arrays"):
        peer_of(connection)
