"""MFL on Flower's deployment engine: a SuperLink and a SuperNode for each node, one process each, on loopback.

The app is the simulation's client with FedAvg over the two arrays (w, d). Every process is up, and a few rounds have run,
before the clock starts. Needs no network: nothing is installed at run time.
"""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import common

FORMS = ["deployment"]
HERE = pathlib.Path(__file__).resolve().parent
MODULES = ["common.py", "numpy_loop.py", "flower_client.py", "flower_server.py"]
WARM_UP_ROUNDS = 2
LONGEST = 900  # seconds

PROJECT = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "mfl-bench"
version = "1.0.0"
description = "The work of bench.sh"
license = "Apache-2.0"
dependencies = []

[tool.hatch.build.targets.wheel]
packages = ["."]

[tool.flwr.app]
publisher = "mfl"

[tool.flwr.app.components]
serverapp = "APP_server:app"
clientapp = "APP_client:app"

[tool.flwr.app.config]
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def write_app(folder, config, modules=MODULES, app="flower"):
    """`app` begins the names of the modules with the ServerApp and the ClientApp."""
    folder.mkdir()
    for module in modules:
        shutil.copy(HERE / module, folder / module)
    lines = [f"{json.dumps(name)} = {json.dumps(value)}" for name, value in config.items()]
    (folder / "pyproject.toml").write_text(PROJECT.replace("APP", app) + "\n".join(lines) + "\n")


class Federation:
    """The processes; leaving the context ends them all."""

    def __init__(self, scratch, nodes):
        self.scratch = scratch
        self.nodes = nodes
        self.processes = []
        self.environment = dict(os.environ, FLWR_HOME=str(scratch / "flwr"), FLWR_TELEMETRY_ENABLED="0", NO_COLOR="1",
                                PATH=f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")

    def __enter__(self):
        link, *ports = free_ports(1 + self.nodes)
        (self.scratch / "flwr").mkdir()
        (self.scratch / "flwr" / "config.toml").write_text(
            f'[superlink]\ndefault = "bench"\n\n[superlink.bench]\naddress = "127.0.0.1:{link}"\ninsecure = true\n')
        self.start("superlink", "flower-superlink", "--insecure", "--port", str(link),
                   "--disable-runtime-dependency-installation")
        wait_for_port(link)
        for node, port in enumerate(ports):
            self.start(f"supernode-{node}", "flower-supernode", "--insecure", "--superlink", f"127.0.0.1:{link}", "--port",
                       str(port), "--node-config", f"partition-id={node} num-partitions={self.nodes}")
        return self

    def start(self, name, program, *arguments):
        with open(self.scratch / f"{name}.log", "wb") as log:
            self.processes.append(subprocess.Popen([pathlib.Path(sys.executable).parent / program, *arguments], stdout=log,
                                                   stderr=subprocess.STDOUT, env=self.environment, start_new_session=True))

    def submit(self, app):
        subprocess.run([pathlib.Path(sys.executable).parent / "flwr", "run", str(app), "bench"], env=self.environment,
                       check=True, stdout=sys.stderr, stderr=sys.stderr)

    def wait_for(self, outcome):
        deadline = time.monotonic() + LONGEST
        while not outcome.exists():
            if time.monotonic() > deadline or any(process.poll() is not None for process in self.processes):
                for log in sorted(self.scratch.glob("*.log")):
                    print(f"== {log.name}\n{log.read_text(errors='replace')[-2000:]}", file=sys.stderr)
                raise SystemExit("flower_deploy: the federation failed or timed out; its logs are above")
            time.sleep(0.1)

    def __exit__(self, *_):
        for process in reversed(self.processes):
            try:
                os.killpg(process.pid, signal.SIGTERM)
            except ProcessLookupError:
                continue
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


def wait_for_port(port):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit("flower_deploy: the SuperLink is not listening")


def main():
    settings = common.parse_arguments(FORMS)
    if settings.steps % settings.tau != 0:
        raise SystemExit("flower_deploy: steps must be a multiple of tau")
    common.limit_blas_threads(1)
    import flwr
    import numpy

    data = common.load_nodes(settings.data)
    with tempfile.TemporaryDirectory(prefix="mfl-flower-") as folder:
        scratch = pathlib.Path(folder)
        outcome = scratch / "outcome.npz"
        write_app(scratch / "app", {
            "nodes": len(data), "features": data[0][0].shape[1], "rounds": settings.steps // settings.tau,
            "warm-up": WARM_UP_ROUNDS, "outcome": str(outcome), "folder": str(settings.data.resolve()),
            "precision": settings.precision, "tau": settings.tau, "eta": settings.eta, "gamma": settings.gamma,
            "lambda": settings.lam})
        with Federation(scratch, len(data)) as federation:
            federation.submit(scratch / "app")
            federation.wait_for(outcome)
        with numpy.load(outcome) as found:
            w, seconds = found["w"], float(found["seconds"])
    loss = common.loss_of("svm", data, w, settings.lam)
    common.report("flower", flwr.__version__, seconds, loss, 1, form="deployment", precision=settings.precision,
                  rounds=settings.steps // settings.tau)


if __name__ == "__main__":
    main()
