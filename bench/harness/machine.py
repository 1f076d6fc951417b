"""The run that figures belong to: when, of which commit, on which machine, beside which load."""

import datetime
import os
import pathlib
import platform
import subprocess

from . import process


def first_value(path, key):
    for line in pathlib.Path(path).read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return "unknown"


def caches():
    found = []
    for index in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            found.append(f"L{level} {size}")
    return ", ".join(found) or "unknown"


def commit_of(folder):
    """The abbreviated commit of a working tree, marked if tracked files differ from it; "unknown" outside git."""
    def git(*words):
        return subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "--short=10", "HEAD") + (" with changes" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def hardware():
    memory_kib = int(first_value("/proc/meminfo", "MemTotal").split()[0])
    return {
        "CPU": first_value("/proc/cpuinfo", "model name"),
        "cores": str(os.cpu_count()),
        "caches": caches(),
        "memory": f"{memory_kib / 2**20:.1f} GiB",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def describe(mfl, commit, load=None):
    """`load` is the average that was read before anything was built; by default that of now. "run" names the run in missed.toml."""
    version = process.run([mfl, "--version"]).stdout.strip().splitlines()
    now = datetime.datetime.now().astimezone()
    return {
        "run": f"{now.date().isoformat()} {commit}",
        "started": now.isoformat(timespec="seconds"),
        "commit": commit,
        **hardware(),
        "mfl": "; ".join(line.strip() for line in version),
        "load before the run": f"{os.getloadavg()[0] if load is None else load:.2f}",
    }
