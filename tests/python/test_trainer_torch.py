"""mfl.torch: momentum buffers are d, the same request gives the same bits, and every form of data."""

import logging
import pathlib
import sys

import numpy
import pytest
import trainer_peer
from trainer_peer import Peer, Refused

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import mfl.torch  # noqa: E402
import mfl.trainer  # noqa: E402
from test_trainer_serve import PYTHON, Served, vectors_of  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
F = torch.nn.functional

draw = numpy.random.default_rng(3)
X = torch.from_numpy(draw.normal(size=(60, 4)).astype("f4"))
Y = torch.from_numpy(draw.integers(0, 3, size=60))


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Net(torch.nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Dropout(dropout))
        self.head = torch.nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.body(x))


def linear():
    torch.manual_seed(0)
    return torch.nn.Linear(4, 3)


def peer_of(connection, nodes=("a",), vectors=("w", "d"), **settings):
    return Peer(connection, list(nodes), **{"eta": 0.1, "gamma": 0.9, "vectors": vectors, **settings})


@pytest.mark.parametrize("settings", [{}, {"nesterov": True}, {"gamma": 0.0}])
def test_rounds_on_one_node_are_one_long_run_of_sgd(settings):
    """The momentum buffer travels as d: bit for bit what an optimiser that lives on would do."""
    model = linear()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=settings.get("gamma", 0.9), nesterov=settings.get("nesterov", False))
    for _ in range(15):
        optimiser.zero_grad()
        F.cross_entropy(model(X), Y).backward()
        optimiser.step()
    with Served(mfl.torch.Trainer(linear, (X, Y), F.cross_entropy)) as connection:
        peer = peer_of(connection, **settings)
        vectors, losses = trainer_peer.federate([peer], 5, 3, {name: value.detach().numpy() for name, value in linear().named_parameters()})
    for name, value in model.named_parameters():
        assert (vectors["w"][name] == value.detach().numpy()).all()
        buffer = optimiser.state[value].get("momentum_buffer", value.grad)
        assert (vectors["d"][name] == (buffer if buffer is not None else value.grad).numpy()).all()
    assert losses[-1] < losses[0]


def test_d_that_was_sent_is_used():
    with Served(mfl.torch.Trainer(linear, (X, Y), F.cross_entropy)) as connection:
        peer = peer_of(connection, precision="f64")
        w = peer.initialise()
        d = {name: numpy.full_like(array, 2.0) for name, array in w.items()}
        _, update = peer.train("a", 1, 1, {"w": w, "d": d})
        _, fresh = peer.train("a", 1, 1, {"w": w, "d": peer.zeros()})
        for name in w:
            gradient = fresh["d"][name]
            numpy.testing.assert_allclose(update["d"][name], 0.9 * 2 + gradient, rtol=1e-14)
            numpy.testing.assert_allclose(update["w"][name], w[name] - 0.1 * update["d"][name], rtol=1e-14)


def test_weight_decay_and_the_proximal_term():
    def gradient(w, b):
        layer = linear().double()
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(w))
            layer.bias.copy_(torch.from_numpy(b))
        F.cross_entropy(layer(X.double()), Y).backward()
        return layer.weight.grad.numpy(), layer.bias.grad.numpy()

    with Served(mfl.torch.Trainer(linear, (X, Y), F.cross_entropy, weight_decay=0.01)) as connection:
        peer = peer_of(connection, precision="f64", mu=0.3)
        vectors = vectors_of(peer)
        _, update = peer.train("a", 1, 4, vectors)
    w = [vectors["w"]["weight"], vectors["w"]["bias"]]
    x, d = [part.copy() for part in w], [numpy.zeros_like(part) for part in w]
    for _ in range(4):
        g = gradient(*x)
        for i in range(2):
            d[i] = 0.9 * d[i] + g[i] + 0.01 * x[i] + 0.3 * (x[i] - w[i])
        x = [x[i] - 0.1 * d[i] for i in range(2)]
    numpy.testing.assert_allclose(update["w"]["weight"], x[0], rtol=1e-13)
    numpy.testing.assert_allclose(update["d"]["bias"], d[1], rtol=1e-12)


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return len(X)

    def __getitem__(self, row):
        return X[row], Y[row]


class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        yield from ((X[row], Y[row]) for row in range(60))


