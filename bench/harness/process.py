"""Runs a program to completion and returns its output, its elapsed time and its peak memory."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time


class Failed(Exception):
    """A program failed; the message is one line."""


@dataclasses.dataclass
class Finished:
    stdout: str
    elapsed: float
    peak_kib: int


def run(command, environment=None, time_limit=1800):
    """The peak comes from GNU time: a child that Python starts itself inherits Python's own peak."""
    command = [str(word) for word in command]
    measure = shutil.which("time")
    if measure is None:
        raise Failed("GNU time is not installed")
    with tempfile.NamedTemporaryFile("r", suffix=".peak") as peak:
        wrapped = [measure, "-q", "-f", "%M", "-o", peak.name, *command]
        started = time.perf_counter()
        child = subprocess.Popen(wrapped, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})},
                                 start_new_session=True)
        try:
            stdout, stderr = child.communicate(timeout=time_limit)
        except BaseException as stop:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            child.stdout.close()
            child.stderr.close()
            if isinstance(stop, subprocess.TimeoutExpired):
                raise Failed(f"still running after {time_limit} s: {' '.join(command)}") from None
            raise
        elapsed = time.perf_counter() - started
        if child.returncode != 0:
            last = (stderr.strip() or stdout.strip() or "no output").splitlines()[-1]
            raise Failed(f"exit code {child.returncode}: {' '.join(command)}: {last}")
        return Finished(stdout, elapsed, int(peak.read().split()[-1]))


def last_json(text, command):
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    raise Failed(f"no JSON line from: {' '.join(str(word) for word in command)}")
