"""What an attack does to a federation: rounds per second, memory, and whether the server survives."""
import time
from dataclasses import asdict, dataclass, field

from attacks import Attacker
from federation import Failure, Federation
from http2 import Target

QUOTA_MB = 64    # --memory-quota-mb of the server
EXTRA_MB = 100   # that the server may use beyond its quota
KEPT_MB = 32     # that it may keep of an attack's memory afterwards
LOG_MB = 0.5     # that the log may grow by in a second, beyond 1 MB
LEAST_SHARE = 0.7


@dataclass
class Figure:
    attack: str
    certificate: str
    before: float = 0.0  # rounds per second
    during: float = 0.0
    start_mb: float = 0.0
    peak_mb: float = 0.0
    after_mb: float = 0.0
    settled: float = 0.0  # seconds after the attack at which that was
    log_mb: float = 0.0
    tally: dict = field(default_factory=dict)
    problems: list = field(default_factory=list)

    @property
    def share(self):
        return self.during / self.before if self.before else 0.0

    def as_json(self):
        return {**asdict(self), "share": self.share}


class Watch:
    """Rounds of a server over a period of time."""

    def __init__(self, federation):
        self.federation, self.begun, self.first = federation, time.monotonic(), federation.rounds()

    def until(self, moment):
        while time.monotonic() < moment and self.federation.alive():
            time.sleep(0.05)
        return self

    def rate(self):
        return (self.federation.rounds() - self.first) / (time.monotonic() - self.begun)


def started(mfl, *more):
    """Four honest nodes with 784 features, the first round committed."""
    federation = Federation(mfl)
    try:
        federation.serve("--memory-quota-mb", str(QUOTA_MB), *more)
        for name in federation.names:
            federation.node(name)
        federation.wait_for(lambda: federation.rounds() >= 20, "no 20 rounds")
    except BaseException:
        federation.close()
        raise
    return federation


def target_of(federation, attack, certificate):
    """A valid certificate is new for each attack: the server remembers who broke a limit."""
    if certificate == "none":
        return Target(federation.address, "")
    return Target(federation.address, federation.certificate(f"valid-{attack.name}" if certificate == "valid" else certificate))


def measure(federation, attack, certificate, seconds, before=None, settle=0.0, niceness=19):
    """Attacks for `seconds` and waits up to `settle` for memory to be given back. Problems that do not depend on speed are in the
    figure's list."""
    figure = Figure(attack.name, certificate, start_mb=federation.memory_mb())
    if before:
        figure.before = Watch(federation).until(time.monotonic() + before).rate()
        figure.start_mb = federation.memory_mb()
    log_before = federation.log_bytes()
    federation.reset_peak()
    during = Watch(federation)
    attacker = Attacker(attack, target_of(federation, attack, certificate), seconds, niceness)
    during.until(time.monotonic() + seconds)
    figure.during = during.rate()
    progress = federation.rounds() - during.first
    figure.tally, problem = attacker.end()
    if problem:
        figure.problems.append(problem)
    ended = time.monotonic()
    after = Watch(federation).until(ended + min(settle, 2.0))
    try:
        federation.wait_for(lambda: federation.rounds() >= after.first + 2, "no rounds after the attack")
        federation.status()
    except Failure as failure:
        figure.problems.append(str(failure).splitlines()[0])
    figure.log_mb = (federation.log_bytes() - log_before) / 1e6
    while time.monotonic() < ended + settle and federation.memory_mb() > figure.start_mb + KEPT_MB:
        time.sleep(0.1)
    figure.settled = time.monotonic() - ended
    figure.peak_mb = federation.memory_mb("VmHWM")
    figure.after_mb = federation.memory_mb()
    if not federation.alive():
        figure.problems.append(f"the server ended with {federation.server.returncode}")
    elif progress == 0:
        figure.problems.append("no round during the attack")
    if figure.peak_mb > QUOTA_MB + EXTRA_MB:
        figure.problems.append(f"{figure.peak_mb:.0f} MB, more than the quota of {QUOTA_MB} MB and {EXTRA_MB} MB")
    if figure.log_mb > 1 + LOG_MB * seconds:
        figure.problems.append(f"the log grew by {figure.log_mb:.1f} MB")
    return figure


def judge_speed(figure, settle):
    """Adds what only a long attack on a quiet machine can show."""
    if figure.share < LEAST_SHARE:
        figure.problems.append(f"{100 * figure.share:.0f} % of the rounds, less than {100 * LEAST_SHARE:.0f} %")
    if figure.after_mb > figure.start_mb + KEPT_MB:
        figure.problems.append(f"{figure.after_mb - figure.start_mb:.0f} MB kept after {settle:.0f} s")
    return figure


def finish(federation):
    """Stops the server and compares every committed round with mfl run: (rounds, problem or "")."""
    code = federation.stop_server()
    if code != 0:
        return 0, f"SIGTERM: the server ended with {code}"
    served = federation.round_digests("state/runs.db")
    last = max(served, default=0)
    federation.simulate("--steps", str(4 * last), "--record-every", "4")
    simulated = federation.round_digests("simulated.db")
    different = [number for number in range(last) if served.get(number) != simulated.get(number)]
    if last == 0 or different:
        return last, f"rounds that differ from mfl run: {different[:5]} of {last}"
    return last, ""
