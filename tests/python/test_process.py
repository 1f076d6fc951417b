"""What needs a process of its own: memory, signals, forks, the console script."""
import os
import signal
import subprocess
import sys
import time

import numpy as np

import mfl
from conftest import ROOT, two_classes


def python(script, **more):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, **more)


def test_no_copy_of_a_gigabyte():
    """Peak memory hardly grows with 1 GB of float32, and X is as before."""
    script = """
import resource, zlib
import numpy as np, mfl
rows = 250_000
x = np.random.default_rng(0).random((rows, 1000), dtype="float32")
y = (x[:, 0] > 0.5).astype("int64")
mfl.run(X=x[:100], y=y[:100], rounds=1, nodes=2)
before, check = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, zlib.crc32(x)
result = mfl.run(X=x, y=y, rounds=1, tau=1, eta=0.1, model="logistic", KEYWORDS)
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
assert zlib.crc32(x) == check and result.status == "done"
print(f"{grown:.0f} MiB for {x.nbytes / 1e9:.1f} GB")
"""
    for keywords in ("", 'standardise="full"', 'partition="label-sorted"'):
        done = python(script.replace("KEYWORDS", keywords))
        assert done.returncode == 0, done.stderr
        print(keywords or "as it is", done.stdout.strip())
        assert int(done.stdout.split()[0]) < 100, (keywords, done.stdout)


SLOW = """
import warnings, sys, numpy as np, mfl
warnings.simplefilter("always")
draw = np.random.default_rng(0)
x = draw.normal(size=(2000, 100)).astype("float32"); y = (x[:, 0] > 0).astype(int)
kind = dict(X=x, y=y, model="logistic", eta=0.01, store=sys.argv[1])
"""


def test_ctrl_c_stops_and_resume_continues(tmp_path):
    script = SLOW + """
result = mfl.run(rounds=2000, threads=1, callback=lambda p: print("round", p.round, flush=True) if p.round == 3 else None, **kind)
print(result.status, result.rounds, flush=True)
more = mfl.run(X=x, y=y, resume=result, store=sys.argv[1], threads=2)
print(more.status, more.digest, more.run_id == result.run_id)
"""
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "runs.db")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "round 3\n"
    process.send_signal(signal.SIGINT)
    status, rounds = process.stdout.readline().split()
    assert status == "interrupted" and 3 <= int(rounds) < 2000
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "continue it with mfl.run(X=X, y=y, resume=result)" in err and "stopping at the end of this round" in err
    whole = python(SLOW.replace("sys.argv[1]", "None") + "print(mfl.run(rounds=2000, **kind).digest)").stdout.strip()
    assert out.split() == ["done", whole, "True"]


def test_ctrl_c_twice_leaves_at_once():
    script = """
import os, numpy as np, mfl
x = np.random.default_rng(0).normal(size=(100, 3)); y = (x[:, 0] > 0).astype(int)

def slow(progress):
    print("round", flush=True)
    os.read(0, 1)  # nobody writes one: the round does not end

try:
    mfl.run(X=x, y=y, rounds=20, callback=slow)
    print("ended", flush=True)
except KeyboardInterrupt:
    print("left", flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    assert process.stdout.readline() == "round\n"
    process.send_signal(signal.SIGINT)
    assert "stopping at the end of this round" in process.stderr.readline()
    time.sleep(0.5)  # until the callback reads: a thread that needs the interpreter while it ends aborts the process
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "left\n"
    assert process.wait(timeout=60) == 0, "although the round has not ended"
    assert "ended" not in process.stdout.read()
    process.communicate()


def test_forks_have_stores_of_their_own():
    script = """
import os, numpy as np, mfl
x = np.random.default_rng(0).normal(size=(50, 3)); y = (x[:, 0] > 0).astype(int)
first = mfl.run(X=x, y=y, rounds=2, threads=1)
child = os.fork()
if child == 0:
    second = mfl.run(X=x, y=y, rounds=2, threads=1)
    os._exit(0 if second.digest == first.digest and second.store != first.store else 1)
assert os.waitpid(child, 0)[1] == 0
print(first.store)
"""
    done = python(script)
    assert done.returncode == 0, done.stderr
    assert not os.path.exists(os.path.dirname(done.stdout.strip())), "the temporary store is left"


def test_console_script_is_the_program(tmp_path):
    """Exit codes, standard streams and signals are those of the native program."""
    command = [sys.executable, "-m", "mfl"]
    version = subprocess.run([*command, "--version"], capture_output=True, text=True)
    assert version.returncode == 0 and mfl.native_version() in version.stdout
    assert subprocess.run([*command, "run", "--nope"], capture_output=True).returncode == 2
    assert subprocess.run([*command, "run", "--data", "csv:none.csv"], capture_output=True).returncode == 3
    process = subprocess.Popen([*command, "run", "--data", "synthetic:20000x100", "--rounds", "1000000", "--quiet", "--store", str(tmp_path / "a.db")],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "mfl run --resume" in out + err
    process = subprocess.Popen([*command, "run", "--data", "synthetic:20000x100", "--rounds", "1000000", "--quiet", "--store", str(tmp_path / "b.db")])
    time.sleep(1)
    process.kill()
    assert process.wait() == -signal.SIGKILL


def test_missing_native_parts(tmp_path):
    for name, words in (("MFL_LIBRARY", "import mfl; mfl.run()"), ("MFL_PROGRAM", "from mfl._program import main; main()")):
        done = python(words, env={**os.environ, name: str(tmp_path / "none")})
        assert done.returncode == 1 and name in done.stderr and "none" in done.stderr


def test_runs_without_a_main_thread_handler():
    """A run on another thread than the main one, as in a web server."""
    x, y = two_classes()
    import concurrent.futures
    with concurrent.futures.ThreadPoolExecutor() as pool:
        assert pool.submit(mfl.run, X=x, y=y, rounds=3).result().digest == mfl.run(X=x, y=y, rounds=3).digest


def test_types():
    """mypy finds nothing in the package."""
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / "build" / "mypy-cache")],
                          capture_output=True, text=True, cwd=ROOT / "python")
    assert done.returncode == 0, done.stdout + done.stderr


def test_arrays_outlive_the_call():
    """Results do not refer to X: its memory is free when the caller drops it."""
    import weakref
    x, y = two_classes()
    mark = weakref.ref(x)
    result = mfl.run(X=x, y=y, rounds=2)
    del x
    assert mark() is None and np.isfinite(result.weights["weights"]).all()
