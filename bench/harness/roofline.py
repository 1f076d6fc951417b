"""The limits of the machine and each kernel's share of the one that binds it, as mfl_bench measures them."""

import json

from . import process


def measure(program, scratch):
    """The object that mfl_bench writes, or None if it was not built."""
    if not program.exists():
        return None
    file = scratch / "roofline.json"
    process.run([program, "--json", file])
    data = json.loads(file.read_text())
    for key in ("limits", "kernels"):
        if key not in data:
            raise process.Failed(f"mfl_bench: its JSON has no '{key}'")
    return data