def weighted():
    sampler = torch.utils.data.WeightedRandomSampler(torch.arange(1.0, 61), 60, generator=torch.Generator())
    return torch.utils.data.DataLoader(Rows(), batch_size=8, sampler=sampler)


FORMS = {
    "pair": lambda: (X, Y),
    "arrays": lambda: (X.numpy(), Y.numpy()),
    "dataset": Rows,
    "tensors": lambda: torch.utils.data.TensorDataset(X, Y),
    "loader": lambda: torch.utils.data.DataLoader(Rows(), batch_size=16, shuffle=True),
    "workers": lambda: torch.utils.data.DataLoader(Rows(), batch_size=16, shuffle=True, num_workers=1),
    "sampler": weighted,
    "stream": lambda: torch.utils.data.DataLoader(Stream(), batch_size=8),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_request_gives_the_same_bits(form):
    """With shuffling, dropout and batch norm; and in a new trainer, as after a crash."""
    found = []
    for _ in range(2):
        trainer = mfl.torch.Trainer(lambda: Net(0.3), FORMS[form](), F.cross_entropy, samples=60, test=(X, Y))
        with Served(trainer) as connection:
            peer = peer_of(connection, batch_size=8)
            assert peer.samples("a") == 60
            vectors = vectors_of(peer)
            for round in (2, 3, 2):
                found.append(peer.train("a", round, 10, vectors))
            torch.rand(5)
    assert trainer_peer.same(found[0][1], found[2][1]) and trainer_peer.same(found[0][1], found[3][1])
    assert found[0][0] == found[2][0] == found[3][0]
    assert not trainer_peer.same(found[0][1], found[1][1]), "another seed draws other batches"


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_the_same_loss(form):
    with Served(mfl.torch.Trainer(linear, FORMS[form](), F.cross_entropy, samples=60)) as connection:
        peer = peer_of(connection)
        vectors = vectors_of(peer)
        expected = F.cross_entropy(X @ torch.from_numpy(vectors["w"]["weight"].copy()).T + torch.from_numpy(vectors["w"]["bias"].copy()), Y)
        assert peer.evaluate("a", 1, vectors["w"])["loss"] == pytest.approx(float(expected), rel=1e-6)
        header, update = peer.train("a", 1, 1, vectors)
        assert header["loss"] == pytest.approx(float(expected), rel=1e-6)


def test_buffers_travel_and_counters_stay():
    trainer = mfl.torch.Trainer(Net, (X, Y), F.cross_entropy)
    with Served(trainer) as connection:
        peer = peer_of(connection, batch_size=10)
        assert list(peer.shapes) == ["body.0.weight", "body.0.bias", "body.1.weight", "body.1.bias", "head.weight", "head.bias",
                                     "body.1.running_mean", "body.1.running_var"]
        vectors = vectors_of(peer)
        assert (vectors["w"]["body.1.running_var"] == 1).all()
        _, update = peer.train("a", 1, 3, vectors)
        assert (update["w"]["body.1.running_mean"] != 0).all() and (update["d"]["body.1.running_mean"] == 0).all()
        assert int(trainer.model.body[1].num_batches_tracked) == 3
        peer.train("a", 2, 2, update)
        assert int(trainer.model.body[1].num_batches_tracked) == 2


@pytest.mark.parametrize("share", [False, True])
def test_frozen_parameters(share):
    def frozen():
        net = Net()
        net.body[0].weight.requires_grad_(False)
        return net

    with Served(mfl.torch.Trainer(frozen, (X, Y), F.cross_entropy, share_frozen=share, weight_decay=0.1)) as connection:
        peer = peer_of(connection)
        assert ("body.0.weight" in peer.shapes) is share
        vectors = vectors_of(peer)
        _, update = peer.train("a", 1, 2, vectors)
        if share:
            assert (update["w"]["body.0.weight"] == vectors["w"]["body.0.weight"]).all()
            assert (update["d"]["body.0.weight"] == 0).all()


def test_parameters_that_no_step_uses_keep_their_momentum():
    class Part(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.unused = torch.nn.Linear(4, 3), torch.nn.Linear(2, 2)

        def forward(self, x):
            return self.used(x)

    with Served(mfl.torch.Trainer(Part, (X, Y), F.cross_entropy)) as connection:
        peer = peer_of(connection)
        vectors = vectors_of(peer)
        vectors["d"]["unused.bias"][:] = 3
        _, update = peer.train("a", 1, 2, vectors)
        assert (update["d"]["unused.bias"] == 3).all() and (update["w"]["unused.bias"] == vectors["w"]["unused.bias"]).all()


def test_a_module_keeps_its_weights_and_a_callable_follows_the_seed():
    model = linear()
    with torch.no_grad():
        model.bias.fill_(7)
    with Served(mfl.torch.Trainer(model, (X, Y), F.cross_entropy)) as connection:
        peer = peer_of(connection)
        peer.train("a", 1, 2, vectors_of(peer))
        assert (peer.initialise()["bias"] == 7).all()
    found = []
    for seed in (1, 1, 2):
        with Served(mfl.torch.Trainer(Net, (X, Y), F.cross_entropy)) as connection:
            found.append({"w": peer_of(connection, seed=seed).initialise()})
    assert trainer_peer.same(found[0], found[1]) and not trainer_peer.same(found[0], found[2])


def test_full_batches_do_not_depend_on_the_chunks():
    updates = []
    for size in (7, 60):
        loader = torch.utils.data.DataLoader(Rows(), batch_size=size)
        with Served(mfl.torch.Trainer(linear, loader, F.cross_entropy)) as connection:
            peer = peer_of(connection, precision="f64")
            updates.append(peer.train("a", 1, 3, vectors_of(peer))[1])
    numpy.testing.assert_allclose(updates[0]["w"]["weight"], updates[1]["w"]["weight"], rtol=1e-12)


def test_a_loader_that_is_not_followed_is_said(caplog):
    with caplog.at_level(logging.WARNING), Served(mfl.torch.Trainer(linear, FORMS["loader"](), F.cross_entropy)) as connection:
        peer_of(connection)
    assert "steps of a are on all of its 60 samples, not on batches of 16" in caplog.text


def test_metrics_of_a_test_set():
    parts = {"a": (X[:40], Y[:40]), "b": (X[40:], Y[40:])}
    with Served(mfl.torch.Trainer(linear, parts, F.cross_entropy, test=parts, test_every=2)) as connection:
        peer = peer_of(connection, ["a", "b"])
        assert peer.hello["samples"] == {"a": 40, "b": 20}
        vectors = vectors_of(peer)
        assert peer.train("b", 1, 1, vectors)[0]["metrics"] == {}
        header, _ = peer.train("b", 2, 1, vectors)
        scores = X[40:].numpy() @ vectors["w"]["weight"].T + vectors["w"]["bias"]
        assert header["metrics"]["test_accuracy"] == (scores.argmax(axis=1) == Y[40:].numpy()).mean()
        assert header["metrics"]["test_samples"] == 20
        assert header["metrics"]["test_loss"] == pytest.approx(header["loss"], rel=1e-5)
        assert peer.evaluate("b", 3, vectors["w"])["metrics"] == header["metrics"]


def test_bad_data(capfd):
    with Served(mfl.torch.Trainer(linear, 5, F.cross_entropy)) as connection, pytest.raises(Refused, match="Dataset, a DataLoader or a pair"):
        peer_of(connection)
    with Served(mfl.torch.Trainer(linear, Stream(), F.cross_entropy)) as connection, pytest.raises(Refused, match="pass samples="):
        peer_of(connection)
    with Served(mfl.torch.Trainer(linear, weighted(), F.cross_entropy)) as connection:
        peer = peer_of(connection, batch_size=4)
        with pytest.raises(Refused, match="batches of 8 samples and the run has batch_size 4"):
            peer.train("a", 1, 1, vectors_of(peer))


def test_as_a_script(tmp_path):
    script = tmp_path / "net.py"
    script.write_text("""
import torch, mfl.torch, mfl.trainer
torch.set_num_threads(1)
x = torch.randn(50, 4, generator=torch.Generator().manual_seed(1))
net = lambda: torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
mfl.trainer.serve(mfl.torch.Trainer(net, (x, (x[:, 0] > 0).long()), torch.nn.functional.cross_entropy))
""")
    checks = trainer_peer.Checks(lambda: trainer_peer.start([sys.executable, script], env=PYTHON),
                                 {"nodes": ["a"], "settings": {"eta": 0.1, "gamma": 0.9, "batch_size": 16}})
    assert checks.run() == 0
