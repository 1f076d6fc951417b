"""The machine and the versions, as the page lists them."""

import datetime
import os
import pathlib
import platform

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


def describe(mfl):
    memory_kib = int(first_value("/proc/meminfo", "MemTotal").split()[0])
    version = process.run([mfl, "--version"]).stdout.strip().splitlines()
    return {
        "date": datetime.date.today().isoformat(),
        "CPU": first_value("/proc/cpuinfo", "model name"),
        "cores": str(os.cpu_count()),
        "caches": caches(),
        "memory": f"{memory_kib / 2**20:.1f} GiB",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "mfl": "; ".join(line.strip() for line in version),
        "load before the run": f"{os.getloadavg()[0]:.2f}",
    }
